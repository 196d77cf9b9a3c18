//! Certificates and keys as OpenSSL wants them, parsed once for each worker.
//!
//! Reading a key from PEM costs up to some 100 µs, a handshake with an elliptic key not much more. What has been
//! read is kept as long as the certificate is in some revision that is served.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::rc::{Rc, Weak};

use nginx_sys::{
    BIO, BIO_free, BIO_new_mem_buf, ERR_clear_error, EVP_PKEY, EVP_PKEY_free, OPENSSL_sk_new_null, OPENSSL_sk_pop_free,
    OPENSSL_sk_push, PEM_read_bio_PrivateKey, PEM_read_bio_X509, PEM_read_bio_X509_CRL, X509, X509_CRL, X509_free,
    stack_st_X509,
};
use weir_gateway::CertificateEntry;
use weir_gateway::resource::Certificate;

use crate::{note, worker};

/// Most certificates of a chain; what is past it is not sent.
const MAX_CHAIN: usize = 16;

/// A certificate, its intermediates and its key.
pub struct ParsedCertificate {
    /// The certificate.
    pub leaf: *mut X509,
    /// The intermediate certificates.
    pub chain: *mut stack_st_X509,
    /// The private key.
    pub key: *mut EVP_PKEY,
}

impl Drop for ParsedCertificate {
    fn drop(&mut self) {
        // SAFETY: our own, or null, which OpenSSL takes; sessions that use them have references of their own.
        unsafe {
            X509_free(self.leaf);
            EVP_PKEY_free(self.key);
            OPENSSL_sk_pop_free(self.chain.cast(), Some(free_one));
        }
    }
}

unsafe extern "C" fn free_one(certificate: *mut std::ffi::c_void) {
    // SAFETY: an element of a chain.
    unsafe { X509_free(certificate.cast()) }
}

/// PEM text in memory, for OpenSSL's readers.
pub struct PemText(*mut BIO);

impl PemText {
    /// `None` without memory, or past what OpenSSL can count.
    pub fn new(text: &str) -> Option<Self> {
        let length = i32::try_from(text.len()).ok()?;
        // SAFETY: OpenSSL only reads the text, which outlives every use of this value within a function.
        let bio = unsafe { BIO_new_mem_buf(text.as_ptr().cast(), length) };
        (!bio.is_null()).then_some(Self(bio))
    }

    /// The next certificate in PEM.
    pub fn certificate(&mut self) -> Option<*mut X509> {
        // SAFETY: a live reader; no passphrase is asked for.
        let certificate = unsafe { PEM_read_bio_X509(self.0, ptr::null_mut(), Some(no_passphrase), ptr::null_mut()) };
        (!certificate.is_null()).then_some(certificate)
    }

    /// The next revocation list in PEM.
    pub fn crl(&mut self) -> Option<*mut X509_CRL> {
        // SAFETY: as above.
        let crl = unsafe { PEM_read_bio_X509_CRL(self.0, ptr::null_mut(), Some(no_passphrase), ptr::null_mut()) };
        (!crl.is_null()).then_some(crl)
    }

    fn key(&mut self) -> Option<*mut EVP_PKEY> {
        // SAFETY: as above.
        let key = unsafe { PEM_read_bio_PrivateKey(self.0, ptr::null_mut(), Some(no_passphrase), ptr::null_mut()) };
        (!key.is_null()).then_some(key)
    }
}

impl Drop for PemText {
    fn drop(&mut self) {
        // SAFETY: our own. The end of the text is an error to OpenSSL, which the next one to ask must not see.
        unsafe {
            BIO_free(self.0);
            ERR_clear_error();
        }
    }
}

/// Without it OpenSSL would ask the terminal for the passphrase of an encrypted key.
unsafe extern "C" fn no_passphrase(
    _: *mut std::ffi::c_char,
    _: std::ffi::c_int,
    _: std::ffi::c_int,
    _: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    -1
}

fn parse(certificate: &Certificate) -> Option<ParsedCertificate> {
    let mut text = PemText::new(&certificate.chain)?;
    let leaf = text.certificate()?;
    // SAFETY: an empty stack, or null.
    let mut parsed = ParsedCertificate { leaf, chain: unsafe { OPENSSL_sk_new_null() }.cast(), key: ptr::null_mut() };
    for _ in 0..MAX_CHAIN {
        let Some(next) = text.certificate() else { break };
        // SAFETY: the stack takes the certificate over.
        unsafe { OPENSSL_sk_push(parsed.chain.cast(), next.cast()) };
    }
    parsed.key = PemText::new(&certificate.key)?.key()?;
    Some(parsed)
}

type ParsedCertificates = HashMap<*const CertificateEntry, (Weak<CertificateEntry>, Option<Rc<ParsedCertificate>>)>;

struct Cache(RefCell<Option<ParsedCertificates>>);

// SAFETY: one thread per process ever touches it, as all of a worker's state.
unsafe impl Sync for Cache {}

static CACHE: Cache = Cache(RefCell::new(None));

/// A certificate as OpenSSL wants it; `None` if it cannot be read, which control does not let happen.
pub fn parsed(entry: &Rc<CertificateEntry>) -> Option<Rc<ParsedCertificate>> {
    let mut cache = CACHE.0.borrow_mut();
    let known = cache.get_or_insert_with(HashMap::new);
    // A weak reference keeps the address from being used for another certificate.
    let (_, parsed) = known.entry(Rc::as_ptr(entry)).or_insert_with(|| {
        let parsed = parse(&entry.resource).map(Rc::new);
        if parsed.is_none() {
            // SAFETY: a cycle has a log.
            let log = unsafe { (*worker::cycle()).log };
            note!(log, Error, "weir: the certificate \"{}\" or its key cannot be read", entry.resource.id);
        }
        (Rc::downgrade(entry), parsed)
    });
    parsed.clone()
}

/// Forgets certificates that are no longer served.
pub fn sweep() {
    if let Some(known) = CACHE.0.borrow_mut().as_mut() {
        known.retain(|_, (entry, _)| entry.strong_count() > 0);
    }
}
