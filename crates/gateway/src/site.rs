//! A site as a worker serves it.

use weir_auth::digest::Hash;

use crate::{resource, route::PolicyNames};

/// A site.
#[derive(Debug)]
pub struct Site {
    spec: resource::Site,
    policies: Option<PolicyNames>,
    client_context: Option<[u8; 32]>,
    pub(crate) digest: u64,
}

impl Site {
    pub(crate) fn new(spec: resource::Site, digest: u64) -> Self {
        let client_context = spec.tls.client.as_ref().map(client_context);
        Self { policies: spec.policies.clone().map(PolicyNames::new), client_context, spec, digest }
    }

    /// The resource as configured.
    #[must_use]
    pub fn spec(&self) -> &resource::Site {
        &self.spec
    }

    /// Its policies, for routes that name none; `None` takes those of the settings.
    #[must_use]
    pub fn policies(&self) -> Option<&PolicyNames> {
        self.policies.as_ref()
    }

    /// What TLS sessions of the site carry, if it asks for client certificates: they hold as long as these settings do.
    #[must_use]
    pub fn client_context(&self) -> Option<&[u8; 32]> {
        self.client_context.as_ref()
    }
}

/// A digest of everything that decides about a client certificate.
fn client_context(client: &resource::ClientTls) -> [u8; 32] {
    let crl = client.crl.as_deref().unwrap_or_default();
    let all = format!("{}\n{}\n{}{crl}", client.is_required, client.authorities.len(), client.authorities);
    let mut context = [0; 32];
    context.copy_from_slice(Hash::Sha256.of(all.as_bytes()).as_ref());
    context
}
