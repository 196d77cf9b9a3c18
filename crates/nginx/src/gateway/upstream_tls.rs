//! TLS to members: one context for each upstream, made when it is first needed and kept until its settings change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};

use nginx_sys::{
    ERR_clear_error, NGX_SSL_TLSv1_2, NGX_SSL_TLSv1_3, SSL_CTX, SSL_CTX_free, SSL_CTX_set_alpn_protos,
    SSL_CTX_set1_cert_store, SSL_CTX_use_cert_and_key, X509_CRL_free, X509_STORE, X509_STORE_add_cert,
    X509_STORE_add_crl, X509_STORE_free, X509_STORE_new, X509_STORE_set_default_paths, X509_free, ngx_http_request_t,
    ngx_ssl_create, ngx_ssl_t,
};
use weir_gateway::resource::{Protocol, UpstreamTls};
use weir_gateway::{CertificateEntry, Gateway, Upstream};

use super::certificate::{self, PemText};
use crate::live::Live;
use crate::{ffi, note, worker};

/// The ALPN protocol list of gRPC (RFC 7301).
const HTTP_2: &[u8] = b"\x02h2";

/// Most authorities of one upstream.
const MAX_AUTHORITIES: usize = 1000;

/// The TLS configuration for the members of an upstream.
pub struct Context {
    ssl: Box<ngx_ssl_t>,
    verifies: bool,
    identity: u64,
}

impl Context {
    /// For nginx, which makes sessions from it. Lives as long as this value.
    pub fn ssl(&self) -> *mut ngx_ssl_t {
        (&raw const *self.ssl).cast_mut()
    }

    /// Whether the member's certificate is verified.
    pub fn verifies(&self) -> bool {
        self.verifies
    }

    /// Says which name a request's next session asks for and verifies.
    ///
    /// # Safety
    /// `r` is a live request that has an upstream.
    pub unsafe fn set_name(&self, r: *mut ngx_http_request_t, name: &[u8]) -> Option<()> {
        // SAFETY: as the caller promises.
        unsafe {
            (*(*r).upstream).ssl_name = ffi::copy((*r).pool, name)?;
        }
        Some(())
    }

    /// A number that no other context ever has.
    pub fn identity(&self) -> u64 {
        self.identity
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: our own; sessions have references of their own.
        unsafe { SSL_CTX_free(self.ssl.ctx) };
    }
}

/// A context and what it was made of.
struct Made {
    context: Rc<Context>,
    upstream: Weak<Upstream>,
    tls: UpstreamTls,
    protocol: Protocol,
    certificate: Option<Rc<CertificateEntry>>,
}

#[derive(Default)]
struct Contexts {
    by_upstream: RefCell<Option<HashMap<Box<str>, Made>>>,
    system: RefCell<Option<Store>>,
}

// SAFETY: one thread per process ever touches it, as all of a worker's state.
unsafe impl Sync for Contexts {}

static CONTEXTS: Contexts = Contexts { by_upstream: RefCell::new(None), system: RefCell::new(None) };

/// The context of an upstream; `None` if it cannot be made, which is logged.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn context(r: *mut ngx_http_request_t, upstream: &Rc<Upstream>, live: &Live) -> Option<Rc<Context>> {
    let spec = upstream.spec();
    let mut made = CONTEXTS.by_upstream.borrow_mut();
    let made = made.get_or_insert_with(HashMap::new);
    let certificate = match &spec.tls.certificate {
        Some(id) => Some(live.gateway.certificate_by_id(id)?),
        None => None,
    };
    if let Some(known) = made.get_mut(&*spec.id)
        && known.certificate.as_ref().map(Rc::as_ptr) == certificate.map(Rc::as_ptr)
    {
        // A weak reference keeps the address from being used for another upstream.
        if ptr::eq(known.upstream.as_ptr(), Rc::as_ptr(upstream)) {
            return Some(Rc::clone(&known.context));
        }
        if known.tls == spec.tls && known.protocol == spec.protocol {
            known.upstream = Rc::downgrade(upstream);
            return Some(Rc::clone(&known.context));
        }
    }
    let Some(context) = make(&spec.tls, spec.protocol, certificate) else {
        // SAFETY: as the caller promises.
        let log = unsafe { (*(*r).connection).log };
        note!(log, Error, "weir: TLS to the upstream \"{}\" cannot be set up", spec.id);
        return None;
    };
    let context = Rc::new(context);
    let entry = Made {
        context: Rc::clone(&context),
        upstream: Rc::downgrade(upstream),
        tls: spec.tls.clone(),
        protocol: spec.protocol,
        certificate: certificate.map(Rc::clone),
    };
    made.insert(spec.id.as_str().into(), entry);
    Some(context)
}

