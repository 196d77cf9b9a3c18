//! Inspectors that speak HTTP: what each protocol makes of a question, and of the response.
//!
//! A response that is not a permission is the client's answer as a whole, with its status: a redirect to a login page or a
//! 429 that became a 500 on its way would be of no use to anybody.

use std::borrow::Cow;

use crate::address::AddressText;
use crate::http::{Request, Response, is_of_connection};
use crate::inspector::{Inspector, Protocol, Remediation, is_like};
use crate::{Advice, Answer, Failure, OwnedField, Question};

/// Beginnings of the names of fields with which proxies describe a request, as nginx's guides, Traefik and Caddy have them.
/// Those of clients are left out: the gateway says what it trusts of them.
const FORWARDED: [&str; 3] = ["x-forwarded-", "x-original-", "x-real-ip"];
/// Fields that tell CrowdSec about the request.
const CROWDSEC: &str = "x-crowdsec-appsec-";
/// The field with which an `ext_authz` service removes fields of the request.
const TO_REMOVE: &str = "x-envoy-auth-headers-to-remove";
/// The field that says whether an `ext_authz` service sees the whole body.
const PARTIAL: &str = "x-envoy-auth-partial-body";

/// Appends the request that asks an inspector. `authority` is the endpoint's, for `Host`.
pub fn write(buffer: &mut Vec<u8>, inspector: &Inspector, authority: &str, question: &Question<'_>) {
    match &inspector.protocol {
        Protocol::Weir { .. } => {} // not HTTP
        Protocol::ForwardAuth => forward_auth(buffer, inspector, authority, question),
        Protocol::ExtAuthz => ext_authz(buffer, inspector, question),
        Protocol::CrowdSec { .. } => crowdsec(buffer, inspector, authority, question),
    }
}

/// The client's fields, without those of its connection, the host, `Forwarded`, and those that `is_ours`.
fn copy(request: &mut Request<'_>, inspector: &Inspector, question: &Question<'_>, is_ours: impl Fn(&[u8]) -> bool) {
    for (name, value) in &question.headers {
        let is_replaced = [&b"host"[..], b"forwarded"].iter().any(|known| name.eq_ignore_ascii_case(known));
        let is_kept = !is_of_connection(name) && !is_replaced && !is_ours(name);
        // What an answer may set is the inspector's to say, not the client's.
        if is_kept && !inspector.sets.iter().any(|set| is_like(name, set.as_bytes())) {
            request.field(name, &[value]);
        }
    }
}

/// Whether a name begins as a known one, or as what may be taken for it.
fn begins_like(name: &[u8], known: &str) -> bool {
    name.get(..known.len()).is_some_and(|begin| is_like(begin, known.as_bytes()))
}

fn forward_auth(buffer: &mut Vec<u8>, inspector: &Inspector, authority: &str, question: &Question<'_>) {
    let method: &[u8] = if question.body.is_empty() { b"GET" } else { b"POST" };
    let mut request = Request::begin(buffer, method, &[inspector.path.as_bytes()]);
    let client = &AddressText::from(question.client)[..];
    request.field(b"Host", &[authority.as_bytes()]);
    copy(&mut request, inspector, question, |name| FORWARDED.iter().any(|known| begins_like(name, known)));
    request.field(b"X-Forwarded-Method", &[question.method]).field(b"X-Forwarded-Proto", &[question.scheme]);
    request.field(b"X-Forwarded-Host", &[question.authority]).field(b"X-Forwarded-Uri", &[question.target]);
    request
        .field(b"X-Forwarded-For", &[client])
        .field(b"X-Real-IP", &[client])
        .field(b"X-Original-Method", &[question.method]);
    request.field(b"X-Original-URI", &[question.target]);
    request.field(b"X-Original-URL", &[question.scheme, b"://", question.authority, question.target]);
    request.end(question.body);
}

fn ext_authz(buffer: &mut Vec<u8>, inspector: &Inspector, question: &Question<'_>) {
    let mut request = Request::begin(buffer, question.method, &[inspector.path.as_bytes(), question.target]);
    request.field(b"Host", &[question.authority]);
    let is_ours = |name: &[u8]| {
        [PARTIAL, "x-forwarded-for", "x-forwarded-proto"].iter().any(|known| is_like(name, known.as_bytes()))
    };
    copy(&mut request, inspector, question, is_ours);
    let client = AddressText::from(question.client);
    request.field(b"X-Forwarded-For", &[&client]).field(b"X-Forwarded-Proto", &[question.scheme]);
    if inspector.body_bytes > 0 {
        request.field(PARTIAL.as_bytes(), &[if question.is_partial() { b"true" } else { b"false" }]);
    }
    if question.body.is_empty() {
        request.field(b"Content-Length", &[b"0"]);
    }
    request.end(question.body);
}

fn crowdsec(buffer: &mut Vec<u8>, inspector: &Inspector, authority: &str, question: &Question<'_>) {
    let method: &[u8] = if question.body.is_empty() { b"GET" } else { b"POST" };
    let mut request = Request::begin(buffer, method, &[inspector.path.as_bytes()]);
    request.field(b"Host", &[authority.as_bytes()]);
    let is_ours = |name: &[u8]| begins_like(name, CROWDSEC);
    copy(&mut request, inspector, question, is_ours);
    let agent = question.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"user-agent"));
    let version = match question.protocol {
        b"HTTP/1.0" => "10",
        b"HTTP/2.0" => "20",
        b"HTTP/3.0" => "30",
        _ => "11",
    };
    let client = AddressText::from(question.client);
    request.field(b"X-Crowdsec-Appsec-Ip", &[&client]);
    request.field(b"X-Crowdsec-Appsec-Uri", &[&readable(question.target)]);
    request.field(b"X-Crowdsec-Appsec-Host", &[question.host]);
    request.field(b"X-Crowdsec-Appsec-Verb", &[question.method]);
    request.field(b"X-Crowdsec-Appsec-Api-Key", &[inspector.token.0.as_bytes()]);
    request.field(b"X-Crowdsec-Appsec-User-Agent", &[agent.map_or(&b""[..], |(_, agent)| agent)]);
    request.field(b"X-Crowdsec-Appsec-Http-Version", &[version.as_bytes()]);
    request.field(b"X-Crowdsec-Appsec-Transaction-Id", &[question.request_id]);
    request.end(question.body);
}

