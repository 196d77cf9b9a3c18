//! Refused operations, and the state after them.

use super::*;
use crate::resource::{CapturedFile, History, Sha256Hash, Topics};
use crate::testing::{member, put_member, upstream};

#[test]
fn refusals_change_nothing_and_say_why() {
    let mut bad_redirect = route("r2", "s", prefix("/"));
    bad_redirect.action = RouteAction::Redirect { to: "/{nope}".into(), status: 308 };
    let cases = [
        (Op::Delete { kind: ResourceKind::Sites, id: "x".into() }, "there is no site `x` to delete"),
        (Op::Delete { kind: ResourceKind::Routes, id: "x".into() }, "there is no route `x` to delete"),
        (Op::Delete { kind: ResourceKind::Upstreams, id: "x".into() }, "there is no upstream `x` to delete"),
        (Op::Delete { kind: ResourceKind::Topics, id: "x".into() }, "there is no topic set `x` to delete"),
        (Op::Delete { kind: ResourceKind::Members, id: "app/x".into() }, "there is no member `app/x` to delete"),
        (Op::Delete { kind: ResourceKind::Certificates, id: "x".into() }, "there is no certificate `x` to delete"),
        (put_member("x", member("a", 1)), "member `a`: there is no upstream `x`"),
        (put_member("app", member("a", 1001)), "member `a`: weight 1001 is more than 1000"),
        (Op::Put(Resource::Site(site("s", &["A.example"]))), "site `s`: host `A.example` must be a name in lower case"),
        (Op::Put(Resource::Route(route("r", "s", exact("x")))), "path `x`: it must begin with `/`"),
        (Op::Put(Resource::Route(bad_redirect)), "`/{nope}`: there is no `nope`; there are path, query, host"),
    ];
    let upstream = Op::Put(Resource::Upstream(upstream("app", crate::resource::Balance::RoundRobin)));
    let mut gateway = gateway([Op::Put(Resource::Site(site("s", &["*"]))), upstream]);
    let (digest, counts) = (gateway.digest(), gateway.counts());
    for (op, expected) in cases {
        assert_eq!(apply(&mut gateway, op).unwrap_err().to_string(), expected);
        assert_eq!((gateway.digest(), gateway.counts()), (digest, counts), "{expected}");
    }
    let needs = Op::Put(Resource::Route(route("r", "s", regex("/[0-9]"))));
    let refused = gateway.apply(b"", needs, &mut Patterns::new());
    assert_eq!(refused, Err(Refusal::NeedsPattern("/[0-9]".into())));
}

#[test]
fn a_host_may_move_within_a_revision() {
    let mut gateway = gateway([
        Op::Put(Resource::Site(site("b", &["h"]))),
        Op::Put(Resource::Route(route("later", "c", prefix("/")))),
        Op::Put(Resource::Site(site("c", &["h"]))),
        Op::Put(Resource::Site(site("b", &["other"]))),
    ]);
    assert_eq!(id_of(&gateway, &get("h", "/")), "later");
    apply(&mut gateway, Op::Delete { kind: ResourceKind::Sites, id: "c".into() }).unwrap();
    assert_eq!(id_of(&gateway, &get("h", "/")), "no site");
    apply(&mut gateway, Op::Put(Resource::Site(site("c", &["h"])))).unwrap();
    assert_eq!(id_of(&gateway, &get("h", "/")), "later");
}

#[test]
fn documents_are_kept_by_kind_and_id_with_a_digest_of_their_own() {
    let document = |json: &str| Document::new("a", json);
    let put = |json: &str| Op::Put(Resource::Policy(document(json)));
    let settings = |json: Option<&str>| {
        let compiled = json.map(|json| Document::new("", json));
        Op::Put(Resource::Settings(Settings { compiled, ..Settings::default() }))
    };
    let mut gateway = gateway([put("{}"), Op::Put(Resource::List(document("[]")))]);
    let before = (gateway.digest(), gateway.documents().clone());
    assert_eq!(gateway.documents().get(ResourceKind::Policies, "a").unwrap().hash, document("{}").hash);
    for op in [put("[1]"), settings(Some("{\"geo\":{}}")), Op::Delete { kind: ResourceKind::Lists, id: "a".into() }] {
        let digest = gateway.documents().digest();
        apply(&mut gateway, op).unwrap();
        assert_ne!(gateway.documents().digest(), digest);
    }
    assert!(*gateway.documents() != before.1);
    for op in [put("{}"), settings(None), Op::Put(Resource::List(document("[]")))] {
        apply(&mut gateway, op).unwrap();
    }
    assert_eq!((gateway.digest(), gateway.documents().digest()), (before.0, before.1.digest()));
    assert!(*gateway.documents() == before.1);
}

#[test]
fn a_captured_file_is_a_document_that_is_compiled() {
    let file = CapturedFile { path: "/a".into(), sha256: Sha256Hash::of(b"x"), size: 1 };
    let put = |file: &CapturedFile| Op::Put(Resource::File(file.document()));
    let mut gateway = Gateway::empty();
    apply(&mut gateway, put(&file)).unwrap();
    assert_eq!(gateway.documents().get(ResourceKind::Files, "a"), Some(&file.document()));
    let digest = gateway.documents().digest();
    apply(&mut gateway, put(&CapturedFile { sha256: Sha256Hash::of(b"y"), ..file })).unwrap();
    assert_ne!(gateway.documents().digest(), digest);
    apply(&mut gateway, Op::Delete { kind: ResourceKind::Files, id: "a".into() }).unwrap();
    assert_eq!((gateway.digest(), gateway.documents().digest()), (0, 0));
}

#[test]
fn topics_are_found_by_id_until_they_are_deleted() {
    let put = |id: &str, filter: &str| {
        let history = History { count: 1, age_ms: 1000 };
        Op::Put(Resource::Topics(Topics {
            id: id.into(),
            filters: vec![filter.into()],
            history,
            max_message: 1,
            presence: false,
        }))
    };
    let mut gateway = gateway([put("a", "x/#")]);
    let before = (gateway.digest(), gateway.clone());
    for op in [put("a", "y/#"), put("b", "z")] {
        apply(&mut gateway, op).unwrap();
    }
    assert_eq!(gateway.topics("a").unwrap().filters, ["y/#"]);
    let mut ids: Vec<&str> = gateway.all_topics().map(|topics| topics.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!((ids, gateway.counts().topics), (vec!["a", "b"], 2));
    apply(&mut gateway, Op::Delete { kind: ResourceKind::Topics, id: "b".into() }).unwrap();
    assert!(gateway.topics("b").is_none() && before.1.topics("a").unwrap().filters == ["x/#"]);
    apply(&mut gateway, put("a", "x/#")).unwrap();
    assert_eq!(gateway.digest(), before.0);
}
