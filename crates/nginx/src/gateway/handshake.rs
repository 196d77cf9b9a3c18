//! TLS by the live configuration: which certificate a name gets, and which versions.
//!
//! nginx chooses a server by name and shows that server's certificate. In a gateway server the
//! names are control's, so three of OpenSSL's callbacks are ours: the first look at the client's
//! hello (versions have to be settled before OpenSSL chooses one), the server name (unknown names
//! are refused in the way that RFC 6066 has for it), and the certificate. nginx reading files per
//! handshake, which its variables in `ssl_certificate` amount to, would parse a key each time.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use nginx_sys::{
    SSL, SSL_CTX, SSL_CTX_callback_ctrl, SSL_CTX_clear_options, SSL_CTX_get0_certificate, SSL_CTX_set_cert_cb,
    SSL_CTX_set_client_hello_cb, SSL_certs_clear, SSL_client_hello_get0_ext, SSL_ctrl, SSL_get_SSL_CTX,
    SSL_get_ex_data, SSL_get_servername, SSL_use_cert_and_key, SSL_version, ngx_connection_t, ngx_http_conf_ctx_t,
    ngx_http_connection_t, ngx_http_ssl_module, ngx_http_ssl_servername, ngx_http_ssl_srv_conf_t,
    ngx_ssl_connection_index,
};
use weir_gateway::resource::TlsVersion;
use weir_gateway::{CertificateEntry, Site};
use weir_http::server_name;

use super::{Server, certificate, client_tls};
use crate::{fault, ffi, live};

// OpenSSL's macros and their numbers (openssl/ssl.h, openssl/tls1.h).
const SET_SERVERNAME_CALLBACK: c_int = 53;
const SET_MIN_VERSION: c_int = 123;
const NAME_TYPE_HOST: c_int = 0;
const EXTENSION_SERVER_NAME: c_uint = 0;
const CLIENT_HELLO_SUCCESS: c_int = 1;
const SERVERNAME_OK: c_int = 0;
const SERVERNAME_FATAL: c_int = 2;
const UNRECOGNIZED_NAME: c_int = 112;
const TLS_1_2: c_int = 0x303;
const TLS_1_3: c_int = 0x304;
const NO_TLS_1_3: u64 = 1 << 29;

/// `ssl_protocols` of nginx before 1.27 if not configured: set, TLS 1.0, 1.1, 1.2.
const OLD_DEFAULT_PROTOCOLS: usize = 1 | 8 | 16 | 32;

/// Takes a gateway server's handshakes over, if it has TLS.
///
/// # Safety
/// `context` is that of a server whose configuration has been merged.
pub unsafe fn install(context: *mut ngx_http_conf_ctx_t) -> Option<()> {
    // SAFETY: as the caller promises; the function that OpenSSL calls for a name has the type it expects there.
    unsafe {
        let index = ngx_http_ssl_module.ctx_index;
        let conf = (*(*context).srv_conf.add(index)).cast::<ngx_http_ssl_srv_conf_t>();
        let ctx = (*conf).ssl.ctx;
        if ctx.is_null() {
            return Some(());
        }
        if (*conf).protocols == OLD_DEFAULT_PROTOCOLS {
            SSL_CTX_clear_options(ctx, NO_TLS_1_3); // the sites decide the versions
        }
        SSL_CTX_set_client_hello_cb(ctx, Some(on_hello), ptr::null_mut());
        SSL_CTX_set_cert_cb(ctx, Some(on_certificate), ptr::null_mut());
        type Name = unsafe extern "C" fn(*mut SSL, *mut c_int, *mut c_void) -> c_int;
        let name = std::mem::transmute::<Name, unsafe extern "C" fn()>(on_name);
        SSL_CTX_callback_ctrl(ctx, SET_SERVERNAME_CALLBACK, Some(name));
        Some(())
    }
}

/// The client has said hello: the site's oldest version holds.
unsafe extern "C" fn on_hello(ssl: *mut SSL, _: *mut c_int, _: *mut c_void) -> c_int {
    fault::contain("handshake", || {
        let mut extension: *const u8 = ptr::null();
        let mut length = 0;
        // SAFETY: OpenSSL calls with a live session whose hello it has read, and says where the extension is.
        unsafe {
            let found = SSL_client_hello_get0_ext(ssl, EXTENSION_SERVER_NAME, &raw mut extension, &raw mut length);
            let bytes = if found == 1 { std::slice::from_raw_parts(extension, length) } else { &[] };
            let name = server_name(bytes).unwrap_or_default();
            let least = least_version(name);
            if let Some(site) = site_of(name) {
                client_tls::bind(ssl, &site);
            }
            SSL_ctrl(ssl, SET_MIN_VERSION, least.into(), ptr::null_mut());
        }
    });
    CLIENT_HELLO_SUCCESS
}

