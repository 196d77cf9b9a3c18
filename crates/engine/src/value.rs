//! Value expressions compiled to sources, and what they yield for a transaction.
//!
//! A source borrows wherever it can: a field is a slice of the request's memory, and a function
//! that changes nothing returns the slice it was given.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;

use weir_auth::Identity;
use weir_http::{Anomalies, Pair, Transaction};
use weir_rules::Field;
use weir_rules::ir::{Access, Literal, ValueExpr};

use crate::function;
use crate::{Bans, Geo, GeoLocation};

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Bytes(&'a [u8]),
    Int(i64),
    Bool(bool),
    Ip(IpAddr),
}

/// The values of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    One(Value<'a>),
    Many(&'a [Value<'a>]),
}

impl<'a> Values<'a> {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Value<'a>] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// What sources read besides the transaction.
pub(crate) struct Reader<'a, 'e> {
    pub(crate) transaction: &'e Transaction<'a>,
    pub(crate) request_id: &'e [u8],
    pub(crate) tags: RefCell<Vec<String>>,
    pub(crate) identity: RefCell<Option<Identity>>,
    /// Who is banned, and the time.
    pub(crate) bans: Option<(&'e dyn Bans, u64)>,
    pub(crate) geo: Option<&'e dyn Geo>,
    pub(crate) location: Cell<Option<GeoLocation>>,
}

impl<'a, 'e> Reader<'a, 'e> {
    fn location(&self) -> GeoLocation {
        if let Some(location) = self.location.get() {
            return location;
        }
        let location = self.geo.map(|geo| geo.locate(self.transaction.head.client)).unwrap_or_default();
        self.location.set(Some(location));
        location
    }

    fn copy(&self, bytes: &[u8]) -> Value<'a> {
        Value::Bytes(self.transaction.arena().alloc_slice_copy(bytes))
    }

    /// A claim of the verified token.
    fn claim(&self, name: &[u8]) -> Option<Value<'a>> {
        let identity = self.identity.borrow();
        let claims = identity.as_ref()?.claims.as_deref()?;
        claims.get(std::str::from_utf8(name).ok()?).map(|claim| self.json(claim))
    }

    /// A text as it is, another value as JSON.
    fn json(&self, value: &serde_json::Value) -> Value<'a> {
        match value {
            serde_json::Value::String(text) => self.copy(text.as_bytes()),
            other => self.copy(other.to_string().as_bytes()),
        }
    }

    fn many(&self, values: impl ExactSizeIterator<Item = Value<'a>>) -> Values<'a> {
        Values::Many(self.transaction.arena().alloc_slice_fill_iter(values))
    }

    fn collect(&self, values: impl Iterator<Item = Value<'a>>) -> Values<'a> {
        let mut list = bumpalo::collections::Vec::new_in(self.transaction.arena());
        list.extend(values);
        Values::Many(list.into_bump_slice())
    }
}

/// A value expression ready to be read.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Literal(Literal),
    Field(Field),
    /// A header by lower-case name and hash; of the response if the flag is set.
    Header {
        name: Vec<u8>,
        hash: u64,
        response: bool,
    },
    /// An item of another map.
    Item(Field, Vec<u8>),
    /// The n-th of several values.
    Nth(Box<Source>, usize),
    Call(weir_rules::Function, Vec<Source>),
}

impl Source {
    pub(crate) fn new(value: &ValueExpr) -> Self {
        match value {
            ValueExpr::Literal(literal) => Self::Literal(literal.clone()),
            ValueExpr::Call(function, arguments) => Self::Call(*function, arguments.iter().map(Self::new).collect()),
            ValueExpr::Field(Access { field, key, index }) => {
                let source = match key {
                    None => Self::Field(*field),
                    Some(key) if field.folds_names() => {
                        let name = key.to_ascii_lowercase();
                        let hash = weir_http::header_hash(&name);
                        Self::Header { name, hash, response: *field == Field::ResponseHeaders }
                    }
                    Some(key) => Self::Item(*field, key.clone()),
                };
                match index {
                    Some(index) => Self::Nth(Box::new(source), *index as usize),
                    None => source,
                }
            }
        }
    }

