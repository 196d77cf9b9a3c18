use serde_json::{Value, json};
use weir_policy::Snapshot;

use super::*;

fn settings(policies: &[&str]) -> Value {
    json!({"put": {"settings": {"policies": policies, "default_certificate": null}}})
}

fn member(upstream: &str, weight: u32) -> Value {
    json!({"put": {"member": {"upstream": upstream, "member": {
        "id": "m", "address": "192.0.2.1:80", "socket": "192.0.2.1:80", "weight": weight, "backup": false, "drain": false,
    }}}})
}

fn upstream(id: &str) -> Value {
    json!({"put": {"upstream": {
        "id": id, "balance": "round_robin", "protocol": "http", "keepalive": null, "passive": null, "active": null,
        "tls": {"verify": true}, "host": "preserve", "slow_start_ms": 0, "resolve_every_ms": 1000, "fallback": null,
    }}})
}

fn policies(text: &str) -> Value {
    json!({"put_policies": {"text": text}})
}

const GOOD: &str = r#"{"policies": [
    {"id": "a", "rules": [{"id": "a1", "when": "http.request.method eq \"PUT\"", "action": "block"}]}
]}"#;
const BETTER: &str = r#"{"policies": [
    {"id": "a", "rules": [{"id": "a1", "when": "http.request.method eq \"PUT\"", "action": "block"}]},
    {"id": "b", "rules": [{"id": "b1", "when": "http.request.method eq \"GET\"", "action": "log"}]}
]}"#;

/// What each revision comes to: `+` served, `-` refused, `.` waiting.
fn run(revisions: &[&[Value]]) -> (Draft, String) {
    let mut draft = Draft::empty();
    let mut patterns = Patterns::new();
    let mut came = String::new();
    for (revision, operations) in revisions.iter().enumerate() {
        for operation in *operations {
            let frame = serde_json::to_vec(operation).unwrap();
            match serde_json::from_slice(&frame) {
                Ok(op) => drop(draft.apply(weir_gateway::frame_digest(&frame), op, &mut patterns)),
                Err(error) => draft.refuse_frame(&frame, error.to_string()),
            }
        }
        if let Some(unbuilt) = draft.unbuilt() {
            let result = build(&unbuilt);
            draft.built(unbuilt.digest, result);
        }
        came.push(match draft.commit(revision as u64 + 1) {
            Verdict::Whole => '+',
            Verdict::Refused(_) => '-',
            Verdict::Waiting => '.',
        });
    }
    (draft, came)
}

fn build(unbuilt: &Unbuilt) -> Result<Built, String> {
    let path = std::path::Path::new("p.json");
    let snapshot = Snapshot::parse(&unbuilt.text, path).map_err(|errors| errors.to_string())?;
    let mut built = Policies::new(snapshot, None, 0);
    let place = |set: &Set| built.place(set).err().map(|error| (set.clone(), error.to_string()));
    let missing = unbuilt.sets.iter().filter_map(place).collect();
    Ok(Built { policies: Arc::new(built), row: None, missing })
}

#[test]
fn what_is_refused_is_waited_for_until_it_is_undone() {
    let gone = |id: &str| json!({"delete": {"kind": "upstreams", "id": id}});
    let no_member = |upstream: &str| json!({"delete": {"kind": "members", "id": format!("{upstream}/m")}});
    let cases: &[(&str, &[&[Value]], &str)] = &[
        ("a member without its upstream, then without it", &[&[member("u", 1)], &[], &[no_member("u")]], "-.+"),
        ("the same, and the upstream comes", &[&[member("u", 1)], &[upstream("u"), member("u", 1)]], "-+"),
        ("what hangs on it", &[&[no_member("u")], &[member("u", 1)], &[no_member("u")]], "-.+"),
        ("the upstream is undone with its members", &[&[member("u", 1)], &[member("u", 2)], &[gone("u")]], "-.+"),
        ("nonsense stays", &[&[json!({"sing": {}})], &[settings(&[])]], "-."),
        ("bad within a revision and mended in it", &[&[member("u", 1), upstream("u"), member("u", 1)]], "+"),
        ("what is not there cannot be deleted", &[&[gone("u")], &[gone("u")]], "-+"),
        ("policies that do not build", &[&[policies(GOOD)], &[policies("{")], &[], &[policies(GOOD)]], "+-.+"),
        ("a policy that is not there", &[&[policies(GOOD), settings(&["b"])], &[settings(&["a"])]], "-+"),
        ("it comes in the same revision", &[&[settings(&["b"]), policies(BETTER)]], "+"),
        ("there are no policies", &[&[settings(&["a"])], &[settings(&[])]], "-+"),
        ("it comes later", &[&[settings(&["a"])], &[policies(GOOD), settings(&["a"])]], "-+"),
    ];
    for (what, revisions, expected) in cases {
        let (_, came) = run(revisions);
        assert_eq!(came, *expected, "{what}");
    }
}

#[test]
fn an_undone_refusal_leaves_what_was_before() {
    let good: &[Value] = &[upstream("u"), member("u", 1), policies(GOOD), settings(&["a"])];
    let (plain, _) = run(&[good]);
    let (undone, came) = run(&[
        good,
        &[policies("{"), member("v", 1), settings(&["c"])],
        &[policies(GOOD), json!({"delete": {"kind": "members", "id": "v/m"}}), settings(&["a"])],
    ]);
    assert_eq!(came, "+-+");
    assert_eq!(plain.gateway.digest(), undone.gateway.digest());
    let names = ["a".to_owned()];
    assert!(undone.policies.is_some_and(|policies| policies.plan(&names).is_some()));
}

#[test]
fn a_base_does_not_build_the_same_policies_again() {
    let (mut draft, _) = run(&[&[policies(GOOD), settings(&["a"])]]);
    let mut patterns = Patterns::new();
    draft.restart();
    for operation in [policies(GOOD), settings(&["a"])] {
        let frame = serde_json::to_vec(&operation).unwrap();
        draft.apply(weir_gateway::frame_digest(&frame), serde_json::from_slice(&frame).unwrap(), &mut patterns);
    }
    assert!(!draft.is_served() && draft.unbuilt().is_none());
    assert!(matches!(draft.commit(1), Verdict::Whole) && draft.is_served());
}

#[test]
fn a_reason_is_cut_between_characters() {
    let long = "ä".repeat(MAX_REASON);
    let mut draft = Draft::empty();
    draft.refuse(Key::unreadable(), long);
    let Verdict::Refused(reason) = draft.commit(1) else { panic!("refused") };
    assert!(reason.len() <= MAX_REASON && reason.chars().all(|char| char == 'ä'));
}
