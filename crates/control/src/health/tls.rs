//! TLS to members, for health checks.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use weir_gateway::resource::UpstreamTls;

use crate::authorities::system_authorities;

/// A TLS client with an upstream's settings.
pub(super) fn client(settings: &UpstreamTls) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = if settings.verify {
        builder.with_root_certificates(authorities(settings)?).with_no_client_auth()
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))).with_no_client_auth()
    };
    Ok(Arc::new(config))
}

/// Shakes hands with a member.
pub(super) async fn connect<S>(client: Arc<ClientConfig>, name: &str, stream: S) -> Result<TlsStream<S>, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let server = ServerName::try_from(name.to_owned()).map_err(|_| format!("`{name}` is no name for TLS"))?;
    TlsConnector::from(client).connect(server, stream).await.map_err(|error| format!("TLS: {error}"))
}

fn authorities(settings: &UpstreamTls) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &settings.authorities {
        Some(pem) => {
            let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
            roots.add_parsable_certificates(certificates.map_err(|error| error.to_string())?);
        }
        None => roots = system_authorities(),
    }
    if roots.is_empty() { Err("there are no authorities to verify certificates with".to_owned()) } else { Ok(roots) }
}

/// Trusts any certificate, as `verify: false` asks for. Signatures of the handshake are still verified.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
