//! The 33 fields of the access log, as nginx's own `log_format` writes them: the same list that
//! the Lua peers and Weir write, with nginx's nearest variable where it has no such thing
//! (country, verdict, rule).

/// Name in the JSON object and the nginx variable whose value it takes.
pub const FIELDS: [(&str, &str); 33] = [
    ("time", "time_iso8601"),
    ("request_id", "request_id"),
    ("client", "remote_addr"),
    ("client_port", "remote_port"),
    ("server_address", "server_addr"),
    ("server_port", "server_port"),
    ("host", "host"),
    ("method", "request_method"),
    ("path", "uri"),
    ("query", "args"),
    ("uri", "request_uri"),
    ("protocol", "server_protocol"),
    ("scheme", "scheme"),
    ("status", "status"),
    ("bytes_sent", "bytes_sent"),
    ("body_bytes_sent", "body_bytes_sent"),
    ("request_length", "request_length"),
    ("request_time", "request_time"),
    ("upstream_address", "upstream_addr"),
    ("upstream_status", "upstream_status"),
    ("upstream_response_time", "upstream_response_time"),
    ("upstream_connect_time", "upstream_connect_time"),
    ("upstream_header_time", "upstream_header_time"),
    ("upstream_bytes_received", "upstream_bytes_received"),
    ("user_agent", "http_user_agent"),
    ("referer", "http_referer"),
    ("cookie", "http_cookie"),
    ("forwarded_for", "http_x_forwarded_for"),
    ("content_type", "content_type"),
    ("content_length", "content_length"),
    ("connection", "connection"),
    ("connection_requests", "connection_requests"),
    ("tls_version", "ssl_protocol"),
];

/// The `log_format` directive named `rs`.
#[must_use]
pub fn log_format() -> String {
    let fields: Vec<String> = FIELDS.iter().map(|(name, variable)| format!("\"{name}\":\"${variable}\"")).collect();
    format!("  log_format rs escape=json '{{{}}}';\n", fields.join(","))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_format_holds_every_field_once() {
        let text = super::log_format();
        for (name, _) in super::FIELDS {
            assert_eq!(text.matches(&format!("\"{name}\":")).count(), 1, "{name}");
        }
    }
}
