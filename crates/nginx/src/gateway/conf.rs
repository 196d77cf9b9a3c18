//! nginx's configuration of an upstream, as a route wants it for one request.

use std::ptr;

use nginx_sys::{
    NGX_HTTP_UPSTREAM_FT_ERROR, NGX_HTTP_UPSTREAM_FT_HTTP_429, NGX_HTTP_UPSTREAM_FT_HTTP_500,
    NGX_HTTP_UPSTREAM_FT_HTTP_502, NGX_HTTP_UPSTREAM_FT_HTTP_503, NGX_HTTP_UPSTREAM_FT_HTTP_504,
    NGX_HTTP_UPSTREAM_FT_INVALID_HEADER, NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT, NGX_HTTP_UPSTREAM_FT_OFF,
    NGX_HTTP_UPSTREAM_FT_TIMEOUT, ngx_http_request_t, ngx_http_upstream_conf_t, ngx_msec_t, ngx_palloc, ngx_uint_t,
};
use weir_gateway::resource::{Retries, RetryOn};

use super::mirror::MAX_WAIT_MS;
use super::peer::MAX_TRIES;
use super::routed::Routed;
use super::upstream_tls;

/// The most tries of a request.
pub fn tries(routed: &Routed, is_copy: bool) -> ngx_uint_t {
    let attempts = routed.forward().map_or(1, |forward| forward.retries.attempts as usize);
    if is_copy { 1 } else { attempts.clamp(1, MAX_TRIES) }
}

/// A copy of the location's configuration with the route's values; `None` if there is no memory left.
///
/// # Safety
/// `r` is a live request whose upstream has been set up from its location.
pub unsafe fn adapt(
    r: *mut ngx_http_request_t,
    routed: &Routed,
    is_copy: bool,
    tls: Option<&upstream_tls::Context>,
) -> Option<*mut ngx_http_upstream_conf_t> {
    let forward = routed.forward()?;
    // SAFETY: as the caller promises; the structure is plain data that nginx only reads while it serves.
    unsafe {
        let u = (*r).upstream;
        let conf = ngx_palloc((*r).pool, size_of::<ngx_http_upstream_conf_t>()).cast::<ngx_http_upstream_conf_t>();
        if conf.is_null() {
            return None;
        }
        ptr::copy_nonoverlapping((*u).conf, conf, 1);
        let conf_of = &mut *conf;
        let longest = if is_copy { MAX_WAIT_MS } else { u64::MAX };
        let ms = |time: u64| time.min(longest) as ngx_msec_t;
        conf_of.connect_timeout = ms(forward.timeouts.connect_ms);
        conf_of.send_timeout = ms(forward.timeouts.send_ms);
        conf_of.read_timeout = ms(forward.timeouts.read_ms);
        conf_of.next_upstream = if is_copy { NGX_HTTP_UPSTREAM_FT_OFF as usize } else { bits(&forward.retries) };
        conf_of.next_upstream_tries = 0; // peer.tries says it
        conf_of.next_upstream_timeout = forward.retries.timeout_ms as ngx_msec_t;
        if !(*u).pipe.is_null() {
            // A copy's answer is read to its end, so that the connection can be used again.
            let buffering = forward.buffering || is_copy;
            conf_of.buffering = isize::from(buffering);
            (*u).set_buffering(u32::from(buffering));
        }
        #[cfg(ngx_feature = "http_ssl")]
        {
            (*u).set_ssl(u32::from(tls.is_some()));
            conf_of.ssl_name = ptr::null_mut(); // u->ssl_name, which each try sets
            conf_of.ssl_certificate = ptr::null_mut();
            conf_of.ssl_session_reuse = 0;
            if let Some(tls) = tls {
                (*u).schema = crate::ffi::static_str(if (*u).pipe.is_null() { b"grpcs://" } else { b"https://" });
                conf_of.ssl = tls.ssl();
                conf_of.ssl_server_name = 1;
                conf_of.ssl_verify = isize::from(tls.verifies());
            }
        }
        #[cfg(not(ngx_feature = "http_ssl"))]
        let _ = tls;
        Some(conf)
    }
}

/// nginx's bits for what is tried again.
fn bits(retries: &Retries) -> ngx_uint_t {
    let non_idempotent = if retries.non_idempotent { NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT } else { 0 };
    retries.on.iter().fold(non_idempotent, |bits, on| bits | bit(*on)) as ngx_uint_t
}

const fn bit(on: RetryOn) -> u32 {
    match on {
        RetryOn::Error => NGX_HTTP_UPSTREAM_FT_ERROR,
        RetryOn::Timeout => NGX_HTTP_UPSTREAM_FT_TIMEOUT,
        RetryOn::InvalidHeader => NGX_HTTP_UPSTREAM_FT_INVALID_HEADER,
        RetryOn::Status500 => NGX_HTTP_UPSTREAM_FT_HTTP_500,
        RetryOn::Status502 => NGX_HTTP_UPSTREAM_FT_HTTP_502,
        RetryOn::Status503 => NGX_HTTP_UPSTREAM_FT_HTTP_503,
        RetryOn::Status504 => NGX_HTTP_UPSTREAM_FT_HTTP_504,
        RetryOn::Status429 => NGX_HTTP_UPSTREAM_FT_HTTP_429,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_those_that_the_route_names() {
        let cases: [(&[RetryOn], bool, u32); 4] = [
            (&[], false, 0),
            (&[RetryOn::Error, RetryOn::Timeout], false, 0x6),
            (&[RetryOn::Status503], true, 0x4040),
            (&[RetryOn::InvalidHeader, RetryOn::Status429, RetryOn::Status500], false, 0x418),
        ];
        for (on, non_idempotent, expected) in cases {
            let retries = Retries { attempts: 2, on: on.to_vec(), timeout_ms: 0, non_idempotent };
            assert_eq!(bits(&retries), expected as usize, "{on:?}");
        }
    }
}
