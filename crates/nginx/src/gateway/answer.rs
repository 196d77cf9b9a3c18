//! What the gateway answers when it does not forward: small JSON objects, and a line in the log.

use std::fmt::Display;
use std::sync::Arc;

use nginx_sys::ngx_http_request_t;
use weir_engine::Response;

use crate::note;

/// Seconds after which a client may try again when no member can serve it.
const RETRY_AFTER: &str = "1";

/// The reason for an answer of the gateway's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The worker has no live configuration (yet).
    NoConfiguration,
    /// The `Host` field names another host than the request target does.
    Host,
    /// No site has the host.
    NoSite,
    /// The connection was made under the TLS settings of another site.
    Misdirected,
    /// The site asks for a client certificate, and there is none, or it was not verified.
    ClientCertificate,
    /// The site has no route for the request.
    NoRoute,
    /// The site's routes for the path take other methods.
    Method,
    /// The body is longer than the route lets it be.
    TooLarge,
    /// The upstream of the route is not there.
    NoUpstream,
    /// None of its members can be used now.
    NoMember,
    /// This nginx has no gRPC module.
    NoGrpc,
    /// This nginx has no memory for messages.
    NoMessages,
}

impl RefusalReason {
    /// Every reason, for tests.
    #[cfg(test)]
    const ALL: [Self; 12] = [
        Self::NoConfiguration,
        Self::Host,
        Self::NoSite,
        Self::Misdirected,
        Self::ClientCertificate,
        Self::NoRoute,
        Self::Method,
        Self::TooLarge,
        Self::NoUpstream,
        Self::NoMember,
        Self::NoGrpc,
        Self::NoMessages,
    ];

    /// Status, a word for programs, and a sentence for people.
    const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::NoConfiguration => (503, "no_configuration", "this gateway has no configuration yet"),
            Self::Host => (400, "host", "the Host field names another host than the request target"),
            Self::NoSite => (404, "no_site", "no site has this host name"),
            Self::Misdirected => {
                (421, "misdirected", "the TLS settings of this host differ from those of the connection")
            }
            Self::ClientCertificate => {
                (400, "client_certificate", "this host asks for a client certificate that its authorities have issued")
            }
            Self::NoRoute => (404, "no_route", "no route of the site matches this request"),
            Self::Method => (405, "method_not_allowed", "no route for this path has this method"),
            Self::TooLarge => (413, "body_too_large", "the request's body is longer than the route allows"),
            Self::NoUpstream => (503, "no_upstream", "the route's upstream does not exist"),
            Self::NoMember => (503, "no_member", "no member of the upstream is available"),
            Self::NoGrpc => (501, "no_grpc", "this nginx was built without the gRPC module"),
            Self::NoMessages => (503, "no_messages", "this nginx has no memory for messages"),
        }
    }

    /// Whether it is worth a warning: what clients get wrong is not.
    const fn is_ours(self) -> bool {
        self.row().0 >= 500
    }
}

/// The answer for a reason; `about` names the subject (an id, a host) for the log.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn answer(r: *mut ngx_http_request_t, reason: RefusalReason, about: &dyn Display) -> Arc<Response> {
    let (status, word, sentence) = reason.row();
    // SAFETY: as the caller promises.
    let log = unsafe { (*(*r).connection).log };
    if reason.is_ours() {
        note!(log, Error, "weir: gateway answers {status} ({word}): {sentence}: {about}");
    } else {
        note!(log, Info, "weir: gateway answers {status} ({word}): {sentence}: {about}");
    }
    let mut headers = Vec::new();
    if status == 503 {
        headers.push((b"Retry-After".to_vec(), RETRY_AFTER.as_bytes().to_vec()));
    }
    Arc::new(Response { status, body: body(reason), content_type: b"application/json".to_vec(), headers })
}

fn body(reason: RefusalReason) -> Vec<u8> {
    let (status, word, sentence) = reason.row();
    format!("{{\"status\":{status},\"error\":\"{word}\",\"detail\":\"{sentence}\"}}\n").into_bytes()
}

/// The answer for a reason, with one more header field.
///
/// # Safety
/// As for [`answer`].
pub unsafe fn answer_with(
    r: *mut ngx_http_request_t,
    reason: RefusalReason,
    about: &dyn Display,
    field: (&str, String),
) -> Arc<Response> {
    // SAFETY: as the caller promises.
    let mut response = unsafe { answer(r, reason, about) };
    let (name, value) = field;
    if let Some(response) = Arc::get_mut(&mut response) {
        response.headers.push((name.as_bytes().to_vec(), value.into_bytes()));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_with_a_status_that_is_an_error() {
        for reason in RefusalReason::ALL {
            let value: serde_json::Value = serde_json::from_slice(&body(reason)).unwrap();
            assert!(value["status"].as_u64().is_some_and(|status| (400..600).contains(&status)), "{reason:?}");
            assert!(value["error"].is_string() && value["detail"].is_string(), "{reason:?}");
        }
    }
}