    /// The source's values, decoded into the transaction's arena where they have to be.
    pub(crate) fn read<'a>(&self, reader: &Reader<'a, '_>) -> Values<'a> {
        let transaction = reader.transaction;
        match self {
            Self::Literal(literal) => Values::One(match literal {
                Literal::Bytes(bytes) => reader.copy(bytes),
                Literal::Int(number) => Value::Int(*number),
                Literal::Ip(address) => Value::Ip(*address),
                Literal::Bool(truth) => Value::Bool(*truth),
            }),
            Self::Field(field) => read_field(*field, reader),
            Self::Header { name, hash, response } => {
                let headers = if *response {
                    transaction.response().map(|response| response.headers).unwrap_or_default()
                } else {
                    transaction.head.headers
                };
                let mut found =
                    headers.iter().filter(|header| header.is(name, *hash)).map(|header| Value::Bytes(header.value));
                match (found.next(), found.next()) {
                    (None, _) => Values::Many(&[]),
                    (Some(only), None) => Values::One(only),
                    (Some(first), Some(second)) => reader.collect([first, second].into_iter().chain(found)),
                }
            }
            Self::Item(field, key) => {
                if *field == Field::JwtClaims {
                    let claim = reader.claim(key);
                    return reader.collect(claim.into_iter());
                }
                if *field == Field::Counters {
                    let found = transaction.counters().iter().filter(|counter| counter.id.as_bytes() == key);
                    return reader.collect(found.map(|counter| Value::Int(counter.value)));
                }
                let of_key = |pair: &&Pair<'a>| pair.name == key.as_slice();
                reader.collect(pairs(*field, transaction).iter().filter(of_key).map(|pair| Value::Bytes(pair.value)))
            }
            Self::Nth(inner, index) => match inner.read(reader).as_slice().get(*index) {
                Some(value) => Values::One(*value),
                None => Values::Many(&[]),
            },
            Self::Call(called, arguments) => function::call(*called, arguments, reader),
        }
    }
}

/// The pairs behind a map field, its names or its values.
fn pairs<'a>(field: Field, transaction: &Transaction<'a>) -> &'a [Pair<'a>] {
    match field {
        Field::UriArgs | Field::UriArgsNames | Field::UriArgsValues => transaction.arguments(),
        Field::Cookies | Field::CookiesNames | Field::CookiesValues => transaction.cookies(),
        Field::CookiesDecoded => transaction.decoded_cookies(),
        Field::BodyForm | Field::BodyFormNames | Field::BodyFormValues => transaction.form(),
        Field::BodyJson | Field::BodyJsonNames | Field::BodyJsonValues => transaction.json(),
        _ => &[],
    }
}

