//! `upstream-no-keepalive`: each request opens a connection to its upstream and closes it again.
//!
//! This problem cost one gateway 93 % of its throughput. Only nginx's upstream side makes connections (those of
//! clients are accepted), so `connect()` alone is the sign; a close counts unless it is that of a client's
//! connection. The configuration then shows which directive is missing, depending on the version: since 1.29.7
//! `upstream` blocks keep connections alive by default, plain addresses still do not.

mod advice;

use self::advice::advise;
use super::nginx::again;
use super::stacks::{Stacks, TimeShare};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const NO_KEEPALIVE: Rule = Rule {
    id: "upstream-no-keepalive",
    title: "Connections to upstreams are opened and closed for each request",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `connect()` and below `close()` of connections other than clients', calls of `connect` per \
               request, `keepalive`, `proxy_http_version` and the header `Connection` of every `proxy_pass`, and Lua's cosockets",
    threshold: "from 5 % of the CPU, or from 2.5 % with at least 0.2 connections per request if both are counted: with \
                keepalive it is below 1 %, without it 20 to 65 %",
    check,
};

/// Minimum share of CPU.
const SHARE: f64 = 0.05;
/// Minimum number of connections per request.
const PER_REQUEST: f64 = 0.2;
/// Below this number of samples a share is random.
const SAMPLES: u64 = 10;

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let connect = stacks.named(CONNECT);
    let (close, client) = (stacks.named(CLOSE), stacks.named(CLIENT));
    let connecting = stacks.under(&connect);
    let of_upstream = |stack: &[_]| close.any(stack) && !client.any(stack);
    let closing = stacks.part(of_upstream);
    // A process that never connects closes something else: files, or clients' connections in a
    // program other than nginx.
    if connecting.samples == 0 || !speaks(facts, &connecting, &closing) {
        return None;
    }
    let both = stacks.part(|stack| connect.any(stack) || of_upstream(stack));
    let cosocket = stacks.named(&["ngx_http_lua_socket_*", "ngx_stream_lua_socket_*"]);
    let by_lua = stacks.part(|stack| connect.any(stack) && cosocket.any(stack));
    let is_nginx = facts.nginx.is_some() || stacks.under(&stacks.named(&["ngx_*"])).samples > 0;
    let mut advice = advise(facts, by_lua.share > connecting.share / 2.0, is_nginx);
    let finding = Finding::new(
        NO_KEEPALIVE.id,
        format!(
            "{} of the CPU goes to opening and closing connections to upstreams: {}.",
            percent(both.share),
            advice.why
        ),
    );
    let finding = calls(facts, finding.with(advice.places.drain(..)));
    Some(
        finding
            .severity(if both.share >= 0.15 { Severity::Serious } else { Severity::Warning })
            .confidence(if advice.seen { Confidence::Certain } else { Confidence::Likely })
            .share(both.share)
            .with(stacks.call_paths(&connect, 1))
            .with(stacks.call_paths_where(&close, |stack| !client.any(stack), 1))
            .fix(advice.fix)
            .verify(again(facts, NO_KEEPALIVE.id)),
    )
}

fn speaks(facts: &Facts, connecting: &TimeShare, closing: &TimeShare) -> bool {
    let both = connecting.share + closing.share;
    let enough = connecting.samples + closing.samples >= SAMPLES;
    let often = connections_per_request(facts).is_some_and(|rate| rate >= PER_REQUEST);
    // A service with few but expensive requests connects for each of them without a noticeable cost.
    enough && connecting.share >= 0.01 && (both >= SHARE || (often && both >= SHARE / 2.0))
}

fn connections_per_request(facts: &Facts) -> Option<f64> {
    let requests = facts.requests.filter(|&requests| requests > 0)?;
    #[allow(clippy::cast_precision_loss, reason = "a ratio to show")]
    counted(facts, "connect").map(|calls| calls as f64 / requests as f64)
}

/// Number of calls of a system call; `None` if calls were not counted.
fn counted(facts: &Facts, name: &str) -> Option<u64> {
    let calls = &facts.profile.as_ref()?.system_calls;
    let of_name = calls.iter().filter(|call| call.name == name).map(|call| call.calls).sum();
    (!calls.is_empty()).then_some(of_name)
}

fn calls(facts: &Facts, finding: Finding) -> Finding {
    let Some(connects) = counted(facts, "connect") else { return finding };
    let rate = connections_per_request(facts).map_or_else(String::new, |rate| format!(", {rate:.2} per request"));
    let closes = counted(facts, "close").unwrap_or(0);
    finding.figure("connect() and close()", format!("{connects} and {closes} calls in {:.0} s{rate}", facts.seconds))
}

const CONNECT: &[&str] = &[
    "ngx_event_connect_peer",
    "connect",
    "__connect",
    "__libc_connect",
    "__GI___connect",
    "__connect_internal",
    "__sys_connect",
    "__x64_sys_connect",
    "__se_sys_connect",
];
const CLOSE: &[&str] = &["ngx_close_connection", "tcp_close", "__tcp_close", "inet_release", "sock_close"];
const CLIENT: &[&str] = &["ngx_http_close_connection", "ngx_http_close_request"];
