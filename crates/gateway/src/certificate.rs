//! A certificate as a worker serves it.

use crate::resource;

/// A certificate and its key.
#[derive(Debug)]
pub struct CertificateEntry {
    /// The resource as configured.
    pub resource: resource::Certificate,
    pub(crate) digest: u64,
}
