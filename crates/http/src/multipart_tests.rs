//! Test cases for the multipart parser.

use proptest::prelude::*;

use super::*;

const GOOD: Anomalies = Anomalies::empty();

/// `name|file name|content type|value` of each part, and the anomalies.
fn parsed(body: &[u8], boundary: &str, extent: Extent) -> (std::vec::Vec<String>, Anomalies) {
    let arena = Bump::new();
    let mut anomalies = Anomalies::empty();
    let parts = parse(&arena, body, boundary.as_bytes(), extent, &mut anomalies);
    let shown = parts.iter().map(|part| {
        let file = part.file_name.map_or("-".to_owned(), |name| name.escape_ascii().to_string());
        let [name, kind, value] = [part.name, part.content_type, part.value].map(<[u8]>::escape_ascii);
        format!("{name}|{file}|{kind}|{value}")
    });
    (shown.collect(), anomalies)
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
    let cases: [(&str, String, &[&str], Anomalies); 26] = [
        ("end with a tail", format!("--xx\r\n{A}\r\n1\r\n--xx--y\r\n--xx--"), &["a|-||1\\r\\n--xx--y"], BAD),
        ("no last line end", format!("--xx\r\n{A}\r\n1\r\n--xx--"), &["a|-||1"], GOOD),
        ("only the end", "--xx--\r\n".into(), &[], GOOD),
        ("no body", String::new(), &[], BAD),
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
    assert_eq!(part("name=a; filename=\"f\0.php\"", b""), Anomalies::NUL_BYTE);
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
    let mut anomalies = GOOD;
    assert_eq!(parse(&arena, many.as_bytes(), b"xx", Extent::Whole, &mut anomalies).len(), MAX_ITEMS);
    assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);
}

proptest! {
    #[test]
    fn takes_any_bytes(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "--x", "--", "\r\n", "\n", "\r", " ", "x", ":", ";", "\"", "\\", "Content-Disposition:", "form-data", "name=", "filename*=", "a\0", "\u{e9}",
    ]), 0..40)) {
        let body = pieces.concat();
        let arena = Bump::new();
        let parts = parse(&arena, body.as_bytes(), b"x", Extent::Whole, &mut Anomalies::empty());
        let total: usize = parts.iter().map(|part| part.value.len()).sum();
        prop_assert!(total <= body.len());
    }
}
