//! Client addresses: only trusted proxies are believed.

use weir_policy::mmdb::{Record, Writer};
use weir_tests::{Nginx, Request, Setup};

fn policy(trusted: &str, from: &str) -> String {
    format!(
        "client_address: {{trusted: [{trusted}], from: {from}}}\npolicies:\n  - id: p\n    rules:\n      \
         - {{id: office, when: 'ip.src in {{192.0.2.0/24 2001:db8::/32}}', action: block}}\n      \
         - {{id: show, when: 'true', action: {{set_header: {{on: response, name: X-Client, value: ip.src}}}}}}\n"
    )
}

fn start(policy: &str) -> Nginx {
    Setup::policy(policy)
        .workers(1)
        .server("location / { return 204; }\nlocation /f { try_files /a.txt =404; }")
        .file("html/a.txt", "a")
        .start()
}

fn client(nginx: &Nginx, name: &str, value: &str) -> (u16, Option<String>) {
    let response = nginx.send(&Request::get("/f").header(name, value));
    (response.status, response.header("x-client").map(str::to_owned))
}

#[test]
fn x_forwarded_for_is_walked_from_the_right_to_the_first_untrusted() {
    let nginx = start(&policy("127.0.0.0/8, 10.0.0.0/8", "x-forwarded-for"));
    let seen = |ip: &str| (200, Some(ip.to_owned()));
    for (value, expected) in [
        ("198.51.100.7", seen("198.51.100.7")),
        ("198.51.100.7, 10.1.2.3", seen("198.51.100.7")),
        ("192.0.2.1, 198.51.100.7, 10.1.2.3", seen("198.51.100.7")),
        ("192.0.2.1", (403, None)),
        ("198.51.100.7, 2001:db8::5", (403, None)),
        ("rubbish", seen("127.0.0.1")),
        ("", seen("127.0.0.1")),
    ] {
        let found = client(&nginx, "X-Forwarded-For", value);
        assert_eq!(found.0, expected.0, "{value}");
        if expected.0 == 200 {
            assert_eq!(found, expected, "{value}");
        }
    }
    let lines = nginx.accesses(7);
    assert_eq!((&lines[0]["client"], &lines[0]["peer"]), (&"198.51.100.7".into(), &"127.0.0.1".into()));
    assert_eq!(lines[0]["x_forwarded_for"], "198.51.100.7");
    assert_eq!(nginx.attacks(2)[0]["client"], "192.0.2.1");
}

#[test]
fn untrusted_peers_are_not_believed() {
    let nginx = start(&policy("10.0.0.0/8", "x-forwarded-for"));
    assert_eq!(client(&nginx, "X-Forwarded-For", "192.0.2.1"), (200, Some("127.0.0.1".into())));
}

#[test]
fn the_forwarded_header_is_understood() {
    let nginx = start(&policy("127.0.0.1", "forwarded"));
    assert_eq!(client(&nginx, "Forwarded", "for=198.51.100.7;proto=https"), (200, Some("198.51.100.7".into())));
    assert_eq!(client(&nginx, "Forwarded", "for=\"[2001:db8::1]:4711\"").0, 403);
    assert_eq!(client(&nginx, "X-Forwarded-For", "192.0.2.1"), (200, Some("127.0.0.1".into())));
}

#[test]
fn the_proxy_protocol_is_understood() {
    let text = policy("127.0.0.1", "proxy_protocol");
    let nginx = Setup::policy(&text).listen("proxy_protocol").server("").file("html/a.txt", "a").start();
    for (line, status) in [
        ("PROXY TCP4 198.51.100.7 127.0.0.1 1234 80\r\n", 200),
        ("PROXY TCP4 192.0.2.77 127.0.0.1 1234 80\r\n", 403),
        ("PROXY TCP6 2001:db8::1 ::1 1234 80\r\n", 403),
        ("PROXY UNKNOWN\r\n", 200),
    ] {
        let mut connection = nginx.connect();
        connection.send(line.as_bytes());
        assert_eq!(Request::get("/a.txt").send_on(&mut connection).status, status, "{line}");
    }
}

#[test]
fn listen_on_ipv6_gives_ipv6_facts() {
    std::net::TcpListener::bind("[::1]:0").expect("this machine has an IPv6 loopback");
    let setup = Setup::policy(&policy("127.0.0.1", "x-forwarded-for")).file("html/a.txt", "a");
    let (port, root) = (weir_tests::port::free(), setup.prefix().join("html"));
    let nginx = setup.http(&format!("server {{ listen [::1]:{port}; root {}; }}", root.display())).start();
    let response = weir_tests::client::curl(&["-g", &format!("http://[::1]:{port}/a.txt")]);
    assert_eq!((response.status, response.header("x-client")), (200, Some("::1")));
    assert_eq!(nginx.accesses(1)[0]["server_addr"], "::1");
}

/// A generated database with the countries of two networks.
fn database() -> Vec<u8> {
    let mut writer = Writer::new("Test-Country");
    for (network, country, continent, asnum) in
        [("198.51.100.0/24", "DE", "EU", 64500), ("2001:db8::/32", "JP", "AS", 64501)]
    {
        let record = Record { country: country.into(), continent: continent.into(), asnum };
        writer.insert(network.parse().unwrap(), record);
    }
    writer.to_bytes()
}

#[test]
fn countries_come_from_the_mmdb_file_to_rules_variable_and_log() {
    let rules = "      - {id: asia, when: 'ip.src.continent eq \"AS\" and ip.src.asnum eq 64501', action: block}\n      - {id: show";
    let text = policy("127.0.0.1", "x-forwarded-for").replace("      - {id: show", rules).replace(" 2001:db8::/32", "");
    let setup = Setup::policy(&format!("geo: {{country: country.mmdb, asn: country.mmdb}}\n{text}"));
    let setup = setup
        .file("country.mmdb", database())
        .file("html/a.txt", "a")
        .server("add_header X-Country \"[$weir_country]\" always;");
    let nginx = setup.workers(1).start();
    for (address, status, country) in
        [("198.51.100.7", 200, "DE"), ("203.0.113.1", 200, ""), ("2001:db8::7", 403, "JP")]
    {
        let response = nginx.send(&Request::get("/a.txt").header("X-Forwarded-For", address));
        let shown = format!("[{country}]");
        assert_eq!((response.status, response.header("x-country")), (status, Some(shown.as_str())), "{address}");
    }
    let countries: Vec<_> = nginx.accesses(3).iter().map(|line| line["country"].clone()).collect();
    assert_eq!(countries, ["DE", "", "JP"]);
}
