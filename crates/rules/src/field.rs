//! Every field that expressions can read: one table, from which the checker, the reference page,
//! the JSON Schema and shell completion are generated.
//!
//! Names follow the Cloudflare rules language, because its users are the likely authors of these
//! expressions; fields unknown to Cloudflare follow the same pattern.

/// When a field's value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// With the request header.
    Request,
    /// After the request body has been read.
    Body,
    /// With the response header.
    Response,
}

/// Type of a single value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Any bytes, usually text.
    Bytes,
    /// A signed 64-bit integer.
    Int,
    /// True or false.
    Bool,
    /// An IPv4 or IPv6 address.
    Ip,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Exactly one; empty, zero or false when the request has none.
    Scalar,
    /// Any number, in order: `field[*]`, `field[0]`.
    Array,
    /// Any number under names: `field["name"]`. The name's case is ignored in headers only.
    Map,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// The field.
    pub field: Field,
    /// Its name in expressions.
    pub name: &'static str,
    /// Type of each value.
    pub ty: ValueType,
    /// Number of values.
    pub shape: Shape,
    /// Phase from which the value is known.
    pub phase: Phase,
    /// Description, in a sentence.
    pub doc: &'static str,
}

macro_rules! fields {
    ($($id:ident $name:literal $ty:ident $shape:ident $phase:ident $doc:literal;)*) => {
        /// A field of the transaction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`Field`].
        pub const FIELDS: &[FieldInfo] = &[$(FieldInfo {
            field: Field::$id, name: $name, ty: ValueType::$ty, shape: Shape::$shape, phase: Phase::$phase, doc: $doc,
        },)*];
    };
}

