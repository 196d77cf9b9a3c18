//! Test cases for the XML reader.

use proptest::prelude::*;

use super::*;

const GOOD: Anomalies = Anomalies::empty();

fn parsed(body: &[u8], extent: Extent) -> (String, Anomalies) {
    let arena = Bump::new();
    let mut anomalies = Anomalies::empty();
    let items = parse(&arena, body, extent, &mut anomalies);
    let shown: std::vec::Vec<_> = items.iter().map(|item| String::from_utf8_lossy(item)).collect();
    (shown.join("|"), anomalies)
}

#[test]
fn collects() {
    let cases: [(&str, &str, Anomalies); 25] = [
        ("", "", GOOD),
        ("<a/>", "", GOOD),
        ("<?xml version=\"1.0\"?><a>1</a>", "1", GOOD),
        ("<a>1<b>2</b>3</a>", "1|2|3", GOOD),
        ("<a>\n  <b> x </b>\n</a>\n", " x ", GOOD),
        ("<a b='1' c=\"2\"/>", "1|2", GOOD),
        ("<a b='1'>t</a>", "1|t", GOOD),
        ("<n:a xmlns:n='u'>t</n:a>", "u|t", GOOD),
        ("<a><![CDATA[<x>&amp;]]></a>", "<x>&amp;", GOOD),
        ("<a><!-- no --><?no no?>yes</a>", "yes", GOOD),
        ("<a>&lt;s&gt; &amp; &quot;q&quot;&apos;</a>", "<s> & \"q\"'", GOOD),
        ("<a b='&#60;&#x3E;'>&#x1F600;</a>", "<>|\u{1f600}", GOOD),
        ("<a>&amp;lt;</a>", "&lt;", GOOD),
        ("<a>&xxe;</a>", "&xxe;", BAD),
        ("<a>&#0;&#xD800;&#99999999999;&#;&#x;</a>", "&#0;&#xD800;&#99999999999;&#;&#x;", BAD),
        ("<a>a & b</a>", "a & b", BAD),
        (
            "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
            "a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]|&x;",
            BAD,
        ),
        ("<a><b>1</a>", "1", BAD),
        ("<a>1", "1", BAD),
        ("<a>1</b>", "1", BAD),
        ("</a>", "", BAD),
        ("<a b=1>t</a>", "1|t", BAD),
        ("<a b c='1'>t</a>", "1|t", BAD),
        ("<a", "", BAD),
        ("hello", "hello", BAD),
    ];
    for (body, expected, anomalies) in cases {
        assert_eq!(parsed(body.as_bytes(), Extent::Whole), (expected.to_owned(), anomalies), "{body}");
    }
}

#[test]
fn flags_what_is_not_utf8() {
    let both = BAD | Anomalies::INVALID_UTF8;
    assert_eq!(parsed(b"<a>1<b/>\xff</a>", Extent::Whole), ("1".to_owned(), both));
}

#[test]
fn a_cut_body_is_not_broken_at_its_end() {
    let body = "<?xml version='1.0'?><!DOCTYPE a><a b='gr\u{f6}\u{df}e'><!-- c --><![CDATA[d]]>e&amp;<f/></a>";
    for cut in 0..body.len() {
        let found = parsed(&body.as_bytes()[..cut], Extent::Beginning).1;
        // Only a reference cut in two may look malformed.
        assert!(found == GOOD || body[..cut].rfind('&').is_some_and(|at| cut - at < 5), "cut at {cut}: {found:?}");
    }
}

#[test]
fn bounds_depth_and_items() {
    let body = format!("{}x{}", "<a>".repeat(MAX_DEPTH), "</a>".repeat(MAX_DEPTH));
    assert_eq!(parsed(body.as_bytes(), Extent::Whole), ("x".to_owned(), GOOD));
    assert_eq!(parsed("<a>".repeat(10_000).as_bytes(), Extent::Whole).1, Anomalies::TOO_DEEP);

    let arena = Bump::new();
    for body in [format!("<r>{}</r>", "<a>1</a>".repeat(30_000)), format!("<r {}/>", "a='1' ".repeat(30_000))] {
        let mut anomalies = GOOD;
        assert_eq!(parse(&arena, arena.alloc_str(&body).as_bytes(), Extent::Whole, &mut anomalies).len(), MAX_ITEMS);
        assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);
    }
}

#[test]
fn expands_nothing() {
    let mut body = "<!DOCTYPE l [<!ENTITY l0 'lol'>".to_owned();
    for level in 1..20 {
        body += &format!("<!ENTITY l{level} '{}'>", format!("&l{};", level - 1).repeat(10));
    }
    body += "]><l>&l19;</l>";
    let arena = Bump::new();
    let items = parse(&arena, body.as_bytes(), Extent::Whole, &mut Anomalies::empty());
    assert!(items.iter().map(|item| item.len()).sum::<usize>() <= body.len());
}

proptest! {
    #[test]
    fn takes_any_text(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "<a>", "</a>", "<", ">", "/>", "<![CDATA[", "]]>", "<!--", "-->", "<?", "?>", "<!DOCTYPE", "[", "&", "&lt;", "&#x", ";", "=", "'", "\"", " ", "x", "\0", "\u{e9}",
    ]), 0..60)) {
        let body = pieces.concat();
        let arena = Bump::new();
        let items = parse(&arena, body.as_bytes(), Extent::Whole, &mut Anomalies::empty());
        prop_assert!(items.iter().map(|item| item.len()).sum::<usize>() <= body.len());
    }

    #[test]
    fn takes_any_bytes(body: std::vec::Vec<u8>) {
        let arena = Bump::new();
        let _ = parse(&arena, &body, Extent::Whole, &mut Anomalies::empty());
    }
}
