//! TLS of the API: certificate and key from files, and client certificates if authorities for them are given.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Files, all PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, then its intermediates.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Whose client certificates are accepted; with this, each client must show one.
    pub client_authorities: Option<PathBuf>,
}

/// What accepts connections with these files.
pub(super) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, String> {
    let chain = certificates(&tls.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| format!("{}: {error}", tls.key.display()))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match &tls.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        format!("{} and {} do not go together: {error}", tls.certificate.display(), tls.key.display())
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Shakes hands; `None` if that fails. With the CN of the client's certificate.
pub(super) async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> Option<(TlsStream<TcpStream>, Option<Arc<str>>)> {
    let stream = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await.ok()?.ok()?;
    let (_, session) = stream.get_ref();
    let name = session.peer_certificates().and_then(|chain| common_name(chain.first()?));
    Some((stream, name))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let at = |error| format!("{}: {error}", path.display());
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(at)?.collect();
    let certificates = certificates.map_err(at)?;
    if certificates.is_empty() {
        return Err(format!("{}: there is no certificate (PEM) in it", path.display()));
    }
    Ok(certificates)
}

/// The CN of a certificate's subject.
fn common_name(certificate: &CertificateDer<'_>) -> Option<Arc<str>> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
    Some(name.into())
}
