//! Certificates: whether PEM, chain and key are what a worker can use, and what it needs to know of them.
//!
//! A worker gives both to nginx's TLS library, whose errors are codes; here they have words and lines. The
//! key is compared by its public half, which `rustls` derives; a kind of key that it lacks (P-521, RSA
//! above 4096 bits) is left to nginx.

mod section;

use rustls::crypto::ring::sign::any_supported_type;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::prelude::{CertificateRevocationList, FromDer, GeneralName, X509Certificate};
use x509_parser::public_key::PublicKey;

use section::{Section, sections};

/// Most certificates in a chain or among authorities: the largest bundles of systems have about 150.
const MAX_CERTIFICATES: usize = 512;
/// Smallest RSA key that TLS libraries take by default.
const MIN_RSA_BITS: usize = 2048;
/// Largest RSA key that is compared.
const MAX_RSA_BITS: usize = 4096;

/// Facts about a certificate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CertificateFacts {
    /// Lower-case DNS names, wildcards as written.
    pub names: Vec<String>,
    /// When it expires, in seconds since 1970.
    pub not_after: i64,
}

/// The part with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PemPart {
    Certificate,
    Key,
}

/// A fault of a certificate or key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PemFault {
    pub part: PemPart,
    pub message: String,
    pub hint: Option<&'static str>,
}

impl PemFault {
    fn new(part: PemPart, message: impl Into<String>, hint: Option<&'static str>) -> Self {
        Self { part, message: message.into(), hint }
    }
}

/// Looks at a chain and its key, both in PEM, at a time in seconds since 1970.
pub(crate) fn examine(chain: &str, key: &str, now: i64) -> Result<CertificateFacts, Vec<PemFault>> {
    let certificates = certificates(chain);
    let key = private_key(key);
    let mut faults: Vec<PemFault> = Vec::new();
    let parsed: Vec<X509Certificate<'_>> = match &certificates {
        Ok(all) => all.iter().filter_map(|one| parse(one).map_err(|fault| faults.push(fault)).ok()).collect(),
        Err(_) => Vec::new(),
    };
    let key = key.map_err(|fault| faults.push(fault)).ok();
    if let Err(fault) = &certificates {
        faults.insert(0, PemFault::new(fault.part, fault.message.clone(), fault.hint));
    }
    let Some(leaf) = parsed.first().filter(|_| certificates.as_ref().is_ok_and(|all| all.len() == parsed.len())) else {
        return Err(faults);
    };
    let not_after = leaf.validity().not_after;
    if not_after.timestamp() < now {
        let date = not_after.to_datetime().date();
        faults.push(PemFault::new(
            PemPart::Certificate,
            format!("the certificate expired on {date}"),
            Some("renew it"),
        ));
    }
    if let Some(fault) = small(leaf) {
        faults.push(fault);
    } else if let Some(key) = key {
        faults.extend(mismatch(&parsed, &key));
    }
    if faults.is_empty() {
        Ok(CertificateFacts { names: names(leaf), not_after: not_after.timestamp() })
    } else {
        Err(faults)
    }
}

/// Looks at certificates of authorities, in PEM.
pub(crate) fn authorities(text: &str) -> Result<(), PemFault> {
    let all = certificates(text)?;
    all.iter().try_for_each(|one| parse(one).map(drop))
}

/// Looks at certificates of authorities that issue certificates of clients, in PEM.
pub(crate) fn issuers(text: &str) -> Result<(), PemFault> {
    let all = certificates(text)?;
    all.iter().try_for_each(|one| {
        let is_authority = |found: &X509Certificate<'_>| match found.basic_constraints() {
            Ok(Some(extension)) => extension.value.ca,
            Ok(None) => found.version() == x509_parser::x509::X509Version::V1,
            Err(_) => false,
        };
        if is_authority(&parse(one)?) {
            return Ok(());
        }
        let message = format!("line {}: the certificate that begins here is not that of an authority", one.line);
        Err(PemFault::new(PemPart::Certificate, message, Some("give the certificate that has issued it")))
    })
}

/// Looks at certificate revocation lists, in PEM.
pub(crate) fn crls(text: &str) -> Result<(), PemFault> {
    let fault =
        |line: usize, message: &str, hint| PemFault::new(PemPart::Certificate, format!("line {line}: {message}"), hint);
    let sections = sections(text).map_err(|error| fault(error.line, error.message, None))?;
    for Section { line, label, text } in &sections {
        if *label != "X509 CRL" {
            return Err(fault(*line, &format!("expected a revocation list, found {label}"), None));
        }
        let der = rustls_pki_types::CertificateRevocationListDer::from_pem_slice(text.as_bytes());
        let der = der.map_err(|_| fault(*line, "the block that begins here is not valid base64", Some(DAMAGED)))?;
        if CertificateRevocationList::from_der(&der).is_err() {
            return Err(fault(*line, "the revocation list that begins here cannot be read", Some(DAMAGED)));
        }
    }
    if sections.is_empty() { Err(fault(1, "there is no revocation list", None)) } else { Ok(()) }
}

/// A certificate's bytes and the line where it begins.
struct Encoded {
    line: usize,
    der: Vec<u8>,
}