fields! {
    Host "http.host" Bytes Scalar Request "Host name of the request, lower case, without port.";
    Method "http.request.method" Bytes Scalar Request "Method, as sent.";
    Version "http.request.version" Bytes Scalar Request "Protocol version, such as HTTP/1.1 or HTTP/2.0.";
    Uri "http.request.uri" Bytes Scalar Request "Path and query as sent.";
    FullUri "http.request.full_uri" Bytes Scalar Request "Scheme, host, path and query as sent.";
    UriPath "http.request.uri.path" Bytes Scalar Request "Path, percent-decoded and normalised, as nginx routes it.";
    RawUriPath "raw.http.request.uri.path" Bytes Scalar Request "Path as sent.";
    UriPathExtension "http.request.uri.path.extension" Bytes Scalar Request "Lower-case extension of the last path segment, without the dot.";
    UriQuery "http.request.uri.query" Bytes Scalar Request "Query string as sent, without the question mark.";
    UriArgs "http.request.uri.args" Bytes Map Request "Decoded query arguments by name.";
    UriArgsNames "http.request.uri.args.names" Bytes Array Request "Decoded names of all query arguments.";
    UriArgsValues "http.request.uri.args.values" Bytes Array Request "Decoded values of all query arguments.";
    Headers "http.request.headers" Bytes Map Request "Request header values by name; case is ignored in names.";
    HeadersNames "http.request.headers.names" Bytes Array Request "Names of all request headers, as sent.";
    HeadersValues "http.request.headers.values" Bytes Array Request "Values of all request headers.";
    Cookies "http.request.cookies" Bytes Map Request "Cookie values by name.";
    CookiesNames "http.request.cookies.names" Bytes Array Request "Names of all cookies.";
    CookiesValues "http.request.cookies.values" Bytes Array Request "Values of all cookies.";
    CookiesDecoded "http.request.cookies.decoded" Bytes Map Request "Cookie values by name, decoded as PHP does it: percent escapes, and + as a space. Texts in quotes and the scalars of JSON (j:{...}), which frameworks take from within a value, follow under the same name.";
    Cookie "http.cookie" Bytes Scalar Request "The Cookie header as sent.";
    UserAgent "http.user_agent" Bytes Scalar Request "The User-Agent header.";
    Referer "http.referer" Bytes Scalar Request "The Referer header.";
    XForwardedFor "http.x_forwarded_for" Bytes Scalar Request "The X-Forwarded-For header as sent.";
    Mime "http.request.body.mime" Bytes Scalar Request "Media type of the body: Content-Type in lower case, without parameters.";
    Timestamp "http.request.timestamp.sec" Int Scalar Request "When the request arrived, seconds since 1970.";
    Anomalies "http.request.anomalies" Bytes Array Request "Malformed parts of the request found so far, e.g. invalid_percent, nul_byte, too_many_items.";
    RequestId "weir.request_id" Bytes Scalar Request "Weir's request id.";
    Tags "weir.tags" Bytes Array Request "Tags that earlier rules have set.";
    ConsumerId "consumer.id" Bytes Scalar Request "Id of the consumer that an earlier rule has authenticated; empty if there is none. In a policy that verifies signatures of bodies, rules that read it run after the body has been read.";
    ConsumerGroups "consumer.groups" Bytes Array Request "Groups of the consumer that an earlier rule has authenticated.";
    JwtClaims "jwt.claims" Bytes Map Request "Claims of the token that an earlier rule has verified, by name: texts as they are, other values as JSON.";
    Counters "inspector.counters" Int Map Request "Counters of `weir inspector`, by id, with this request counted; in nginx there are none.";
    IpSrc "ip.src" Ip Scalar Request "Address of the client, taken from a trusted proxy's header if configured.";
    IpSrcCountry "ip.src.country" Bytes Scalar Request "ISO 3166-1 country code of the client address; empty if unknown.";
    IpSrcContinent "ip.src.continent" Bytes Scalar Request "Two-letter continent code of the client address; empty if unknown.";
    IpSrcAsnum "ip.src.asnum" Int Scalar Request "Autonomous system number of the client address; 0 if unknown.";
    IpBan "ip.ban" Bytes Scalar Request "What is to be done with the client address because it is banned: ban, captcha, throttle or other; empty if it is not banned. See weir ban.";
    IpPeer "ip.peer" Ip Scalar Request "Address of the other end of the connection.";
    PeerPort "tcp.srcport" Int Scalar Request "Port of the other end of the connection.";
    IpServer "ip.dst" Ip Scalar Request "Address of nginx on this connection.";
    ServerPort "tcp.dstport" Int Scalar Request "Port of nginx on this connection.";
    Ssl "ssl" Bool Scalar Request "Whether the connection is encrypted.";
    TlsVersion "tls.version" Bytes Scalar Request "TLS version such as TLSv1.3; empty without TLS.";
    TlsCipher "tls.cipher" Bytes Scalar Request "TLS cipher suite; empty without TLS.";
    TlsServerName "tls.server_name" Bytes Scalar Request "Server name that the client asked for in TLS (SNI).";
    BodyRaw "http.request.body.raw" Bytes Scalar Body "The body as received.";
    BodySize "http.request.body.size" Int Scalar Body "Length of the body in bytes.";
    BodyTruncated "http.request.body.truncated" Bool Scalar Body "Whether the body was longer than weir_body_limit, so that rules see only its beginning.";
    BodyForm "http.request.body.form" Bytes Map Body "Decoded fields of a urlencoded or multipart form by name.";
    BodyFormNames "http.request.body.form.names" Bytes Array Body "Decoded names of all form fields.";
    BodyFormValues "http.request.body.form.values" Bytes Array Body "Decoded values of all form fields.";
    BodyMultipartNames "http.request.body.multipart.names" Bytes Array Body "Names of all parts of a multipart body.";
    BodyMultipartFilenames "http.request.body.multipart.filenames" Bytes Array Body "File names of all parts of a multipart body that have one.";
    BodyMultipartTypes "http.request.body.multipart.content_types" Bytes Array Body "Content types of all parts of a multipart body that have one.";
    BodyMultipartValues "http.request.body.multipart.values" Bytes Array Body "Contents of all parts of a multipart body.";
    BodyMultipartSizes "http.request.body.multipart.sizes" Int Array Body "Sizes of all parts of a multipart body, in bytes.";
    BodyJson "http.request.body.json" Bytes Map Body "Scalars of a JSON body by flattened path, e.g. items.0.price.";
    BodyJsonNames "http.request.body.json.names" Bytes Array Body "Flattened paths of all scalars of a JSON body.";
    BodyJsonValues "http.request.body.json.values" Bytes Array Body "All scalars of a JSON body.";
    BodyXml "http.request.body.xml" Bytes Array Body "Texts and attribute values of an XML body.";
    ResponseCode "http.response.code" Int Scalar Response "Status code of the response.";
    ResponseHeaders "http.response.headers" Bytes Map Response "Response header values by name; case is ignored in names.";
    ResponseHeadersNames "http.response.headers.names" Bytes Array Response "Names of all response headers.";
    ResponseHeadersValues "http.response.headers.values" Bytes Array Response "Values of all response headers.";
    ResponseMime "http.response.content_type.media_type" Bytes Scalar Response "Media type of the response, lower case, without parameters.";
}

impl Field {
    /// The field's row in the table.
    #[must_use]
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }

    /// Whether rules set it on the way, so that it may differ from rule to rule.
    #[must_use]
    pub fn is_set_by_rules(self) -> bool {
        self == Self::Tags || self.is_of_consumer()
    }

    /// Whether it tells who the consumer is, once a rule has authenticated the request.
    #[must_use]
    pub fn is_of_consumer(self) -> bool {
        matches!(self, Self::ConsumerId | Self::ConsumerGroups | Self::JwtClaims)
    }

    /// Whether the names of its items are case-insensitive.
    #[must_use]
    pub fn folds_names(self) -> bool {
        matches!(self, Self::Headers | Self::ResponseHeaders)
    }

    /// The row of the field called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static FieldInfo> {
        FIELDS.iter().find(|row| row.name == name)
    }
}
