//! What holds for the whole gateway.

use serde::{Deserialize, Serialize};

use super::Document;

/// Settings; there is exactly one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Policies of sites and routes that name none.
    pub policies: Vec<String>,
    /// Certificate for names that no site and no certificate has; without one such handshakes fail.
    pub default_certificate: Option<String>,
    /// What is compiled with the policies (`client_address`, `geo`); its id is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiled: Option<Document>,
}
