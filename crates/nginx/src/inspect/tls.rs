//! TLS to inspectors, with rustls: it needs no descriptor of its own and no callback.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use weir_inspect::inspector::Tls;

/// A configuration for an inspector.
///
/// # Errors
/// If an authority cannot be read, or there is none.
pub fn configure(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let mut verifier = Verifier { webpki: None, authorities: Vec::new(), provider };
    if tls.verify {
        let mut roots = RootCertStore::empty();
        match &tls.authorities {
            Some(text) => {
                for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
                    let certificate =
                        certificate.map_err(|error| format!("the authorities cannot be read: {error}"))?;
                    verifier.authorities.push(certificate.clone());
                    roots.add(certificate).map_err(|error| format!("an authority cannot be used: {error}"))?;
                }
            }
            None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        }
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&verifier.provider));
        verifier.webpki = Some(webpki.build().map_err(|error| error.to_string())?);
    }
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Verifies as webpki does, or takes any certificate (`verify: false`); the handshake is its owner's in either case.
///
/// Beside what webpki takes, a certificate is good that is itself among the authorities: one that signs itself, as many
/// internal services have, says that it is an authority, which webpki does not take for a server's. Its dates are not
/// looked at: the operator has chosen this very certificate.
#[derive(Debug)]
struct Verifier {
    webpki: Option<Arc<WebPkiServerVerifier>>,
    authorities: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(webpki) = &self.webpki else { return Ok(ServerCertVerified::assertion()) };
        match webpki.verify_server_cert(end, between, name, stapled, now) {
            Err(Error::InvalidCertificate(_)) if self.authorities.contains(end) => {
                verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
