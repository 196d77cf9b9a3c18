//! Bodies and the results of v3.0.9, as printed by libmodsecurity itself.

use proptest::prelude::*;

use super::*;
use crate::seclang::shown;

const FORM: &str = "multipart/form-data; boundary=abc";

fn parsed<'a>(arena: &'a Bump, content_type: &str, body: &str, gaps: Gaps) -> Form<'a> {
    let body = arena.alloc_slice_copy(body.as_bytes());
    parse(arena, body, arena.alloc_str(content_type).as_bytes(), Extent::Whole, gaps)
}

fn error(form: &Form<'_>) -> String {
    String::from_utf8_lossy(form.error.unwrap_or_default()).into_owned()
}

#[test]
fn reads_fields_and_files() {
    let arena = Bump::new();
    let body = "--abc\r\nContent-Disposition: form-data; name=\"q\"\r\nX-A: b\r\n c\r\n\r\none\r\ntwo\r\n\
                --abc\r\nContent-Disposition: form-data; name=\"f\"; filename=\"z.php\"\r\n\r\none\r\ntwo\r\n--abc--\r\n";
    let form = parsed(&arena, FORM, body, Gaps::Closed);
    assert_eq!(shown(form.fields), "q=one\\r\\ntwo");
    assert_eq!(shown(form.files), "f=z.php");
    assert_eq!(shown(form.file_sizes), "f=8");
    assert_eq!(shown(form.file_contents), "f=one\\r\\ntwo");
    assert_eq!(shown(form.names), "q=q|f=f");
    assert_eq!(shown(form.file_names), "z.php=z.php");
    let disposition = "Content-Disposition: form-data; name=\\\"";
    assert_eq!(
        shown(form.headers),
        format!("q={disposition}q\\\"\\r\\n|q=X-A: b c|f={disposition}f\\\"; filename=\\\"z.php\\\"\\r\\n")
    );
    assert_eq!((form.unmatched_boundary, form.error), (2, None));
    let strict = MultipartFlags::HEADER_FOLDING | MultipartFlags::STRICT_ERROR | MultipartFlags::CRLF_LINE;
    assert_eq!(form.flags, strict);
    assert_eq!(shown(parsed(&arena, FORM, body, Gaps::AsInModSecurity).fields), "q=onetwo");
}

/// A body of one field, with `header` and `rest` as given.
fn one(header: &str, rest: &str) -> String {
    format!("--abc\r\n{header}\r\n\r\nv\r\n{rest}")
}

#[test]
fn flags_liberties() {
    use MultipartFlags as F;
    const END: &str = "--abc--\r\n";
    const NAME: &str = "Content-Disposition: form-data; name=\"a\"";
    let cases: [(&str, String, F); 13] = [
        (FORM, one(NAME, END), F::empty()),
        ("multipart/form-data; boundary=\"abc\"", one(NAME, END), F::BOUNDARY_QUOTED),
        ("multipart/form-data; boundary =abc", one(NAME, END), F::BOUNDARY_WHITESPACE),
        ("multipart/form-data boundary=abc", one(NAME, END), F::MISSING_SEMICOLON),
        ("Multipart/Form-Data; boundary=abc; charset=x", one(NAME, END), F::empty()),
        (FORM, format!("x\r\n{}", one(NAME, END)), F::DATA_BEFORE),
        (FORM, one(NAME, "--abc--\r\nx"), F::DATA_AFTER),
        (FORM, one(NAME, "--abc--"), F::empty()),
        (FORM, one(NAME, "--abc--\n"), F::LF_LINE | F::CRLF_LF_LINES),
        (FORM, one(&format!("{NAME}\r\nX: y\r\n\tz"), END), F::HEADER_FOLDING),
        (FORM, one(&format!("{NAME};\r\n\x0bfilename=b"), END), F::HEADER_FOLDING | F::INVALID_HEADER_FOLDING),
        (FORM, one(&NAME.replace('"', "'"), END), F::INVALID_QUOTING),
        (FORM, format!("--abc\r\n{NAME}\r\n\r\n--abc--\r\n"), F::INVALID_PART),
    ];
    let arena = Bump::new();
    for (content_type, body, expected) in cases {
        let form = parsed(&arena, content_type, &body, Gaps::Closed);
        assert_eq!(form.flags - (F::STRICT_ERROR | F::CRLF_LINE), expected, "{body:?}");
        let strict = !(expected - F::CRLF_LF_LINES).is_empty();
        assert_eq!(form.flags.contains(F::STRICT_ERROR), strict, "{body:?}");
    }
}

