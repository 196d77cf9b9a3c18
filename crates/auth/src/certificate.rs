//! Client certificates: a name in a certificate that the handshake has verified says who the consumer is.

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

use crate::digest::Hash;
use crate::encoding::hex;
use crate::{Candidate, CredentialKind, Failure, Identity, Keys, Pending, Reason, Request, Scheme};

/// The part of a certificate that names a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// The subject's distinguished name, as [`subject`] writes it.
    Subject,
    /// A DNS name among the alternative names.
    Dns,
    /// A URI among them, such as a SPIFFE ID.
    Uri,
    /// An e-mail address among them.
    Email,
    /// The SHA-256 of the certificate itself.
    Sha256,
}

impl NameKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Subject, Self::Dns, Self::Uri, Self::Email, Self::Sha256];

    /// As in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Dns => "dns",
            Self::Uri => "uri",
            Self::Email => "email",
            Self::Sha256 => "sha256",
        }
    }

    /// The id of the credential with that name.
    #[must_use]
    pub fn credential_id(self, name: &str) -> Vec<u8> {
        format!("{}:{}", self.as_str(), self.normal(name)).into_bytes()
    }

    /// The name in the form that is compared.
    #[must_use]
    pub fn normal(self, name: &str) -> String {
        match self {
            Self::Dns | Self::Sha256 => name.to_ascii_lowercase(),
            Self::Subject | Self::Uri | Self::Email => name.to_owned(),
        }
    }
}

/// The scheme: the connection's client certificate is the credential.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientCertificate;

/// A request whose certificate has been looked up.
struct Found(Result<Candidate, Failure>);

impl Pending for Found {
    fn absorb(&mut self, _: &[u8]) {}

    fn finish(self: Box<Self>, _: &dyn Keys) -> Result<Identity, Failure> {
        self.0.map(Identity::of)
    }

    fn canonical(&self) -> Vec<u8> {
        Vec::new()
    }
}

impl Scheme for ClientCertificate {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, _: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let missing = || Failure::new(Reason::Missing, "the connection has no verified client certificate");
        let found = find(request.client_certificate.ok_or_else(missing)?, keys);
        Ok(Box::new(Found(found)))
    }

    fn reads_body(&self) -> bool {
        false
    }

    fn challenge(&self) -> &'static str {
        "ClientCertificate"
    }

    fn credential_fields(&self) -> Vec<&str> {
        Vec::new()
    }
}

fn find(der: &[u8], keys: &dyn Keys) -> Result<Candidate, Failure> {
    let names = names(der)?;
    let mut found: Option<Candidate> = None;
    for (kind, name) in &names {
        let Some(candidate) = keys.find(CredentialKind::Certificate, &kind.credential_id(name)) else { continue };
        if let Some(found) = &found
            && found.consumer.id != candidate.consumer.id
        {
            let why = format!("its names are those of `{}` and `{}`", found.consumer.id, candidate.consumer.id);
            return Err(Failure::new(Reason::Duplicated, why));
        }
        found.get_or_insert(candidate);
    }
    found.ok_or_else(|| {
        let subject = names.first().map(|(_, subject)| subject.as_str()).unwrap_or_default();
        Failure::new(Reason::UnknownKey, format!("no consumer has a name of the certificate of \"{subject}\""))
    })
}

/// The names of a certificate in DER; the first one is the subject.
///
/// # Errors
/// [`Reason::Malformed`] if it cannot be read.
pub fn names(der: &[u8]) -> Result<Vec<(NameKind, String)>, Failure> {
    let unreadable = || Failure::new(Reason::Malformed, "the client certificate cannot be read");
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| unreadable())?;
    let mut names = vec![(NameKind::Subject, subject(certificate.subject()))];
    names.push((NameKind::Sha256, hex(Hash::Sha256.of(der).as_ref())));
    if let Some(extension) = certificate.subject_alternative_name().map_err(|_| unreadable())? {
        names.extend(extension.value.general_names.iter().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((NameKind::Dns, (*name).to_owned())),
            GeneralName::URI(name) => Some((NameKind::Uri, (*name).to_owned())),
            GeneralName::RFC822Name(name) => Some((NameKind::Email, (*name).to_owned())),
            _ => None,
        }));
    }
    Ok(names)
}

/// The attribute types that RFC 4514 has names for, and two that OpenSSL adds.
const ATTRIBUTES: [(&str, &str); 11] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "street"),
    ("2.5.4.5", "serialNumber"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A distinguished name as RFC 4514 writes it, the most specific part first: `CN=shop,O=Shop Ltd,C=DE`. This is what
/// nginx has in `$ssl_client_s_dn`, except that characters past ASCII are not escaped.
#[must_use]
pub fn subject(name: &X509Name<'_>) -> String {
    let mut out = String::new();
    for relative in name.iter_rdn().collect::<Vec<_>>().into_iter().rev() {
        for (at, attribute) in relative.iter().enumerate() {
            if !out.is_empty() {
                out.push(if at == 0 { ',' } else { '+' });
            }
            let oid = attribute.attr_type().to_id_string();
            let known = ATTRIBUTES.iter().find(|(known, _)| *known == oid);
            out.push_str(known.map_or(oid.as_str(), |(_, name)| name));
            out.push('=');
            match attribute.as_str() {
                Ok(value) => escape(value, &mut out),
                Err(_) => {
                    out.push('#');
                    out.push_str(&hex(attribute.as_slice()));
                }
            }
        }
    }
    out
}

fn escape(value: &str, out: &mut String) {
    let last = value.chars().count().saturating_sub(1);
    for (at, character) in value.chars().enumerate() {
        let is_special = matches!(character, ',' | '+' | '"' | '\\' | '<' | '>' | ';');
        let is_edge = (character == ' ' && (at == 0 || at == last)) || (character == '#' && at == 0);
        if character.is_control() {
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes).bytes().for_each(|byte| out.push_str(&format!("\\{byte:02X}")));
        } else {
            if is_special || is_edge {
                out.push('\\');
            }
            out.push(character);
        }
    }
}
