//! One header field per line. Whatever the fields say, an untrusted peer is not believed, and text to
//! the left cannot hide what a trusted proxy appends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use weir_http::{AddressSource, Anomalies, ClientAddressConfig, Header};

const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

fuzz_target!(|bytes: &[u8]| {
    let trusted = vec!["10.0.0.0/8".parse().expect("a network"), "2001:db8::/32".parse().expect("a network")];
    for (source, name, said) in [
        (AddressSource::XForwardedFor, &b"x-forwarded-for"[..], "192.0.2.2"),
        (AddressSource::Forwarded, &b"Forwarded"[..], "for=192.0.2.2"),
    ] {
        let config = ClientAddressConfig { trusted: trusted.clone(), source };
        let mut headers: Vec<Header<'_>> =
            bytes.split(|byte| *byte == b'\n').map(|line| Header::new(name, line)).collect();

        let mut anomalies = Anomalies::empty();
        assert_eq!(config.resolve(STRANGER, &headers, None, &mut anomalies), STRANGER);
        assert!(anomalies.is_empty(), "nothing is looked at");

        let address = config.resolve(PROXY, &headers, None, &mut anomalies);
        assert!(!matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()));
        assert!(Anomalies::INVALID_FORWARDED.contains(anomalies));

        let last = headers.pop().map_or(&b""[..], |header| header.value);
        let appended = [last, b", ", said.as_bytes()].concat();
        headers.push(Header::new(name, &appended));
        let mut anomalies = Anomalies::empty();
        assert_eq!(config.resolve(PROXY, &headers, None, &mut anomalies), CLIENT);
        assert!(anomalies.is_empty(), "what stands left of the client is not looked at");
    }
});