/// A target as AppSec can parse it. It takes `//host:port` for an authority and `#` for the beginning of a fragment, and
/// answers with an error to one that is malformed, or to a `%` in a path without digits: whoever sends such a request
/// would decide that it is not inspected, and so would a breaker that opens for all others. nginx passes them all on.
fn readable(target: &[u8]) -> Cow<'_, [u8]> {
    let is_authority = target.starts_with(b"//") && !target.starts_with(b"///");
    if !is_authority && !target.iter().any(|byte| matches!(byte, b'%' | b'#')) {
        return Cow::Borrowed(target);
    }
    let path = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let mut out = Vec::with_capacity(target.len() + 8);
    for (at, byte) in target.iter().enumerate() {
        let is_digit = |offset: usize| target[..path].get(at + offset).is_some_and(u8::is_ascii_hexdigit);
        match byte {
            b'/' if at == 1 && is_authority => out.extend_from_slice(b"%2F"),
            b'#' => out.extend_from_slice(b"%23"),
            b'%' if at < path && !(is_digit(1) && is_digit(2)) => out.extend_from_slice(b"%25"),
            _ => out.push(*byte),
        }
    }
    Cow::Owned(out)
}

/// What a response says.
///
/// # Errors
/// If it is the service's fault: the fail mode decides.
pub fn understand(inspector: &Inspector, response: Response) -> Result<Answer, Failure> {
    match &inspector.protocol {
        Protocol::Weir { .. } => Err(Failure::Unreadable), // not HTTP
        Protocol::ForwardAuth if matches!(response.status, 200..=299) => Ok(permission(inspector, response)),
        Protocol::ExtAuthz if response.status == 200 => Ok(permission(inspector, response)),
        // A gateway between us and the service, or the service itself, is broken. Of forward-auth, nginx and Traefik pass
        // 5xx on, too, but there the fail mode is what an operator has chosen for it.
        Protocol::ForwardAuth | Protocol::ExtAuthz if response.status >= 500 => Err(Failure::Unable),
        Protocol::ForwardAuth | Protocol::ExtAuthz => Ok(refusal(response)),
        Protocol::CrowdSec { unknown } => remediation(*unknown, &response),
    }
}

/// The request passes, with what may be set of it.
fn permission(inspector: &Inspector, response: Response) -> Answer {
    let remove = response.header(TO_REMOVE).unwrap_or_default();
    let remove = remove.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|name| inspector.sets(name));
    let remove_headers = remove.map(<[u8]>::to_vec).collect();
    let set_headers = response.headers.into_iter().filter(|(name, _)| inspector.sets(name)).collect();
    Answer { set_headers, remove_headers, ..Answer::default() }
}

/// The client gets the response as it is.
fn refusal(response: Response) -> Answer {
    let status = response.status;
    // nginx writes these itself.
    let is_passed = |(name, _): &OwnedField| {
        !is_of_connection(name) && ![&b"date"[..], b"server"].iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let response_headers = response.headers.into_iter().filter(is_passed).collect();
    let reason = format!("answered {status}");
    Answer { advice: Advice::Refuse, status, response_headers, body: response.body, reason, ..Answer::default() }
}

/// What AppSec says: 200 allows, 403 has an action and a status, anything else is an error.
fn remediation(unknown: Remediation, response: &Response) -> Result<Answer, Failure> {
    #[derive(serde::Deserialize)]
    struct Said {
        action: String,
        http_status: Option<u16>,
    }
    match response.status {
        200 | 403 => {}
        _ => return Err(Failure::Unable),
    }
    let said: Said = match serde_json::from_slice(&response.body) {
        Ok(said) => said,
        Err(_) if response.status == 200 => return Ok(Answer::default()),
        Err(_) => return Err(Failure::Unreadable),
    };
    let (remediation, reason) = match said.action.as_str() {
        "allow" => (Remediation::Allow, String::new()),
        "ban" => (Remediation::Ban, "crowdsec: ban".to_owned()),
        "captcha" => (Remediation::Captcha, "crowdsec: captcha".to_owned()),
        other => (unknown, format!("crowdsec: unknown remediation {:?}", other.get(..64).unwrap_or(other))),
    };
    let status = said.http_status.filter(|status| (400..=599).contains(status)).unwrap_or(403);
    let refuse = Answer { advice: Advice::Refuse, status, ..Answer::default() };
    Ok(match remediation {
        Remediation::Allow if reason.is_empty() => Answer::default(),
        Remediation::Allow => Answer { advice: Advice::Detect, reason, ..Answer::default() },
        Remediation::Ban => Answer { reason, ..refuse },
        Remediation::Captcha => Answer { reason, tags: vec!["captcha".to_owned()], ..refuse },
    })
}

#[cfg(test)]
#[path = "adapter/tests.rs"]
mod tests;
