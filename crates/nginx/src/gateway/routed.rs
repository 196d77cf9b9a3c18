//! Where a request goes: decided once, when it comes, by the configuration of that moment, and held to its end.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::{NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_http_request_t, ngx_int_t};
use weir_engine::Response;
use weir_gateway::resource::{Balance, Forward, HashKey, Protocol, Route, RouteAction, TlsVersion};
use weir_gateway::{Found, Gateway, MAX_FALLBACKS, Matched, Member, Site, Upstream, View, hash_key};
use weir_http::{Anomalies, Tls};

use super::answer::{self, RefusalReason};
use super::{location, server};
use crate::live::Live;
use crate::transaction::Inspection;
use crate::worker;

/// A request's way through the gateway.
pub struct Routed {
    live: Rc<Live>,
    matched: Matched,
    upstream: Option<Rc<Upstream>>,
    /// Hash of the key for the upstream's consistent hashing, if the upstream uses it.
    pub key: Option<u64>,
    /// The upstream that gets a copy, once that has been decided.
    pub mirror: OnceCell<Rc<Upstream>>,
    /// Progress of the copy.
    pub mirrored: Cell<Mirrored>,
    /// The member that was tried last.
    pub member: RefCell<Option<Rc<Member>>>,
    /// The member that was chosen early because the request names it, until it is tried.
    pub chosen: RefCell<Option<Rc<Member>>>,
}

/// Progress of the copy for the mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mirrored {
    /// None has been sent.
    #[default]
    No,
    /// nginx reads the body.
    Reading,
    /// The copy has been sent.
    Sent,
}

/// The result of routing.
pub enum Enter {
    /// The request has a route.
    Routed(Rc<Routed>),
    /// We answer.
    Answer(Arc<Response>),
    /// nginx answers with this status.
    Status(ngx_int_t),
}

impl Routed {
    /// The policies that hold for it.
    pub fn policies(&self) -> &[String] {
        self.matched.policies(&self.live.gateway).names()
    }

    /// The configuration it goes by.
    pub fn live(&self) -> &Rc<Live> {
        &self.live
    }

    /// Site and route of the request.
    pub fn matched(&self) -> &Matched {
        &self.matched
    }

    /// The route as configured.
    pub fn route(&self) -> &Route {
        self.matched.route.spec()
    }

    /// The upstream of a request that is forwarded: the route's, or a fallback if that had no member to offer.
    pub fn upstream(&self) -> Option<&Rc<Upstream>> {
        self.upstream.as_ref()
    }

    /// The route's forwarding options, if it forwards.
    pub fn forward(&self) -> Option<&Forward> {
        match &self.route().action {
            RouteAction::Forward(forward) => Some(forward),
            RouteAction::Redirect { .. } | RouteAction::Respond { .. } | RouteAction::Messages(_) => None,
        }
    }
}

/// The answer to a request whose target and `Host` name different hosts.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn refuse_host(r: *mut ngx_http_request_t, inspection: &Inspection) -> Arc<Response> {
    let host = String::from_utf8_lossy(inspection.transaction.head.host);
    // SAFETY: as the caller promises.
    unsafe { answer::answer(r, RefusalReason::Host, &host) }
}

/// Routes a request: finds site, route and upstream, and bounds its body before it is read.
///
/// # Safety
/// `r` is a live main request in the rewrite phase, and `inspection` is its own.
pub unsafe fn enter(r: *mut ngx_http_request_t, inspection: &Inspection) -> Enter {
    let refuse = |reason, about: &dyn std::fmt::Display| {
        // SAFETY: as the caller promises.
        Enter::Answer(unsafe { answer::answer(r, reason, about) })
    };
    let Some(live) = inspection.source.live() else { return refuse(RefusalReason::NoConfiguration, &"") };
    let view = View(&inspection.transaction);
    let host = String::from_utf8_lossy(inspection.transaction.head.host);
    if inspection.transaction.anomalies().contains(Anomalies::INVALID_HOST) {
        return refuse(RefusalReason::Host, &host);
    }
    let matched = match live.gateway.route(&view) {
        Found::Route(matched) => matched,
        Found::NoSite => return refuse(RefusalReason::NoSite, &host),
        Found::NoRoute => return refuse(RefusalReason::NoRoute, &host),
        Found::MethodNotAllowed { allow } => {
            let field = ("Allow", allow.to_string());
            // SAFETY: as the caller promises.
            return Enter::Answer(unsafe { answer::answer_with(r, RefusalReason::Method, &host, field) });
        }
    };
    // SAFETY: as the caller promises.
    if let Err(reason) = unsafe { suits(r, inspection, &live.gateway, &matched.site, true) } {
        return refuse(reason, &host);
    }
    let upstream = match matched.upstream(&view, worker::random()[0]) {
        None => None,
        Some(id) => match usable(&live.gateway, id) {
            Ok(upstream) => Some(upstream),
            Err(reason) => return refuse(reason, &id),
        },
    };
    // SAFETY: as the caller promises.
    if let Err(reason) = unsafe { prepare(r, &matched, upstream.as_deref()) } {
        return match reason {
            Some(reason) => refuse(reason, &matched.route.spec().id),
            None => Enter::Status(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t),
        };
    }
    let key = upstream.as_ref().and_then(|upstream| hash_key(balance_key(upstream)?, &view));
    Enter::Routed(Rc::new(Routed {
        live: Rc::clone(live),
        matched,
        upstream,
        key,
        mirror: OnceCell::new(),
        mirrored: Cell::default(),
        member: RefCell::default(),
        chosen: RefCell::default(),
    }))
}

