//! When two routes would be equal: the same rank, and a request that both take.
//!
//! Control keeps the keys in a hash map, so a clash must be two equal keys. A route without methods takes
//! all of them: it gets one key for each method of RFC 9110 and PATCH, and `*` for the rest. (A method of
//! one's own, such as PURGE, beside a route for all methods is told apart by that: the narrower one wins.)

use std::fmt::Write;

use weir_gateway::resource::{Condition, PathMatch, Route};

/// RFC 9110, section 9.3, and RFC 5789.
const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"];

/// What each key is of, for messages, and the key.
pub(super) fn keys(route: &Route) -> Vec<(String, String)> {
    let matches = &route.matches;
    let (kind, path) = canonical(&matches.path);
    let mut rank = format!("route {} {} {kind} {path:?}", route.site, route.priority);
    for (part, conditions) in [("headers", &matches.headers), ("query", &matches.query), ("cookies", &matches.cookies)]
    {
        if !conditions.is_empty() {
            let all: Vec<String> = conditions.iter().map(condition).collect();
            // Writing to a String cannot fail.
            let _ = write!(rank, " {part} {}", all.join(" "));
        }
    }
    let plain = format!("{kind} {path} of the site `{}` at priority {}", route.site, route.priority);
    let methods: Vec<&str> = match matches.methods.as_slice() {
        [] => METHODS.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    methods.into_iter().map(|method| (format!("{method} on the {plain}"), format!("{rank} {method}"))).collect()
}

/// Kind and text of a path, the same for all that match the same.
fn canonical(path: &PathMatch) -> (&'static str, String) {
    match path {
        PathMatch::Exact(path) => ("path", path.clone()),
        // As whole segments, `/api/` and `/api` are the same prefix.
        PathMatch::Prefix(path) => ("prefix", format!("{}/", path.trim_end_matches('/'))),
        PathMatch::Template(template) => ("template", anonymous(template)),
        PathMatch::Regex(pattern) => ("expression", pattern.clone()),
    }
}

/// A template without the names of its placeholders.
fn anonymous(template: &str) -> String {
    let segment = |segment: &str| match segment.strip_prefix('{') {
        Some(name) if name.ends_with("*}") => "{*}".to_owned(),
        Some(_) => "{}".to_owned(),
        None => segment.to_owned(),
    };
    template.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn condition(condition: &Condition) -> String {
    format!("{:?}={:?}", condition.name, condition.test)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{ResourceKind, check};

    fn keys_of(json: &str) -> Vec<String> {
        let checked = check(ResourceKind::Routes, "r", json.as_bytes()).unwrap();
        checked.unique.into_iter().map(|unique| unique.key).collect()
    }

    #[test]
    fn routes_clash_if_they_take_the_same_requests_at_the_same_rank() {
        for (left, right, clash) in [
            (r#""path": "/a""#, r#""path": {"prefix": "/a/"}"#, true),
            (r#""path": "/a""#, r#""path": {"exact": "/a"}"#, false),
            (r#""path": "/a""#, r#""path": "/a", "priority": 1"#, false),
            (r#""path": "/a""#, r#""path": "/a", "methods": ["GET"]"#, true),
            (r#""path": "/a", "methods": ["GET", "PUT"]"#, r#""path": "/a", "methods": ["PUT"]"#, true),
            (r#""path": "/a", "methods": ["GET"]"#, r#""path": "/a", "methods": ["PUT"]"#, false),
            (r#""path": "/a", "methods": ["PURGE"]"#, r#""path": "/a", "methods": ["BAN"]"#, false),
            (r#""path": {"template": "/{a}/x"}"#, r#""path": {"template": "/{b}/x"}"#, true),
            (r#""path": {"template": "/{a}/x"}"#, r#""path": {"template": "/{a*}"}"#, false),
            (r#""headers": {"A": "1", "b": "2"}"#, r#""headers": {"B": "2", "a": {"is": "1"}}"#, true),
            (r#""headers": {"a": "1"}"#, r#""query": {"a": "1"}"#, false),
            (r#""headers": {"a": "1"}"#, r#""headers": {"a": "2"}"#, false),
        ] {
            let route = |rest: &str| keys_of(&format!(r#"{{"site": "s", "to": "u", {rest}}}"#));
            let (left_keys, right_keys) = (route(left), route(right));
            assert_eq!(left_keys.iter().any(|key| right_keys.contains(key)), clash, "{left} {right}");
        }
    }

    #[test]
    fn the_keys_of_one_route_differ() {
        let mut all = keys_of(r#"{"site": "s", "to": "u"}"#);
        assert_eq!(all.len(), 10);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10);
    }
}
