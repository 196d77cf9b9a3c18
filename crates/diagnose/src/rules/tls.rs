//! `tls-no-resumption`: every connection pays for a signature that a resumed session would have saved.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::nginx::Scope;
use crate::facts::{Configuration, Directive, Facts};
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const NO_RESUMPTION: Rule = Rule {
    id: "tls-no-resumption",
    title: "TLS handshakes without resumption",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in TLS handshakes with clients, the part of it in signing, `ssl_session_cache` and `ssl_session_tickets` of servers \
               with `listen ... ssl`",
    threshold: "from 10 % of the CPU in handshakes if neither cache nor tickets are on; from 30 % if they are on or not \
                known: a resumed handshake does not sign, and takes a fifth of the time",
    check,
};

const HANDSHAKE: &[&str] = &[
    "SSL_do_handshake",
    "SSL_accept",
    "ngx_ssl_handshake",
    "ngx_http_ssl_handshake*",
    "state_machine",
    "tls_construct_*",
    "tls_process_*",
];
const SIGN: &[&str] = &[
    "EVP_PKEY_sign",
    "EVP_DigestSign",
    "EVP_DigestSignFinal",
    "RSA_sign",
    "RSA_private_encrypt",
    "rsa_ossl_private_encrypt",
    "rsa_ossl_mod_exp",
    "ECDSA_sign",
    "ossl_ecdsa_*",
    "ecdsa_*",
    "tls_construct_cert_verify",
    "tls_construct_server_key_exchange",
    "BN_mod_exp_mont*",
];
/// After its first round trip an upstream's handshake continues outside the upstream module; then
/// OpenSSL's functions identify it.
const OF_UPSTREAM: &[&str] = &[
    "ngx_http_upstream_*",
    "ngx_event_connect_peer",
    "ngx_http_lua_socket_*",
    "ossl_statem_connect",
    "ossl_statem_client_*",
    "tls_construct_client_*",
    "tls_process_server_*",
];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let (handshake, upstream) = (stacks.named(HANDSHAKE), stacks.named(OF_UPSTREAM));
    let part = stacks.part(|stack| handshake.any(stack) && !upstream.any(stack));
    // If handshakes with upstreams cannot be distinguished reliably, the configuration alone is not evidence.
    let off = configuration(facts).filter(|one| !passes_on_tls(one)).and_then(without_resumption);
    if !part.reaches(if off.is_some() { 0.1 } else { 0.3 }, 10) {
        return None;
    }
    let sign = stacks.named(SIGN);
    let signing = stacks.part(|stack| handshake.any(stack) && !upstream.any(stack) && sign.any(stack));
    let why = if off.is_some() {
        "sessions are not resumed: neither cache nor tickets are on"
    } else {
        "few sessions are resumed"
    };
    Some(
        Finding::new(NO_RESUMPTION.id, format!("{} of the CPU goes to TLS handshakes, and {why}.", percent(part.share)))
            .severity(if part.share >= 0.3 { Severity::Serious } else { Severity::Warning })
            .confidence(if off.is_some() { Confidence::Certain } else { Confidence::Possible })
            .share(part.share)
            .with(off.into_iter().flatten().take(3).map(place))
            .figure("signing", percent(signing.share))
            .with(stacks.call_paths_where(&handshake, |stack| !upstream.any(stack), 1))
            .fix(
                "ssl_session_cache shared:SSL:10m;\nssl_session_timeout 1h;\nssl_session_tickets on;   # with ssl_session_ticket_key \
                 if there are several machines\nkeepalive_timeout 75s;      # and a certificate with an ECDSA key signs ten times as fast as RSA",
            )
            .verify(again(facts, NO_RESUMPTION.id)),
    )
}

/// Whether requests are passed to servers over TLS.
fn passes_on_tls(configuration: &Configuration) -> bool {
    let with_tls =
        |one: &&Directive| ["https://", "grpcs://", "suwsgi://"].iter().any(|scheme| one.value().starts_with(scheme));
    ["proxy_pass", "grpc_pass", "uwsgi_pass"].iter().any(|name| configuration.all(name).iter().any(with_tls))
        || configuration.all("proxy_ssl").iter().any(|one| one.value() == "on")
}

/// The directives of a TLS server that resumes nothing: those that turn both ways off, and its listen directives.
fn without_resumption(configuration: &Configuration) -> Option<Vec<&Directive>> {
    configuration.servers().iter().find_map(|server| {
        let listens =
            server.own().iter().find(|one| one.name == "listen" && one.arguments.iter().any(|word| word == "ssl"))?;
        let tickets = server.effective("ssl_session_tickets").filter(|one| one.value() == "off")?;
        (!caches(server)).then(|| {
            [Some(listens), Some(tickets), server.effective("ssl_session_cache")].into_iter().flatten().collect()
        })
    })
}

/// The default is `none`: no cache, although clients are told that there is one.
fn caches(server: &Scope<'_>) -> bool {
    server
        .effective("ssl_session_cache")
        .is_some_and(|one| one.arguments.iter().any(|word| word.starts_with("shared:") || word.starts_with("builtin")))
}
