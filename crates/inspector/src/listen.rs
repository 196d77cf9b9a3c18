//! Sockets for gateways: TCP with or without TLS, and Unix sockets.

use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_rustls::TlsAcceptor;

use crate::config::{Address, TlsFiles};
use crate::connection::{self, Limits};
use crate::desk::Desk;
use crate::error::InspectorError;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// A socket that listens.
pub(crate) enum Listener {
    Tcp(TcpListener, Option<TlsAcceptor>),
    Unix(UnixListener),
}

/// An accepted connection.
pub(crate) enum Accepted {
    Tcp(tokio::net::TcpStream, std::net::SocketAddr, Option<TlsAcceptor>),
    Unix(tokio::net::UnixStream),
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// If that is not possible.
    pub async fn bind(address: &Address, tls: Option<&TlsAcceptor>) -> Result<Self, InspectorError> {
        let failed = |source| InspectorError::Listen { address: address.to_string(), source };
        match address {
            Address::Tcp(name) => Ok(Self::Tcp(TcpListener::bind(name).await.map_err(failed)?, tls.cloned())),
            Address::Unix(path) => {
                remove_stale(path);
                let listener = UnixListener::bind(path).map_err(failed)?;
                // The group is how an operator lets nginx's workers in.
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o660);
                std::fs::set_permissions(path, mode).map_err(failed)?;
                Ok(Self::Unix(listener))
            }
        }
    }

    /// The next connection.
    pub async fn accept(&self) -> std::io::Result<Accepted> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, from) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream, from, tls.clone()))
            }
            Self::Unix(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }

    /// The address of a TCP socket.
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        match self {
            Self::Tcp(listener, _) => listener.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

/// Removes the socket of a service that is not there any more.
fn remove_stale(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        let _ = std::fs::remove_file(path);
    }
}

/// Serves an accepted connection, which has a place as long as it lasts.
pub(crate) async fn serve(
    accepted: Accepted,
    desk: Arc<Desk>,
    limits: Limits,
    stop: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    match accepted {
        Accepted::Unix(stream) => connection::serve(stream, "unix socket", desk, limits, stop).await,
        Accepted::Tcp(stream, from, None) => {
            connection::serve(stream, &from.to_string(), desk, limits, stop).await;
        }
        Accepted::Tcp(stream, from, Some(acceptor)) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                connection::serve(stream, &from.to_string(), desk, limits, stop).await;
            }
        }
    }
}

/// The server side of TLS.
///
/// # Errors
/// What is wrong with the files.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, InspectorError> {
    let failed = |file: &Path, reason: String| InspectorError::Tls { file: file.to_owned(), reason };
    let certificate = &files.certificate;
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| failed(&files.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| failed(certificate, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
