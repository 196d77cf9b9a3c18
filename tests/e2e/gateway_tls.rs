//! Certificates change with the live configuration, and upstreams are reached over TLS.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use weir_tests::client::curl;
use weir_tests::origin::Echo;
use weir_tests::{Gateway, Setup, port};

/// A certificate for these names in PEM, and its key; signed by the given authority, or by itself.
pub(crate) fn certificate(directory: &Path, name: &str, names: &[&str]) -> (String, String) {
    let path = |extension: &str| directory.join(format!("{name}.{extension}"));
    let alternatives: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", &format!("/CN={name}"), "-addext", &format!("subjectAltName={}", alternatives.join(","))])
        .arg("-keyout")
        .arg(path("key"))
        .arg("-out")
        .arg(path("crt"))
        .output()
        .expect("openssl is installed");
    assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    let read = |extension| std::fs::read_to_string(path(extension)).expect("openssl has written it");
    (read("crt"), read("key"))
}

/// The subject of the certificate served for a name, or the error of OpenSSL.
pub(crate) fn shown(port: u16, name: &str, more: &[&str]) -> Result<String, String> {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-servername", name])
        .args(more)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("openssl is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let subject = text.lines().find_map(|line| line.strip_prefix("subject=CN = ")).map(str::to_owned);
    subject.ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn document(pair: &(String, String)) -> Value {
    json!({"certificate": pair.0, "key": pair.1})
}

#[test]
fn certificates_are_chosen_by_name_and_change_without_a_reload() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let make = |name: &str, names: &[&str]| certificate(directory.path(), name, names);
    let (one, two, wild) = (make("one", &["one.test"]), make("two", &["two.test"]), make("wild", &["*.wild.test"]));
    let app = Echo::start();
    let gateway = Gateway::start_with(
        Setup::gateway().listen("ssl"),
        &[
            ("upstreams/app", json!({"members": {"a": {"address": app.to_string()}}})),
            ("sites/all", json!({"hosts": ["*"]})),
            ("sites/one", json!({"hosts": ["one.test"], "tls": {"certificate": "one"}})),
            ("routes/all", json!({"site": "all", "path": "/", "to": "app"})),
            ("routes/one", json!({"site": "one", "path": "/", "to": "app"})),
            ("certificates/one", document(&one)),
            ("certificates/wild", document(&wild)),
        ],
    );
    let port = gateway.nginx.port;
    assert_eq!(shown(port, "one.test", &[]).as_deref(), Ok("one"));
    assert_eq!(shown(port, "a.wild.test", &[]).as_deref(), Ok("wild"));
    assert!(shown(port, "two.test", &[]).is_err(), "nobody has a certificate for it");
    let _ = gateway.api().put("certificates/two", &document(&two)).expect(201);
    assert_eq!(shown(port, "two.test", &[]).as_deref(), Ok("two"));
    let _ = gateway.api().put("certificates/one", &document(&two)).expect(200);
    assert_eq!(shown(port, "one.test", &[]).as_deref(), Ok("two"), "the new one at once");
    let response = curl(&["--resolve", &format!("one.test:{port}:127.0.0.1"), &format!("https://one.test:{port}/x")]);
    assert_eq!((response.status, response.json()["target"].clone()), (200, json!("/x")));

    let _ = gateway.api().patch("sites/one", &json!({"tls": {"min_version": "1.3"}})).expect(200);
    assert!(shown(port, "one.test", &["-tls1_2"]).is_err());
    assert_eq!(shown(port, "one.test", &["-tls1_3"]).as_deref(), Ok("two"));
}

#[test]
fn private_keys_are_never_shown_and_invalid_ones_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let make = |name: &str| certificate(directory.path(), name, &["one.test"]);
    let (one, other) = (make("one"), make("other"));
    let gateway = Gateway::start(&[("certificates/one", document(&one))]);
    let there = gateway.api().get("certificates/one").expect(200);
    assert!(!there.body.to_string().contains("PRIVATE KEY"), "{}", there.body);
    let state = gateway.api().get("state").expect(200);
    assert!(!state.body.to_string().contains("PRIVATE KEY"));
    let diff = gateway.api().get("revisions/1/diff").expect(200);
    assert!(!diff.body.to_string().contains("PRIVATE KEY"));
    for (document, pointer) in [
        (json!({"certificate": one.0, "key": other.1}), "key"),
        (json!({"certificate": "nonsense", "key": one.1}), "certificate"),
        (json!({"certificate": one.0, "key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}), "key"),
    ] {
        let refused = gateway.api().put("certificates/one", &document).expect(422);
        assert!(refused.errors()[0].0.ends_with(pointer), "{:?}", refused.errors());
        assert!(!refused.body.to_string().contains(&one.1[30..80]), "an error does not show the key");
    }
}

#[test]
fn upstreams_are_verified_over_tls() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (certificate, key) = certificate(directory.path(), "app", &["app.test"]);
    let tls_port = port::free();
    let files = (directory.path().join("app.crt"), directory.path().join("app.key"));
    let origin = format!(
        "server {{ listen 127.0.0.1:{tls_port} ssl; ssl_certificate {}; ssl_certificate_key {}; \
         location / {{ return 200 \"sni $ssl_server_name\"; }} }}",
        files.0.display(),
        files.1.display()
    );
    drop(key);
    let upstream = |tls: Value| json!({"protocol": "https", "tls": tls, "members": {"a": {"address": format!("127.0.0.1:{tls_port}")}}});
    let gateway = Gateway::start_with(
        Setup::gateway().http(&origin),
        &[
            ("upstreams/good", upstream(json!({"server_name": "app.test", "authorities": certificate}))),
            ("upstreams/name", upstream(json!({"server_name": "other.test", "authorities": certificate}))),
            ("upstreams/system", upstream(json!({"server_name": "app.test"}))),
            ("upstreams/blind", upstream(json!({"server_name": "app.test", "verify": false}))),
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/good", json!({"site": "all", "path": "/good", "to": "good"})),
            ("routes/name", json!({"site": "all", "path": "/name", "to": "name"})),
            ("routes/system", json!({"site": "all", "path": "/system", "to": "system"})),
            ("routes/blind", json!({"site": "all", "path": "/blind", "to": "blind"})),
        ],
    );
    for (path, status) in [("/good", 200), ("/name", 502), ("/system", 502), ("/blind", 200)] {
        // Twice, because a connection kept for one upstream could serve another if they were mixed up.
        for _ in 0..2 {
            assert_eq!(gateway.nginx.get(path).status, status, "{path}");
        }
    }
    assert_eq!(gateway.nginx.get("/good").text(), "sni app.test");
}

#[test]
fn plain_requests_are_redirected_to_https_if_the_site_says_so() {
    let gateway = Gateway::start(&[
        ("sites/a", json!({"hosts": ["a.test"], "tls": {"redirect": true}})),
        ("routes/a", json!({"site": "a", "path": "/", "respond": {"status": 200, "body": "a"}})),
    ]);
    let response = gateway.nginx.send(&weir_tests::Request::get("/x?y=1").host("a.test"));
    assert_eq!((response.status, response.header("location")), (308, Some("https://a.test/x?y=1")));
}

#[test]
fn a_connection_serves_only_sites_with_its_own_tls_settings() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let one = certificate(directory.path(), "one", &["lax.test", "other.test", "strict.test"]);
    let site =
        |host: &str, version: &str| json!({"hosts": [host], "tls": {"certificate": "one", "min_version": version}});
    let respond = |site: &str| json!({"site": site, "path": "/", "respond": {"status": 200, "body": site}});
    let gateway = Gateway::start_with(
        Setup::gateway().listen("ssl"),
        &[
            ("certificates/one", document(&one)),
            ("sites/all", site("*", "1.2")),
            ("sites/lax", site("lax.test", "1.2")),
            ("sites/other", site("other.test", "1.2")),
            ("sites/strict", site("strict.test", "1.3")),
            ("routes/all", respond("all")),
            ("routes/lax", respond("lax")),
            ("routes/other", respond("other")),
            ("routes/strict", respond("strict")),
        ],
    );
    let port = gateway.nginx.port;
    for (name, host, more, status) in [
        ("strict.test", "strict.test", "--tlsv1.3", 200),
        ("lax.test", "lax.test", "--tls-max=1.2", 200),
        ("lax.test", "other.test", "--http2", 200), // as browsers reuse connections of HTTP/2
        ("lax.test", "strict.test", "--tls-max=1.2", 421),
        ("lax.test", "strict.test", "--http2", 421),
        ("strict.test", "lax.test", "--tlsv1.3", 421),
        ("127.0.0.1", "strict.test", "--tls-max=1.2", 421), // curl sends no name for an address
        ("127.0.0.1", "lax.test", "--tls-max=1.2", 200),
    ] {
        let resolve = format!("{name}:{port}:127.0.0.1");
        let (host, url) = (format!("Host: {host}"), format!("https://{name}:{port}/"));
        let more: Vec<&str> = more.split('=').collect();
        let response = curl(&[&["--resolve", &resolve, "-H", &host], more.as_slice(), &[&url]].concat());
        assert_eq!(response.status, status, "{name}, {host}, {more:?}: {}", response.text());
    }
}

#[test]
fn the_host_of_the_target_is_that_of_the_header() {
    let respond = |site: &str| json!({"site": site, "path": "/", "respond": {"status": 200, "body": site}});
    let gateway = Gateway::start(&[
        ("sites/lax", json!({"hosts": ["lax.test"]})),
        ("sites/strict", json!({"hosts": ["strict.test"]})),
        ("routes/lax", respond("lax")),
        ("routes/strict", respond("strict")),
    ]);
    for (target, host, status) in [
        ("http://lax.test/", "lax.test", 200),
        ("http://LAX.test:80/", "lax.test", 200),
        ("http://lax.test/", "strict.test", 400),
        ("http://strict.test/", "lax.test", 400),
    ] {
        let response = gateway.nginx.send(&weir_tests::Request::get(target).host(host));
        assert_eq!(response.status, status, "{target} with {host}: {}", response.text());
    }
}
