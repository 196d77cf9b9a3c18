//! The results of revisions; a worker that followed all of them has the same state as a new one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{frame_digest, resource::Document, testing};

/// Policies as the tests compile them: sets whose policies are all there.
#[derive(Debug)]
struct Plans(BTreeSet<PolicySet>);

impl Compiled for Plans {
    fn has(&self, set: &[String]) -> bool {
        self.0.contains(set)
    }
}

/// A document with the text `bad` does not compile.
fn compile(job: &Uncompiled<Plans>) -> Result<Outcome<Plans>, String> {
    let mut documents = job.documents.clone();
    let mut left_out = Vec::new();
    for (kind, document) in job.documents.iter().filter(|(_, document)| document.json.contains("bad")) {
        let reason = format!("{kind}/{} is bad", document.id);
        if !job.tolerated.has(kind, &document.id) {
            return Err(reason);
        }
        documents.set(kind, &document.id, None);
        left_out.push((kind, document.id.clone(), reason));
    }
    let is_there = |set: &&PolicySet| set.iter().all(|id| documents.get(ResourceKind::Policies, id).is_some());
    let (good, missing): (Vec<_>, Vec<_>) = job.sets.iter().partition(is_there);
    let missing = missing.into_iter().map(|set| (set.clone(), format!("no policy for {set:?}"))).collect();
    Ok(Outcome { policies: Arc::new(Plans(good.into_iter().cloned().collect())), missing, left_out })
}

/// A worker: its draft, and what it serves (the digest, and the sets that are compiled).
struct Worker {
    draft: Draft<Plans>,
    patterns: Patterns,
    served: (u64, BTreeSet<PolicySet>),
    compiled: usize,
}

impl Worker {
    fn new() -> Self {
        let mut draft = Draft::empty();
        assert_eq!(draft.commit(0), Verdict::Whole, "it has started, with nothing");
        Self { draft, patterns: Patterns::new(), served: Default::default(), compiled: 0 }
    }

    fn revision<'f>(&mut self, revision: u64, frames: impl IntoIterator<Item = &'f Vec<u8>>) -> Verdict {
        for frame in frames {
            match serde_json::from_slice(frame) {
                Ok(op) => drop(self.draft.apply(frame_digest(frame), op, &mut self.patterns)),
                Err(error) => self.draft.refuse_frame(frame, error.to_string()),
            }
        }
        if let Some(job) = self.draft.uncompiled() {
            self.compiled += 1;
            self.draft.compiled(job.documents.digest(), compile(&job));
        }
        let verdict = self.draft.commit(revision);
        if verdict == Verdict::Whole {
            let sets = self.draft.sets.keys().cloned().collect();
            let compiled = |set: &PolicySet| self.draft.policies().is_some_and(|policies| policies.has(set));
            let is_whole = self.draft.left_out().next().is_none();
            assert!(!is_whole || self.draft.sets.keys().all(compiled), "served, but not compiled: {sets:?}");
            self.served = (self.draft.gateway.digest(), sets);
        }
        verdict
    }
}

fn frame(op: &Value) -> Vec<u8> {
    serde_json::to_vec(op).unwrap()
}

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

fn site(id: &str, policies: &[&str]) -> Value {
    let policies = Some(policies.iter().map(|name| (*name).to_owned()).collect());
    let site = crate::resource::Site { policies, ..testing::site(id, &[&format!("{id}.example")]) };
    json!({"put": {"site": site}})
}

fn policy(id: &str, content: &str) -> Value {
    json!({"put": {"policy": Document::new(id, format!("{{\"content\":\"{content}\"}}"))}})
}

fn delete(kind: &str, id: &str) -> Value {
    json!({"delete": {"kind": kind, "id": id}})
}

