use proptest::prelude::*;

use super::*;
use crate::{
    Found, Gateway, Patterns,
    op::Op,
    resource::Resource,
    testing::{self, Request, apply_with, get},
};

fn path(text: &str) -> PathMatch {
    let (kind, text) = text.split_once(' ').unwrap();
    let text = text.to_owned();
    match kind {
        "exact" => PathMatch::Exact(text),
        "prefix" => PathMatch::Prefix(text),
        "template" => PathMatch::Template(text),
        _ => PathMatch::Regex(text),
    }
}

fn candidate(id: &str, text: &str, priority: i32) -> Candidate {
    Candidate::new(Route { priority, ..testing::route(id, "s", path(text)) }).unwrap()
}

#[test]
fn a_route_is_shadowed_by_one_that_takes_all_of_its_paths() {
    for (first, second, shadows) in [
        ("regex /.*", "prefix /", true),
        ("regex /.*", "prefix /api", true),
        ("regex /api/.*", "prefix /api", false), // `/api` itself remains
        ("regex /api(/.*)?", "prefix /api", true),
        ("regex .*[.]php", "prefix /", false),
        ("regex .*[.]php", "prefix /x.php", false),
        ("regex /files/[^/]+", "template /files/{name}", false), // a template goes first
        ("template /files/{name}", "regex /files/[0-9]+", true),
        ("template /files/{name}", "regex /files/[0-9]*", false),
        ("template /files/{name*}", "prefix /files/a", true),
        ("template /{a}/b", "template /a/{b}", false),
        ("exact /a", "template /{a}", false),
        ("exact /a", "regex /a", true),
        ("regex /(a|b)c*", "regex /ac*", true),
        ("regex /ac*", "regex /(a|b)c*", false),
        ("prefix /", "prefix /api", false),
    ] {
        let (first, second) = (candidate("first", first, 0), candidate("second", second, 0));
        assert_eq!(
            first.shadows(&second, &Budget::new(9)),
            shadows,
            "{:?} {:?}",
            first.route.matches,
            second.route.matches
        );
    }
    let (first, second) = (candidate("first", "prefix /", 1), candidate("second", "exact /api", 0));
    assert!(!first.shadows(&second, &Budget::new(1)), "past the bound nothing is found");
    let (first, second) = (candidate("first", "prefix /", 1), candidate("second", "exact /api", 0));
    assert!(first.shadows(&second, &Budget::new(9)));
    assert_eq!(first.reason(&second), "its priority is 1, not 0");
}

#[test]
fn conditions_of_the_shadowing_route_must_follow_from_the_others() {
    let is = |name: &str, test| Condition { name: name.into(), test };
    let with = |id: &str, methods: &[&str], headers: Vec<Condition>, priority| {
        let mut route = Route { priority, ..testing::route(id, "s", path("prefix /a")) };
        route.matches.methods = methods.iter().map(|method| (*method).to_owned()).collect();
        route.matches.headers = headers;
        Candidate::new(route).unwrap()
    };
    let one = || vec![is("x", Test::Is("1".into()))];
    let present = || vec![is("x", Test::Present(true))];
    let some = || vec![is("x", Test::OneOf(vec!["1".into(), "2".into()]))];
    let absent = || vec![is("x", Test::Present(false))];
    for (methods, headers, others, other_headers, shadows) in [
        (&[][..], vec![], &["GET"][..], one(), true),
        (&["GET"], vec![], &[], vec![], false),
        (&["GET", "PUT"], vec![], &["GET"], vec![], true),
        (&["GET"], vec![], &["GET", "PUT"], vec![], false),
        (&[], one(), &[], one(), true),
        (&[], one(), &[], vec![], false),
        (&[], present(), &[], one(), true),
        (&[], some(), &[], one(), true),
        (&[], one(), &[], some(), false),
        (&[], present(), &[], absent(), false),
        (&[], absent(), &[], one(), false),
    ] {
        let (first, second) = (with("first", methods, headers, 1), with("second", others, other_headers, 0));
        assert_eq!(first.shadows(&second, &Budget::new(9)), shadows, "{:?} {:?}", first.route, second.route);
    }
}

#[test]
fn an_expression_without_a_slash_matches_no_path() {
    for (text, is_empty) in
        [("regex [.]php", true), ("regex api/.*", true), ("regex .*[.]php", false), ("regex (?i)/A", false)]
    {
        assert_eq!(candidate("r", text, 0).is_empty(&Budget::new(1)), is_empty, "{text}");
    }
}

#[test]
fn what_overlaps_is_found() {
    for (left, right, overlaps) in
        [("regex .*[.]php", "prefix /", true), ("regex /a/.*", "prefix /b", false), ("regex /[ab]", "prefix /b", true)]
    {
        assert_eq!(
            candidate("l", left, 0).overlaps(&candidate("r", right, 0), &Budget::new(9)),
            overlaps,
            "{left} {right}"
        );
    }
}

fn any_path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "exact /a",
        "exact /a/b",
        "prefix /",
        "prefix /a",
        "prefix /a/b",
        "template /{x}",
        "template /{x}/b",
        "template /a/{x*}",
        "template /{x}/{y*}",
        "regex /.*",
        "regex /[ab]/?",
        "regex /a(/.*)?",
        "regex /a/[^/]+",
        "regex .*b",
        "regex /(a|b)/.+",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_request_goes_to_a_shadowed_route(
        paths in prop::collection::vec((any_path(), -1..2i32), 2..6),
        requests in prop::collection::vec("(/[abc]{0,2}){1,3}", 60),
    ) {
        let routes: Vec<Candidate> =
            paths.iter().enumerate().map(|(n, (text, priority))| candidate(&format!("r{n}"), text, *priority)).collect();
        let budget = Budget::new(1000);
        let is_shadowed = |route: &Candidate| routes.iter().any(|other| other.shadows(route, &budget));
        let shadowed: Vec<&str> =
            routes.iter().filter(|route| is_shadowed(route)).map(|route| route.route.id.as_str()).collect();
        let (mut gateway, mut patterns) = (Gateway::empty(), Patterns::new());
        let ops = routes.iter().map(|one| Op::Put(Resource::Route(one.route.clone())));
        for op in ops.chain([Op::Put(Resource::Site(testing::site("s", &["*"])))]) {
            apply_with(&mut gateway, op, &mut patterns).unwrap();
        }
        for path in &requests {
            let request: Request = get("h", path);
            if let Found::Route(matched) = gateway.route(&request) {
                prop_assert!(!shadowed.contains(&matched.route.spec().id.as_str()), "{path}");
            }
        }
    }
}
