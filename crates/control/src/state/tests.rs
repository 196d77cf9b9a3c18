use serde_json::{Value, json};

use super::*;

fn target(path: &str) -> Target {
    Target::parse(path).expect(path)
}

fn put(path: &str, body: Value) -> Edit {
    Edit::new(target(path), Action::Put(body))
}

fn patch(path: &str, body: Value) -> Edit {
    Edit::new(target(path), Action::Patch(body))
}

fn delete(path: &str) -> Edit {
    Edit::new(target(path), Action::Delete)
}

fn app() -> Value {
    json!({"balance": "round_robin", "members": {"a": "10.0.0.1:80", "b": {"address": "10.0.0.2:80", "weight": 2}}})
}

/// An upstream, a site and a route.
fn shop() -> State {
    let mut state = State::default();
    let edits = [
        put("/routes/all", json!({"site": "shop", "path": "/", "to": "app"})),
        put("/sites/shop", json!({"hosts": ["shop.example"]})),
        put("/upstreams/app", app()),
    ];
    state.apply(1, &edits).expect("it is whole, in any order");
    state
}

fn shown(state: &State, kind: ResourceKind, id: &str) -> Value {
    serde_json::from_str(&state.shown(kind, id).expect("it is there")).expect("JSON")
}

fn pointers(refusal: Refusal) -> Vec<String> {
    match refusal {
        Refusal::Invalid(faults) => faults.into_iter().map(|fault| fault.pointer).collect(),
        other => panic!("{other:?}"),
    }
}

/// Everything that can be seen of a state.
fn picture(state: &State) -> (Vec<(Key, String, u64)>, u64, u64) {
    let all = state.everything().into_iter().map(|(key, held)| (key, held.document.text.to_string(), held.revision));
    (all.collect(), state.digest(), state.revision())
}

#[test]
fn what_only_one_may_have_is_one_fault_for_each_pair() {
    let site = |id: &str, hosts: Value| put(&format!("/sites/{id}"), json!({ "hosts": hosts }));
    let route = |id: &str, more: Value| {
        let mut route = json!({"site": "shop", "path": "/x", "to": "app"});
        more.as_object().expect("an object").iter().for_each(|(key, value)| route[key] = value.clone());
        put(&format!("/routes/{id}"), route)
    };
    for (edits, faults) in [
        (vec![site("a", json!(["x.example"])), site("b", json!(["x.example"]))], &["/sites/b/hosts/0"][..]),
        (vec![site("b", json!(["x.example"])), site("a", json!(["x.example"]))], &["/sites/b/hosts/0"]),
        (vec![site("a", json!(["shop.example"]))], &["/sites/a/hosts/0"]),
        (vec![site("z", json!(["shop.example"]))], &["/sites/z/hosts/0"]),
        (vec![site("a", json!(["x", "y"])), site("b", json!(["y", "x"]))], &["/sites/b/hosts/0", "/sites/b/hosts/1"]),
        (
            vec![site("a", json!(["x"])), site("b", json!(["x"])), site("c", json!(["x"]))],
            &["/sites/b/hosts/0", "/sites/c/hosts/0"],
        ),
        (vec![route("a", json!({})), route("b", json!({}))], &["/routes/b/path"]),
        (vec![route("a", json!({})), route("b", json!({"methods": ["GET", "PUT"]}))], &["/routes/b/path"]),
        (vec![route("a", json!({"path": "/"}))], &["/routes/a/path"]),
    ] {
        let refused = shop().apply(2, &edits).expect_err("a clash");
        assert_eq!(pointers(refused), faults, "{edits:?}");
    }
}