/// The result of each revision: `+` served, `-` refused, `.` waiting.
fn run(revisions: &[&[Value]]) -> (Worker, String) {
    let mut worker = Worker::new();
    let mut came = String::new();
    for (revision, operations) in revisions.iter().enumerate() {
        let frames: Vec<Vec<u8>> = operations.iter().map(frame).collect();
        came.push(match worker.revision(revision as u64 + 1, &frames) {
            Verdict::Whole => '+',
            Verdict::Refused(_) => '-',
            Verdict::Waiting => '.',
        });
    }
    (worker, came)
}

#[test]
fn what_is_refused_is_waited_for_until_it_is_undone() {
    let (gone, no_member) = (|id: &str| delete("upstreams", id), |id: &str| delete("members", &format!("{id}/m")));
    let (good, better) = (|| policy("a", "good"), || policy("b", "good"));
    let no_policies = || delete("policies", "a");
    let cases: &[(&str, &[&[Value]], &str)] = &[
        ("a member without its upstream, then without it", &[&[member("u", 1)], &[], &[no_member("u")]], "-.+"),
        ("the same, and the upstream comes", &[&[member("u", 1)], &[upstream("u"), member("u", 1)]], "-+"),
        ("what hangs on it", &[&[no_member("u")], &[member("u", 1)], &[no_member("u")]], "-.+"),
        ("the upstream is undone with its members", &[&[member("u", 1)], &[member("u", 2)], &[gone("u")]], "-.+"),
        ("nonsense stays", &[&[json!({"sing": {}})], &[settings(&[])]], "-."),
        ("bad within a revision and mended in it", &[&[member("u", 1), upstream("u"), member("u", 1)]], "+"),
        ("what is not there cannot be deleted", &[&[gone("u")], &[gone("u")]], "-+"),
        ("a policy that does not compile", &[&[good()], &[policy("a", "bad")], &[], &[good()]], "+-.+"),
        ("another document mends it", &[&[policy("a", "bad")], &[better()], &[no_policies()]], "--+"),
        ("a policy that is not there", &[&[good(), settings(&["b"])], &[settings(&["a"])]], "-+"),
        ("it comes in the same revision", &[&[settings(&["b"]), better()]], "+"),
        ("there are no policies", &[&[settings(&["a"])], &[settings(&[])]], "-+"),
        ("it comes later", &[&[settings(&["a"])], &[good(), settings(&["a"])]], "-+"),
        ("what is named goes", &[&[good(), better(), settings(&["a"])], &[no_policies()], &[good()]], "+-+"),
    ];
    for (what, revisions, expected) in cases {
        let (_, came) = run(revisions);
        assert_eq!(came, *expected, "{what}");
    }
}

#[test]
fn an_undone_refusal_leaves_what_was_before() {
    let good: &[Value] = &[upstream("u"), member("u", 1), policy("a", "good"), settings(&["a"])];
    let (plain, _) = run(&[good]);
    let (undone, came) = run(&[
        good,
        &[policy("a", "bad"), member("v", 1), settings(&["c"])],
        &[policy("a", "good"), delete("members", "v/m"), settings(&["a"])],
    ]);
    assert_eq!(came, "+-+");
    assert_eq!(plain.served, undone.served);
}

#[test]
fn a_base_does_not_compile_the_same_policies_again() {
    let (mut worker, _) = run(&[&[policy("a", "good"), settings(&["a"])]]);
    worker.draft.restart();
    assert_eq!(worker.revision(1, &[frame(&policy("a", "good")), frame(&settings(&["a"]))]), Verdict::Whole);
    assert_eq!(worker.compiled, 1);
    worker.draft.restart();
    assert_eq!(worker.revision(2, &[]), Verdict::Whole);
    assert!(worker.draft.policies().is_none());
}

