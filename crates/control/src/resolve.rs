//! Addresses of members, and resolution of host names.
//!
//! Names are resolved with the system's `getaddrinfo`, in threads: it knows `/etc/hosts`, search domains and whatever
//! else the machine is set up with. A resolver of our own would know lifetimes of records, and be wrong in other ways.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

/// How many addresses of one name are used; more are rare, and each has to be checked.
pub const MAX_ADDRESSES: usize = 16;

/// The address of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address that needs no resolving.
    Socket(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
    /// A name and a port.
    Name {
        /// The name.
        host: String,
        /// The port.
        port: u16,
    },
    /// None of these; the check of documents rejects such an address.
    Unknown,
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(out),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
            Self::Name { host, port } => write!(out, "{host}:{port}"),
            Self::Unknown => out.write_str("an unknown address"),
        }
    }
}

/// Parses a member's address.
#[must_use]
pub fn address(written: &str) -> Address {
    if let Some(path) = written.strip_prefix("unix:") {
        return Address::Unix(path.into());
    }
    if let Ok(socket) = written.parse() {
        return Address::Socket(socket);
    }
    match written.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) if !host.is_empty() => Address::Name { host: host.to_owned(), port },
        _ => Address::Unknown,
    }
}

/// Resolves a name to at most [`MAX_ADDRESSES`] addresses, sorted and without duplicates. Blocks for as long as the
/// system's resolver takes.
///
/// # Errors
/// The reason why there are no addresses.
pub fn lookup(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = (host, port).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut addresses: Vec<SocketAddr> = found.collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    if addresses.is_empty() { Err("the name has no address".to_owned()) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let name = |host: &str, port| Address::Name { host: host.to_owned(), port };
        for (written, expected) in [
            ("192.0.2.1:80", Address::Socket(([192, 0, 2, 1], 80).into())),
            ("[::1]:80", Address::Socket("[::1]:80".parse().unwrap())),
            ("unix:/run/app.sock", Address::Unix("/run/app.sock".into())),
            ("app.internal:8080", name("app.internal", 8080)),
            ("app", Address::Unknown),
            ("app:99999", Address::Unknown),
            (":80", Address::Unknown),
        ] {
            assert_eq!(address(written), expected, "{written}");
        }
    }

    #[test]
    fn localhost_has_sorted_addresses_and_nonsense_none() {
        let found = lookup("localhost", 80).unwrap();
        assert!(found.is_sorted() && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
        assert!(lookup("no-such-name.invalid", 80).is_err());
    }
}