/// The oldest version that the site of a name takes.
fn least_version(name: &[u8]) -> c_int {
    match site_of(name).map(|site| site.spec().tls.min_version) {
        Some(TlsVersion::V1_3) => TLS_1_3,
        Some(TlsVersion::V1_2) | None => TLS_1_2,
    }
}

/// The site of a name.
fn site_of(name: &[u8]) -> Option<Rc<Site>> {
    live::current()?.gateway.site(name).map(Rc::clone)
}

/// The name that the client asks for; empty if it does not.
unsafe fn name_of<'a>(ssl: *const SSL) -> &'a [u8] {
    // SAFETY: a live session; OpenSSL answers with null or its own copy of the name.
    unsafe {
        let name = SSL_get_servername(ssl, NAME_TYPE_HOST);
        if name.is_null() { &[] } else { std::ffi::CStr::from_ptr(name).to_bytes() }
    }
}

/// The certificate for a name: its site's, else the one that fits best, else the default one.
fn certificate_for(name: &[u8]) -> Option<Rc<CertificateEntry>> {
    live::current()?.gateway.certificate(name).map(Rc::clone)
}

/// nginx chooses the server; a name that the gateway has no certificate for is refused.
unsafe extern "C" fn on_name(ssl: *mut SSL, alert: *mut c_int, argument: *mut c_void) -> c_int {
    // SAFETY: what OpenSSL passes is passed on.
    let chosen = unsafe { ngx_http_ssl_servername(ssl, alert, argument) };
    if chosen != SERVERNAME_OK {
        return chosen;
    }
    // SAFETY: a live session of an nginx connection.
    let known = fault::contain("handshake", || unsafe {
        !is_gateway(ssl) || certificate_for(name_of(ssl)).is_some() || has_own(SSL_get_SSL_CTX(ssl))
    });
    if known == Some(true) {
        return SERVERNAME_OK;
    }
    // SAFETY: OpenSSL passes room for the alert.
    unsafe { *alert = UNRECOGNIZED_NAME };
    SERVERNAME_FATAL
}

/// Whether the server that nginx has chosen is a gateway.
unsafe fn is_gateway(ssl: *const SSL) -> bool {
    // SAFETY: nginx keeps its connection with the session; until a request begins, the connection's data is nginx's
    // record of it, with the chosen server's configuration.
    unsafe {
        let connection = SSL_get_ex_data(ssl, ngx_ssl_connection_index).cast::<ngx_connection_t>();
        let http = (*connection).data.cast::<ngx_http_connection_t>();
        let server = (*(*(*http).conf_ctx).srv_conf.add(ffi::context_index())).cast::<Server>();
        (*server).on == Some(true)
    }
}

/// Whether nginx's configuration has a certificate of its own here.
unsafe fn has_own(ctx: *const SSL_CTX) -> bool {
    // SAFETY: a live context.
    unsafe { !SSL_CTX_get0_certificate(ctx).is_null() }
}

/// OpenSSL needs the certificate: 1 to go on, 0 to fail.
unsafe extern "C" fn on_certificate(ssl: *mut SSL, _: *mut c_void) -> c_int {
    // SAFETY: OpenSSL calls with a live session.
    fault::contain("handshake", || unsafe { c_int::from(show_certificate(ssl)) }).unwrap_or(0)
}

unsafe fn show_certificate(ssl: *mut SSL) -> bool {
    // SAFETY: as for the caller. OpenSSL takes references of its own to what it is given.
    unsafe {
        let name = name_of(ssl);
        if SSL_version(ssl) < least_version(name) {
            return false; // on_hello was not asked: the connection came to a server that is not a gateway
        }
        if site_of(name).is_some_and(|site| !client_tls::ask(ssl, &site)) {
            return false;
        }
        let Some(entry) = certificate_for(name) else { return has_own(SSL_get_SSL_CTX(ssl)) };
        let Some(parsed) = certificate::parsed(&entry) else { return false };
        SSL_certs_clear(ssl);
        SSL_use_cert_and_key(ssl, parsed.leaf, parsed.key, parsed.chain, 1) == 1
    }
}
