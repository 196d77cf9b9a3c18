//! A certificate as it is served.

use crate::resource;

/// A certificate and its key.
#[derive(Debug)]
pub struct CertificateEntry {
    /// The resource.
    pub resource: resource::Certificate,
    pub(crate) digest: u64,
}
