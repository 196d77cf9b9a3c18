//! Downloads of what documents name by URL. Only control makes them, never a worker.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Longest content of a URL.
pub(crate) const MAX_FETCHED_BYTES: u64 = 256 << 10;
/// The time in which it must be there.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is downloaded, and its bounds.
pub(crate) struct Request<'r> {
    pub url: &'r str,
    pub headers: &'r [(&'static str, &'r str)],
    pub timeout: Duration,
    pub max_bytes: u64,
}

/// The content of a URL that a document names.
///
/// # Errors
/// As [`fetch`].
pub(crate) fn get(url: &str) -> io::Result<Vec<u8>> {
    let headers = &[("Accept", "application/jwk-set+json, application/json")];
    fetch(&Request { url, headers, timeout: TIMEOUT, max_bytes: MAX_FETCHED_BYTES })
}

/// Downloads. Redirects are not followed, and proxies not asked.
///
/// # Errors
/// If there is no answer in time, or another one than 200 with at most so many bytes.
pub(crate) fn fetch(request: &Request<'_>) -> io::Result<Vec<u8>> {
    let asked =
        request.headers.iter().fold(agent().get(request.url), |asked, (name, value)| asked.header(*name, *value));
    let asked = asked.config().timeout_global(Some(request.timeout)).build();
    let mut answer = asked.call().map_err(io::Error::other)?;
    if answer.status() != 200 {
        return Err(io::Error::other(format!("the answer has the status {}", answer.status().as_u16())));
    }
    let content = answer.body_mut().with_config().limit(request.max_bytes).read_to_vec();
    content.map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(_) => {
            io::Error::other(format!("the answer is longer than {} KiB", request.max_bytes >> 10))
        }
        error => io::Error::other(error),
    })
}

/// The client, with the authorities that the system trusts: reading them takes milliseconds.
fn agent() -> &'static Agent {
    static AGENT: OnceLock<Agent> = OnceLock::new();
    AGENT.get_or_init(|| {
        let roots: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|der| Certificate::from_der(der.as_ref()).to_owned())
            .collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots))
            .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
            .build();
        let config = Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        config.build().new_agent()
    })
}