#[test]
fn what_is_wrong_ends_as_a_missing_boundary() {
    // A malformed header turns everything after it into header lines, even the final boundary.
    let cases = [
        (String::new(), ""),
        ("x".to_owned(), "Multipart: No boundaries found in payload."),
        (one("Content-Disposition: form-data; name=a", ""), "Multipart: Final boundary missing."),
        (one("Content-Disposition: form-data; name=a", "--abc-\r\n"), "Multipart: Final boundary missing."),
        (one("X: y", "--abc--\r\n"), "Multipart: Final boundary missing."),
        (one("Content-Disposition: x", "--abc--\r\n"), "Multipart: Final boundary missing."),
        (one("Content-Disposition: x", "--abc--"), "Multipart: Invalid part header (colon missing): v\r\n"),
    ];
    let arena = Bump::new();
    for (body, expected) in cases {
        assert_eq!(error(&parsed(&arena, FORM, &body, Gaps::Closed)), expected, "{body:?}");
    }
}

#[test]
fn refuses_boundaries() {
    let cases = [
        ("", "Content-Type header not available."),
        ("text/plain", "Invalid MIME type."),
        ("multipart/form-data", "Boundary not found in C-T."),
        ("multipart/form-data; boundary", "Invalid boundary in C-T (malformed)."),
        ("multipart/form-data; x; boundary=a", "Invalid boundary in C-T (malformed)."),
        ("multipart/form-data; boundaryx=a", "Invalid boundary in C-T (parameter name)."),
        ("multipart/form-data; Boundary=a", "Invalid boundary in C-T (case sensitivity)."),
        ("multipart/form-data; boundary=a; boundary=b", "Multiple boundary parameters in C-T."),
        ("multipart/form-data; boundary=\"a", "Invalid boundary in C-T (quote)."),
        ("multipart/form-data; boundary=a<b", "Invalid boundary in C-T (characters)."),
        ("multipart/form-data; boundary=", "Invalid boundary in C-T (empty)."),
        ("multipart/form-data; boundary=;x", "Invalid boundary in C-T (empty)."),
    ];
    let arena = Bump::new();
    for (content_type, expected) in cases {
        let form = parsed(&arena, content_type, "--a\r\n", Gaps::Closed);
        assert_eq!(error(&form), format!("Multipart: {expected}"), "{content_type}");
        assert!(form.flags.contains(MultipartFlags::STRICT_ERROR));
    }
    assert_eq!(error(&parsed(&arena, "multipart/form-data; boundary=", "x", Gaps::AsInModSecurity)), "");
}

#[test]
fn a_duplicate_header_field_is_an_error_that_v3_does_not_see() {
    let name = "Content-Disposition: form-data; name=";
    let body = one(&format!("{name}a\r\n{name}b"), "--abc--\r\n");
    let arena = Bump::new();
    let form = parsed(&arena, FORM, &body, Gaps::Closed);
    assert_eq!(
        (shown(form.fields), error(&form)),
        ("a=v".into(), "Multipart: Duplicate part header: Content-Disposition.".into())
    );
    assert_eq!(error(&parsed(&arena, FORM, &body, Gaps::AsInModSecurity)), "");
}

