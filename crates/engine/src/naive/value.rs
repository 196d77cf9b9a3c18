//! Values of fields and functions, computed anew for every test.

use std::net::IpAddr;

use weir_http::{Anomalies, BodyKind, ContentType, Pair, Transaction};
use weir_rules::Field;
use weir_rules::ir::{Access, Literal, ValueExpr};

use super::function::call;
use super::{Found, Naive};
use crate::GeoLocation;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any bytes.
    Bytes(Vec<u8>),
    /// An integer.
    Int(i64),
    /// An address.
    Ip(IpAddr),
    /// True or false.
    Bool(bool),
}

impl Value {
    /// As text, for `concat`, `to_string` and header values.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Int(int) => int.to_string().into_bytes(),
            Self::Ip(ip) => ip.to_string().into_bytes(),
            Self::Bool(truth) => truth.to_string().into_bytes(),
        }
    }

    pub(super) fn int(&self) -> i64 {
        match self {
            Self::Int(int) => *int,
            other => panic!("the checker promises an integer, not {other:?}"),
        }
    }
}

fn bytes(value: impl AsRef<[u8]>) -> Value {
    Value::Bytes(value.as_ref().to_vec())
}

/// A scalar's name for its items: none.
fn one(value: Value) -> Vec<(Vec<u8>, Value)> {
    vec![(Vec::new(), value)]
}

fn unnamed(values: impl IntoIterator<Item = Value>) -> Vec<(Vec<u8>, Value)> {
    values.into_iter().map(|value| (Vec::new(), value)).collect()
}

