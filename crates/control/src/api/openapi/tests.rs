use std::collections::HashSet;

use super::*;
use crate::auth::Role;

/// Calls `see` for every value in a document.
fn walk(value: &Value, see: &mut dyn FnMut(&Value)) {
    see(value);
    match value {
        Value::Object(object) => object.values().for_each(|value| walk(value, see)),
        Value::Array(array) => array.iter().for_each(|value| walk(value, see)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut seen = 0;
    walk(document, &mut |value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference}"));
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
            seen += 1;
        }
    });
    assert!(seen > 100);
}

#[test]
fn names_of_components_and_operations_are_good() {
    let document = document();
    for part in ["schemas", "responses"] {
        for name in document["components"][part].as_object().unwrap().keys() {
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{name}");
        }
    }
    let mut names = HashSet::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
    {
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name), "{name} is there twice");
        assert!(!operation["summary"].as_str().unwrap().contains('{'), "{operation}");
    }
    assert_eq!(names.len(), routes().count());
}

#[test]
fn parameters_of_paths_are_described() {
    for (path, item) in document()["paths"].as_object().unwrap() {
        let count = path.matches('{').count();
        for operation in item.as_object().unwrap().values() {
            let described = operation["parameters"].as_array().unwrap().iter();
            assert_eq!(described.filter(|parameter| parameter["in"] == "path").count(), count, "{path}");
        }
    }
}

#[test]
fn changes_declare_what_may_become_of_them() {
    let waits = |endpoint: &&Endpoint| endpoint.parameters.contains(&Parameter::Wait);
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.role > Some(Role::Read)).filter(waits) {
        let responses = response::responses(endpoint, None, endpoint.path);
        for status in [200, 202, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 500, 507] {
            assert!(responses.get(status.to_string()).is_some(), "{} {}: {status}", endpoint.method, endpoint.path);
        }
    }
}

#[test]
fn kinds_are_written_out_in_paths() {
    let all: HashSet<(&str, String)> = routes().collect();
    for (method, path) in [
        ("GET", "/api/v1/rule_sets"),
        ("PATCH", "/api/v1/upstreams/{id}/members/{member}"),
        ("PUT", "/api/v1/settings"),
        ("POST", "/api/v1/revisions/{revision}/rollback"),
    ] {
        assert!(all.contains(&(method, path.to_owned())), "{method} {path}");
    }
    assert!(!all.contains(&("DELETE", "/api/v1/settings".to_owned())));
}

/// The router tells nobody its routes, so its source is read: each `.route("PATH", METHODS(..))`.
#[test]
fn the_router_has_what_the_table_has_and_no_more() {
    let source = include_str!("../../api.rs");
    let mut routed = HashSet::new();
    for line in source.lines() {
        let Some((path, rest)) = line.trim().strip_prefix(".route(\"").and_then(|rest| rest.split_once("\", ")) else {
            continue;
        };
        let method = rest.split('(').next().unwrap().to_ascii_uppercase();
        if method == "ANY" {
            // Resources, which are not routes of the router.
            continue;
        }
        let nested = !["/healthz", "/metrics", "/openapi.json"].contains(&path);
        routed.insert((method, if nested { format!("/api/v1{path}") } else { path.to_owned() }));
    }
    let described = ENDPOINTS.iter().filter(|endpoint| endpoint.each == KindScope::One);
    let described: HashSet<_> = described.map(|one| (one.method.to_owned(), one.path.to_owned())).collect();
    assert_eq!(routed, described);
}

#[test]
fn examples_are_valid() {
    for kind in ResourceKind::ALL {
        let Some(mut document) = example::document(kind) else { continue };
        let id = if kind == ResourceKind::Members { "app/a" } else { weir_resource::descriptor(kind).example.id };
        let check = |document: &Value| {
            let checked = weir_resource::check(kind, id, document.to_string().as_bytes());
            assert!(checked.is_ok(), "{document}: {checked:?}");
        };
        check(&document);
        let Some(mut patch) = component::example(Body::Patch, Some(kind)) else { continue };
        // Members of an upstream are documents of their own, and control takes care of short forms.
        patch.as_object_mut().unwrap().remove("members");
        crate::state::merge_patch(&mut document, patch);
        check(&document);
    }
}

#[test]
fn the_example_of_a_patch_of_a_rule_is_valid() {
    let mut policy = example::document(ResourceKind::Policies).unwrap();
    let patch = component::example(Body::RulePatch, Some(ResourceKind::Policies)).unwrap();
    crate::state::merge_patch(&mut policy["rules"][0], patch);
    let checked = weir_resource::check(ResourceKind::Policies, "base", policy.to_string().as_bytes());
    assert!(checked.is_ok(), "{policy}: {checked:?}");
}

#[test]
fn links_lead_to_operations_with_their_parameters() {
    let mut operations = std::collections::HashMap::new();
    for item in document()["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            operations.insert(operation["operationId"].as_str().unwrap(), operation);
        }
    }
    let mut seen = 0;
    walk(document(), &mut |value| {
        for link in value.get("links").and_then(Value::as_object).into_iter().flat_map(|links| links.values()) {
            let operation = operations[link["operationId"].as_str().unwrap()];
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let wanted: HashSet<&str> =
                parameters.filter(|one| one["in"] == "path").map(|one| one["name"].as_str().unwrap()).collect();
            assert_eq!(
                link["parameters"].as_object().unwrap().keys().map(String::as_str).collect::<HashSet<_>>(),
                wanted
            );
            seen += 1;
        }
    });
    assert!(seen > 30, "{seen}");
}