#[test]
fn there_are_at_most_sixteen_topic_sets() {
    let set = |n: usize| put(&format!("/topics/t{n:02}"), json!({"topics": [format!("t{n}/#")]}));
    let sets = |numbers: std::ops::Range<usize>| numbers.map(set).collect::<Vec<Edit>>();
    let mut state = shop();
    let Refusal::Invalid(faults) = state.apply(2, &sets(0..18)).unwrap_err() else {
        panic!("valid but for the number")
    };
    let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(places, ["/topics/t16", "/topics/t17"]);
    assert_eq!(faults[0].message, "with it there would be 18 topic sets");
    assert_eq!(faults[0].expected.as_deref(), Some("at most 16"));
    state.apply(2, &sets(0..16)).expect("as many as are possible");
    assert_eq!(pointers(state.apply(3, &[set(16)]).unwrap_err()), ["/topics/t16"]);
    state.apply(3, &[set(16), delete("/topics/t00")]).expect("one for another");
    state.apply(4, &[put("/topics/t01", json!({"topics": ["other"]}))]).expect("a change adds none");
    let route = put("/routes/live", json!({"site": "shop", "path": "/live", "messages": "t00"}));
    assert_eq!(pointers(state.apply(5, &[route]).unwrap_err()), ["/routes/live/messages"]);
    state.apply(5, &[put("/routes/live", json!({"site": "shop", "path": "/live", "messages": "t01"}))]).expect("valid");
    assert_eq!(pointers(state.apply(6, &[delete("/topics/t01")]).unwrap_err()), ["/routes/live/messages"]);
}

#[test]
fn another_spelling_of_a_value_is_no_change() {
    let mut state = shop();
    let policy = |text: Value| {
        let rule = json!({"id": "a", "when": "true", "action": {"block": {"status": 403, "body": text}}});
        put("/policies/p", json!({"rules": [rule]}))
    };
    let route =
        |body: Value| put("/routes/r", json!({"site": "shop", "path": "/x", "respond": {"status": 200, "body": body}}));
    let list = |item: Value| put("/lists/l", json!({"strings": [item]}));
    state.apply(2, &[policy(json!("1.5")), list(json!("3")), route(json!("1.2"))]).expect("valid");
    for same in [policy(json!(1.5)), list(json!(3)), route(json!(1.2)), put("/upstreams/app", app())] {
        let applied = state.apply(3, &[same]).expect("valid");
        assert!(applied.deltas.is_empty(), "{:?}", applied.deltas);
    }
    assert_eq!(state.revision(), 2);
    // What is not valid in the other spelling is refused, and a default that is written out can be read.
    let weight = |weight: Value| put("/upstreams/app/members/b", json!({"address": "10.0.0.2:80", "weight": weight}));
    assert_eq!(pointers(state.apply(3, &[weight(json!("2"))]).unwrap_err()), ["/upstreams/app/members/b/weight"]);
    let written_out = put("/upstreams/app/members/a", json!({"address": "10.0.0.1:80", "weight": 1}));
    assert_eq!(state.apply(3, &[written_out]).expect("valid").deltas.len(), 1);
}

#[test]
fn paths_name_resources_and_their_parts() {
    let cases = [
        ("/upstreams", Some("/upstreams")),
        ("/upstreams/app", Some("/upstreams/app")),
        ("/upstreams/app/members", Some("/upstreams/app/members")),
        ("/upstreams/app/members/a", Some("/upstreams/app/members/a")),
        ("/upstreams/app/members/a/weight", Some("/upstreams/app/members/a/weight")),
        ("/upstreams/app/keepalive/idle", Some("/upstreams/app/keepalive/idle")),
        ("/policies/demo/rules/r%31", Some("/policies/demo/rules/r1")),
        ("/settings", Some("/settings")),
        ("/settings/geo", Some("/settings/geo")),
        ("/members", None),
        ("/nothing", None),
        ("/upstreams/", None),
        ("/upstreams//x", None),
        ("/upstreams/a%2Fb", None),
        ("/upstreams/a%zz", None),
        ("", None),
    ];
    for (path, expected) in cases {
        assert_eq!(Target::parse(path).map(|target| target.to_string()).as_deref(), expected, "{path}");
    }
    assert_eq!(Target::parse(&format!("/policies/a{}", "/b".repeat(100))), None, "too deep");
}