fn read_field<'a>(field: Field, reader: &Reader<'a, '_>) -> Values<'a> {
    let transaction = reader.transaction;
    let head = &transaction.head;
    let header = |name: &'static [u8], hash: u64| Value::Bytes(transaction.header(name, hash).unwrap_or_default());
    let response_headers = || transaction.response().map(|response| response.headers).unwrap_or_default();
    let parts = || transaction.multipart().iter();
    let tls = head.tls.unwrap_or_default();
    macro_rules! named {
        ($name:literal) => {
            header($name, const { weir_http::header_hash($name) })
        };
    }
    Values::One(match field {
        Field::Host => Value::Bytes(head.host),
        Field::Method => Value::Bytes(head.method),
        Field::Version => Value::Bytes(head.version.as_bytes()),
        Field::Uri => Value::Bytes(head.target),
        Field::FullUri => {
            let scheme: &[u8] = if head.tls.is_some() { b"https://" } else { b"http://" };
            reader.copy(&[scheme, head.host, head.target].concat())
        }
        Field::UriPath => Value::Bytes(head.path),
        Field::RawUriPath => Value::Bytes(transaction.raw_path()),
        Field::UriPathExtension => Value::Bytes(transaction.extension()),
        Field::UriQuery => Value::Bytes(head.query),
        Field::Cookie => named!(b"cookie"),
        Field::UserAgent => named!(b"user-agent"),
        Field::Referer => named!(b"referer"),
        Field::XForwardedFor => named!(b"x-forwarded-for"),
        Field::Mime => Value::Bytes(transaction.mime()),
        Field::Timestamp => Value::Int((head.received_ms / 1000) as i64),
        Field::RequestId => reader.copy(reader.request_id),
        Field::Counters => {
            return reader.many(transaction.counters().iter().map(|counter| Value::Int(counter.value)));
        }
        Field::IpSrc => Value::Ip(head.client),
        Field::IpBan => {
            let remedy = reader.bans.map(|(bans, now_ms)| bans.remedy(head.client, now_ms));
            Value::Bytes(remedy.unwrap_or_default().as_bytes())
        }
        Field::IpPeer => Value::Ip(head.peer),
        Field::IpServer => Value::Ip(head.server),
        Field::PeerPort => Value::Int(head.peer_port.into()),
        Field::ServerPort => Value::Int(head.server_port.into()),
        Field::IpSrcCountry => reader.copy(reader.location().country.as_bytes()),
        Field::IpSrcContinent => reader.copy(reader.location().continent.as_bytes()),
        Field::IpSrcAsnum => Value::Int(reader.location().asnum.into()),
        Field::Ssl => Value::Bool(head.tls.is_some()),
        Field::TlsVersion => Value::Bytes(tls.version),
        Field::TlsCipher => Value::Bytes(tls.cipher),
        Field::TlsServerName => Value::Bytes(tls.server_name),
        Field::BodyRaw => Value::Bytes(transaction.body()),
        Field::BodySize => Value::Int(transaction.body().len() as i64),
        Field::BodyTruncated => Value::Bool(transaction.anomalies().contains(Anomalies::BODY_TRUNCATED)),
        Field::ResponseCode => Value::Int(transaction.response().map_or(0, |response| response.status.into())),
        Field::ResponseMime => {
            let content_type = response_headers()
                .iter()
                .find(|header| header.is(b"content-type", const { weir_http::header_hash(b"content-type") }));
            let parse = |value| weir_http::ContentType::parse(transaction.arena(), value);
            Value::Bytes(content_type.map(|header| parse(header.value).mime).unwrap_or_default())
        }
        Field::UriArgsNames | Field::CookiesNames | Field::BodyFormNames | Field::BodyJsonNames => {
            return reader.many(pairs(field, transaction).iter().map(|pair| Value::Bytes(pair.name)));
        }
        Field::UriArgs
        | Field::UriArgsValues
        | Field::Cookies
        | Field::CookiesValues
        | Field::CookiesDecoded
        | Field::BodyForm
        | Field::BodyFormValues
        | Field::BodyJson
        | Field::BodyJsonValues => {
            return reader.many(pairs(field, transaction).iter().map(|pair| Value::Bytes(pair.value)));
        }
        Field::HeadersNames => return reader.many(head.headers.iter().map(|header| Value::Bytes(header.name))),
        Field::Headers | Field::HeadersValues => {
            return reader.many(head.headers.iter().map(|header| Value::Bytes(header.value)));
        }
        Field::ResponseHeadersNames => {
            return reader.many(response_headers().iter().map(|header| Value::Bytes(header.name)));
        }
        Field::ResponseHeaders | Field::ResponseHeadersValues => {
            return reader.many(response_headers().iter().map(|header| Value::Bytes(header.value)));
        }
        Field::Anomalies => {
            return reader.collect(transaction.all_anomalies().names().map(|name| Value::Bytes(name.as_bytes())));
        }
        Field::Tags => return reader.many(reader.tags.borrow().iter().map(|tag| reader.copy(tag.as_bytes()))),
        Field::ConsumerId => match &*reader.identity.borrow() {
            Some(identity) => reader.copy(identity.consumer.id.as_bytes()),
            None => Value::Bytes(b""),
        },
        Field::ConsumerGroups => {
            let identity = reader.identity.borrow();
            let groups = identity.as_ref().map_or(&[][..], |identity| &identity.consumer.groups);
            return reader.many(groups.iter().map(|group| reader.copy(group.as_bytes())));
        }
        Field::JwtClaims => {
            let identity = reader.identity.borrow();
            let claims = identity.as_ref().and_then(|identity| identity.claims.as_deref());
            return reader
                .collect(claims.into_iter().flat_map(|claims| claims.values()).map(|claim| reader.json(claim)));
        }
        Field::BodyMultipartNames => return reader.many(parts().map(|part| Value::Bytes(part.name))),
        Field::BodyMultipartFilenames => {
            return reader.collect(parts().flat_map(weir_http::Part::file_names).map(Value::Bytes));
        }
        Field::BodyMultipartTypes => {
            let typed = parts().map(|part| part.content_type).filter(|content_type| !content_type.is_empty());
            return reader.collect(typed.map(Value::Bytes));
        }
        Field::BodyMultipartValues => return reader.many(parts().map(|part| Value::Bytes(part.value))),
        Field::BodyMultipartSizes => return reader.many(parts().map(|part| Value::Int(part.value.len() as i64))),
        Field::BodyXml => return reader.many(transaction.xml().iter().map(|text| Value::Bytes(text))),
    })
}
