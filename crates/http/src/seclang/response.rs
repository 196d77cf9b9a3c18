//! Variables of the response. Each method is named after its variable.

use super::{View, number, pairs};
use crate::{Header, Pair, ResponseHead, Version, header_hash};

impl<'a> View<'a> {
    /// Sets status and header fields of the response, before phase 3. Like the ModSecurity connector, the caller
    /// includes the fields that nginx adds (`Server`, `Date`, `Content-Type`, `Connection`...).
    pub fn set_response(&self, head: ResponseHead<'a>) {
        self.response.set(Some(head));
    }

    /// Sets the inspected response body, before phase 4.
    pub fn set_response_body(&self, body: &'a [u8]) {
        self.request.work().extend(body.len());
        self.response_body.set(Some(body));
    }

    /// Records that the response body is longer than `SecResponseBodyLimit`.
    pub fn set_response_body_truncated(&self) {
        self.response_truncated.set(true);
    }

    /// `OUTBOUND_DATA_ERROR`: whether the response body is longer than the limit; empty before phase 4.
    #[must_use]
    pub fn outbound_data_error(&self) -> &'static [u8] {
        match (self.response_truncated.get(), self.response_body.get()) {
            (true, _) => b"1",
            (false, Some(_)) => b"0",
            (false, None) => b"",
        }
    }

    /// `RESPONSE_STATUS`, `STATUS` and `STATUS_LINE`, decimal; empty before it is known.
    #[must_use]
    pub fn response_status(&self) -> &'a [u8] {
        self.response.get().map_or(b"", |head| number(self.arena, head.status.into()))
    }

    /// `RESPONSE_PROTOCOL`: the protocol of nginx's response.
    #[must_use]
    pub fn response_protocol(&self) -> &'static [u8] {
        match self.response.get() {
            None => b"",
            Some(_) if self.request.head.version == Version::Http2 => b"HTTP/2.0",
            Some(_) => b"HTTP/1.1",
        }
    }

    /// `RESPONSE_HEADERS`
    #[must_use]
    pub fn response_headers(&self) -> &'a [Pair<'a>] {
        match self.response.get() {
            Some(head) => self.response_headers.get_or_init(|| pairs(self.arena, head.headers)),
            None => &[],
        }
    }

    /// `RESPONSE_CONTENT_TYPE`: without parameters, as sent.
    #[must_use]
    pub fn response_content_type(&self) -> &'a [u8] {
        const HASH: u64 = header_hash(b"content-type");
        let headers: &'a [Header<'a>] = self.response.get().map_or(&[], |head| head.headers);
        let last = headers.iter().rfind(|header| header.is(b"content-type", HASH));
        let value = last.map_or(&b""[..], |header| header.value);
        &value[..memchr::memchr(b';', value).unwrap_or(value.len())]
    }

    /// `RESPONSE_BODY`: its inspected part.
    #[must_use]
    pub fn response_body(&self) -> &'a [u8] {
        self.response_body.get().unwrap_or_default()
    }

    /// `RESPONSE_CONTENT_LENGTH`: bytes of [`Self::response_body`], decimal; empty before phase 4.
    #[must_use]
    pub fn response_content_length(&self) -> &'a [u8] {
        self.response_body.get().map_or(b"", |body| number(self.arena, body.len()))
    }
}
