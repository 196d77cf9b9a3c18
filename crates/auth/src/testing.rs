//! What the tests of schemes share: consumers with secrets, and the way of a request through a scheme.

use weir_http::Header;

use crate::{
    Consumer, Consumers, Credential, CredentialKind, Failure, Identity, Key, Reason, Request, Scheme, Secret, Signer,
    SigningKey, Unsigned,
};

/// A time, in milliseconds since the Unix epoch.
pub const NOW_MS: u64 = 1_700_000_000_000;

/// A consumer `partner` with these key ids and secrets.
pub fn consumers(secrets: &[(&str, &str)]) -> Consumers {
    let credential = |(id, secret): &(&str, &str)| Credential {
        kind: CredentialKind::Signature,
        id: id.as_bytes().to_vec(),
        key: Some(Key::Secret(Secret::new(*secret))),
    };
    let credentials = secrets.iter().map(credential).collect();
    let mut consumers = Consumers::default();
    consumers.put(Consumer { id: "partner".into(), groups: Vec::new(), credentials });
    consumers
}

/// A request as tests write it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub target: Vec<u8>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub now_ms: u64,
    /// The body arrives in parts of this many bytes.
    pub part: usize,
}

impl Sent {
    pub fn new(target: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), value.as_bytes().to_vec())).collect();
        Self { target: target.into(), headers, body: body.to_vec(), now_ms: NOW_MS, part: usize::MAX }
    }

    /// The same, signed.
    pub fn signed(&self, signer: &dyn Signer, key_id: &str, secret: &str) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let target = text(&self.target);
        let unsigned = Unsigned {
            method: "POST",
            is_tls: true,
            authority: "example.com",
            target: &target,
            headers: &headers,
            body: &self.body,
            now_ms: self.now_ms,
            random: [7; 16],
        };
        let signed = signer.sign(&unsigned, key_id, &SigningKey::Secret(Secret::new(secret))).unwrap();
        let mut sent = self.clone();
        sent.headers.extend(signed.headers.into_iter().map(|(name, value)| (name, value.into_bytes())));
        sent.target = signed.target.map_or(sent.target, String::into_bytes);
        sent
    }

    pub fn header(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)).unwrap().1
    }

    pub fn verify(&self, scheme: &dyn Scheme, consumers: &Consumers) -> Result<Identity, Failure> {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value)).collect();
        let request = Request {
            method: b"POST",
            is_tls: true,
            client_certificate: None,
            authority: b"example.com",
            target: &self.target,
            headers: &headers,
        };
        let mut pending = scheme.begin(&request, consumers, self.now_ms)?;
        self.body.chunks(self.part).for_each(|part| pending.absorb(part));
        let _ = pending.canonical();
        pending.finish(consumers)
    }

    /// Why it is refused; `None` if it is accepted.
    pub fn reason(&self, scheme: &dyn Scheme, consumers: &Consumers) -> Option<Reason> {
        self.verify(scheme, consumers).err().map(|failure| failure.reason)
    }
}