#[test]
fn sets_that_nothing_names_any_more_are_not_compiled() {
    let sites: Vec<Value> = (0..MAX_SETS).map(|n| site(&format!("s{n}"), &["a", &format!("p{n}")])).collect();
    let policies: Vec<Value> =
        (0..MAX_SETS).map(|n| policy(&format!("p{n}"), "good")).chain([policy("a", "good")]).collect();
    let (mut worker, came) =
        run(&[&policies, &sites, &[site("s0", &["a"])], &[site("s1", &["a"]), site("s2", &["a"])]]);
    assert_eq!((came.as_str(), worker.draft.sets.len()), ("++++", MAX_SETS - 2));
    let two_more = [frame(&site("x", &["p0"])), frame(&site("y", &["p1"])), frame(&site("z", &["p2"]))];
    let Verdict::Refused(reason) = worker.revision(9, &two_more) else { panic!("one set too many") };
    assert_eq!(reason, "routes name 4097 different sets of policies; at most 4096 are possible");
    assert_eq!(worker.revision(10, &[frame(&delete("sites", "x"))]), Verdict::Waiting);
    let undo = ["y", "z"].map(|id| frame(&delete("sites", id)));
    assert_eq!(worker.revision(11, &undo), Verdict::Whole);
}

#[test]
fn a_reason_is_cut_between_characters() {
    let mut draft = Draft::<Plans>::empty();
    draft.commit(0);
    draft.refuse(Subject::Unreadable, "ä".repeat(MAX_REASON));
    let Verdict::Refused(reason) = draft.commit(1) else { panic!("refused") };
    assert!(reason.len() <= MAX_REASON && reason.chars().all(|char| char == 'ä'));
}

#[test]
fn a_worker_that_starts_leaves_out_what_it_cannot_use_and_refuses_only_what_is_new() {
    let mut worker = Worker::new();
    worker.draft.restart();
    let mut revision = |operations: &[Value]| {
        let frames: Vec<Vec<u8>> = operations.iter().map(frame).collect();
        let verdict = worker.revision(worker.draft.gateway.revision() + 1, &frames);
        let left_out: Vec<String> = worker.draft.left_out().map(|(what, _)| what).collect();
        let has = |id: &str| worker.draft.policies().is_some_and(|policies| policies.has(&[id.to_owned()]));
        (verdict, left_out.join(" "), has("a"), has("b"), worker.draft.retry().is_some())
    };
    let whole = |left_out: &str, a, b| (Verdict::Whole, left_out.to_owned(), a, b, left_out.contains("/policies"));
    let begin = [policy("a", "bad"), policy("b", "good"), site("a", &["a"]), site("b", &["b"]), member("u", 1)];
    assert_eq!(revision(&begin), whole("/policies/a /members/u/m", false, true));
    assert_eq!(revision(&[site("c", &["a"])]), whole("/policies/a /members/u/m", false, true));
    assert_eq!(revision(&[policy("b", "better")]), whole("/policies/a /members/u/m", false, true));
    let (verdict, ..) = revision(&[policy("b", "bad")]);
    assert_eq!(verdict, Verdict::Refused("policies/b is bad".to_owned()));
    assert_eq!(revision(&[policy("b", "better")]), whole("/policies/a /members/u/m", false, true));
    // What was left out and is written again is new.
    let (verdict, ..) = revision(&[policy("a", "bad again")]);
    assert_eq!(verdict, Verdict::Refused("policies/a is bad".to_owned()));
    assert_eq!(revision(&[policy("a", "good")]), whole("/members/u/m", true, true));
    assert_eq!(revision(&[upstream("u"), member("u", 1)]), whole("", true, true));
}

