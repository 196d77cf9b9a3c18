//! Test cases for the multipart parser.

use proptest::prelude::*;

use super::*;

const GOOD: Anomalies = Anomalies::empty();

/// `name|file name|content type|value` of each part, and the anomalies.
fn parsed(body: &[u8], boundary: &str, extent: Extent) -> (std::vec::Vec<String>, Anomalies) {
    let arena = Bump::new();
    let mut faults = Faults::default();
    let parts = parse(&arena, body, boundary.as_bytes(), true, extent, &mut faults).parts;
    assert_eq!(faults.error.is_some(), faults.anomalies.intersects(Anomalies::UNREADABLE), "{faults:?}");
    let shown = parts.iter().map(|part| {
        let names: std::vec::Vec<String> = part.file_names().map(|name| name.escape_ascii().to_string()).collect();
        let file = if names.is_empty() { "-".to_owned() } else { names.join("+") };
        let [name, kind, value] = [part.name, part.content_type, part.value].map(<[u8]>::escape_ascii);
        format!("{name}|{file}|{kind}|{value}")
    });
    (shown.collect(), faults.anomalies)
}

const A: &str = "Content-Disposition: form-data; name=\"a\"\r\n";

#[test]
fn parses_what_browsers_send() {
    let body = "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--xx\r\n\
        content-disposition: form-data; name=\"f\"; filename=\"p q.txt\"\r\nContent-Type: text/plain\r\n\r\n\r\n--xx--\r\n";
    let expected = vec!["a|-||1\\r\\n2".to_owned(), "f|p q.txt|text/plain|".to_owned()];
    assert_eq!(parsed(body.as_bytes(), "xx", Extent::Whole), (expected, GOOD));
}

