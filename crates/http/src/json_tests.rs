//! Test cases for the JSON flattener.

use proptest::prelude::*;

use super::*;

const GOOD: Anomalies = Anomalies::empty();
const BAD: Anomalies = Anomalies::INVALID_JSON;

fn parsed(body: &[u8], extent: Extent) -> (String, Anomalies) {
    let (shown, faults) = spelled(body, Paths::Dotted, extent);
    assert_eq!(faults.error.is_some(), faults.anomalies.intersects(Anomalies::UNREADABLE), "{faults:?}");
    (shown, faults.anomalies)
}

fn spelled(body: &[u8], paths: Paths, extent: Extent) -> (String, Faults) {
    let arena = Bump::new();
    let mut faults = Faults::default();
    let pairs = parse(&arena, body, Settings::new(paths, extent), &mut faults);
    let shown: std::vec::Vec<String> = pairs
        .iter()
        .map(|pair| format!("{}={}", String::from_utf8_lossy(pair.name), String::from_utf8_lossy(pair.value)))
        .collect();
    (shown.join("|"), faults)
}

fn dotted<'a>(arena: &'a Bump, body: &'a [u8], anomalies: &mut Anomalies) -> &'a [Pair<'a>] {
    let mut faults = Faults::default();
    let pairs = parse(arena, body, Settings::new(Paths::Dotted, Extent::Whole), &mut faults);
    *anomalies |= faults.anomalies;
    pairs
}