#[test]
fn edits_change_what_they_name_and_nothing_else() {
    let members = |weight: u64| json!({"a": {"address": "10.0.0.1:80", "weight": weight}});
    let cases: [(&str, Edit, &str, Value); 9] = [
        ("a part", put("/upstreams/app/members/b/weight", json!(5)), "/members/b/weight", json!(5)),
        (
            "a part of the short form",
            put("/upstreams/app/members/a/weight", json!(5)),
            "/members/a",
            members(5)["a"].clone(),
        ),
        ("a patch", patch("/upstreams/app", json!({"balance": "ewma"})), "/members/a", json!("10.0.0.1:80")),
        (
            "a patch of members",
            patch("/upstreams/app", json!({"members": {"b": {"weight": 9}}})),
            "/members/b/weight",
            json!(9),
        ),
        (
            "a patch that removes",
            patch("/upstreams/app", json!({"members": {"b": null}})),
            "/members",
            json!({"a": "10.0.0.1:80"}),
        ),
        (
            "a patch that adds",
            patch("/upstreams/app/members/b", json!({"backup": true})),
            "/members/b/backup",
            json!(true),
        ),
        ("all of it", put("/upstreams/app", json!({"members": members(3)})), "", json!({"members": members(3)})),
        ("none of it", put("/upstreams/app", json!({})), "", json!({})),
        ("a member less", delete("/upstreams/app/members/a"), "/members", json!({"b": app()["members"]["b"]})),
    ];
    for (name, edit, pointer, expected) in cases {
        let mut state = shop();
        let before = picture(&state);
        let applied = state.apply(2, &[edit]).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        assert_eq!(shown(&state, ResourceKind::Upstreams, "app").pointer(pointer), Some(&expected), "{name}");
        assert_eq!(state.get(ResourceKind::Upstreams, "app").map(|held| held.revision), Some(2), "{name}");
        assert_eq!(state.get(ResourceKind::Sites, "shop").map(|held| held.revision), Some(1), "{name}");
        state.undo(applied);
        assert_eq!(picture(&state), before, "{name}");
    }
}

#[test]
fn what_is_not_good_changes_nothing_and_says_where() {
    let twice = [put("/sites/a", json!({"hosts": ["x.example"]})), put("/sites/b", json!({"hosts": ["x.example"]}))];
    let circle = [put("/upstreams/b", json!({"fallback": "app"})), patch("/upstreams/app", json!({"fallback": "b"}))];
    let two = [put("/sites/a", json!({"hosts": 7})), put("/upstreams/c", json!({"balance": "dice"}))];
    let cases: [(&[Edit], &[&str]); 8] = [
        (&[put("/routes/r", json!({"site": "none", "path": "/x", "to": "app"}))], &["/routes/r/site"]),
        (&[delete("/upstreams/app")], &["/routes/all/to"]),
        (&[delete("/sites/shop")], &["/routes/all/site"]),
        (&[put("/sites/other", json!({"hosts": ["a.example", "shop.example"]}))], &["/sites/other/hosts/1"]),
        (&twice, &["/sites/b/hosts/0"]),
        (&circle, &["/upstreams/app/fallback", "/upstreams/b/fallback"]),
        (&two, &["/sites/a/hosts", "/upstreams/c/balance"]),
        (&[put("/upstreams/app", json!({"members": 7}))], &["/upstreams/app/members"]),
    ];
    for (edits, expected) in cases {
        let mut state = shop();
        let before = picture(&state);
        let refusal = state.apply(2, edits).map(|_| ()).expect_err("it is not good");
        assert_eq!(pointers(refusal), expected, "{edits:?}");
        assert_eq!(picture(&state), before, "{edits:?}");
        state.apply(2, &[delete("/routes/all"), delete("/upstreams/app")]).expect("the indices are as they were");
    }
}