/// Forgets contexts of upstreams that are gone.
pub fn sweep(gateway: &Gateway) {
    if let Some(made) = CONTEXTS.by_upstream.borrow_mut().as_mut() {
        made.retain(|id, _| gateway.upstream(id).is_some());
    }
}

fn make(tls: &UpstreamTls, protocol: Protocol, certificate: Option<&Rc<CertificateEntry>>) -> Option<Context> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // SAFETY: a cycle has a log; nginx fills the rest in.
    let ssl = unsafe { ngx_ssl_t { ctx: ptr::null_mut(), log: (*worker::cycle()).log, buffer_size: 0 } };
    let identity = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut context = Context { ssl: Box::new(ssl), verifies: tls.verify, identity };
    // SAFETY: the structure is at its place; OpenSSL takes references of its own to what it is given.
    unsafe {
        let versions = (NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3) as usize;
        if ngx_ssl_create(&raw mut *context.ssl, versions, ptr::null_mut()) != ffi::code::OK {
            return None;
        }
        let ctx = context.ssl.ctx;
        if protocol == Protocol::Grpcs
            && SSL_CTX_set_alpn_protos(ctx, HTTP_2.as_ptr(), HTTP_2.len() as std::ffi::c_uint) != 0
        {
            return None;
        }
        if tls.verify {
            trust(ctx, tls.authorities.as_deref())?;
        }
        if let Some(certificate) = certificate {
            let parsed = certificate::parsed(certificate)?;
            if SSL_CTX_use_cert_and_key(ctx, parsed.leaf, parsed.key, parsed.chain, 1) != 1 {
                ERR_clear_error();
                return None;
            }
        }
    }
    Some(context)
}

/// Sets the authorities that a context trusts: the given ones, else the system's, which a worker loads once.
unsafe fn trust(ctx: *mut SSL_CTX, authorities: Option<&str>) -> Option<()> {
    // SAFETY: a live context, which takes a reference of its own to the store.
    unsafe {
        if let Some(authorities) = authorities {
            SSL_CTX_set1_cert_store(ctx, Store::of(authorities)?.0);
            return Some(());
        }
        let mut system = CONTEXTS.system.borrow_mut();
        if system.is_none() {
            *system = Store::of_system();
        }
        SSL_CTX_set1_cert_store(ctx, system.as_ref()?.0);
        Some(())
    }
}

/// A set of authorities.
pub struct Store(*mut X509_STORE);

impl Store {
    fn empty() -> Option<Self> {
        // SAFETY: a new store, or null.
        let store = unsafe { X509_STORE_new() };
        (!store.is_null()).then_some(Self(store))
    }

    /// Authorities in PEM; `None` if there are none.
    pub fn of(authorities: &str) -> Option<Self> {
        let (store, mut text) = (Self::empty()?, PemText::new(authorities)?);
        let mut count = 0;
        while let Some(authority) = text.certificate().filter(|_| count < MAX_AUTHORITIES) {
            // SAFETY: both are live; the store takes a reference of its own.
            unsafe {
                X509_STORE_add_cert(store.0, authority);
                X509_free(authority);
            }
            count += 1;
        }
        (count > 0).then_some(store)
    }

    /// For OpenSSL, which takes references of its own.
    pub fn raw(&self) -> *mut X509_STORE {
        self.0
    }

    /// Adds revocation lists in PEM; `None` if there are none.
    pub fn add_crls(&self, lists: &str) -> Option<()> {
        let mut text = PemText::new(lists)?;
        let mut added = None;
        while let Some(list) = text.crl() {
            // SAFETY: both are live; the store takes a reference of its own.
            unsafe {
                X509_STORE_add_crl(self.0, list);
                X509_CRL_free(list);
            }
            added = Some(());
        }
        added
    }

    fn of_system() -> Option<Self> {
        let store = Self::empty()?;
        // SAFETY: a live store.
        let loaded = unsafe { X509_STORE_set_default_paths(store.0) };
        (loaded == 1).then_some(store)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: our own; contexts have references of their own.
        unsafe { X509_STORE_free(self.0) };
    }
}
