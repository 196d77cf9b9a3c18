//! Host names of members, from their addresses as configured.

/// The name of a member's host without the port, as TLS verifies it.
#[must_use]
pub fn host_name(address: &str) -> &str {
    match address.rsplit_once(':') {
        _ if address.starts_with("unix:") => "localhost",
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    }
}

/// A member's address as a `Host` header has it: without the ports of HTTP and HTTPS, which need no mention.
#[must_use]
pub fn host_header(address: &str) -> &str {
    match address.rsplit_once(':') {
        Some((_, "80" | "443")) => host_name(address),
        _ if address.starts_with("unix:") => "localhost",
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn members_are_named_as_browsers_would_name_them() {
        let cases = [
            ("app.internal:80", "app.internal", "app.internal"),
            ("app.internal:8080", "app.internal:8080", "app.internal"),
            ("[2001:db8::1]:443", "[2001:db8::1]", "[2001:db8::1]"),
            ("unix:/run/app.sock", "localhost", "localhost"),
            ("192.0.2.1:3000", "192.0.2.1:3000", "192.0.2.1"),
        ];
        for (address, header, host) in cases {
            assert_eq!((host_header(address), host_name(address)), (header, host), "{address}");
        }
    }

    proptest! {
        #[test]
        fn a_port_is_dropped_and_nothing_else(host in "[a-z0-9.-]{1,20}|\\[[0-9a-f:]{2,20}\\]", port: u16) {
            let address = format!("{host}:{port}");
            prop_assert_eq!(host_name(&address), &host);
            let named = if matches!(port, 80 | 443) { &host } else { &address };
            prop_assert_eq!(host_header(&address), named);
        }
    }
}
