//! Advice for connections that are not kept alive: the missing directives, with their locations,
//! for the running version.

use super::super::nginx::{configuration, is_at_least, place};
use crate::facts::Facts;
use crate::facts::nginx::{Configuration, Directive, PassTarget, Scope, Upstream};
use crate::finding::Evidence;

/// Since this version `upstream` blocks have `keepalive 32 local`, and HTTP/1.1 is the default.
const DEFAULT_SINCE: (u32, u32, u32) = (1, 29, 7);

/// Advice derived from the configuration.
pub(super) struct Advice {
    /// The end of the sentence.
    pub why: String,
    /// The responsible lines of the configuration.
    pub places: Vec<Evidence>,
    /// The fix.
    pub fix: String,
    /// Whether the cause was found in the configuration.
    pub seen: bool,
}

/// Advice, depending on what connects and on the configuration.
pub(super) fn advise(facts: &Facts, by_lua: bool, is_nginx: bool) -> Advice {
    let unseen = |why: &str, fix: String| Advice { why: why.into(), places: Vec::new(), fix, seen: false };
    if by_lua {
        return unseen(
            "Lua opens them (cosockets) and does not return them to the pool",
            "call sock:setkeepalive(max_idle_ms, pool_size) instead of sock:close() when a request is done with it; in \
             lua-resty clients: client:set_keepalive(...)"
                .into(),
        );
    }
    if !is_nginx {
        return unseen("they are not kept alive", "keep connections in a pool and reuse them".into());
    }
    let modern = is_at_least(facts, DEFAULT_SINCE).unwrap_or(false);
    let Some(configuration) = configuration(facts) else {
        return unseen(
            "they are not kept alive (the configuration was not read)",
            lines(modern, "NAME", "ADDRESS:PORT", true),
        );
    };
    let mut lacking: Vec<Advice> =
        configuration.locations().iter().filter_map(|scope| lacking(scope, configuration, modern)).collect();
    lacking.dedup_by(|next, one| next.why == one.why);
    match lacking.len() {
        1.. => one_of(lacking),
        0 => unseen(
            "every upstream in the configuration has keepalive, so either it is too small, or the upstreams close connections",
            "raise `keepalive` to the number of connections that a worker uses at a time, and check the \
             upstream's own limits (keepalive_timeout, keepalive_requests, `Connection: close` in its responses)"
                .into(),
        ),
    }
}

/// One cause, or several that stacks cannot distinguish, because it is not known which of them has the traffic.
fn one_of(mut lacking: Vec<Advice>) -> Advice {
    /// Maximum number of causes that are named; positions are given for all.
    const SHOWN: usize = 4;
    let mut first = lacking.remove(0);
    if lacking.is_empty() {
        return first;
    }
    let more = lacking.len().saturating_sub(SHOWN - 1);
    for other in lacking.into_iter().take(SHOWN - 1) {
        first.why.push_str(&format!("; {}", other.why));
        first.places.extend(other.places);
    }
    if more > 0 {
        first.why.push_str(&format!("; and {more} more"));
    }
    first.places.truncate(SHOWN);
    Advice { why: format!("one or more of these: {}", first.why), seen: false, ..first }
}

/// The missing directives of one location that passes requests to an upstream.
fn lacking(scope: &Scope<'_>, configuration: &Configuration, modern: bool) -> Option<Advice> {
    scope.passes().into_iter().find_map(|pass| match pass.target {
        PassTarget::Upstream(block) => of_upstream(scope, pass.directive, &Upstream { directive: block }, modern),
        PassTarget::Address(address) if !address.starts_with("unix:") => Some(Advice {
            why: format!(
                "{} goes to a plain address, and only an upstream block keeps connections",
                pass.directive.name
            ),
            places: vec![place(pass.directive)],
            fix: lines(modern, "app", address, speaks_http(pass.directive)),
            seen: true,
        }),
        PassTarget::Variable(written) if !names_upstream(written, configuration) => Some(Advice {
            why: format!("{} goes to an address that is known only at request time", pass.directive.name),
            places: vec![place(pass.directive)],
            fix: lines(modern, "app", "ADDRESS:PORT", speaks_http(pass.directive)),
            seen: true,
        }),
        PassTarget::Address(_) | PassTarget::Variable(_) => None,
    })
}

/// A variable may hold the name of an upstream; the value of a map or a set usually does.
fn names_upstream(written: &str, configuration: &Configuration) -> bool {
    let written = written.split_once("://").map_or(written, |(_, rest)| rest);
    written.starts_with('$') && !configuration.upstreams().is_empty()
}

fn of_upstream(scope: &Scope<'_>, pass: &Directive, upstream: &Upstream<'_>, modern: bool) -> Option<Advice> {
    let keeps = match upstream.keepalive() {
        Some(keepalive) => keepalive.value() != "0",
        None => modern,
    };
    let block = upstream.directive;
    let advice = |why: String, places: Vec<&Directive>, fix: String| {
        Some(Advice { why, places: places.into_iter().map(place).collect(), fix, seen: true })
    };
    if !keeps {
        let server = upstream.servers().next().map_or("ADDRESS:PORT", Directive::value);
        return advice(
            format!("upstream {} has no keepalive", upstream.name()),
            vec![block, pass],
            lines(modern, upstream.name(), server, speaks_http(pass)),
        );
    }
    if !speaks_http(pass) {
        return None;
    }
    let version = scope.value("proxy_http_version").unwrap_or(if modern { "1.1" } else { "1.0" });
    let headers = scope.all("proxy_set_header");
    let connection = headers.iter().find(|header| header.value().eq_ignore_ascii_case("connection"));
    let closes = match connection {
        Some(header) => header.arguments.get(1).is_some_and(|value| value.eq_ignore_ascii_case("close")),
        None => !modern,
    };
    let missing: Vec<&str> = [
        (version == "1.0").then_some("proxy_http_version 1.1;"),
        closes.then_some("proxy_set_header Connection \"\";"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if missing.is_empty() {
        return None;
    }
    advice(
        format!("upstream {} has keepalive, but {} closes each connection", upstream.name(), scope.title()),
        std::iter::once(pass).chain(upstream.keepalive()).chain(connection.copied()).collect(),
        format!("beside {}:\n{}", pass.place, missing.join("\n")),
    )
}

/// Only `proxy_pass` has a version and headers to set; the others keep connections once the
/// upstream does (FastCGI: see below).
fn speaks_http(pass: &Directive) -> bool {
    pass.name == "proxy_pass"
}

/// The directives that make nginx keep connections.
fn lines(modern: bool, name: &str, server: &str, http: bool) -> String {
    let version = match (modern, http) {
        (false, true) => {
            "\nproxy_http_version 1.1;             # where proxy_pass is; 1.0 is the default before 1.29.7\nproxy_set_header Connection \"\";"
        }
        (true, true) => "",
        (_, false) => "\nfastcgi_keep_conn on;               # for fastcgi_pass only",
    };
    format!("upstream {name} {{\n    server {server};\n    keepalive 64;\n}}{version}")
}
