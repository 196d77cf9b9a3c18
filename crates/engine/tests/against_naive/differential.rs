//! One case: made from bytes, evaluated twice, compared.

mod expression;
mod policy;
mod source;
mod traffic;

use std::sync::atomic::AtomicU64;

use bumpalo::Bump;
use weir_engine::naive::{Buckets, Found, Naive};
use weir_engine::{Bans, Context, Decision, NoMeter, Outcome, Plan, RateTable, Specification};
use weir_http::{ResponseHead, Transaction};
use weir_rules::Phase;

use source::Source;
use traffic::Message;

/// Slots of the rate table: far more than a case has keys, so that none is evicted.
const RATE_SLOTS: usize = 1024;

/// Evaluates the case that `bytes` describe both ways and panics where they differ. Returns the
/// number of findings.
pub fn check(bytes: &[u8]) -> usize {
    let mut source = Source::new(bytes);
    let specification = policy::specification(&mut source);
    let all: Vec<usize> = (0..specification.policies.len()).collect();
    let plan = match Plan::compile(&specification, &all) {
        Ok(plan) => plan,
        Err(errors) => panic!("a checked policy compiles: {errors:?}\n{:#?}", specification.policies),
    };
    let memory: Vec<AtomicU64> =
        std::iter::repeat_with(AtomicU64::default).take(RateTable::bytes_for(RATE_SLOTS) / 8).collect();
    let table = RateTable::new(&memory);
    let mut buckets = Buckets::default();
    let mut findings = 0;
    let mut now_ms = 1_700_000_000_000;
    for _ in 0..=source.below(3) {
        now_ms += u64::from(source.below(8)) * 125;
        let detect = source.below(8) == 0;
        let message = Message::generate(&mut source, now_ms);
        let (request_id, bans) = (b"0190-id", (source.below(2) == 0).then_some(&policy::Halves as &dyn Bans));
        let naive = Naive { specification: &specification, apply: &all, detect, request_id, bans, now_ms };
        findings += compare(&specification, &plan, &naive, &message, &table, &mut buckets);
    }
    findings
}

fn compare(
    specification: &Specification,
    plan: &Plan,
    naive: &Naive<'_>,
    message: &Message,
    table: &RateTable<'_>,
    buckets: &mut Buckets,
) -> usize {
    let arena = Bump::new();
    let (headers, response) = (message.headers(), message.response_headers());
    let transaction = Transaction::new(message.head(&headers), &arena);
    let (mut outcome, mut found) = (Outcome::default(), Found::default());
    for phase in [Phase::Request, Phase::Body, Phase::Response] {
        match phase {
            Phase::Request => {}
            Phase::Body => {
                let wanted = plan.wants_body(&transaction, &outcome).is_some();
                transaction.set_body(&message.body);
                if !wanted {
                    // No live rule needs the body: then the phase must change nothing.
                    let before = found.hits;
                    naive.evaluate(phase, &transaction, buckets, &mut found);
                    assert_eq!(
                        before, found.hits,
                        "body not wanted, but a body rule matches\n{message:#?}\n{:#?}",
                        specification.policies
                    );
                    continue;
                }
            }
            Phase::Response => transaction.set_response(ResponseHead { status: message.status, headers: &response }),
        }
        let mut meter = NoMeter;
        let mut context = Context {
            detect: naive.detect,
            request_id: naive.request_id,
            now_ms: naive.now_ms,
            limits: Some(table),
            bans: naive.bans,
            ..Context::new(&mut meter)
        };
        let decision = plan.evaluate(phase, &transaction, &mut context, &mut outcome);
        naive.evaluate(phase, &transaction, buckets, &mut found);
        let story =
            || format!("{phase:?}\n{message:#?}\n{:#?}\nplan: {outcome:#?}\nnaive: {found:#?}", specification.policies);
        let mut ids: Vec<_> = outcome.findings.iter().map(|finding| finding.rule).collect();
        ids.dedup();
        assert_eq!(ids, found.findings, "findings differ in {}", story());
        assert_eq!(outcome.verdict, found.verdict, "verdicts differ in {}", story());
        assert_eq!(outcome.score, found.score, "scores differ in {}", story());
        assert_eq!(outcome.tags, found.tags, "tags differ in {}", story());
        let changes =
            outcome.header_changes.iter().map(|change| (change.side, change.name.clone(), change.value.clone()));
        assert_eq!(changes.collect::<Vec<_>>(), found.header_changes, "header changes differ in {}", story());
        let status = match &decision {
            Decision::Continue | Decision::Verify | Decision::Inspect => None,
            Decision::Respond(response) => Some(response.status),
        };
        assert_eq!(status, found.answered, "decisions differ in {}", story());
        if status.is_some() {
            break;
        }
    }
    found.findings.len()
}
