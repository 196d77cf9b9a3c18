//! One health check of one member.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use weir_gateway::resource::{ActiveHealth, CheckKind, UpstreamTls};

use super::{http, tls};

/// How members of an upstream are checked; shared by them.
#[derive(Debug)]
pub(super) struct Check {
    /// The check, its interval and its thresholds.
    pub active: ActiveHealth,
    /// TLS settings, for protocols with TLS. Checks present no client certificate.
    pub tls: Option<UpstreamTls>,
    /// The `Host` of requests to the upstream, if it is always the same.
    pub host: Option<String>,
    /// Made when first used: reading the system's authorities takes milliseconds.
    pub client: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// The addresses of a member.
#[derive(Clone, Debug)]
pub(super) enum MemberAddress {
    /// The member is healthy if any of these is.
    Sockets(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Check {
    /// Whether another check is the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.active == other.active && self.tls == other.tls && self.host == other.host
    }

    /// Runs the check. `authority` is the member's address without the port, or its name, for `Host` and TLS.
    ///
    /// # Errors
    /// The reason why the member is unhealthy.
    pub async fn make(&self, place: &MemberAddress, authority: &str) -> Result<(), String> {
        let limit = Duration::from_millis(self.active.timeout_ms.max(1));
        let made = tokio::time::timeout(limit, async {
            match place {
                MemberAddress::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(|error| error.to_string())?;
                    self.talk(stream, authority).await
                }
                MemberAddress::Sockets(addresses) => {
                    let mut result = Err("no address is known".to_owned());
                    for address in addresses {
                        result = self.at(*address, authority).await;
                        if result.is_ok() {
                            break;
                        }
                    }
                    result
                }
            }
        });
        made.await.unwrap_or_else(|_| Err(format!("no answer within {} ms", limit.as_millis())))
    }

    async fn at(&self, address: SocketAddr, authority: &str) -> Result<(), String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        self.talk(stream, authority).await
    }

    async fn talk<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S, authority: &str) -> Result<(), String> {
        let CheckKind::Http { path, host, expect } = &self.active.kind else { return Ok(()) };
        let host = host.as_deref().or(self.host.as_deref()).unwrap_or(authority);
        let status = match &self.tls {
            None => http::get(stream, host, path).await?,
            Some(settings) => {
                let client = self.client.get_or_init(|| tls::client(settings)).clone()?;
                let name = settings.server_name.as_deref().unwrap_or(authority);
                http::get(tls::connect(client, name, stream).await?, host, path).await?
            }
        };
        if (expect.0..=expect.1).contains(&status) {
            Ok(())
        } else {
            Err(format!("status {status}, expected {} to {}", expect.0, expect.1))
        }
    }
}

#[cfg(test)]
mod tests;
