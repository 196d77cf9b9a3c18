//! What holds for the whole gateway.

use serde::{Deserialize, Serialize};

/// Settings; there is exactly one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Policies of sites and routes that name none.
    pub policies: Vec<String>,
    /// Certificate for names that no site and no certificate has; without one such handshakes fail.
    pub default_certificate: Option<String>,
}
