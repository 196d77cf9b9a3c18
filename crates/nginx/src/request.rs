//! The head of a request as Weir sees it: slices of the memory in which nginx parsed it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bumpalo::Bump;
use nginx_sys::{
    ngx_connection_local_sockaddr, ngx_connection_t, ngx_http_core_module, ngx_http_core_srv_conf_t,
    ngx_http_request_t, sockaddr, sockaddr_in, sockaddr_in6,
};
use weir_http::{Anomalies, Head, Header, Tls, Version, text, uri};

use crate::configuration::Main;
use crate::ffi;
use crate::policy::Policies;

/// Header fields that fit without growing: browsers send about 20.
const USUAL_FIELDS: usize = 32;

/// The head of `r`, and what was broken in it. `policies` name the proxies to trust about the client.
///
/// # Safety
/// `r` is a live request whose header has been parsed, at least in part; the result is not used
/// after its pool's end.
pub unsafe fn head<'a>(
    r: *mut ngx_http_request_t,
    main: &Main,
    policies: Option<&Policies>,
    arena: &'a Bump,
) -> (Head<'a>, Anomalies) {
    // SAFETY: nginx's strings in a request are null or live as long as its pool or buffers.
    unsafe {
        let connection = (*r).connection;
        let headers = headers(r, arena);
        let exactly = main.reads_server_address || policies.is_some_and(|policies| policies.needs.server_address);
        let (peer, peer_port) = endpoint((*connection).sockaddr);
        let (server, server_port) = server(r, exactly);
        let mut anomalies = Anomalies::empty();
        let client = client(policies, peer, headers, connection, &mut anomalies);
        let target = ffi::bytes(&(*r).unparsed_uri);
        let mut query = ffi::bytes(&(*r).args);
        // nginx calls a target complex if it has a `#`, among other things.
        if (*r).complex_uri() != 0
            && let Some(whole) = uri::query_with_fragment(target)
        {
            query = whole;
            anomalies |= Anomalies::INVALID_TARGET;
        }
        let head = Head {
            method: ffi::bytes(&(*r).method_name),
            target,
            path: ffi::bytes(&(*r).uri),
            query,
            version: version(r),
            host: ffi::bytes(&(*r).headers_in.server),
            headers,
            peer,
            peer_port,
            client,
            server,
            server_port,
            tls: tls(r),
            received_ms: ((*r).start_sec as u64).wrapping_mul(1000).wrapping_add((*r).start_msec as u64),
        };
        (head, anomalies | head.host_anomalies())
    }
}

/// All header fields of the request, in order.
///
/// # Safety
/// As for [`head`].
unsafe fn headers<'a>(r: *mut ngx_http_request_t, arena: &'a Bump) -> &'a [Header<'a>] {
    // SAFETY: the list of a live request; nothing changes it meanwhile.
    unsafe {
        let list = &raw const (*r).headers_in.headers;
        if (*list).last.is_null() {
            return &[]; // not even the request line was good
        }
        // nginx leaves bytes that it does not like out of the hash; it then also drops such
        // fields, unless told otherwise.
        let server: *const ngx_http_core_srv_conf_t = (*(*r).srv_conf.add(ngx_http_core_module.ctx_index)).cast();
        let trusts_hash = (*server).ignore_invalid_headers != 0;
        let mut fields = bumpalo::collections::Vec::with_capacity_in(USUAL_FIELDS, arena);
        for field in ffi::fields(list) {
            let (name, value) = (ffi::bytes(&(*field).key), trimmed(ffi::bytes(&(*field).value)));
            fields.push(match (*field).hash as u64 {
                hash if trusts_hash && hash > 1 => Header { name, value, hash },
                _ => Header::new(name, value),
            });
        }
        fields.into_bump_slice()
    }
}

/// A value without the tabs around it: nginx removes blanks alone.
#[inline]
fn trimmed(value: &[u8]) -> &[u8] {
    match value {
        [first, .., last] if *first > b' ' && *last > b' ' => value,
        _ => text::trim(value),
    }
}

/// The client's address as the policy wants it found; the peer without a policy.
///
/// # Safety
/// `connection` is live.
unsafe fn client(
    policies: Option<&Policies>,
    peer: IpAddr,
    headers: &[Header<'_>],
    connection: *const ngx_connection_t,
    anomalies: &mut Anomalies,
) -> IpAddr {
    let Some(policies) = policies else { return peer };
    let config = policies.snapshot().client_address();
    if config.trusted.is_empty() {
        return peer;
    }
    // SAFETY: proxy_protocol is null or lives as long as the connection.
    let proxied = unsafe {
        (*connection)
            .proxy_protocol
            .as_ref()
            .and_then(|proxied| std::str::from_utf8(ffi::bytes(&proxied.src_addr)).ok()?.parse().ok())
    };
    config.resolve(peer, headers, proxied, anomalies)
}

/// Protocol version.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn version(r: *const ngx_http_request_t) -> Version {
    // SAFETY: as the caller promises.
    match unsafe { (*r).http_version } {
        0..1000 => Version::Http09,
        1000 => Version::Http10,
        1001..2000 => Version::Http11,
        2000..3000 => Version::Http2,
        _ => Version::Http3,
    }
}