#[test]
fn names_as_modsecurity_does() {
    let cases = [
        (
            r#"{"a":1,"b":{"c":"x","d":[1,[2,{"e":null}],true]}}"#,
            "json.a=1|json.b.c=x|json.b.d.array_0=1|json.b.d.array_1.array_0=2|json.b.d.array_1.array_1.e=|json.b.d.array_2=true",
        ),
        ("[[1],{},[],2]", "json.array_0.array_0=1|json.array_3=2"),
        (r#""top""#, "json=top"),
        (r#"{"":1,"a":{"":{"":false}}}"#, "json.empty-key=1|json.a.empty-key.empty-key=false"),
        (r#"{"a":{"x":1},"b":2}"#, "json.a.x=1|json.b=2"),
    ];
    for (body, expected) in cases {
        assert_eq!(spelled(body.as_bytes(), Paths::SecLang, Extent::Whole), (expected.to_owned(), Faults::default()));
    }
}

#[test]
fn reads_what_some_parsers_accept() {
    let (mark, wide) = ("\u{feff}[\"x\"]", |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    let utf32: std::vec::Vec<u8> = "[\"x\"]".chars().flat_map(|letter| u32::from(letter).to_be_bytes()).collect();
    let cases: [(std::vec::Vec<u8>, &str); 9] = [
        (wide(mark), "0=x"),
        (wide("[\"x\"]"), "0=x"),
        (utf32, "0=x"),
        (b"[NaN,-Infinity,x]".into(), "0=NaN|1=-Infinity|2=x"),
        (b"{\"a\":1} {\"b\":2}".into(), "a=1|b=2"),
        (b"[1,/* c */2 // d\n]".into(), "0=1|1=2"),
        (b"# c\n[1]".into(), ""),
        (b"[\"a\xffb\",2]".into(), "0=a\u{fffd}b|1=2"),
        (b"[1,]".into(), "0=1"),
    ];
    for (body, expected) in cases {
        let (shown, faults) = spelled(&body, Paths::Dotted, Extent::Whole);
        assert_eq!(shown, expected, "{}", body.escape_ascii());
        assert!(faults.anomalies.contains(BAD), "{}", body.escape_ascii());
    }
    assert_eq!(parsed(mark.as_bytes(), Extent::Whole), ("0=x".to_owned(), GOOD), "a mark in UTF-8 is allowed");
}

#[test]
fn flattens() {
    let cases: [(&str, &str, Anomalies); 34] = [
        ("", "", GOOD),
        (" \r\n\t", "", GOOD),
        ("1", "=1", GOOD),
        ("\"a\"", "=a", GOOD),
        ("\u{feff}null", "=null", GOOD),
        ("{}", "", GOOD),
        ("[]", "", GOOD),
        ("[{},[],{\"a\":[]}]", "2.a=", GOOD),
        (r#"{"a":1,"b":"x","c":true,"d":null}"#, "a=1|b=x|c=true|d=null", GOOD),
        (r#"{"a":{"b":[1,{"c":-2.5e+3}]},"d":0}"#, "a.b.0=1|a.b.1.c=-2.5e+3|d=0", GOOD),
        ("[1,[2,3],4]", "0=1|1.0=2|1.1=3|2=4", GOOD),
        (r#"{"a":1,"a":2}"#, "a=1|a=2", GOOD),
        (r#"{"":1,"x":{"":2}}"#, "=1|x.=2", GOOD),
        (r#" { "a" : [ 1 , 2 ] } "#, "a.0=1|a.1=2", GOOD),
        (r#""\"\\\/\b\f\n\r\t\u0041""#, "=\"\\/\u{8}\u{c}\n\r\tA", GOOD),
        (r#"{"\u0061":{"\u0062":"\ud83d\ude00"}}"#, "a.b=\u{1f600}", GOOD),
        (r#""\ud83d""#, "=\u{fffd}", Anomalies::INVALID_UTF8),
        (r#""\ude00\ud83d\n""#, "=\u{fffd}\u{fffd}\n", Anomalies::INVALID_UTF8),
        (r#""\ud83d\u0041""#, "=\u{fffd}A", Anomalies::INVALID_UTF8),
        (r#""\x41\u12""#, "=\\x41\\u12", BAD),
        (r#""\u+123""#, "=\\u+123", BAD),
        ("\"a\nb\"", "=a\nb", BAD),
        (r#""\u0000""#, "=\0", Anomalies::NUL_BYTE),
        (r#"{"a":1"#, "a=1", BAD),
        (r#"{"a":1,}"#, "a=1", BAD),
        ("[1,]", "0=1", BAD),
        ("[1 2]", "0=1", BAD),
        ("[1}", "0=1", BAD),
        ("1 2", "=1|=2", BAD),
        ("{a:1}", "", BAD),
        ("{\"a\" 1}", "", BAD),
        ("{\"a\":\"x", "", BAD),
        ("\"\\", "", BAD),
        ("nul", "=nul", BAD),
    ];
    for (body, expected, anomalies) in cases {
        assert_eq!(parsed(body.as_bytes(), Extent::Whole), (expected.to_owned(), anomalies), "{body}");
    }
}

#[test]
fn knows_numbers() {
    for good in ["0", "-0", "10", "1.5", "1e5", "1E-5", "-1.0e+10"] {
        assert_eq!(parsed(good.as_bytes(), Extent::Whole), (format!("={good}"), GOOD));
    }
    for bad in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "--1", "1.2.3", "TRUE"] {
        assert_eq!(parsed(bad.as_bytes(), Extent::Whole), (format!("={bad}"), BAD), "{bad}");
    }
}

#[test]
fn a_cut_body_is_not_broken_at_its_end() {
    let body = "{\"a\":[1,true,\"x\\u0041\\\\\"],\"gr\u{f6}\u{df}e\":{\"c\":-1.5e3}}";
    for cut in 0..body.len() {
        assert_eq!(parsed(&body.as_bytes()[..cut], Extent::Beginning).1, GOOD, "cut at {cut}");
    }
    assert_eq!(parsed(b"{a", Extent::Beginning).1, BAD);
}

#[test]
fn flags_what_is_not_utf8() {
    assert_eq!(parsed(b"\"\xff\"", Extent::Whole).1, BAD | Anomalies::INVALID_UTF8);
}

#[test]
fn borrows_what_has_no_escape() {
    let arena = Bump::new();
    let body = br#"{"name":"value"}"#;
    let pairs = dotted(&arena, body, &mut Anomalies::empty());
    let range = body.as_ptr_range();
    assert!(range.contains(&pairs[0].name.as_ptr()) && range.contains(&pairs[0].value.as_ptr()));
}

#[test]
fn bounds_depth() {
    for (depth, expected) in [(MAX_DEPTH, GOOD), (MAX_DEPTH + 1, Anomalies::TOO_DEEP), (10_000, Anomalies::TOO_DEEP)] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let body = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(parsed(body.as_bytes(), Extent::Whole).1, expected, "{depth} times {open}");
        }
    }
}

#[test]
fn bounds_items() {
    let body = format!("[{}1]", "1,".repeat(100_000));
    let arena = Bump::new();
    let mut anomalies = GOOD;
    assert_eq!(dotted(&arena, body.as_bytes(), &mut anomalies).len(), MAX_ITEMS);
    assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);
}

#[test]
fn bounds_paths() {
    let long = "k".repeat(3 * MAX_PATH_BYTES);
    let body = format!("{{\"a\":{{\"{long}\":[{}1]}}}}", "1,".repeat(9_000));
    let arena = Bump::new();
    let mut anomalies = GOOD;
    let pairs = dotted(&arena, body.as_bytes(), &mut anomalies);
    assert!(pairs.iter().all(|pair| pair.name.len() <= MAX_PATH_BYTES));
    assert_eq!((pairs.len(), anomalies), (9_001, Anomalies::TOO_DEEP), "all values are there");
    let paths: usize = pairs.iter().map(|pair| pair.name.len()).sum();
    assert!(paths <= max_path_arena(body.len()));
}

proptest! {
    #[test]
    fn takes_any_text(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d83d", "\\ude00", "1", "-", ".5", "e", "true", "nul", "\"a\":", " ", "\n", "\0", "\u{e9}",
    ]), 0..60)) {
        let body = pieces.concat();
        let arena = Bump::new();
        let pairs = dotted(&arena, body.as_bytes(), &mut Anomalies::empty());
        // A leading NUL makes it UTF-16, where two bytes can become three.
        let (_, text) = UnicodeForm::to_utf8(&arena, body.as_bytes());
        prop_assert!(text.len() <= body.len() / 2 * 3 + 3);
        prop_assert!(pairs.iter().map(|pair| pair.value.len()).sum::<usize>() <= text.len());
    }

    #[test]
    fn takes_any_bytes(body: std::vec::Vec<u8>) {
        let arena = Bump::new();
        let _ = dotted(&arena, &body, &mut Anomalies::empty());
    }

    #[test]
    fn reads_back_what_it_is_told(texts in proptest::collection::vec("\\PC{0,8}", 0..10)) {
        let body = format!("[{}]", texts.iter().map(|text| {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            format!("\"{escaped}\"")
        }).collect::<std::vec::Vec<_>>().join(","));
        let arena = Bump::new();
        let mut anomalies = Anomalies::empty();
        let pairs = dotted(&arena, body.as_bytes(), &mut anomalies);
        prop_assert_eq!(anomalies, Anomalies::empty());
        for (at, (pair, text)) in pairs.iter().zip(&texts).enumerate() {
            prop_assert_eq!(pair.value, text.as_bytes());
            prop_assert_eq!(String::from_utf8_lossy(pair.name), at.to_string());
        }
    }
}
