//! Flattened JSON agrees with `serde_json`: the same documents are valid, and the valid ones
//! have the same scalars in the same order.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use weir_http::bound::{Extent, MAX_DEPTH, MAX_ITEMS, max_path_arena};
use weir_http::{Anomalies, Faults, json};

/// A document with its members in order, including duplicates.
enum Tree {
    Number,
    Scalar(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

struct TreeVisitor;

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any JSON")
    }
    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar("null".into()))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.to_string()))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }
    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = access.next_element()? {
            all.push(one);
        }
        Ok(Tree::Array(all))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some((name, value)) = access.next_entry::<String, Tree>()? {
            all.push((name, value));
        }
        Ok(Tree::Object(all))
    }
}

/// Paths and texts; no text for numbers, of which `serde_json` does not keep the spelling.
fn flatten(tree: &Tree, path: &str, out: &mut Vec<(String, Option<String>)>) {
    let join = |name: &str| if path == TOP { name.to_owned() } else { format!("{path}.{name}") };
    let own = if path == TOP { "" } else { path };
    match tree {
        Tree::Number => out.push((own.to_owned(), None)),
        Tree::Scalar(text) => out.push((own.to_owned(), Some(text.clone()))),
        Tree::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                flatten(one, &join(&at.to_string()), out);
            }
        }
        Tree::Object(all) => {
            for (name, one) in all {
                flatten(one, &join(name), out);
            }
        }
    }
}

/// Represents the path of the document itself, which differs from that of a member named "".
const TOP: &str = "\0top";

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    let settings = |extent| json::Settings::new(json::Paths::Dotted, extent);
    let mut faults = Faults::default();
    let pairs = json::parse(&arena, bytes, settings(Extent::Whole), &mut faults);
    let anomalies = faults.anomalies;
    assert!(pairs.len() <= MAX_ITEMS);
    assert!(pairs.iter().map(|pair| pair.value.len()).sum::<usize>() <= 2 * bytes.len(), "in UTF-8");
    let paths: usize = pairs.iter().map(|pair| pair.name.len()).sum();
    assert!(paths <= max_path_arena(2 * bytes.len()) + 2 * bytes.len());

    let mut cut = Faults::default();
    let known = json::parse(&arena, bytes, settings(Extent::Beginning), &mut cut);
    assert!(pairs.starts_with(known) && pairs.len() <= known.len() + 1, "but for a word that may have been cut");
    assert!(anomalies.contains(cut.anomalies), "a cut body is never more broken");

    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let space = text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let bounds = Anomalies::TOO_DEEP | Anomalies::TOO_MANY_ITEMS;
    let nested = bytes.iter().filter(|byte| matches!(byte, b'{' | b'[')).count() >= MAX_DEPTH - 1;
    if space || anomalies.intersects(bounds) || nested {
        return;
    }
    let invalid = anomalies.intersects(Anomalies::INVALID_JSON | Anomalies::INVALID_UTF8);
    // Unpaired surrogates are JSON, but not text.
    let surrogate = anomalies.contains(Anomalies::INVALID_UTF8) && !anomalies.contains(Anomalies::INVALID_JSON);
    match serde_json::from_slice::<Tree>(text) {
        Ok(tree) => {
            assert!(!invalid, "{anomalies:?}");
            let mut expected = Vec::new();
            flatten(&tree, TOP, &mut expected);
            assert_eq!(pairs.len(), expected.len());
            for (pair, (path, text)) in pairs.iter().zip(&expected) {
                assert_eq!(pair.name, path.as_bytes());
                match text {
                    Some(text) => assert_eq!(pair.value, text.as_bytes()),
                    None => assert!(pair.value[0] == b'-' || pair.value[0].is_ascii_digit()),
                }
            }
        }
        Err(error) if error.to_string().starts_with("number out of range") => {}
        Err(error) => assert!(invalid || surrogate, "{error}"),
    }
});