fn certificates(text: &str) -> Result<Vec<Encoded>, PemFault> {
    let fault =
        |line: usize, message: &str, hint| PemFault::new(PemPart::Certificate, format!("line {line}: {message}"), hint);
    let sections = sections(text).map_err(|error| fault(error.line, error.message, None))?;
    let mut all = Vec::new();
    for Section { line, label, text } in sections {
        if label.ends_with("PRIVATE KEY") {
            return Err(fault(line, "this is a private key", Some("it belongs into `key`")));
        }
        if label != "CERTIFICATE" {
            return Err(fault(line, &format!("expected a certificate, found {label}"), None));
        }
        if all.len() >= MAX_CERTIFICATES {
            return Err(fault(line, "there are more than 512 certificates", None));
        }
        let der = rustls_pki_types::CertificateDer::from_pem_slice(text.as_bytes());
        let der = der.map_err(|_| fault(line, "the block that begins here is not valid base64", Some(DAMAGED)))?;
        all.push(Encoded { line, der: der.to_vec() });
    }
    if all.is_empty() { Err(fault(1, "there is no certificate", None)) } else { Ok(all) }
}

/// Advice on broken PEM.
const DAMAGED: &str = "copy the file whole, with its line breaks";

fn parse(encoded: &Encoded) -> Result<X509Certificate<'_>, PemFault> {
    let message = || format!("line {}: the certificate that begins here cannot be read", encoded.line);
    match X509Certificate::from_der(&encoded.der) {
        Ok((_, certificate)) => Ok(certificate),
        Err(_) => Err(PemFault::new(PemPart::Certificate, message(), Some(DAMAGED))),
    }
}

fn private_key(text: &str) -> Result<PrivateKeyDer<'static>, PemFault> {
    let fault = |line: usize, message: &str, hint| PemFault::new(PemPart::Key, format!("line {line}: {message}"), hint);
    let sections = sections(text).map_err(|error| fault(error.line, error.message, None))?;
    // `openssl ecparam -genkey` writes these before the key.
    let mut sections = sections.into_iter().filter(|section| section.label != "EC PARAMETERS");
    let Some(Section { line, label, text }) = sections.next() else {
        return Err(fault(1, "there is no private key", None));
    };
    if let Some(second) = sections.next() {
        return Err(fault(second.line, "expected one private key, found another block", None));
    }
    if label == "ENCRYPTED PRIVATE KEY" || text.contains("ENCRYPTED\n") || text.contains("ENCRYPTED\r\n") {
        let hint = "nobody could enter its password at run time; decrypt it: openssl pkey -in KEY -out PLAIN";
        return Err(fault(line, "the key is encrypted", Some(hint)));
    }
    if label == "CERTIFICATE" {
        return Err(fault(line, "this is a certificate", Some("it belongs into `certificate`")));
    }
    if !label.ends_with("PRIVATE KEY") {
        return Err(fault(line, &format!("expected a private key, found {label}"), None));
    }
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| fault(line, "the key cannot be read", Some(DAMAGED)))
}

/// RSA keys that TLS libraries refuse.
fn small(leaf: &X509Certificate<'_>) -> Option<PemFault> {
    match leaf.public_key().parsed() {
        Ok(PublicKey::RSA(key)) if key.key_size() < MIN_RSA_BITS => {
            let message = format!("the RSA key has {} bits", key.key_size());
            Some(PemFault::new(PemPart::Certificate, message, Some("at least 2048 are needed")))
        }
        _ => None,
    }
}

/// The fault if the key is not that of the first certificate.
fn mismatch(chain: &[X509Certificate<'_>], key: &PrivateKeyDer<'_>) -> Option<PemFault> {
    let Ok(signing) = any_supported_type(key) else {
        let broken = || PemFault::new(PemPart::Key, "the key cannot be read", Some(DAMAGED));
        return is_compared(&chain[0]).then(broken);
    };
    let public = signing.public_key()?;
    let belongs = |certificate: &X509Certificate<'_>| certificate.public_key().raw == public.as_ref();
    if belongs(&chain[0]) {
        return None;
    }
    let hint = if chain[1..].iter().any(belongs) {
        "it is that of a later certificate of the chain: put the server's own certificate first"
    } else {
        "compare what `openssl x509 -noout -pubkey` and `openssl pkey -pubout` print"
    };
    Some(PemFault::new(PemPart::Key, "the key is not the certificate's", Some(hint)))
}

/// Whether keys of this kind can be compared.
fn is_compared(leaf: &X509Certificate<'_>) -> bool {
    /// RFC 5480, secp256r1 and secp384r1.
    const CURVES: [&str; 2] = ["1.2.840.10045.3.1.7", "1.3.132.0.34"];
    /// RFC 8410.
    const ED25519: &str = "1.3.101.112";
    let algorithm = &leaf.public_key().algorithm;
    match leaf.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => key.key_size() <= MAX_RSA_BITS,
        Ok(PublicKey::EC(_)) => {
            let curve = algorithm.parameters.as_ref().and_then(|curve| curve.as_oid().ok());
            curve.is_some_and(|curve| CURVES.contains(&curve.to_id_string().as_str()))
        }
        _ => algorithm.algorithm.to_id_string() == ED25519,
    }
}

/// DNS names of a certificate; of one without any, its common name (RFC 6125, section 6.4.4).
fn names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let alternative = leaf.subject_alternative_name().ok().flatten();
    let dns = |name: &GeneralName<'_>| {
        if let GeneralName::DNSName(name) = name { Some(name.to_ascii_lowercase()) } else { None }
    };
    let mut names: Vec<String> =
        alternative.iter().flat_map(|extension| &extension.value.general_names).filter_map(dns).collect();
    if names.is_empty() {
        let common = leaf.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        names.extend(
            common.map(str::to_ascii_lowercase).filter(|name| weir_policy::leaf::form::host_pattern(name).is_ok()),
        );
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
