//! Whether the members of nginx's structures are where this build of the module expects them.
//!
//! nginx compares its version and a signature of its options when it loads a module. Distributions backport fixes under
//! the same version, and one that adds a member moves all after it: modules that were built before then read other
//! members and crash with the first request (in 2026, a counter in `ngx_http_headers_in_t` did so). nginx itself has
//! tables of offsets for what it parses and for variables, which tell where *its* members are.

use std::ffi::CStr;
use std::mem::offset_of;

use nginx_sys::{
    ngx_command_t, ngx_conf_t, ngx_core_conf_t, ngx_hash_key_t, ngx_http_core_loc_conf_t, ngx_http_core_main_conf_t,
    ngx_http_core_module, ngx_http_core_srv_conf_t, ngx_http_header_t, ngx_http_headers_in_t, ngx_http_request_t,
    ngx_http_upstream_conf_t, ngx_http_variable_t,
};

use crate::ffi;

/// A table of nginx that holds offsets.
enum Table {
    /// `ngx_http_headers_in`, by names of header fields.
    HeaderFields,
    /// The directives of a module.
    Directives(&'static CStr),
    /// The variables of nginx's core.
    Variables,
}

/// A member of a structure: the name under which the table has its offset, the member, the offset in this build.
type Row = (&'static str, &'static str, usize);

macro_rules! rows {
    ($structure:ident: $($name:literal $($member:ident).+),+ $(,)?) => {
        &[$(($name, concat!(stringify!($structure), ".", stringify!($($member).+)), offset_of!($structure, $($member).+))),+]
    };
}

/// What is compared, in an order in which each row is found through what the rows before it have confirmed. Names that
/// this nginx does not have are passed over.
const EXPECTED: &[(Table, &[Row])] = &[
    (
        Table::HeaderFields,
        rows!(ngx_http_headers_in_t: "Host" host, "Connection" connection, "If-Modified-Since" if_modified_since,
            "User-Agent" user_agent, "Referer" referer, "Content-Length" content_length, "Content-Type" content_type,
            "Range" range, "Transfer-Encoding" transfer_encoding, "Expect" expect, "Upgrade" upgrade,
            "Authorization" authorization, "Keep-Alive" keep_alive),
    ),
    (
        Table::Directives(c"ngx_core_module"),
        rows!(ngx_core_conf_t: "daemon" daemon, "master_process" master, "pid" pid, "lock_file" lock_file,
            "worker_shutdown_timeout" shutdown_timeout, "working_directory" working_directory),
    ),
    (
        Table::Directives(c"ngx_http_core_module"),
        rows!(ngx_http_core_main_conf_t: "variables_hash_max_size" variables_hash_max_size,
            "variables_hash_bucket_size" variables_hash_bucket_size,
            "server_names_hash_max_size" server_names_hash_max_size,
            "server_names_hash_bucket_size" server_names_hash_bucket_size),
    ),
    (
        Table::Directives(c"ngx_http_core_module"),
        rows!(ngx_http_core_srv_conf_t: "connection_pool_size" connection_pool_size,
            "request_pool_size" request_pool_size, "client_header_timeout" client_header_timeout,
            "large_client_header_buffers" large_client_header_buffers,
            "ignore_invalid_headers" ignore_invalid_headers, "merge_slashes" merge_slashes),
    ),
    (
        Table::Directives(c"ngx_http_core_module"),
        rows!(ngx_http_core_loc_conf_t: "client_max_body_size" client_max_body_size,
            "client_body_buffer_size" client_body_buffer_size, "client_body_timeout" client_body_timeout,
            "client_body_temp_path" client_body_temp_path, "sendfile" sendfile, "tcp_nopush" tcp_nopush,
            "tcp_nodelay" tcp_nodelay, "send_timeout" send_timeout, "postpone_output" postpone_output,
            "keepalive_requests" keepalive_requests, "lingering_timeout" lingering_timeout,
            "reset_timedout_connection" reset_timedout_connection, "max_ranges" max_ranges,
            "chunked_transfer_encoding" chunked_transfer_encoding, "etag" etag,
            "types_hash_max_size" types_hash_max_size, "types_hash_bucket_size" types_hash_bucket_size),
    ),
    // The configuration of each module that proxies begins with this structure.
    (
        Table::Directives(c"ngx_http_proxy_module"),
        rows!(ngx_http_upstream_conf_t: "proxy_connect_timeout" connect_timeout, "proxy_send_timeout" send_timeout,
            "proxy_read_timeout" read_timeout, "proxy_next_upstream_timeout" next_upstream_timeout,
            "proxy_buffer_size" buffer_size, "proxy_next_upstream" next_upstream,
            "proxy_next_upstream_tries" next_upstream_tries, "proxy_buffering" buffering,
            "proxy_request_buffering" request_buffering, "proxy_intercept_errors" intercept_errors,
            "proxy_pass_header" pass_headers, "proxy_hide_header" hide_headers, "proxy_bind" local,
            "proxy_socket_keepalive" socket_keepalive),
    ),
    #[cfg(ngx_feature = "http_ssl")]
    (
        Table::Directives(c"ngx_http_proxy_module"),
        rows!(ngx_http_upstream_conf_t: "proxy_ssl_name" ssl_name, "proxy_ssl_server_name" ssl_server_name,
            "proxy_ssl_verify" ssl_verify, "proxy_ssl_certificate" ssl_certificate,
            "proxy_ssl_session_reuse" ssl_session_reuse),
    ),
    #[cfg(ngx_feature = "http_ssl")]
    (Table::Directives(c"ngx_http_ssl_module"), {
        use nginx_sys::ngx_http_ssl_srv_conf_t;
        rows!(ngx_http_ssl_srv_conf_t: "ssl_certificate" certificates, "ssl_certificate_key" certificate_keys,
            "ssl_protocols" protocols, "ssl_verify_client" verify, "ssl_session_timeout" session_timeout)
    }),
    (
        Table::Variables,
        rows!(ngx_http_request_t: "request_uri" unparsed_uri, "uri" uri, "args" args, "server_protocol" http_protocol,
            "http_host" headers_in.host, "http_user_agent" headers_in.user_agent,
            "content_type" headers_in.content_type, "sent_http_cache_control" headers_out.cache_control,
            "limit_rate" limit_rate),
    ),
];

/// What to do about a difference.
const HINT: &str = "hint: a fix of the distribution has changed nginx's structures under the same version: install the \
    headers of this very package (nginx-dev of the same version), or set NGINX_SOURCE_DIR to its patched sources, and \
    build the module again with \"make build\"";

/// Compares nginx's tables with this build.
///
/// # Errors
/// The members that are elsewhere, in one message, and what to do.
///
/// # Safety
/// Called while nginx reads `http`, after its core has made its variables known.
pub unsafe fn check(cf: *mut ngx_conf_t) -> Result<(), String> {
    for (table, rows) in EXPECTED {
        // SAFETY: as the caller promises; what this reads has been confirmed by the rows before.
        compare(table.name(), rows, &unsafe { table.read(cf) })?;
    }
    Ok(())
}

/// Compares expected rows with the names and offsets of a table.
fn compare(table: &str, expected: &[Row], found: &[(&[u8], usize)]) -> Result<(), String> {
    let mut moved = expected.iter().filter_map(|(name, member, offset)| {
        let (_, at) = found.iter().find(|(known, _)| *known == name.as_bytes())?;
        (at != offset).then(|| format!("{member} is at byte {at}, not {offset} (\"{name}\" in {table})"))
    });
    let Some(first) = moved.next() else { return Ok(()) };
    let more = match moved.count() {
        0 => String::new(),
        count => format!(", and {count} more members of that structure are elsewhere"),
    };
    Err(format!("weir: this nginx is not the one that the module was built for: {first}{more}\n{HINT}"))
}

impl Table {
    fn name(&self) -> &'static str {
        match self {
            Self::HeaderFields => "ngx_http_headers_in",
            Self::Directives(module) => module.to_str().unwrap_or_default(),
            Self::Variables => "nginx's variables",
        }
    }