fn named(pairs: &[Pair<'_>]) -> Vec<(Vec<u8>, Value)> {
    pairs.iter().map(|pair| (pair.name.to_vec(), bytes(pair.value))).collect()
}

fn names(items: Vec<(Vec<u8>, Value)>) -> Vec<(Vec<u8>, Value)> {
    unnamed(items.into_iter().map(|(name, _)| Value::Bytes(name)))
}

impl Naive<'_> {
    /// All values of `expr`, in order.
    #[must_use]
    pub fn values(&self, expr: &ValueExpr, transaction: &Transaction<'_>, found: &Found) -> Vec<Value> {
        match expr {
            ValueExpr::Literal(Literal::Bytes(literal)) => vec![bytes(literal)],
            ValueExpr::Literal(Literal::Int(int)) => vec![Value::Int(*int)],
            ValueExpr::Literal(Literal::Ip(ip)) => vec![Value::Ip(*ip)],
            ValueExpr::Literal(Literal::Bool(truth)) => vec![Value::Bool(*truth)],
            ValueExpr::Field(access) => self.access(access, transaction, found),
            ValueExpr::Call(function, arguments) => {
                let mut rows = vec![Vec::new()];
                for argument in arguments {
                    let column = self.values(argument, transaction, found);
                    rows = rows
                        .iter()
                        .flat_map(|row| {
                            column.iter().map(|value| [row.as_slice(), std::slice::from_ref(value)].concat())
                        })
                        .collect();
                }
                rows.iter().map(|row| call(*function, row)).collect()
            }
        }
    }

    fn access(&self, access: &Access, transaction: &Transaction<'_>, found: &Found) -> Vec<Value> {
        let mut items = self.items(access.field, transaction, found);
        if let Some(key) = &access.key {
            items.retain(|(name, _)| match access.field.folds_names() {
                true => name.eq_ignore_ascii_case(key),
                false => name == key,
            });
        }
        let values = items.into_iter().map(|(_, value)| value);
        match access.index {
            Some(index) => values.skip(index as usize).take(1).collect(),
            None => values.collect(),
        }
    }

    fn place(&self, transaction: &Transaction<'_>) -> GeoLocation {
        self.specification.geo.as_ref().map(|geo| geo.locate(transaction.head.client)).unwrap_or_default()
    }

    fn items(&self, field: Field, transaction: &Transaction<'_>, found: &Found) -> Vec<(Vec<u8>, Value)> {
        let head = &transaction.head;
        let header = |name: &[u8]| {
            let value = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            value.map(|header| header.value).unwrap_or_default()
        };
        let headers = |from: &[weir_http::Header<'_>]| -> Vec<(Vec<u8>, Value)> {
            from.iter().map(|header| (header.name.to_vec(), bytes(header.value))).collect()
        };
        let response = transaction.response();
        let response_headers = response.map(|response| response.headers).unwrap_or_default();
        let tls = head.tls.unwrap_or_default();
        match field {
            Field::Host => one(bytes(head.host)),
            Field::Method => one(bytes(head.method)),
            Field::Version => one(bytes(head.version.as_bytes())),
            Field::Uri => one(bytes(head.target)),
            Field::FullUri => {
                let scheme: &[u8] = if head.tls.is_some() { b"https://" } else { b"http://" };
                one(Value::Bytes([scheme, head.host, head.target].concat()))
            }
            Field::UriPath => one(bytes(head.path)),
            Field::RawUriPath => one(bytes(head.target.split(|byte| *byte == b'?').next().unwrap_or_default())),
            Field::UriPathExtension => one(Value::Bytes(extension(head.path))),
            Field::UriQuery => one(bytes(head.query)),
            Field::UriArgs | Field::UriArgsValues => named(transaction.arguments()),
            Field::UriArgsNames => names(named(transaction.arguments())),
            Field::Headers | Field::HeadersValues => headers(head.headers),
            Field::HeadersNames => names(headers(head.headers)),
            Field::Cookies | Field::CookiesValues => named(transaction.cookies()),
            Field::CookiesNames => names(named(transaction.cookies())),
            Field::CookiesDecoded => named(transaction.decoded_cookies()),
            Field::Cookie => one(bytes(header(b"cookie"))),
            Field::UserAgent => one(bytes(header(b"user-agent"))),
            Field::Referer => one(bytes(header(b"referer"))),
            Field::XForwardedFor => one(bytes(header(b"x-forwarded-for"))),
            Field::Mime => {
                let fields = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(b"content-type"));
                let is_known = |header: &&weir_http::Header<'_>| {
                    ContentType::parse(transaction.arena(), header.value).kind != BodyKind::Other
                };
                let chosen = fields.clone().rfind(is_known).or(fields.clone().next());
                one(Value::Bytes(mime(chosen.map(|header| header.value).unwrap_or_default())))
            }
            Field::Timestamp => one(Value::Int((head.received_ms / 1000) as i64)),
            Field::Anomalies => unnamed(transaction.anomalies().names().map(bytes)),
            Field::RequestId => one(bytes(self.request_id)),
            Field::Tags => unnamed(found.tags.iter().map(bytes)),
            // The naive evaluator authenticates nobody.
            Field::ConsumerId => one(bytes(b"")),
            Field::ConsumerGroups | Field::JwtClaims => Vec::new(),
            Field::Counters => {
                let of = |counter: &weir_http::Counter<'_>| (counter.id.as_bytes().to_vec(), Value::Int(counter.value));
                transaction.counters().iter().map(of).collect()
            }
            Field::IpSrc => one(Value::Ip(head.client)),
            Field::IpSrcCountry => one(bytes(&*self.place(transaction).country)),
            Field::IpSrcContinent => one(bytes(&*self.place(transaction).continent)),
            Field::IpSrcAsnum => one(Value::Int(self.place(transaction).asnum.into())),
            Field::IpBan => {
                let remedy = self.bans.map(|bans| bans.remedy(head.client, self.now_ms));
                one(bytes(remedy.unwrap_or_default()))
            }
            Field::IpPeer => one(Value::Ip(head.peer)),
            Field::PeerPort => one(Value::Int(head.peer_port.into())),
            Field::IpServer => one(Value::Ip(head.server)),
            Field::ServerPort => one(Value::Int(head.server_port.into())),
            Field::Ssl => one(Value::Bool(head.tls.is_some())),
            Field::TlsVersion => one(bytes(tls.version)),
            Field::TlsCipher => one(bytes(tls.cipher)),
            Field::TlsServerName => one(bytes(tls.server_name)),
            Field::BodyRaw => one(bytes(transaction.body())),
            Field::BodySize => one(Value::Int(transaction.body().len() as i64)),
            Field::BodyTruncated => one(Value::Bool(transaction.anomalies().contains(Anomalies::BODY_TRUNCATED))),
            Field::BodyForm | Field::BodyFormValues => named(transaction.form()),
            Field::BodyFormNames => names(named(transaction.form())),
            Field::BodyMultipartNames => unnamed(transaction.multipart().iter().map(|part| bytes(part.name))),
            Field::BodyMultipartFilenames => {
                unnamed(transaction.multipart().iter().flat_map(weir_http::Part::file_names).map(bytes))
            }
            Field::BodyMultipartTypes => {
                let types = transaction.multipart().iter().map(|part| part.content_type);
                unnamed(types.filter(|mime| !mime.is_empty()).map(bytes))
            }
            Field::BodyMultipartValues => unnamed(transaction.multipart().iter().map(|part| bytes(part.value))),
            Field::BodyMultipartSizes => {
                unnamed(transaction.multipart().iter().map(|part| Value::Int(part.value.len() as i64)))
            }
            Field::BodyJson | Field::BodyJsonValues => named(transaction.json()),
            Field::BodyJsonNames => names(named(transaction.json())),
            Field::BodyXml => unnamed(transaction.xml().iter().map(bytes)),
            Field::ResponseCode => one(Value::Int(response.map_or(0, |response| response.status.into()))),
            Field::ResponseHeaders | Field::ResponseHeadersValues => headers(response_headers),
            Field::ResponseHeadersNames => names(headers(response_headers)),
            Field::ResponseMime => {
                let found = response_headers.iter().find(|header| header.name.eq_ignore_ascii_case(b"content-type"));
                one(Value::Bytes(mime(found.map(|header| header.value).unwrap_or_default())))
            }
        }
    }
}

fn extension(path: &[u8]) -> Vec<u8> {
    let segment = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    match segment.iter().rposition(|byte| *byte == b'.') {
        Some(dot) => segment[dot + 1..].to_ascii_lowercase(),
        None => Vec::new(),
    }
}

fn mime(content_type: &[u8]) -> Vec<u8> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~/".contains(byte);
    content_type.trim_ascii().iter().copied().take_while(is_token).collect::<Vec<u8>>().to_ascii_lowercase()
}
