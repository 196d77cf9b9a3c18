//! nginx variables of the gateway. What its own locations ask for in every request is not computed before.

use std::borrow::Cow;
use std::rc::Rc;

use nginx_sys::ngx_http_request_t;
use weir_directives::Variable;
use weir_gateway::resource::HostHeader;
use weir_gateway::{Upstream, host_header};

use super::exchange;
use super::routed::Routed;
use crate::{ffi, worker};

/// The value of one of the gateway's variables for `r`, which may be a copy for a mirror; empty if it has none.
///
/// # Safety
/// `r` is a live request and `routed` its main request's.
pub unsafe fn text<'a>(r: *mut ngx_http_request_t, routed: &'a Routed, variable: Variable) -> Cow<'a, [u8]> {
    match variable {
        Variable::Site => routed.matched().site.spec().id.as_bytes().into(),
        Variable::Route => routed.route().id.as_bytes().into(),
        Variable::Upstream => routed.upstream().map_or(&[][..], |upstream| upstream.spec().id.as_bytes()).into(),
        Variable::Member => match &*routed.member.borrow() {
            Some(member) => member.spec().id.clone().into_bytes().into(),
            None => Cow::default(),
        },
        Variable::GatewayRevision => routed.live().gateway.revision().to_string().into_bytes().into(),
        // SAFETY: as the caller promises.
        Variable::UpstreamHost => unsafe { upstream_host(r, routed) },
        // SAFETY: as the caller promises.
        Variable::Connection if unsafe { is_upgraded(r, routed) } => b"upgrade".into(),
        // SAFETY: as the caller promises.
        Variable::Upgrade if unsafe { is_upgraded(r, routed) } => b"websocket".into(),
        _ => Cow::default(),
    }
}

/// The value of the `Host` header that the member gets.
unsafe fn upstream_host<'a>(r: *mut ngx_http_request_t, routed: &'a Routed) -> Cow<'a, [u8]> {
    // SAFETY: as for `text`.
    unsafe {
        let is_copy = r != (*r).main;
        let upstream = if is_copy { routed.mirror.get() } else { routed.upstream() };
        match upstream.map(|upstream| &upstream.spec().host) {
            Some(HostHeader::Is(host)) => host.as_bytes().into(),
            Some(HostHeader::Member) if !is_copy => match upstream.and_then(|upstream| chosen(routed, upstream)) {
                Some(host) => host.into_bytes().into(),
                None => client_host(r),
            },
            _ => client_host(r),
        }
    }
}

/// The member whose name the request carries is chosen when the request is written.
fn chosen(routed: &Routed, upstream: &Rc<Upstream>) -> Option<String> {
    let mut chosen = routed.chosen.borrow_mut();
    if chosen.is_none() {
        *chosen = exchange::pick(upstream, routed.key, worker::random()[0], &[]);
    }
    chosen.as_ref().map(|member| host_header(&member.spec().address).to_owned())
}

/// The host that the client asked for, or that the route has set.
unsafe fn client_host<'a>(r: *mut ngx_http_request_t) -> Cow<'a, [u8]> {
    // SAFETY: as for `text`; fields live as long as the request.
    unsafe {
        match (*r).headers_in.host.as_ref() {
            Some(field) => ffi::bytes(&field.value).into(),
            None => ffi::bytes(&(*r).headers_in.server).into(),
        }
    }
}

/// Whether the connection is to become a WebSocket: the client asks, and the route lets it. Other protocols to
/// upgrade to (`h2c`) would carry requests past the rules.
unsafe fn is_upgraded(r: *mut ngx_http_request_t, routed: &Routed) -> bool {
    // SAFETY: as for `text`.
    unsafe {
        let Some(upgrade) = (*r).headers_in.upgrade.as_ref() else { return false };
        r == (*r).main
            && ffi::bytes(&upgrade.value).eq_ignore_ascii_case(b"websocket")
            && routed.forward().is_some_and(|forward| forward.websocket)
    }
}
