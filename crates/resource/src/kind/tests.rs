//! The rows themselves.

use weir_policy::check::{Checker, What};
use weir_policy::document;
use weir_policy::error::Reporter;
use weir_policy::source::Source;
use weir_policy::table::{Key, Kind, Need, Resource};

use super::tables;

/// Every key of the gateway's resources.
fn keys() -> impl Iterator<Item = (&'static Resource, &'static Key)> {
    tables().into_iter().flat_map(|resource| resource.keys.iter().map(move |key| (resource, key)))
}

/// Whether the checker takes the text for that key, plain or in quotes.
fn fits(resource: &'static Resource, key: &'static Key, text: &str) -> bool {
    [text.to_owned(), format!("{text:?}")].into_iter().any(|text| {
        let source = Source::new("default.yaml".to_owned(), &text);
        let Ok(node) = document::parse(&source) else { return false };
        let mut reporter = Reporter::default();
        let mut checker = Checker { source: &source, reporter: &mut reporter, alternatives: true };
        checker.check(&node, &key.kind, What::Key(key, resource)).is_some() && !reporter.has_faults()
    })
}

#[test]
fn every_default_is_of_its_kind() {
    let mut seen = 0;
    for (resource, key) in keys() {
        let Need::Value(text) = key.need else { continue };
        seen += 1;
        assert!(fits(resource, key, text), "{}.{}: {text}", resource.name, key.name);
    }
    assert!(seen > 30);
}

#[test]
fn names_are_unique_and_choices_are_keys() {
    let all = tables();
    for (index, resource) in all.iter().enumerate() {
        assert!(all[..index].iter().all(|other| other.name != resource.name), "{}", resource.name);
        assert!(resource.one_of.iter().chain(&resource.short).all(|name| resource.key(name).is_some()));
        for (at, key) in resource.keys.iter().enumerate() {
            assert!(resource.keys[..at].iter().all(|other| other.name != key.name), "{}", key.name);
        }
    }
}

#[test]
fn every_resource_that_a_key_names_is_listed() {
    fn named(kind: &'static Kind) -> Option<&'static Resource> {
        match kind {
            Kind::Resource(resource) | Kind::Switch(resource) => Some(resource),
            Kind::List(inner, _) | Kind::Map(_, inner) | Kind::AtMost(inner, _) => named(inner),
            _ => None,
        }
    }
    let old = ["client_address", "geo", "list", "selector", "rule"];
    for (_, key) in keys() {
        let Some(resource) = named(&key.kind) else { continue };
        assert!(
            old.contains(&resource.name) || tables().iter().any(|one| one.name == resource.name),
            "{}",
            resource.name
        );
    }
}
