//! Connections to control.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{ClientError, Target};

/// Where systems keep the authorities that they trust.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

pub(super) async fn connect(target: &Target) -> Result<SendRequest<Full<Bytes>>, ClientError> {
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

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // What ends it is told to whoever waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

fn configuration() -> Result<ClientConfig, ClientError> {
    let named = std::env::var("SSL_CERT_FILE").ok();
    let known = || AUTHORITIES.iter().find(|path| std::path::Path::new(path).exists()).map(|path| (*path).to_owned());
    let path =
        named.or_else(known).ok_or_else(|| ClientError::Target("no authorities; set SSL_CERT_FILE".to_owned()))?;
    let bad = |error: &dyn std::fmt::Display| io::Error::other(format!("{path}: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&path).map_err(|error| bad(&error))? {
        roots.add_parsable_certificates(certificate.ok());
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|error| bad(&error))?.with_root_certificates(roots).with_no_client_auth())
}