/// A change of one resource: its path, and the operation that puts it; `None` deletes it.
type Change = (&'static str, String, Option<Value>);

fn change() -> impl Strategy<Value = Change> {
    let id = || prop::sample::select(vec!["a", "b", "c"]);
    let names = || prop::collection::btree_set(id(), 0..3).prop_map(Vec::from_iter);
    prop_oneof![
        3 => (id(), prop::sample::select(vec!["good", "better", "bad"]))
            .prop_map(|(id, content)| ("policies", id.to_owned(), Some(policy(id, content)))),
        2 => id().prop_map(|id| ("policies", id.to_owned(), None)),
        3 => (id(), names()).prop_map(|(id, names)| ("sites", id.to_owned(), Some(site(id, &names)))),
        1 => id().prop_map(|id| ("sites", id.to_owned(), None)),
        1 => names().prop_map(|names| ("settings", String::new(), Some(settings(&names)))),
        1 => id().prop_map(|id| ("upstreams", id.to_owned(), Some(upstream(id)))),
        2 => (id(), 1..9u32).prop_map(|(id, weight)| ("members", format!("{id}/m"), Some(member(id, weight)))),
    ]
}

/// The state of control: the frame of each resource by kind and id, in the order of a base.
type Model = BTreeMap<(usize, String), Vec<u8>>;

const ORDER: [&str; 5] = ["policies", "settings", "upstreams", "members", "sites"];

/// Makes a change in the model.
fn make(model: &mut Model, (kind, id, new): &Change) {
    let Some(kind) = ORDER.iter().position(|known| known == kind) else { return };
    match new {
        Some(op) => _ = model.insert((kind, id.clone()), frame(op)),
        None => _ = model.remove(&(kind, id.clone())),
    }
}

/// The operations that lead from one model to another, as control orders them: what goes, members with their upstreams,
/// then what comes.
fn operations(before: &Model, model: &Model) -> Vec<Vec<u8>> {
    let keys = before.keys().chain(model.keys());
    let touched: BTreeSet<&(usize, String)> = keys.filter(|key| before.get(*key) != model.get(*key)).collect();
    let goes = |key: &(usize, String)| touched.contains(key) && !model.contains_key(key);
    let with_its_upstream = |(kind, id): &(usize, String)| {
        *kind == 3 && id.split_once('/').is_some_and(|(upstream, _)| goes(&(2, upstream.to_owned())))
    };
    let gone = touched.iter().rev().filter(|key| goes(key) && !with_its_upstream(key));
    let gone = gone.map(|(kind, id)| frame(&delete(ORDER[*kind], id)));
    gone.chain(touched.iter().filter_map(|key| model.get(*key).cloned())).collect()
}

proptest! {
    /// Control undoes refused revisions; any number of valid and invalid ones may come before that.
    #[test]
    fn who_followed_serves_what_who_starts_serves(
        revisions in prop::collection::vec((prop::collection::vec(change(), 1..5), any::<bool>(), any::<bool>()), 1..24),
    ) {
        let (mut worker, mut model) = (Worker::new(), Model::new());
        let mut revision = 0;
        for (changes, backwards, starts_anew) in &revisions {
            revision += 1;
            let served = worker.served.clone();
            let before = model.clone();
            changes.iter().for_each(|change| make(&mut model, change));
            let mut frames = operations(&before, &model);
            if *backwards {
                frames.reverse(); // members before their upstreams, for one
            }
            match worker.revision(revision, &frames) {
                Verdict::Whole => {}
                Verdict::Waiting => prop_assert!(false, "every refusal was undone"),
                Verdict::Refused(_) => {
                    prop_assert_eq!(&worker.served, &served);
                    let undo = operations(&model, &before);
                    model = before;
                    revision += 1;
                    prop_assert_eq!(worker.revision(revision, &undo), Verdict::Whole);
                    prop_assert_eq!(&worker.served, &served);
                }
            }
            let mut fresh = Worker::new();
            prop_assert_eq!(fresh.revision(revision, model.values()), Verdict::Whole);
            prop_assert_eq!(&fresh.served, &worker.served);
            if *starts_anew {
                worker.draft.restart();
                prop_assert_eq!(worker.revision(revision, model.values()), Verdict::Whole);
                prop_assert_eq!(&fresh.served, &worker.served);
            }
        }
    }
}
