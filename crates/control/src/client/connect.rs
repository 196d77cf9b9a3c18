//! Connections to control.

use std::io;
use std::sync::Arc;

use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;

use super::{ClientError, Sender, Target};
use crate::authorities::system_authorities;

pub(super) async fn connect(target: &Target) -> Result<Sender, ClientError> {
    match target {
        Target::Socket(path) => speak(UnixStream::connect(path).await?).await,
        Target::Tcp { host, port, tls, .. } => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            if !tls {
                return speak(stream).await;
            }
            let bad = |_| ClientError::Target(format!("`{host}` cannot be the name in a certificate"));
            let name = ServerName::try_from(host.clone()).map_err(bad)?;
            speak(TlsConnector::from(Arc::new(configuration()?)).connect(name, stream).await?).await
        }
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Sender, ClientError> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // What ends it is told to whoever waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

fn configuration() -> Result<ClientConfig, ClientError> {
    let roots = system_authorities();
    if roots.is_empty() {
        return Err(ClientError::Target("no certificate authorities found; set SSL_CERT_FILE".to_owned()));
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth())
}
