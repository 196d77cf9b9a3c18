//! A site as a worker serves it.

use crate::{resource, route::PolicyNames};

/// A site.
#[derive(Debug)]
pub struct Site {
    spec: resource::Site,
    policies: Option<PolicyNames>,
    pub(crate) digest: u64,
}

impl Site {
    pub(crate) fn new(spec: resource::Site, digest: u64) -> Self {
        Self { policies: spec.policies.clone().map(PolicyNames::new), spec, digest }
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
}
