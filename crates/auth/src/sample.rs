//! A request with its body, for tests of schemes: made, signed, changed, verified.

use proptest::prelude::*;
use proptest::sample::Index;
use weir_http::Header;

use crate::{
    Consumer, Consumers, Credential, CredentialKind, Failure, Identity, Key, Reason, Request, Scheme, Secret, Signer,
    SigningKey, Unsigned,
};

/// A request as it arrives.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) method: Vec<u8>,
    pub(crate) is_tls: bool,
    pub(crate) authority: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Sample {
    /// A request to `example.com` over TLS.
    pub(crate) fn new(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Self {
            method: method.into(),
            is_tls: true,
            authority: b"example.com".to_vec(),
            target: target.into(),
            headers: headers.collect(),
            body: body.into(),
        }
    }

    /// The same request to another host.
    pub(crate) fn at(self, authority: &str) -> Self {
        Self { authority: authority.into(), ..self }
    }

    /// The same request with a field in the place of those with its name.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// The value of a field.
    pub(crate) fn value(&self, name: &str) -> String {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        String::from_utf8(found.unwrap().1.clone()).unwrap()
    }

    /// The same request with a part of a field's value replaced.
    pub(crate) fn replaced(self, name: &str, from: &str, to: &str) -> Self {
        let value = self.value(name);
        assert!(value.contains(from), "{value}");
        self.with(name, value.replace(from, to))
    }

    /// The same request signed.
    pub(crate) fn signed(mut self, signer: &dyn Signer, now_ms: u64, id: &str, secret: &str) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let headers: Vec<(String, String)> =
            self.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let (method, authority, target) = (text(&self.method), text(&self.authority), text(&self.target));
        let unsigned = Unsigned {
            method: &method,
            is_tls: self.is_tls,
            authority: &authority,
            target: &target,
            headers: &headers,
            body: &self.body,
            now_ms,
            random: [0; 16],
        };
        let signed = signer.sign(&unsigned, id, &SigningKey::Secret(Secret::new(secret))).unwrap();
        self.target = signed.target.map_or(self.target, String::into_bytes);
        signed.headers.iter().fold(self, |sample, (name, value)| sample.with(name, value))
    }

    /// The verdict of a scheme and what it canonicalised, with the body cut at these places.
    pub(crate) fn judged(
        &self,
        scheme: &dyn Scheme,
        keys: &Consumers,
        now_ms: u64,
        cuts: &[usize],
    ) -> (Result<Identity, Failure>, Vec<u8>) {
        let headers: Vec<Header<'_>> =
            self.headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value)).collect();
        let request = Request {
            method: &self.method,
            is_tls: self.is_tls,
            client_certificate: None,
            authority: &self.authority,
            target: &self.target,
            headers: &headers,
        };
        let mut pending = match scheme.begin(&request, keys, now_ms) {
            Ok(pending) => pending,
            Err(failure) => return (Err(failure), Vec::new()),
        };
        let mut cuts = cuts.to_vec();
        cuts.sort_unstable();
        let mut from = 0;
        for to in cuts.into_iter().chain([self.body.len()]) {
            pending.absorb(&self.body[from..to]);
            from = to;
        }
        let canonical = pending.canonical();
        (pending.finish(keys), canonical)
    }

    /// Why a scheme refuses it; `None` if it does not.
    pub(crate) fn refusal(&self, scheme: &dyn Scheme, keys: &Consumers, now_ms: u64) -> Option<Reason> {
        let (verdict, _) = self.judged(scheme, keys, now_ms, &[]);
        if let Err(failure) = &verdict {
            assert!(failure.detail.len() < 400, "{failure}");
        }
        verdict.err().map(|failure| failure.reason)
    }
}

/// Consumer `john` with a shared secret for signatures.
pub(crate) fn keys(id: &str, secret: &str) -> Consumers {
    let key = Some(Key::Secret(Secret::new(secret)));
    let credential = Credential { kind: CredentialKind::Signature, id: id.into(), key };
    let mut consumers = Consumers::default();
    consumers.put(Consumer { id: "john".to_owned(), groups: Vec::new(), credentials: vec![credential] });
    consumers
}

prop_compose! {
    /// A request with a query, a field `x-note` and perhaps a body.
    pub(crate) fn samples()(
        method in prop::sample::select(vec!["GET", "POST", "DELETE"]),
        path in "/[a-z0-9/.~$]{0,12}[a-z]",
        query in "[a-z]{1,4}=[a-z0-9]{1,8}(&[a-z]{1,4}=[a-z0-9]{1,8}){0,3}",
        note in "[a-zA-Z0-9]{1,12}",
        body in ".{0,64}",
    ) -> Sample {
        Sample::new(method, &format!("{path}?{query}"), &[("x-note", &note)], &body)
    }
}

/// The part of a request that is changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Method,
    Target,
    Authority,
    Field(&'static str),
    Body,
}

impl Sample {
    /// The same request with a byte of that part changed; `None` if the part is empty.
    pub(crate) fn changed(mut self, part: Part, at: Index, by: u8) -> Option<Self> {
        let bytes = match part {
            Part::Method => &mut self.method,
            Part::Target => &mut self.target,
            Part::Authority => &mut self.authority,
            Part::Field(name) => &mut self.headers.iter_mut().find(|(found, _)| found == name)?.1,
            Part::Body => &mut self.body,
        };
        if bytes.is_empty() {
            return None;
        }
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        Some(self)
    }
}
