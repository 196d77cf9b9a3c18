//! Answers that Weir gives itself.
//!
//! Without a body of its own an answer is left to nginx: its page for that status, or whatever
//! `error_page` says. Connections are kept alive where nginx would keep them.

use std::sync::Arc;

use nginx_sys::{
    ngx_chain_t, ngx_http_clean_header, ngx_http_discard_request_body, ngx_http_filter_finalize_request,
    ngx_http_output_filter, ngx_http_request_t, ngx_http_send_header, ngx_int_t,
};
use weir_engine::Response;

use crate::module::ngx_http_weir_module;
use crate::{buffer, ffi, headers, transaction};

/// nginx's own code for closing the connection without an answer.
const CLOSE: u16 = 444;

/// Whether nginx itself can answer with that status when a handler returns it.
fn is_special(status: u16) -> bool {
    status >= 300 || status == 201 || status == 204
}

/// Whether nginx is to make the body.
fn is_left_to_nginx(response: &Response) -> bool {
    is_special(response.status) && (response.body.is_empty() || matches!(response.status, 204 | 304))
}

/// Answers from a phase handler; returns what that handler has to return.
///
/// # Safety
/// `r` is a live main request whose response has not begun.
pub unsafe fn answer(r: *mut ngx_http_request_t, response: Arc<Response>) -> ngx_int_t {
    // SAFETY: as the caller promises.
    unsafe {
        set_headers(r, &response);
        if is_left_to_nginx(&response) {
            return response.status as ngx_int_t;
        }
        (*r).set_expect_tested(1); // no "100 Continue" for a body that is thrown away
        let discarded = ngx_http_discard_request_body(r);
        if discarded != ffi::code::OK {
            return discarded;
        }
        send(r, response)
    }
}

/// Replaces the response that is about to be sent, from the header filter; returns what that
/// filter has to return.
///
/// # Safety
/// `r` is a live main request whose response header is being filtered.
pub unsafe fn replace(r: *mut ngx_http_request_t, response: Arc<Response>) -> ngx_int_t {
    // SAFETY: as the caller promises. This is what ngx_http_filter_finalize_request does, with a
    // body of our own; the error stops the filter that was sending the other body, and ends the connection.
    unsafe {
        (*r).set_keepalive(0);
        if response.status == CLOSE {
            (*(*r).connection).set_error(1);
            return ffi::code::ERROR;
        }
        if is_left_to_nginx(&response) && response.headers.is_empty() {
            return ngx_http_filter_finalize_request(r, &raw mut ngx_http_weir_module, response.status as ngx_int_t);
        }
        ngx_http_clean_header(r);
        (*r).set_filter_finalize(1);
        set_headers(r, &response);
        match send(r, response) {
            ffi::code::OK | ffi::code::DONE => ffi::code::ERROR,
            other => other,
        }
    }
}

unsafe fn set_headers(r: *mut ngx_http_request_t, response: &Response) {
    for (place, (name, value)) in response.headers.iter().enumerate() {
        let is_again = response.headers[..place].iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(name));
        // SAFETY: as for `answer`. An inspector's answer may have several of a name, such as `Set-Cookie`.
        unsafe {
            if is_again {
                headers::add_response(r, name, value)
            } else {
                headers::set_response(r, name, value)
            };
        }
    }
}

/// Sends header and body.
unsafe fn send(r: *mut ngx_http_request_t, response: Arc<Response>) -> ngx_int_t {
    // SAFETY: as for `answer`. The body's bytes are nginx's to read until the request ends: the
    // inspection holds on to the response until then.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return ffi::code::ERROR };
        let response = &**(*inspection).answer.insert(response);
        (*r).headers_out.status = usize::from(response.status);
        (*r).headers_out.content_length_n = response.body.len() as i64;
        if !response.body.is_empty() {
            let content_type =
                if response.content_type.is_empty() { b"text/plain" } else { &response.content_type[..] };
            headers::set_response(r, b"content-type", content_type);
        }
        let sent = ngx_http_send_header(r);
        if sent == ffi::code::ERROR || sent > ffi::code::OK || (*r).header_only() != 0 {
            return sent;
        }
        let Some(buffer) = buffer::of((*r).pool, &response.body) else { return ffi::code::ERROR };
        (*buffer).set_last_buf(1);
        (*buffer).set_last_in_chain(1);
        let mut chain = ngx_chain_t { buf: buffer, next: std::ptr::null_mut() };
        ngx_http_output_filter(r, &raw mut chain)
    }
}