#[test]
fn flags_what_is_odd_and_sees_it_all_the_same() {
    let cases: [(&str, String, &[&str], Anomalies); 35] = [
        ("end with a tail", format!("--xx\r\n{A}\r\n1\r\n--xx--y\r\n--xx--"), &["a|-||1\\r\\n--xx--y"], BAD),
        ("no last line end", format!("--xx\r\n{A}\r\n1\r\n--xx--"), &["a|-||1"], GOOD),
        ("only the end", "--xx--\r\n".into(), &[], GOOD),
        ("no body", String::new(), &[], GOOD),
        ("no delimiter", "hello".into(), &[], BAD),
        ("no end", format!("--xx\r\n{A}\r\n1"), &["a|-||1"], BAD),
        ("cut at the delimiter", format!("--xx\r\n{A}\r\n1\r\n--xx"), &["a|-||1", "|-||"], BAD),
        ("line feeds", format!("--xx\n{}\n1\n--xx--\n", A.replace('\r', "")), &["a|-||1"], BAD),
        ("preamble", format!("hello\r\n--xx\r\n{A}\r\n1\r\n--xx--"), &["a|-||1"], BAD),
        ("empty preamble", format!("\r\n--xx\r\n{A}\r\n1\r\n--xx--"), &["a|-||1"], GOOD),
        ("epilogue", format!("--xx\r\n{A}\r\n1\r\n--xx--\r\nevil"), &["a|-||1"], BAD),
        ("part after the end", format!("--xx--\r\n--xx\r\n{A}\r\n1\r\n--xx--"), &["a|-||1"], BAD),
        (
            "boundary with a tail",
            format!("--xx\r\n{A}\r\n1\r\n--xxy\r\n2\r\n--xx--"),
            &["a|-||1\\r\\n--xxy\\r\\n2"],
            BAD,
        ),
        ("boundary within a line", format!("--xx\r\n{A}\r\n1 --xx\r\n--xx--"), &["a|-||1 --xx"], GOOD),
        ("space behind", format!("--xx \r\n{A}\r\n1\r\n--xx-- \t\r\n"), &["a|-||1"], GOOD),
        ("no empty line", format!("--xx\r\n{A}--xx--"), &[], BAD),
        ("no header", "--xx\r\n\r\n1\r\n--xx--".into(), &["|-||1"], BAD),
        ("nothing in it", "--xx\r\n--xx--".into(), &["|-||"], BAD),
        ("no name", "--xx\r\nContent-Disposition: form-data\r\n\r\n1\r\n--xx--".into(), &["|-||1"], BAD),
        (
            "an attachment",
            "--xx\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--xx--".into(),
            &["a|-||1"],
            BAD,
        ),
        ("twice disposed", format!("--xx\r\n{A}{}\r\n1\r\n--xx--", A.replace("\"a\"", "b")), &["a|-||1"], BAD),
        (
            "two names",
            "--xx\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n1\r\n--xx--".into(),
            &["a|-||1"],
            BAD,
        ),
        ("open quote", "--xx\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--xx--".into(), &["a|-||1"], BAD),
        ("folded", "--xx\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n1\r\n--xx--".into(), &["a|-||1"], BAD),
        ("base64", format!("--xx\r\n{A}Content-Transfer-Encoding: base64\r\n\r\nMQ==\r\n--xx--"), &["a|-||MQ=="], BAD),
        (
            "extended file name",
            "--xx\r\nContent-Disposition: form-data; name=a; filename*=UTF-8''x%20y.php\r\n\r\n1\r\n--xx--".into(),
            &["a|x y.php||1"],
            GOOD,
        ),
        (
            "both file names",
            "--xx\r\nContent-Disposition: form-data; name=a; filename=y; filename*=utf-8'en'x\r\n\r\n1\r\n--xx--"
                .into(),
            &["a|y+x||1"],
            GOOD,
        ),
        (
            "another charset",
            "--xx\r\nContent-Disposition: form-data; name=a; filename*=utf-16''x\r\n\r\n1\r\n--xx--".into(),
            &["a|utf-16\\'\\'x||1"],
            BAD,
        ),
        (
            "unknown parameter",
            "--xx\r\nContent-Disposition: Form-Data; NAME=\"a\"; size=5\r\n\r\n1\r\n--xx--".into(),
            &["a|-||1"],
            GOOD,
        ),
        (
            "file name without a value",
            "--xx\r\nContent-Disposition: form-data; name=a; filename\r\n\r\n1\r\n--xx--".into(),
            &["a|||1"],
            BAD,
        ),
        (
            "NUL in the name",
            "--xx\r\nContent-Disposition: form-data; name=\"a\0\"\r\n\r\n1\r\n--xx--".into(),
            &["a\\x00|-||1"],
            BAD.union(Anomalies::NUL_BYTE),
        ),
        (
            "carriage return alone",
            "--xx\r\nContent-Disposition: form-data;\r name=a\r\n\r\n1\r\n--xx--".into(),
            &["a|-||1"],
            BAD,
        ),
        ("single quotes", format!("--xx\r\n{}\r\n1\r\n--xx--", A.replace('"', "'")), &["\\'a\\'|-||1"], BAD),
        (
            "two types",
            format!("--xx\r\n{A}Content-Type: a/b\r\ncontent-type: c/d\r\n\r\n1\r\n--xx--"),
            &["a|-|c/d|1"],
            BAD,
        ),
        (
            "charset",
            format!("--xx\r\n{A}Content-Type: text/plain; charset=utf-16\r\n\r\n1\r\n--xx--"),
            &["a|-|text/plain; charset=utf-16|1"],
            BAD,
        ),
    ];
    for (what, body, expected, anomalies) in cases {
        let (parts, found) = parsed(body.as_bytes(), "xx", Extent::Whole);
        if what == "no empty line" {
            assert_eq!(parts.len(), 1, "{what}");
        } else {
            assert_eq!(parts, expected, "{what}");
        }
        assert_eq!(found, anomalies, "{what}");
    }
}