/// Whether a connection was made under other TLS settings than those of `site`. Without a name that a site has, it was
/// made under the weakest ones, or those of the site for all other names.
fn is_misdirected(gateway: &Gateway, tls: Tls<'_>, site: &Site) -> bool {
    let named = gateway.site(tls.server_name);
    let wanted = site.spec().tls.min_version;
    let held = named.map_or_else(TlsVersion::default, |named| named.spec().tls.min_version);
    if tls.server_name.is_empty() {
        return held < wanted;
    }
    held != wanted || named.and_then(|named| named.client_context()) != site.client_context()
}

/// Whether the connection of a request was made under the TLS settings of its site. Plain HTTP that is redirected needs
/// no client certificate.
unsafe fn suits(
    r: *mut ngx_http_request_t,
    inspection: &Inspection,
    gateway: &Gateway,
    site: &Site,
    redirects: bool,
) -> Result<(), RefusalReason> {
    match inspection.transaction.head.tls {
        Some(tls) if is_misdirected(gateway, tls, site) => Err(RefusalReason::Misdirected),
        None if redirects && site.spec().tls.redirect => Ok(()),
        // SAFETY: as the caller promises.
        _ => unsafe { super::client_tls::check((*r).connection, site) },
    }
}

/// The answer to a request in a location beside the gateway's whose connection was not made under the TLS settings of
/// the host's site.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn refuse_connection(
    r: *mut ngx_http_request_t,
    inspection: &Inspection,
    gateway: &Gateway,
) -> Option<Arc<Response>> {
    let site = inspection.site()?;
    // SAFETY: as the caller promises.
    unsafe {
        let reason = suits(r, inspection, gateway, &site, false).err()?;
        Some(answer::answer(r, reason, &String::from_utf8_lossy(inspection.transaction.head.host)))
    }
}

/// The key of an upstream's consistent hashing.
fn balance_key(upstream: &Upstream) -> Option<&HashKey> {
    match &upstream.spec().balance {
        Balance::Hash(key) => Some(key),
        _ => None,
    }
}

/// The upstream of that id, or the first of its fallbacks that has members to offer.
pub fn usable(gateway: &Gateway, id: &str) -> Result<Rc<Upstream>, RefusalReason> {
    let mut upstream = gateway.upstream(id).ok_or(RefusalReason::NoUpstream)?;
    for _ in 0..=MAX_FALLBACKS {
        if upstream.is_available() {
            return Ok(Rc::clone(upstream));
        }
        let fallback = upstream.spec().fallback.as_deref().and_then(|id| gateway.upstream(id));
        upstream = fallback.ok_or(RefusalReason::NoMember)?;
    }
    Err(RefusalReason::NoMember)
}

/// Has the right location of nginx serve the request, and bounds its body.
unsafe fn prepare(
    r: *mut ngx_http_request_t,
    matched: &Matched,
    upstream: Option<&Upstream>,
) -> Result<(), Option<RefusalReason>> {
    let is_grpc = upstream.is_some_and(|upstream| matches!(upstream.spec().protocol, Protocol::Grpc | Protocol::Grpcs));
    // SAFETY: as for `enter`.
    unsafe {
        if is_grpc {
            location::switch(r, server::of(r).grpc.ok_or(Some(RefusalReason::NoGrpc))?);
        }
        let limit = matched.route.spec().body_limit;
        let length = (*r).headers_in.content_length_n;
        if limit == 0 {
            return Ok(());
        }
        if u64::try_from(length).is_ok_and(|length| length > limit) {
            return Err(Some(RefusalReason::TooLarge));
        }
        // Streams of gRPC have no end to bound; their messages are up to the member.
        // nginx says so of HTTP/2 and HTTP/3, too.
        let unannounced = length < 0 && (*r).headers_in.chunked() != 0;
        if unannounced && !is_grpc {
            location::limit_body(r, limit).ok_or(None)?;
        }
        Ok(())
    }
}

/// The routing of a request, if it has one: that of the client's request for its subrequests.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn of(r: *mut ngx_http_request_t) -> Option<Rc<Routed>> {
    // SAFETY: as the caller promises; no other reference to the inspection lives while a callback of nginx runs.
    unsafe { crate::transaction::find((*r).main).and_then(|inspection| (*inspection).routed.clone()) }
}
