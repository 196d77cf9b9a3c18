//! Sites: host names and their TLS settings.

use serde::{Deserialize, Serialize};

use super::route::HeaderChanges;

/// A set of host names with routes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// Its id.
    pub id: String,
    /// Lower-case host names: `shop.example`, `*.shop.example` (one or more labels), `*` (names of no other site).
    pub hosts: Vec<String>,
    /// TLS for these hosts.
    pub tls: SiteTls,
    /// Policies of routes that name none; `None` takes those of the settings.
    pub policies: Option<Vec<String>>,
    /// Changes to the header fields of every response, before those of the route.
    #[serde(default, skip_serializing_if = "HeaderChanges::is_empty")]
    pub response_headers: HeaderChanges,
}

/// TLS of a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteTls {
    /// Id of the certificate to present; without one, the certificate whose names fit best.
    pub certificate: Option<String>,
    /// The oldest accepted version.
    pub min_version: TlsVersion,
    /// Whether plain HTTP is answered with a redirect (308) to HTTPS.
    pub redirect: bool,
    /// The client certificates that the handshake asks for; without it, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientTls>,
}

/// Client certificates of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTls {
    /// Whether requests on connections without a certificate are refused.
    pub is_required: bool,
    /// The authorities that may issue them, in PEM.
    pub authorities: String,
    /// What they have revoked, in PEM: a list of each authority in the chain.
    pub crl: Option<String>,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TlsVersion {
    /// RFC 5246.
    #[default]
    #[serde(rename = "1.2")]
    V1_2,
    /// RFC 8446.
    #[serde(rename = "1.3")]
    V1_3,
}
