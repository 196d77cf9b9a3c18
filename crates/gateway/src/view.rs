//! A transaction as routing and balancing see it.

use std::borrow::Cow;
use std::net::IpAddr;

use weir_http::{Transaction, header_hash};

use crate::RequestView;

/// The view that a transaction gives.
pub struct View<'t, 'a>(pub &'t Transaction<'a>);

impl RequestView for View<'_, '_> {
    fn host(&self) -> &[u8] {
        self.0.head.host
    }

    fn path(&self) -> &[u8] {
        self.0.head.path
    }

    fn method(&self) -> &[u8] {
        self.0.head.method
    }

    fn query_string(&self) -> &[u8] {
        self.0.head.query
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.0.header(name.as_bytes(), header_hash(name.as_bytes()))
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let of_name = self.0.arguments().iter().find(|argument| argument.name == name.as_bytes());
        of_name.map(|argument| argument.value.into())
    }

    fn cookie(&self, name: &str) -> Option<&[u8]> {
        self.0.cookies().iter().find(|cookie| cookie.name == name.as_bytes()).map(|cookie| cookie.value)
    }

    fn client(&self) -> Option<IpAddr> {
        Some(self.0.head.client)
    }
}
