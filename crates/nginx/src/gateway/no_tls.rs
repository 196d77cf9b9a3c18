//! TLS to members where nginx was built without it: there is none.

use std::rc::Rc;

use nginx_sys::ngx_http_request_t;
use weir_gateway::{Gateway, Upstream};

use crate::live::Live;
use crate::note;

/// The TLS configuration for the members of an upstream: a type without values.
pub enum Context {}

impl Context {
    /// A number that no other context ever has.
    pub fn identity(&self) -> u64 {
        match *self {}
    }

    /// Says which name a request's next session asks for and verifies.
    ///
    /// # Safety
    /// None; as for the other one.
    pub unsafe fn set_name(&self, _: *mut ngx_http_request_t, _: &[u8]) -> Option<()> {
        match *self {}
    }
}

/// The context of an upstream, which cannot be made.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn context(r: *mut ngx_http_request_t, upstream: &Rc<Upstream>, _: &Live) -> Option<Rc<Context>> {
    // SAFETY: as the caller promises.
    let log = unsafe { (*(*r).connection).log };
    note!(log, Error, "weir: the upstream \"{}\" needs TLS, which this nginx was built without", upstream.spec().id);
    None
}

/// Client certificates, which no connection has.
pub mod client {
    use nginx_sys::ngx_connection_t;
    use weir_gateway::Site;

    use super::super::answer::RefusalReason;

    /// Whether a request to a site may use its connection.
    ///
    /// # Safety
    /// None; as for the other one.
    pub unsafe fn check(_: *mut ngx_connection_t, site: &Site) -> Result<(), RefusalReason> {
        let is_required = site.spec().tls.client.as_ref().is_some_and(|client| client.is_required);
        if is_required { Err(RefusalReason::ClientCertificate) } else { Ok(()) }
    }
}

/// Nothing is kept.
pub fn sweep(_: &Gateway) {}
