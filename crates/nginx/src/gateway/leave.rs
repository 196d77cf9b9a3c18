//! What a route does with a request that rules let pass: an answer, or changes before it is forwarded.

use std::sync::Arc;

use nginx_sys::{NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_http_request_t, ngx_int_t};
use weir_engine::Response;
use weir_gateway::View;
use weir_gateway::resource::{Protocol, RouteAction};

use super::answer::{self, RefusalReason};
use super::{Routed, header, mirror};
use crate::transaction::{self, Inspection};
use crate::{ffi, messages};

/// Permanent, and the method stays (RFC 9110, section 15.4.9).
const TO_HTTPS: u16 = 308;

/// What happens to the request next.
pub enum Leave {
    /// The request goes on to nginx's proxy.
    Pass,
    /// We answer.
    Answer(Arc<Response>),
    /// nginx answers with this status.
    Status(ngx_int_t),
}

/// Carries out the route's action.
///
/// # Safety
/// `r` is a live main request in the rewrite phase, `routed` its routing; no reference that could change its
/// inspection lives.
pub unsafe fn leave(r: *mut ngx_http_request_t, routed: &Routed) -> Leave {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(inspection) = transaction::find(r) else {
            return Leave::Status(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t);
        };
        let inspection = &*inspection;
        if let Some(response) = own_answer(inspection, routed) {
            return Leave::Answer(response);
        }
        if let RouteAction::Messages(_) = &routed.route().action {
            if !messages::serve(r) {
                return Leave::Answer(answer::answer(r, RefusalReason::NoMessages, &routed.route().id));
            }
            return Leave::Pass;
        }
        match forward(r, inspection, routed) {
            Some(()) => Leave::Pass,
            None => Leave::Status(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t),
        }
    }
}

/// The answer of a route that does not forward, or of a site that wants HTTPS.
fn own_answer(inspection: &Inspection, routed: &Routed) -> Option<Arc<Response>> {
    let head = &inspection.transaction.head;
    if routed.matched().site.spec().tls.redirect && head.tls.is_none() {
        return Some(redirect(TO_HTTPS, [b"https://", head.host, head.target].concat()));
    }
    match &routed.route().action {
        RouteAction::Forward(_) | RouteAction::Messages(_) => None,
        RouteAction::Redirect { .. } => {
            let mut to = Vec::new();
            let status = routed.matched().redirect(&View(&inspection.transaction), &mut to)?;
            Some(redirect(status, to))
        }
        RouteAction::Respond { status, body, content_type } => Some(Arc::new(Response {
            status: *status,
            body: body.clone().into_bytes(),
            content_type: content_type.clone().into_bytes(),
            headers: Vec::new(),
        })),
    }
}

fn redirect(status: u16, to: Vec<u8>) -> Arc<Response> {
    Arc::new(Response { status, headers: vec![(b"Location".to_vec(), to)], ..Response::default() })
}

/// Prepares a request for its upstream; `None` if there is no memory left.
unsafe fn forward(r: *mut ngx_http_request_t, inspection: &Inspection, routed: &Routed) -> Option<()> {
    // SAFETY: as for `leave`.
    unsafe {
        header::change_request(r, &routed.route().request_headers);
        let mut path = Vec::new();
        if routed.matched().rewrite(&View(&inspection.transaction), &mut path) {
            (*r).uri = ffi::copy((*r).pool, &path)?;
            // nginx then sends this path, escaped, instead of what the client wrote.
            (*r).set_valid_unparsed_uri(0);
            (*r).set_quoted_uri(1);
        }
        let upstream = routed.upstream()?;
        if matches!(upstream.spec().protocol, Protocol::Http | Protocol::Https) {
            mirror::decide(routed);
        }
        Some(())
    }
}
