//! A request's head as schemes read it: as it came over the wire, before anything was decoded or normalised.

use weir_http::{Header, Transaction, header_hash};

use crate::{Failure, Reason};

/// The head of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a [u8],
    /// Whether the client used TLS.
    pub is_tls: bool,
    /// The client certificate in DER, if the handshake has verified one.
    pub client_certificate: Option<&'a [u8]>,
    /// The `Host` field or `:authority` as sent, port included; empty if there is none.
    pub authority: &'a [u8],
    /// The request target as sent: path, `?`, query.
    pub target: &'a [u8],
    /// All header fields in order. Values have no surrounding white space.
    pub headers: &'a [Header<'a>],
}

impl<'a> Request<'a> {
    /// The head of a transaction.
    #[must_use]
    pub fn of(transaction: &Transaction<'a>) -> Self {
        let head = &transaction.head;
        let authority = transaction.header(b"host", const { header_hash(b"host") });
        Self {
            method: head.method,
            is_tls: head.tls.is_some(),
            client_certificate: head.tls.and_then(|tls| tls.client_certificate),
            authority: authority.unwrap_or(head.host),
            target: head.target,
            headers: head.headers,
        }
    }

    /// The target's path as sent: all before the first `?`.
    #[must_use]
    pub fn path(&self) -> &'a [u8] {
        &self.target[..self.split()]
    }

    /// The target's query as sent, without the `?`; `None` if there is no `?`.
    #[must_use]
    pub fn query(&self) -> Option<&'a [u8]> {
        self.target.get(self.split() + 1..)
    }

    fn split(&self) -> usize {
        memchr::memchr(b'?', self.target).unwrap_or(self.target.len())
    }

    /// The values of a header field by its name in lower case, in order.
    pub fn values(&self, name: &[u8]) -> impl Iterator<Item = &'a [u8]> + use<'a, '_> {
        let (hash, name) = (header_hash(name), name.to_vec());
        self.headers.iter().filter(move |header| header.is(&name, hash)).map(|header| header.value)
    }

    /// The value of a header field that has at most one.
    ///
    /// # Errors
    /// [`Reason::Duplicated`] if there are several.
    pub fn only(&self, name: &'static str) -> Result<Option<&'a [u8]>, Failure> {
        let hash = header_hash(name.as_bytes());
        let mut found = self.headers.iter().filter(|header| header.is(name.as_bytes(), hash));
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Failure::new(Reason::Duplicated, format!("several `{name}` fields"))),
            (first, None) => Ok(first.map(|header| header.value)),
        }
    }
}