#[test]
fn a_cut_body_keeps_what_is_there() {
    let arena = Bump::new();
    let name = "Content-Disposition: form-data; name=";
    let body = format!("--abc\r\n{name}a\r\n\r\n1\r\n--abc\r\n{name}b\r\n\r\n22\r\n2");
    let body = arena.alloc_str(&body).as_bytes();
    let cut = parse(&arena, body, FORM.as_bytes(), Extent::Beginning, Gaps::Closed);
    assert_eq!(shown(cut.fields), "a=1|b=22\\r\\n2");
    assert_eq!(error(&cut), "Multipart: Final boundary missing.");
    assert_eq!(shown(parse(&arena, body, FORM.as_bytes(), Extent::Whole, Gaps::Closed).fields), "");
}

#[test]
fn lines_are_read_in_pieces_of_the_buffer() {
    let arena = Bump::new();
    for length in [4093, 4094, 4095, 4096, 4097, 8191, 8192, 8193] {
        let value = format!("{}\r\n--xx", "x".repeat(length));
        let body = format!("--abc\r\nContent-Disposition: form-data; name=a\r\n\r\n{value}\r\n--abc--\r\n");
        let form = parsed(&arena, FORM, &body, Gaps::Closed);
        assert_eq!(form.fields[0].value, value.as_bytes());
        assert_eq!(parsed(&arena, FORM, &body, Gaps::AsInModSecurity).fields[0].value.len(), length + 4);
    }
    let body = format!("--abc\r\nX: {}\r\n\r\n--abc--\r\n", "x".repeat(LINE_BYTES));
    let form = parsed(&arena, FORM, &body, Gaps::Closed);
    assert!(form.flags.contains(MultipartFlags::STRICT_ERROR | MultipartFlags::ERROR));
}

#[test]
fn bounds() {
    let arena = Bump::new();
    let part = "--abc\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    let many = part.repeat(MAX_ITEMS + 1) + "--abc--\r\n";
    let form = parsed(&arena, FORM, &many, Gaps::Closed);
    assert_eq!((form.fields.len(), form.found), (MAX_ITEMS, Anomalies::TOO_MANY_ITEMS));
    let fields: String = (0..100).map(|number| format!("X{number}: y\r\n")).collect();
    let form = parsed(&arena, FORM, &part.replace("Content", &format!("{fields}Content")), Gaps::Closed);
    assert!(form.error.is_some());
    let folded = format!("--abc\r\nX: y\r\n{}", " \r\n".repeat(3 * LINE_BYTES));
    assert!(parsed(&arena, FORM, &folded, Gaps::Closed).error.is_some());
}

proptest! {
    #[test]
    fn shows_what_a_browser_sends(values in prop::collection::vec("[a-z\r\n-]{0,20}", 0..5)) {
        let mut body = String::new();
        for (number, value) in values.iter().enumerate() {
            body += &format!("--abc\r\nContent-Disposition: form-data; name=\"f{number}\"\r\n\r\n{value}\r\n");
        }
        body += "--abc--\r\n";
        let arena = Bump::new();
        let form = parsed(&arena, FORM, &body, Gaps::Closed);
        prop_assert_eq!(form.error, None);
        let found: std::vec::Vec<&[u8]> = form.fields.iter().map(|field| field.value).collect();
        let sent: std::vec::Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
        prop_assert_eq!(found, sent);
    }

    #[test]
    fn takes_any_bytes(body in "(--abc|\r\n|\n|Content-Disposition: form-data; name=|\"|a|;|:| |\x00|--|filename=){0,40}") {
        let arena = Bump::new();
        for gaps in [Gaps::Closed, Gaps::AsInModSecurity] {
            let form = parsed(&arena, FORM, &body, gaps);
            let shown: usize = form.fields.iter().chain(form.file_contents).map(|pair| pair.value.len()).sum();
            prop_assert!(shown <= body.len());
        }
    }
}