/// Address and port of a socket; a Unix socket is the machine itself.
///
/// # Safety
/// `address` is null or a complete socket address of its family.
pub unsafe fn endpoint(address: *const sockaddr) -> (IpAddr, u16) {
    const LOCAL: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    if address.is_null() {
        return LOCAL;
    }
    // SAFETY: the family says which structure it is; nginx allocates them aligned.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let v4 = &*address.cast::<sockaddr_in>();
                (IpAddr::V4(Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr))), u16::from_be(v4.sin_port))
            }
            libc::AF_INET6 => {
                let v6 = &*address.cast::<sockaddr_in6>();
                let octets = std::ptr::read((&raw const v6.sin6_addr).cast::<[u8; 16]>());
                (IpAddr::V6(Ipv6Addr::from(octets)).to_canonical(), u16::from_be(v6.sin6_port))
            }
            _ => LOCAL,
        }
    }
}

/// Our own address and port on this connection. A socket that listens on all addresses does not
/// know which one without a system call, made once per connection and only if `exactly`.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn server(r: *mut ngx_http_request_t, exactly: bool) -> (IpAddr, u16) {
    // SAFETY: as the caller promises; HTTP/2 streams have a connection that is a copy, so the
    // answer is kept in the real one.
    unsafe {
        let connection = (*r).connection;
        let local = endpoint((*connection).local_sockaddr);
        if !exactly || !local.0.is_unspecified() {
            return local;
        }
        let real = real_connection(r);
        if ngx_connection_local_sockaddr(real, std::ptr::null_mut(), 0) != ffi::code::OK {
            return local;
        }
        (*connection).local_sockaddr = (*real).local_sockaddr;
        (*connection).local_socklen = (*real).local_socklen;
        endpoint((*connection).local_sockaddr)
    }
}

#[cfg(ngx_feature = "http_v2")]
unsafe fn real_connection(r: *mut ngx_http_request_t) -> *mut ngx_connection_t {
    // SAFETY: stream is null or belongs to the live HTTP/2 connection of the request.
    unsafe { (*r).stream.as_ref().map_or((*r).connection, |stream| (*stream.connection).connection) }
}

#[cfg(not(ngx_feature = "http_v2"))]
unsafe fn real_connection(r: *mut ngx_http_request_t) -> *mut ngx_connection_t {
    // SAFETY: as the caller promises.
    unsafe { (*r).connection }
}

/// TLS facts, if the connection is encrypted.
///
/// # Safety
/// `r` is a live request.
#[cfg(ngx_feature = "http_ssl")]
pub unsafe fn tls<'a>(r: *mut ngx_http_request_t) -> Option<Tls<'a>> {
    use nginx_sys::{ngx_ssl_get_cipher_name, ngx_ssl_get_protocol, ngx_ssl_get_server_name, ngx_str_t};
    // SAFETY: with ssl set, the session is there. The first two answer with static C strings and
    // leave the length alone, the third with a copy in the request's pool.
    unsafe {
        let connection = (*r).connection;
        if (*connection).ssl.is_null() {
            return None;
        }
        let (mut version, mut cipher, mut name) = (ffi::static_str(b""), ffi::static_str(b""), ffi::static_str(b""));
        let c_text = |answer: &ngx_str_t| match answer.data.is_null() {
            true => &b""[..],
            false => std::ffi::CStr::from_ptr(answer.data.cast()).to_bytes(),
        };
        ngx_ssl_get_protocol(connection, (*r).pool, &raw mut version);
        ngx_ssl_get_cipher_name(connection, (*r).pool, &raw mut cipher);
        if ngx_ssl_get_server_name(connection, (*r).pool, &raw mut name) != ffi::code::OK {
            name.len = 0;
        }
        let client_certificate = crate::gateway::client_certificate((*(*connection).ssl).connection)
            .and_then(|der| ffi::copy((*r).pool, &der))
            .map(|copy| ffi::bytes(&copy));
        let (version, cipher) = (c_text(&version), c_text(&cipher));
        Some(Tls { version, cipher, server_name: ffi::bytes(&name), client_certificate })
    }
}

/// nginx without TLS has none.
///
/// # Safety
/// None; as for the other one.
#[cfg(not(ngx_feature = "http_ssl"))]
pub unsafe fn tls<'a>(_: *mut ngx_http_request_t) -> Option<Tls<'a>> {
    None
}
