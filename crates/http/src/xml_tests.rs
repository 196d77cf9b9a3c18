//! Test cases for the XML reader.

use proptest::prelude::*;

use super::*;

const GOOD: Anomalies = Anomalies::empty();

fn parsed(body: &[u8], extent: Extent) -> (String, Anomalies) {
    let arena = Bump::new();
    let mut faults = Faults::default();
    let items = parse(&arena, body, extent, &mut faults).items;
    let shown: std::vec::Vec<_> = items.iter().map(|item| String::from_utf8_lossy(item)).collect();
    assert_eq!(faults.error.is_some(), faults.anomalies.intersects(Anomalies::UNREADABLE), "{faults:?}");
    (shown.join("|"), faults.anomalies)
}

fn items<'a>(arena: &'a Bump, body: &'a [u8], anomalies: &mut Anomalies) -> &'a [&'a [u8]] {
    let mut faults = Faults::default();
    let document = parse(arena, body, Extent::Whole, &mut faults);
    *anomalies |= faults.anomalies;
    document.items
}

/// Text, then attributes, each after a bar; an exclamation mark if there was an error.
fn for_seclang(body: &str) -> String {
    let arena = Bump::new();
    let mut faults = Faults::default();
    let document = parse(&arena, arena.alloc_str(body).as_bytes(), Extent::Whole, &mut faults);
    let mut shown: String =
        document.texts.iter().map(|text| text.escape_ascii().to_string()).collect::<std::vec::Vec<_>>().join("+");
    for value in document.attributes {
        shown = format!("{shown}|{}", value.escape_ascii());
    }
    if faults.anomalies.is_empty() { shown } else { shown + "!" }
}

#[test]
fn shows_the_document_to_seclang() {
    let cases = [
        ("<a>x<b>y</b>\n z</a>", "xy\\n z+x\\n z"),
        ("<a/>", ""),
        ("<?xml version='1.0' encoding='UTF-8'?>\n<a b='1' xmlns:n='u' n:c=\"2\">t</a>\n<!-- c -->", "t|1|2"),
        ("<a>&lt;&#x41;&amp;<![CDATA[<b>&lt;]]><!-- no --><?pi no?></a>", "<A&<b>&lt;"),
        ("<a>p\r\nq\rr</a>", "p\\nq\\nr"),
        ("<a b='x&quot;\r\ny'/>", "|x\\\" y"),
        ("text", "!"),
        ("<a>x", "x!"),
        ("<a>x</b>", "x!"),
        ("<a/><b/>", "!"),
        ("<a b=c/>", "|c!"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>x</a>", "x"),
        ("<?xml version='1.0' encoding='UTF-7'?><a>+ADw-</a>", "+ADw-!"),
    ];
    for (body, expected) in cases {
        assert_eq!(for_seclang(body), expected, "{body}");
    }
}

#[test]
fn expands_entities_of_the_document() {
    let cases = [
        ("<!DOCTYPE a [<!ENTITY x 'one'><!ENTITY y \"&x; &#x26;#50;\">]><a b='&y;'>&x;-&y;</a>", "one-one 2|one 2"),
        ("<!DOCTYPE a [<!ENTITY x 'first'><!ENTITY x 'second'>]><a>&x;</a>", "first"),
        ("<!DOCTYPE a SYSTEM 'a.dtd' [<!-- > --><?pi ]>?><!ELEMENT a ANY><!ENTITY x ']>'>]><a>&x;</a>", "]>"),
        ("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>", "&x;!"),
        ("<!DOCTYPE a [<!ENTITY x '&x;'>]><a>&x;</a>", "&x;!"),
        ("<!DOCTYPE a [<!ENTITY x '<b/>'>]><a>&x;</a>", "<b/>!"),
        ("<!DOCTYPE a [<!ENTITY % p 'x'>]><a/>", "!"),
        ("<!DOCTYPE a [%p;]><a/>", "!"),
        ("<!DOCTYPE a [<!ATTLIST a b CDATA 'x'>]><a/>", "!"),
    ];
    for (body, expected) in cases {
        assert_eq!(for_seclang(body), expected, "{body}");
    }
}

#[test]
fn text_is_not_split_by_what_applications_do_not_see() {
    let cases = [
        ("<a>1 un<!-- -->ion<![CDATA[ sel]]>ect<?p ?> &#50;</a>", "1 union select 2"),
        ("<a>1 union <b/>select</a>", "1 union |select|1 union select|1 union select"),
        ("<a>x<b>1</b>y</a>", "x|1|y|xy|x1y"),
        ("<a>1 union <b>select</b></a>", "1 union |select|1 union select"),
        ("<a><b>x</b> <b>y</b></a>", "x|y"),
    ];
    for (body, expected) in cases {
        assert_eq!(parsed(body.as_bytes(), Extent::Whole), (expected.to_owned(), GOOD), "{body}");
    }
}

#[test]
fn collects() {
    let cases: [(&str, &str, Anomalies); 25] = [
        ("", "", GOOD),
        ("<a/>", "", GOOD),
        ("<?xml version=\"1.0\"?><a>1</a>", "1", GOOD),
        ("<a>1<b>2</b>3</a>", "1|2|3|13|123", GOOD),
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
        ("<a b c='1'>t</a>", "|1|t", BAD),
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
    assert_eq!(parsed(b"<a>1<b/>\xff</a>", Extent::Whole), ("1|1".to_owned(), both));
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
        assert_eq!(items(&arena, arena.alloc_str(&body).as_bytes(), &mut anomalies).len(), MAX_ITEMS);
        assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);
    }
}

#[test]
fn entities_expand_within_a_bound() {
    for leaf in ["lol", ""] {
        let mut body = format!("<!DOCTYPE l [<!ENTITY l0 '{leaf}'>");
        for level in 1..20 {
            body += &format!("<!ENTITY l{level} '{}'>", format!("&l{};", level - 1).repeat(10));
        }
        body += "]><l>&l19;</l>";
        let arena = Bump::new();
        let mut anomalies = GOOD;
        let texts = items(&arena, body.as_bytes(), &mut anomalies);
        assert!(texts.iter().map(|item| item.len()).sum::<usize>() <= crate::bound::MAX_ENTITY_BYTES + 2 * body.len());
        assert_eq!(anomalies, BAD);
    }
}

proptest! {
    #[test]
    fn takes_any_text(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "<a>", "</a>", "<", ">", "/>", "<![CDATA[", "]]>", "<!--", "-->", "<?", "?>", "<!DOCTYPE", "[", "&", "&lt;", "&#x", ";", "=", "'", "\"", " ", "x", "\0", "\u{e9}",
    ]), 0..60)) {
        let body = pieces.concat();
        let arena = Bump::new();
        let texts = items(&arena, body.as_bytes(), &mut Anomalies::empty());
        prop_assert!(texts.iter().map(|item| item.len()).sum::<usize>() <= 4 * body.len());
    }

    #[test]
    fn takes_any_bytes(body: std::vec::Vec<u8>) {
        let arena = Bump::new();
        let _ = items(&arena, &body, &mut Anomalies::empty());
    }
}
