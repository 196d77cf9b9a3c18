//! Settings of the whole gateway.

use serde::{Deserialize, Serialize};

use super::Document;

/// The settings, of which there is exactly one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Policies of sites and routes that name none.
    pub policies: Vec<String>,
    /// The certificate for names that no site and no certificate covers; without one, such handshakes fail.
    pub default_certificate: Option<String>,
    /// The part that is compiled with the policies (`client_address`, `geo`); its id is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiled: Option<Document>,
}
