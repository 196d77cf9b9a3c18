//! Malformed input is visible to rules as flags, never as errors: a parser in the request path that
//! rejects input would itself decide about traffic, which is the policy's task.

bitflags::bitflags! {
    /// Malformed parts of the request, as far as it has been parsed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Anomalies: u32 {
        /// A `%` not followed by two hexadecimal digits, in the path as sent, an argument or form value.
        const INVALID_PERCENT = 1;
        /// Text that is not UTF-8 in a path, argument, cookie or form value, or a JSON or XML body that is not.
        const INVALID_UTF8 = 1 << 1;
        /// A NUL byte in a decoded path, argument, cookie, form value or JSON string.
        const NUL_BYTE = 1 << 2;
        /// More arguments, cookies, fields, parts or elements than the limit.
        const TOO_MANY_ITEMS = 1 << 3;
        /// JSON that does not parse or is not UTF-8.
        const INVALID_JSON = 1 << 4;
        /// JSON or XML nested deeper than the limit.
        const TOO_DEEP = 1 << 5;
        /// A multipart body that does not follow RFC 7578 or ends too soon.
        const INVALID_MULTIPART = 1 << 6;
        /// XML that does not parse.
        const INVALID_XML = 1 << 7;
        /// The body exceeded the limit; rules saw only its beginning.
        const BODY_TRUNCATED = 1 << 8;
        /// A cookie header that is not `name=value; ...`.
        const INVALID_COOKIE = 1 << 9;
        /// Repetition of a header field that may occur only once (`Host`, `Content-Length`, `Content-Type`).
        const DUPLICATE_HEADER = 1 << 10;
        /// A forwarding header (`X-Forwarded-For`, `Forwarded`) that does not parse.
        const INVALID_FORWARDED = 1 << 11;
        /// A body in a `Content-Encoding` that was not decoded, or that does not decode.
        const INVALID_CONTENT_ENCODING = 1 << 12;
        /// A `#` in the request target, where RFC 9112 allows none: servers disagree about what follows.
        const INVALID_TARGET = 1 << 13;
        /// Several different `Content-Type` fields, or a charset that is not based on ASCII.
        const INVALID_CONTENT_TYPE = 1 << 14;
        /// A `Host` field that names another host than the one that nginx chose the server by: the request target
        /// (`GET http://a/`), `:authority`, or the first of several fields.
        const INVALID_HOST = 1 << 15;
        /// A request that would take more work than its size justifies: rules have not seen all of its values.
        const TOO_EXPENSIVE = 1 << 16;
    }
}

/// Why a body could not be read as its `Content-Type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyError {
    /// The reason, as a phrase: `no final boundary`.
    pub reason: &'static str,
    /// Offset in the body, in bytes.
    pub at: usize,
}

impl Anomalies {
    /// Data that an application may read and rules did not see completely: bounds that were
    /// exceeded, and bodies that do not follow their format. `weir_bounds` decides about them.
    pub const UNREADABLE: Self = Self::TOO_MANY_ITEMS
        .union(Self::INVALID_JSON)
        .union(Self::TOO_DEEP)
        .union(Self::INVALID_MULTIPART)
        .union(Self::INVALID_XML)
        .union(Self::BODY_TRUNCATED)
        .union(Self::INVALID_CONTENT_ENCODING)
        .union(Self::INVALID_TARGET)
        .union(Self::INVALID_CONTENT_TYPE)
        .union(Self::INVALID_HOST)
        .union(Self::TOO_EXPENSIVE);

    /// Names as rules see them in `http.request.anomalies`, such as `invalid_percent`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, name)| *name)
    }
}

/// What rules did not see as an application may read it. As text: `invalid_json: no value at byte 12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The anomalies, all of them in [`Anomalies::UNREADABLE`].
    pub anomalies: Anomalies,
    /// The first error of a parser of the body.
    pub error: Option<BodyError>,
}

impl Unreadable {
    /// The status of the answer to a request that is refused for it: 413 past a bound on sizes and numbers, else 400.
    #[must_use]
    pub fn status(self) -> u16 {
        let is_too_much = Anomalies::BODY_TRUNCATED.union(Anomalies::TOO_MANY_ITEMS).union(Anomalies::TOO_EXPENSIVE);
        if self.anomalies.intersects(is_too_much) { 413 } else { 400 }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, name) in self.anomalies.names().enumerate() {
            write!(formatter, "{}{name}", if number > 0 { ", " } else { "" })?;
        }
        match self.error {
            Some(BodyError { reason, at }) => write!(formatter, ": {reason} at byte {at}"),
            None => Ok(()),
        }
    }
}

/// Every flag with its name in rules and logs.
pub const NAMES: &[(Anomalies, &str)] = &[
    (Anomalies::INVALID_PERCENT, "invalid_percent"),
    (Anomalies::INVALID_UTF8, "invalid_utf8"),
    (Anomalies::NUL_BYTE, "nul_byte"),
    (Anomalies::TOO_MANY_ITEMS, "too_many_items"),
    (Anomalies::INVALID_JSON, "invalid_json"),
    (Anomalies::TOO_DEEP, "too_deep"),
    (Anomalies::INVALID_MULTIPART, "invalid_multipart"),
    (Anomalies::INVALID_XML, "invalid_xml"),
    (Anomalies::BODY_TRUNCATED, "body_truncated"),
    (Anomalies::INVALID_COOKIE, "invalid_cookie"),
    (Anomalies::DUPLICATE_HEADER, "duplicate_header"),
    (Anomalies::INVALID_FORWARDED, "invalid_forwarded"),
    (Anomalies::INVALID_CONTENT_ENCODING, "invalid_content_encoding"),
    (Anomalies::INVALID_TARGET, "invalid_target"),
    (Anomalies::INVALID_CONTENT_TYPE, "invalid_content_type"),
    (Anomalies::INVALID_HOST, "invalid_host"),
    (Anomalies::TOO_EXPENSIVE, "too_expensive"),
];