#[test]
fn what_is_asked_of_what_is_not_there_is_refused() {
    let exists = Edit::new(target("/upstreams"), Action::Create(json!({"id": "app"})));
    for edit in
        [delete("/sites/none"), put("/upstreams/none/members/a", json!("10.0.0.1:80")), patch("/sites/x", json!({}))]
    {
        assert!(matches!(shop().apply(2, std::slice::from_ref(&edit)), Err(Refusal::NotFound(_))), "{edit:?}");
    }
    assert!(matches!(shop().apply(2, &[exists]), Err(Refusal::Exists(_))));
    let nameless = Edit::new(target("/sites"), Action::Create(json!({"hosts": ["y.example"]})));
    assert_eq!(shop().apply(2, &[nameless]).map(|_| ()).map_err(pointers), Err(vec!["/sites/id".to_owned()]));
    assert!(matches!(shop().apply(2, &[put("/sites", json!({}))]), Err(Refusal::NotAllowed(_))));
}

#[test]
fn hosts_may_be_exchanged_in_one_transaction() {
    let mut state = State::default();
    let site = |id: &str, host: &str| put(&format!("/sites/{id}"), json!({"hosts": [host]}));
    state.apply(1, &[site("a", "x.example"), site("b", "y.example")]).expect("two sites");
    state.apply(2, &[site("a", "y.example"), site("b", "x.example")]).expect("nobody has one twice in the end");
    assert!(state.apply(3, &[site("c", "x.example")]).is_err());
}

#[test]
fn an_upstream_is_deleted_with_its_members_and_said_once() {
    let mut state = shop();
    let applied = state.apply(2, &[delete("/routes/all"), delete("/upstreams/app")]).expect("nobody needs it");
    let names: Vec<String> = applied.deltas.iter().map(|delta| delta.key.to_string()).collect();
    assert_eq!(names, ["/upstreams/app", "/upstreams/app/members/a", "/upstreams/app/members/b", "/routes/all"]);
    let ops: Vec<Value> = applied.frames().iter().map(|frame| serde_json::from_slice(frame).expect("JSON")).collect();
    let kinds: Vec<&str> = ops.iter().filter_map(|op| op["delete"]["kind"].as_str()).collect();
    assert_eq!(kinds, ["routes", "upstreams"]);
}

#[test]
fn the_same_again_is_no_change() {
    let mut state = shop();
    let applied =
        state.apply(2, &[put("/upstreams/app", app()), delete_and_put()[0].clone(), delete_and_put()[1].clone()]);
    assert!(applied.expect("good").deltas.is_empty());
    assert_eq!(state.revision(), 1);
}

fn delete_and_put() -> [Edit; 2] {
    [delete("/routes/all"), put("/routes/all", json!({"site": "shop", "path": "/", "to": "app"}))]
}

#[test]
fn the_digest_is_that_of_the_frames() {
    let mut state = shop();
    state.apply(2, &[delete("/upstreams/app/members/a")]).expect("good");
    let sum = state.base().fold(0, |sum, frame| sum ^ weir_gateway::frame_digest(&frame));
    assert_eq!(state.digest(), sum);
    state.apply(3, &[put("/settings", json!({}))]).expect("good");
    assert_eq!(state.digest(), sum, "settings that set nothing are the same to a worker as none");
}

#[test]
fn conditions_are_of_the_resource_as_it_is_when_its_turn_comes() {
    let with = |matches: Option<Match>, absent: bool| Edit {
        condition: Condition { matches, absent },
        ..put("/sites/shop", json!({"hosts": ["z.example"]}))
    };
    for (edit, good) in [
        (with(Some(Match::Any), false), true),
        (with(Some(Match::Revisions(vec![1])), false), true),
        (with(Some(Match::Revisions(vec![7])), false), false),
        (with(None, true), false),
    ] {
        let refused = matches!(shop().apply(2, std::slice::from_ref(&edit)), Err(Refusal::Precondition(_, Some(1))));
        assert_eq!(refused, !good, "{edit:?}");
    }
}

#[test]
fn keys_never_come_out() {
    let text = json!({"certificate": "C", "key": " SECRET\n"}).to_string();
    let shown: Value = serde_json::from_str(&redacted(ResourceKind::Certificates, &text)).expect("JSON");
    assert_eq!(shown, json!({"certificate": "C", "key": {"sha256": key_hash("SECRET")}}));
    assert_eq!(key_hash("a"), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
}
