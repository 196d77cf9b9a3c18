//! Every field of the access log.

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct LogFieldInfo {
    /// The field.
    pub field: LogField,
    /// Its name in `fields=` and in the log.
    pub name: &'static str,
    /// What precedes its value in a line: `"name":`.
    pub fragment: &'static str,
    /// What it holds.
    pub doc: &'static str,
}

macro_rules! log_fields {
    ($($id:ident $name:literal $doc:literal;)*) => {
        /// A field of the access log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum LogField { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`LogField`], which is also the order in a line unless
        /// `fields=` says otherwise.
        pub const LOG_FIELDS: &[LogFieldInfo] = &[$(LogFieldInfo {
            field: LogField::$id, name: $name, fragment: concat!("\"", $name, "\":"), doc: $doc,
        },)*];
    };
}

log_fields! {
    RequestId "request_id" "Request id.";
    Time "time" "When the request ended, ISO 8601 in UTC with milliseconds.";
    Client "client" "Address of the client, as determined by the policy's `client_address`.";
    ClientPort "client_port" "Port of the other end of the connection.";
    Peer "peer" "Address of the other end of the connection.";
    ServerAddr "server_addr" "Address of nginx on this connection.";
    ServerPort "server_port" "Port of nginx on this connection.";
    Host "host" "Host name of the request.";
    Method "method" "Method.";
    Uri "uri" "Request target as sent.";
    Path "path" "Path, decoded and normalised.";
    Args "args" "Query string.";
    Protocol "protocol" "HTTP/1.1, HTTP/2.0, ...";
    Scheme "scheme" "`http` or `https`.";
    Status "status" "Status of the response.";
    BytesSent "bytes_sent" "Bytes sent to the client.";
    BodyBytesSent "body_bytes_sent" "Bytes sent to the client, without the head of the response.";
    RequestLength "request_length" "Bytes of the request: request line, headers and body.";
    RequestTimeUs "request_time_us" "From the first byte read to the end, in microseconds.";
    UpstreamAddr "upstream_addr" "The upstream server that answered last.";
    UpstreamStatus "upstream_status" "Status of its response, or null.";
    UpstreamConnectMs "upstream_connect_ms" "Milliseconds until the connection, or null.";
    UpstreamHeaderMs "upstream_header_ms" "Milliseconds until the head of the response, or null.";
    UpstreamResponseMs "upstream_response_ms" "Milliseconds until the end of the response, or null.";
    UpstreamBytes "upstream_bytes" "Bytes received from it, or null.";
    UserAgent "user_agent" "User-Agent header.";
    Referer "referer" "Referer header.";
    Cookie "cookie" "Cookie header.";
    XForwardedFor "x_forwarded_for" "X-Forwarded-For header.";
    ContentType "content_type" "Content-Type of the request.";
    ContentLength "content_length" "Content-Length of the request, or null.";
    ResponseContentType "response_content_type" "Content-Type of the response.";
    TlsVersion "tls_version" "TLS version; empty without TLS.";
    TlsCipher "tls_cipher" "TLS cipher suite; empty without TLS.";
    Sni "sni" "Server name of the TLS handshake; empty without one.";
    Connection "connection" "Number of the connection.";
    ConnectionRequests "connection_requests" "Requests on this connection so far.";
    Pid "pid" "Process id of the worker.";
    Country "country" "Country code of the client; empty if unknown.";
    Verdict "verdict" "Weir's verdict; empty if the request was not evaluated.";
    Rule "rule" "Id of the rule that decided; empty if none did.";
    Policy "policy" "Policy of that rule.";
    Score "score" "Sum of the scores of the rules that matched.";
    Tags "tags" "Array of tags set by rules.";
    InspectorsFailed "inspectors_failed" "Array of the inspectors without which the request passed (`fail: open`).";
    Consumer "consumer" "Id of the authenticated consumer; empty if there is none.";
    Revision "revision" "Revision of the policy.";
    WeirNs "weir_ns" "Nanoseconds that Weir spent on this request, excluding the writing of this line.";
}

impl LogField {
    /// The field's row in the table.
    #[must_use]
    pub fn info(self) -> &'static LogFieldInfo {
        &LOG_FIELDS[self as usize]
    }

    /// The field of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        LOG_FIELDS.iter().find(|info| info.name == name).map(|info| info.field)
    }
}
