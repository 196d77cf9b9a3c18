//! The certificate authorities that the system trusts: `SSL_CERT_FILE` and `SSL_CERT_DIR` if set,
//! else wherever the distribution keeps them.

use rustls::RootCertStore;

/// All of them that can be read; none if the system has none.
pub(crate) fn system_authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}
