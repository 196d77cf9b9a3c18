//! Client certificates: what a site's handshake asks for, and what a request on the connection may say.
//!
//! A TLS session carries the site's settings for client certificates in its session id context, a digest. OpenSSL does
//! not resume a session under another context, and a request is answered with 421 if the context is not that of its
//! site now: neither a session or connection of another site nor one made before a change gets past the settings.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use nginx_sys::{
    OPENSSL_sk_new_null, OPENSSL_sk_pop_free, OPENSSL_sk_push, SSL, SSL_CTRL_SET_VERIFY_CERT_STORE,
    SSL_SESSION_get0_id_context, SSL_SESSION_set1_id_context, SSL_VERIFY_PEER, SSL_ctrl, SSL_dup_CA_list,
    SSL_get_session, SSL_get_verify_result, SSL_get1_peer_certificate, SSL_set_client_CA_list,
    SSL_set_session_id_context, SSL_set_verify, X509, X509_NAME_dup, X509_NAME_free, X509_STORE_CTX,
    X509_STORE_set_flags, X509_V_FLAG_CRL_CHECK, X509_V_FLAG_CRL_CHECK_ALL, X509_V_OK, X509_free,
    X509_get_subject_name, i2d_X509, ngx_connection_t, stack_st_X509_NAME,
};
use weir_gateway::resource::ClientTls;
use weir_gateway::{Gateway, Site};

use super::answer::RefusalReason;
use super::certificate::PemText;
use super::upstream_tls::Store;
use crate::{note, worker};

/// The authorities of a site, in OpenSSL's form.
struct Verifier {
    store: Store,
    /// Their names, which tell a browser with several certificates which one to offer.
    names: *mut stack_st_X509_NAME,
}

impl Drop for Verifier {
    fn drop(&mut self) {
        // SAFETY: our own; sessions have copies of their own.
        unsafe { OPENSSL_sk_pop_free(self.names.cast(), Some(free_name)) };
    }
}

unsafe extern "C" fn free_name(name: *mut c_void) {
    // SAFETY: an element of a list of names.
    unsafe { X509_NAME_free(name.cast()) }
}

type ByContext = HashMap<[u8; 32], Option<Rc<Verifier>>>;

struct Verifiers(RefCell<Option<ByContext>>);

// SAFETY: one thread per process ever touches it, as all of a worker's state.
unsafe impl Sync for Verifiers {}

static VERIFIERS: Verifiers = Verifiers(RefCell::new(None));

/// Forgets the authorities of settings that no site has.
pub fn sweep(gateway: &Gateway) {
    if let Some(known) = VERIFIERS.0.borrow_mut().as_mut() {
        known.retain(|context, _| gateway.sites().any(|site| site.client_context() == Some(context)));
    }
}

impl Verifier {
    fn of(client: &ClientTls) -> Option<Self> {
        let store = Store::of(&client.authorities)?;
        if let Some(crl) = &client.crl {
            store.add_crls(crl)?;
            // SAFETY: a live store.
            unsafe { X509_STORE_set_flags(store.raw(), (X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL).into()) };
        }
        // SAFETY: an empty list, or null, which is not pushed to.
        let verifier = Self { store, names: unsafe { OPENSSL_sk_new_null() }.cast() };
        if verifier.names.is_null() {
            return None;
        }
        let mut text = PemText::new(&client.authorities)?;
        while let Some(authority) = text.certificate() {
            // SAFETY: a live certificate, and a list that takes the copy over.
            unsafe {
                OPENSSL_sk_push(verifier.names.cast(), X509_NAME_dup(X509_get_subject_name(authority)).cast());
                X509_free(authority);
            }
        }
        Some(verifier)
    }

    fn cached(site: &Site, context: &[u8; 32]) -> Option<Rc<Self>> {
        let client = site.spec().tls.client.as_ref()?;
        let mut known = VERIFIERS.0.borrow_mut();
        let verifier = known.get_or_insert_with(HashMap::new).entry(*context).or_insert_with(|| {
            let verifier = Self::of(client).map(Rc::new);
            if verifier.is_none() {
                // SAFETY: a cycle has a log.
                let log = unsafe { (*worker::cycle()).log };
                note!(log, Error, "weir: the authorities of the site \"{}\" cannot be read", site.spec().id);
            }
            verifier
        });
        verifier.clone()
    }
}

