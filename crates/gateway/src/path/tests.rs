use super::*;
use crate::pattern::Patterns;

fn parse(path: &PathMatch) -> Result<Path, Refusal> {
    Path::parse(path, |text| Patterns::compile(text).map_err(Refusal::Invalid))
}

/// Template, path, names and their values.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

#[test]
fn names_are_found_where_they_are() {
    let cases: [Case; 5] = [
        ("/users/{id}", "/users/7", &[("id", "7")]),
        ("/users/{id}/posts/{post}", "/users/7/posts/9", &[("id", "7"), ("post", "9")]),
        ("/files/{path*}", "/files/a/b", &[("path", "a/b")]),
        ("/files/{path*}", "/files/", &[("path", "")]),
        ("/{a}/{rest*}", "/x/y/", &[("a", "x"), ("rest", "y/")]),
    ];
    for (template, path, expected) in cases {
        let parsed = parse(&PathMatch::Template(template.into())).unwrap();
        let params = parsed.params(path.as_bytes());
        let found: Vec<_> =
            parsed.param_names().enumerate().map(|(n, name)| (name, &path[params.range(n).unwrap()])).collect();
        assert_eq!(found, expected, "{template} {path}");
    }
}

#[test]
fn bad_paths_are_refused() {
    let deep = "/a".repeat(MAX_SEGMENTS + 1);
    let many: String = (0..=MAX_PARAMS).map(|n| format!("/{{p{n}}}")).collect();
    let cases = [
        PathMatch::Exact("a".into()),
        PathMatch::Exact(String::new()),
        PathMatch::Prefix("api".into()),
        PathMatch::Exact(deep.clone()),
        PathMatch::Prefix(deep),
        PathMatch::Template(many),
        PathMatch::Template("/a/{id".into()),
        PathMatch::Template("/a/x{id}".into()),
        PathMatch::Template("/a/{}".into()),
        PathMatch::Template("/a/{*}".into()),
        PathMatch::Template("/a/{i d}".into()),
        PathMatch::Template("/{a}/{a}".into()),
        PathMatch::Template("/{a*}/b".into()),
        PathMatch::Regex("(".into()),
    ];
    for path in cases {
        assert!(matches!(parse(&path), Err(Refusal::Invalid(_))), "{path:?}");
    }
}

#[test]
fn expressions_are_kept_under_their_literal_segments() {
    let cases: [(&str, &[&str]); 6] = [
        ("/items/[0-9]+", &["items"]),
        ("/a/b/c.*", &["a", "b"]),
        ("/items.*", &[]),
        (".*", &[]),
        ("items/x", &[]),
        ("//x/.*", &["", "x"]),
    ];
    for (pattern, expected) in cases {
        let parsed = parse(&PathMatch::Regex(pattern.into())).unwrap();
        let expected: Vec<_> = expected.iter().map(|piece| Segment::Literal(piece.as_bytes().into())).collect();
        assert_eq!(&*parsed.segments, expected, "{pattern}");
    }
}
