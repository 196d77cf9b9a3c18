use proptest::prelude::*;

use super::super::{escape, unescape, write_dictionary, write_list};
use super::*;

fn rewritten(text: &str) -> Result<String, Reason> {
    let mut out = String::new();
    write_dictionary(&mut out, &dictionary(text.as_bytes()).map_err(|fault| fault.reason)?);
    Ok(out)
}

#[test]
fn dictionaries_are_written_in_one_way() {
    for (text, expected) in [
        ("", ""),
        ("a", "a"),
        ("a=?1", "a"),
        ("a=?0;x;y=?1;z=?0", "a=?0;x;y;z=?0"),
        ("  a=1 ,\tb = 2", "err"),
        ("  a=1 ,\tb=-0,c=007,d=-12.50  ", "a=1, b=0, c=7, d=-12.5"),
        ("a=1.0,b=0.001,c=-0.25", "a=1.0, b=0.001, c=-0.25"),
        ("a=(  \"x\"   y;q=1  );p=\"\\\"\\\\\", b=()", "a=(\"x\" y;q=1);p=\"\\\"\\\\\", b=()"),
        ("a=:aGVsbG8=:,b=::", "a=:aGVsbG8=:, b=::"),
        ("a=*t/o:k;  p=@1659578233", "a=*t/o:k;p=@1659578233"),
    ] {
        assert_eq!(rewritten(text).unwrap_or("err".to_owned()), expected, "{text}");
    }
}

#[test]
fn what_is_not_a_dictionary_is_refused() {
    let many = |count: usize, text: &str| text.repeat(count);
    let members: String = (0..65).map(|at| format!("k{at},")).collect();
    let parameters: String = (0..17).map(|at| format!(";k{at}")).collect();
    for (text, reason) in [
        ("a,", Reason::Malformed),
        (",a", Reason::Malformed),
        ("a,,b", Reason::Malformed),
        ("a b", Reason::Malformed),
        ("A", Reason::Malformed),
        ("1=a", Reason::Malformed),
        ("a=", Reason::Malformed),
        ("a= 1", Reason::Malformed),
        ("a;", Reason::Malformed),
        ("a;=1", Reason::Malformed),
        ("a=(", Reason::Malformed),
        ("a=(1", Reason::Malformed),
        ("a=(1,2)", Reason::Malformed),
        ("a=(\"x\"\"y\")", Reason::Malformed),
        ("a=((1))", Reason::Malformed),
        ("a=(1\t2)", Reason::Malformed),
        ("a=\"x", Reason::Malformed),
        ("a=\"\\x\"", Reason::Malformed),
        ("a=\"\\", Reason::Malformed),
        ("a=\"\t\"", Reason::Malformed),
        ("a=\"é\"", Reason::Malformed),
        ("a=:AA:", Reason::Malformed),
        ("a=:AB==:", Reason::Malformed),
        ("a=:AAAA", Reason::Malformed),
        ("a=:AA AA:", Reason::Malformed),
        ("a=?2", Reason::Malformed),
        ("a=?", Reason::Malformed),
        ("a=-", Reason::Malformed),
        ("a=--1", Reason::Malformed),
        ("a=1.", Reason::Malformed),
        ("a=1.2345", Reason::Malformed),
        ("a=1234567890123456", Reason::Malformed),
        ("a=1234567890123.1", Reason::Malformed),
        ("a=@1.5", Reason::Malformed),
        ("a=%\"x\"", Reason::Unsupported),
        ("a=1, b=2, a=3", Reason::Duplicated),
        ("a;x=1;x=1", Reason::Duplicated),
        ("a=(\"x\";y;y)", Reason::Duplicated),
        (&members, Reason::TooLarge),
        (&format!("a=({})", many(65, "b ")), Reason::TooLarge),
        (&format!("a{parameters}"), Reason::TooLarge),
        (&format!("a=\"{}\"", many(MAX_FIELD_BYTES, "b")), Reason::TooLarge),
        (&format!("a={}", many(2000, "(")), Reason::Malformed),
    ] {
        assert_eq!(rewritten(text), Err(reason), "{}", &text[..text.len().min(60)]);
    }
    assert_eq!(dictionary(b"a=\"\xff\"").unwrap_err().reason, Reason::Malformed);
    assert_eq!(dictionary(b"a\0").unwrap_err().reason, Reason::Malformed);
}

#[test]
fn lists_and_items_are_written_in_one_way() {
    let mut out = String::new();
    write_list(&mut out, &list(b"a;x ,(b  c);y,  1").unwrap());
    assert_eq!(out, "a;x, (b c);y, 1");
    assert_eq!(item(b" \"a\" ;b").unwrap_err().what, "expected the end");
    assert_eq!(item(b" \"a\"; b ").unwrap().to_string(), "\"a\";b");
    assert_eq!(item(b"(a)").unwrap_err().reason, Reason::Malformed);
}

#[test]
fn escapes_are_undone() {
    assert_eq!(unescape(r#"a\"b\\c\\\""#), r#"a"b\c\""#);
    assert_eq!(escape("a\"\\").as_deref(), Some(r#"a\"\\"#));
    assert_eq!(escape("ä"), None);
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (dictionary(&bytes).is_ok(), list(&bytes).is_ok(), item(&bytes).is_ok());
    }

    #[test]
    fn what_was_written_is_read_and_written_the_same(text in "([a-c*]([;=,( ]|=\\(|=\"|=:)?[\"a-c0-9.)@?: -]{0,3}){0,6}") {
        if let Ok(once) = rewritten(&text) {
            prop_assert_eq!(rewritten(&once), Ok(once.clone()));
            prop_assert!(dictionary(once.as_bytes()) == dictionary(text.as_bytes()));
        }
    }

    #[test]
    fn strings_survive(text in "[ -~]{0,40}") {
        let escaped = escape(&text).unwrap();
        prop_assert_eq!(unescape(&escaped), text.as_str());
        let quoted = format!("\"{escaped}\"");
        prop_assert_eq!(item(quoted.as_bytes()).unwrap().value, Bare::Text(&escaped));
    }
}
