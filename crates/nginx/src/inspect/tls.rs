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
/// If an authority cannot be read.
pub fn configure(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    if !tls.verify {
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider)));
        return Ok(Arc::new(builder.with_no_client_auth()));
    }
    let mut roots = RootCertStore::empty();
    let mut authorities = Vec::new();
    match &tls.authorities {
        Some(text) => {
            for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
                let certificate = certificate.map_err(|error| format!("the authorities cannot be read: {error}"))?;
                authorities.push(certificate.clone());
                roots.add(certificate).map_err(|error| format!("an authority cannot be used: {error}"))?;
            }
        }
        None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let inner = verifier.map_err(|error| error.to_string())?;
    let pinned = Arc::new(Pinned { inner, authorities });
    Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(pinned).with_no_client_auth()))
}

/// As webpki verifies, and beside that a certificate that is itself among the authorities: one that signs itself, as many
/// internal services have, says that it is an authority, which webpki does not take for a server's. Its dates are not
/// looked at: the operator has chosen this very certificate.
#[derive(Debug)]
struct Pinned {
    inner: Arc<WebPkiServerVerifier>,
    authorities: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.inner.verify_server_cert(end, between, name, stapled, now) {
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
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// `verify: false`: any certificate will do, but the handshake is the owner's.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