#[test]
fn checks_the_text() {
    let part = |disposition: &str, value: &[u8]| {
        let head = format!("--xx\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        parsed(&[head.as_bytes(), value, b"\r\n--xx--"].concat(), "xx", Extent::Whole).1
    };
    assert_eq!(part("name=a", b"\0"), Anomalies::NUL_BYTE);
    assert_eq!(part("name=a", b"\xff"), Anomalies::INVALID_UTF8);
    assert_eq!(part("name=a; filename=f", b"\0\xff"), GOOD, "files are any bytes");
    assert_eq!(part("name=a; filename=\"f\0.php\"", b""), BAD | Anomalies::NUL_BYTE);
    assert_eq!(part("name=a; filename=\"\"", b"\0"), Anomalies::NUL_BYTE, "a field for Go");
}

#[test]
fn a_cut_body_is_not_broken_at_its_end() {
    let body = format!("--xx\r\n{A}\r\n1\r\n--xx\r\n{A}\r\ngr\u{f6}\u{df}e\r\n--xx--");
    for cut in 0..body.len() {
        assert_eq!(parsed(&body.as_bytes()[..cut], "xx", Extent::Beginning).1, GOOD, "cut at {cut}");
    }
}

#[test]
fn takes_odd_boundaries() {
    assert_eq!(parsed(b"--\r\n\r\n\r\n----", "", Extent::Whole), (vec![], BAD));
    let body = format!("---\r\n{A}\r\n--\r\n-----");
    assert_eq!(parsed(body.as_bytes(), "-", Extent::Whole).0, ["a|-||--"]);
    let dashes = b"\n---".repeat(50_000);
    assert!(parsed(&dashes, "-", Extent::Whole).1.contains(BAD));
}

#[test]
fn bounds_the_number_of_parts() {
    let many = format!("--xx\r\n{A}\r\n1\r\n").repeat(MAX_ITEMS + 5);
    let arena = Bump::new();
    let mut faults = Faults::default();
    assert_eq!(parse(&arena, many.as_bytes(), b"xx", true, Extent::Whole, &mut faults).parts.len(), MAX_ITEMS);
    assert_eq!(faults.anomalies, Anomalies::TOO_MANY_ITEMS);
}

#[test]
fn knows_the_flags_of_modsecurity() {
    use MultipartFlags as F;
    const NAME: &str = "Content-Disposition: form-data; name=\"a\"";
    let one = |header: &str, rest: &str| format!("--xx\r\n{header}\r\n\r\nv\r\n{rest}");
    let cases: [(String, F); 9] = [
        (one(NAME, "--xx--\r\n"), F::empty()),
        (one(NAME, "--xx--"), F::empty()),
        (format!("x\r\n{}", one(NAME, "--xx--")), F::DATA_BEFORE),
        (one(NAME, "--xx--\r\nx"), F::DATA_AFTER),
        (one(NAME, "--xx--\n"), F::LF_LINE | F::CRLF_LF_LINES),
        (one(&format!("{NAME}\r\nX: y\r\n\tz"), "--xx--"), F::HEADER_FOLDING),
        (one(&NAME.replace('"', "'"), "--xx--"), F::INVALID_QUOTING),
        (one("Content-Disposition: form-data", "--xx--"), F::INVALID_PART),
        (one(NAME, ""), F::ERROR),
    ];
    let arena = Bump::new();
    for (body, expected) in cases {
        let form = parse(&arena, arena.alloc_str(&body).as_bytes(), b"xx", true, Extent::Whole, &mut Faults::default());
        let flags = form.flags.concluded();
        assert_eq!(flags - (F::STRICT_ERROR | F::CRLF_LINE), expected, "{body:?}");
        assert_eq!(flags.contains(F::STRICT_ERROR), !expected.is_empty(), "{body:?}");
    }
}

#[test]
fn keeps_the_header_lines_without_their_ends() {
    let body = format!("--xx\r\n{A}Content-Type: text/plain; charset=utf-8\r\nX-A: b\r\n c\r\n\r\n1\r\n--xx--");
    let arena = Bump::new();
    let form = parse(&arena, arena.alloc_str(&body).as_bytes(), b"xx", true, Extent::Whole, &mut Faults::default());
    let lines: [&[u8]; 3] = [A.trim_end().as_bytes(), b"Content-Type: text/plain; charset=utf-8", b"X-A: b c"];
    assert_eq!(form.parts[0].headers, lines);
}

#[test]
fn parts_of_other_types_need_no_name() {
    let body = b"--xx\r\nContent-Type: text/xml\r\nContent-Transfer-Encoding: base64\r\n\r\n1\r\n--xx--";
    let arena = Bump::new();
    for (is_form, expected) in [(true, BAD), (false, GOOD)] {
        let mut faults = Faults::default();
        assert_eq!(parse(&arena, body, b"xx", is_form, Extent::Whole, &mut faults).parts[0].value, b"1");
        assert_eq!(faults.anomalies, expected);
    }
}

#[test]
fn finds_lines_that_resemble_a_boundary() {
    for (body, expected) in [("--x\r\n", 0), ("--x\r\n--y\r\n", 1), ("--x\r\n--y\r\n--x--", 2), ("--x\n--\n", 0)] {
        assert_eq!(unmatched_boundary(body.as_bytes(), b"x"), expected, "{body:?}");
    }
}

proptest! {
    #[test]
    fn takes_any_bytes(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "--x", "--", "\r\n", "\n", "\r", " ", "x", ":", ";", "\"", "\\", "Content-Disposition:", "form-data", "name=", "filename*=", "a\0", "\u{e9}",
    ]), 0..40)) {
        let body = pieces.concat();
        let arena = Bump::new();
        let parts = parse(&arena, body.as_bytes(), b"x", true, Extent::Whole, &mut Faults::default());
        let total: usize = parts.parts.iter().map(|part| part.value.len()).sum();
        prop_assert!(total <= body.len());
    }
}