/// A session of a site that asks for client certificates is only resumed under the same settings.
///
/// # Safety
/// A live session whose handshake begins.
pub unsafe fn bind(ssl: *mut SSL, site: &Site) -> Option<()> {
    let context = site.client_context()?;
    // SAFETY: as the caller promises; OpenSSL copies the context.
    unsafe { SSL_set_session_id_context(ssl, context.as_ptr(), context.len() as c_uint) };
    Some(())
}

/// Asks for a client certificate if the site does. `false` ends the handshake.
///
/// # Safety
/// A live session in a full handshake that has not sent its certificate yet.
pub unsafe fn ask(ssl: *mut SSL, site: &Site) -> bool {
    let Some(context) = site.client_context() else { return true };
    let Some(verifier) = Verifier::cached(site, context) else { return false };
    // SAFETY: as the caller promises; OpenSSL takes a reference of its own to the store and the copied list.
    unsafe {
        // The server for the name may not be the one that the connection came to, which would have bound the session.
        bind(ssl, site);
        let session = SSL_get_session(ssl);
        if session.is_null()
            || SSL_SESSION_set1_id_context(session, context.as_ptr(), context.len() as c_uint) != 1
            || SSL_ctrl(ssl, SSL_CTRL_SET_VERIFY_CERT_STORE as c_int, 1 as c_long, verifier.store.raw().cast()) != 1
        {
            return false;
        }
        SSL_set_client_CA_list(ssl, SSL_dup_CA_list(verifier.names));
        SSL_set_verify(ssl, SSL_VERIFY_PEER as c_int, Some(go_on));
    }
    true
}

/// The handshake goes on whatever was found: a request can be told what is wrong, and the session keeps the result.
unsafe extern "C" fn go_on(_: c_int, _: *mut X509_STORE_CTX) -> c_int {
    1
}

/// Whether a request to a site may use its connection.
///
/// # Safety
/// A live connection.
pub unsafe fn check(connection: *mut ngx_connection_t, site: &Site) -> Result<(), RefusalReason> {
    let Some(client) = &site.spec().tls.client else { return Ok(()) };
    // SAFETY: as the caller promises; with `ssl` set, the session is there and its handshake is over.
    unsafe {
        if (*connection).ssl.is_null() {
            return if client.is_required { Err(RefusalReason::ClientCertificate) } else { Ok(()) };
        }
        let ssl = (*(*connection).ssl).connection;
        if held(ssl) != site.client_context().map(<[u8; 32]>::as_slice) {
            return Err(RefusalReason::Misdirected);
        }
        match (peer(ssl), SSL_get_verify_result(ssl) == c_long::from(X509_V_OK)) {
            (Some(_), true) => Ok(()),
            (None, _) if !client.is_required => Ok(()),
            (None, _) | (Some(_), false) => Err(RefusalReason::ClientCertificate),
        }
    }
}

/// The context of a session.
unsafe fn held<'a>(ssl: *const SSL) -> Option<&'a [u8]> {
    // SAFETY: a live session; OpenSSL answers with its own bytes.
    unsafe {
        let session = SSL_get_session(ssl);
        if session.is_null() {
            return None;
        }
        let mut length = 0;
        let context = SSL_SESSION_get0_id_context(session, &raw mut length);
        (!context.is_null()).then(|| std::slice::from_raw_parts(context, length as usize))
    }
}

/// A certificate that is given back when this is dropped.
struct Peer(*mut X509);

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: a reference of our own.
        unsafe { X509_free(self.0) };
    }
}

unsafe fn peer(ssl: *const SSL) -> Option<Peer> {
    // SAFETY: a live session.
    let certificate = unsafe { SSL_get1_peer_certificate(ssl) };
    (!certificate.is_null()).then(|| Peer(certificate))
}

/// The client certificate of a session in DER, if it was verified: by a site's settings or by nginx's
/// `ssl_verify_client`.
///
/// # Safety
/// A live session whose handshake is over.
pub unsafe fn verified(ssl: *const SSL) -> Option<Vec<u8>> {
    // SAFETY: as the caller promises; OpenSSL writes as many bytes as it has said.
    unsafe {
        let peer = peer(ssl)?;
        if SSL_get_verify_result(ssl) != c_long::from(X509_V_OK) {
            return None;
        }
        let length = usize::try_from(i2d_X509(peer.0, ptr::null_mut())).ok()?;
        let mut der = Vec::with_capacity(length);
        let mut to = der.as_mut_ptr();
        let written = usize::try_from(i2d_X509(peer.0, &raw mut to)).ok()?;
        der.set_len(written.min(length));
        (written > 0).then_some(der)
    }
}
