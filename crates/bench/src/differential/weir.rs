//! Weir's side: the engine in process, without nginx, given the same facts as libmodsecurity.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use bumpalo::Bump;
use weir_engine::{Context, NoMeter, Outcome, Plan};
use weir_http::{Head, Header, ResponseHead, Transaction, Version};
use weir_policy::Snapshot;
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use super::engine::Engine;
use super::request::Request;
use crate::conformance::engine::{RuleSource, weir_policy};
use weir_measure::error::MeasureError;
use weir_measure::site::write;

/// What `bench/peers/modsecurity/rules.c` says of the connection.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 80;

/// Compiles CRS with the given settings, detection only. `directory` takes the policy.
pub fn open(directory: &Path, setup: &Path, paranoia: u8) -> Result<Box<dyn Engine>, MeasureError> {
    let policy = directory.join("policy.yaml");
    write(&policy, &weir_policy(&RuleSource::packaged(), setup, paranoia))?;
    let failed = |message: String| MeasureError::wrong("weir", message);
    let snapshot = Snapshot::load(&policy).map_err(|errors| failed(errors.to_string()))?;
    let plan = snapshot.plan(&["crs"]).map_err(|error| failed(error.to_string()))?;
    Ok(Box::new(Weir { snapshot, plan }))
}

/// CRS's rules that sum up a request. They say `noauditlog`, and libmodsecurity reports no such rule.
const SUMMARIES: std::ops::Range<u64> = 980_000..981_000;

struct Weir {
    snapshot: Snapshot,
    plan: Arc<Plan>,
}

impl Engine for Weir {
    fn rules(&mut self, request: &Request) -> Result<Vec<u64>, MeasureError> {
        let arena = Bump::new();
        let transaction = Transaction::new(head(request, &arena), &arena);
        let mut outcome = Outcome::default();
        let mut meter = NoMeter;
        let mut context = Context { detect: true, request_id: b"differential", now_ms: 1, ..Context::new(&mut meter) };
        let _ = self.plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
        transaction.set_body(arena.alloc_slice_copy(&request.body));
        let _ = self.plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
        let headers = arena.alloc([Header::new(b"Content-Type", b"text/html")]);
        transaction.set_response(ResponseHead { status: 200, headers });
        let _ = self.plan.evaluate(Phase::Response, &transaction, &mut context, &mut outcome);
        for phase in [RuleSetPhase::ResponseBody, RuleSetPhase::Logging] {
            let _ = outcome.run_rule_sets(phase, &transaction, &mut context);
        }
        let labels = self.snapshot.rules();
        let id =
            |rule: usize| labels.get(rule).and_then(|label| label.id.parse().ok()).filter(|id| !SUMMARIES.contains(id));
        Ok(outcome.findings.iter().filter_map(|finding| id(finding.rule.0 as usize)).collect())
    }
}

/// The request's head in `arena`.
fn head<'a>(request: &Request, arena: &'a Bump) -> Head<'a> {
    let copy = |bytes: &[u8]| -> &'a [u8] { arena.alloc_slice_copy(bytes) };
    let headers = request.headers.iter().map(|(name, value)| Header::new(copy(name.as_bytes()), copy(value)));
    let headers: &'a [Header<'a>] = arena.alloc_slice_fill_iter(headers.collect::<Vec<_>>());
    let target = copy(&request.target);
    let end = target.iter().position(|&byte| byte == b'?');
    let (path, query) = (&target[..end.unwrap_or(target.len())], end.map_or(&b""[..], |at| &target[at + 1..]));
    let host = headers.iter().find(|header| header.name.eq_ignore_ascii_case(b"host")).map_or(&b""[..], |it| it.value);
    let host = host.split(|&byte| byte == b':').next().unwrap_or_default().to_ascii_lowercase();
    Head {
        method: copy(request.method.as_bytes()),
        target,
        path,
        query,
        version: if request.version == "1.0" { Version::Http10 } else { Version::Http11 },
        host: copy(&host),
        headers,
        peer: LOOPBACK,
        peer_port: CLIENT_PORT,
        client: LOOPBACK,
        server: LOOPBACK,
        server_port: SERVER_PORT,
        tls: None,
        received_ms: 1,
    }
}