    /// Names and offsets of the table; empty if this nginx does not have it.
    unsafe fn read<'a>(&self, cf: *mut ngx_conf_t) -> Vec<(&'a [u8], usize)> {
        // SAFETY: as for `check`. Tables are static and end with an empty name; keys of variables live until all of
        // `http` has been read.
        unsafe {
            match self {
                Self::HeaderFields => {
                    let rows = (&raw const nginx_sys::ngx_http_headers_in).cast::<ngx_http_header_t>();
                    until_empty(rows, |row| (ffi::bytes(&row.name), row.offset))
                }
                Self::Directives(module) => match ffi::module_named((*(*cf).cycle).modules, module) {
                    Some(module) if !(*module).commands.is_null() => {
                        let rows: *const ngx_command_t = (*module).commands;
                        until_empty(rows, |row| (ffi::bytes(&row.name), row.offset))
                    }
                    _ => Vec::new(),
                },
                Self::Variables => {
                    let core: *mut ngx_http_core_main_conf_t = ffi::main_of_module(cf, &raw const ngx_http_core_module);
                    let keys = (*(*core).variables_keys).keys.as_slice::<ngx_hash_key_t>();
                    let data = |key: &ngx_hash_key_t| (*key.value.cast::<ngx_http_variable_t>()).data;
                    keys.iter().map(|key| (ffi::bytes(&key.key), data(key))).collect()
                }
            }
        }
    }
}

/// The rows of a static table of nginx's, which ends with an empty name.
unsafe fn until_empty<'a, T: 'a>(first: *const T, row: impl Fn(&'a T) -> (&'a [u8], usize)) -> Vec<(&'a [u8], usize)> {
    // SAFETY: as the caller promises; the row with the empty name is the last.
    (0..).map(|place| row(unsafe { &*first.add(place) })).take_while(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_elsewhere_is_refused_with_both_places_and_a_hint() {
        let rows: &[Row] = rows!(ngx_http_headers_in_t: "Host" host, "Connection" connection, "Upgrade" upgrade);
        let at = |place: usize, by: usize| (rows[place].0.as_bytes(), rows[place].2 + by);
        assert_eq!(compare("t", rows, &[at(0, 0), at(1, 0), at(2, 0), (b"New", 0)]), Ok(()));
        assert_eq!(compare("t", rows, &[at(1, 0)]), Ok(()), "a name that is not there says nothing");
        let message = compare("t", rows, &[at(0, 0), at(1, 8), at(2, 8)]).unwrap_err();
        let expected = format!(
            "ngx_http_headers_in_t.connection is at byte {}, not {} (\"Connection\" in t), and 1 more members",
            rows[1].2 + 8,
            rows[1].2
        );
        assert!(message.contains(&expected) && message.contains("hint: "), "{message}");
    }
}
