//! Client certificates by site: who is let in, and that neither sessions nor open connections get around it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa, KeyIdMethod,
    KeyPair, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use serde_json::{Value, json};
use weir_tests::origin::Echo;
use weir_tests::{Gateway, Setup};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes `NAME.pem` and `NAME.key`.
fn issue(directory: &Path, name: &str, serial: u64, uri: Option<&str>, issuer: &Authority) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.serial_number = Some(SerialNumber::from(serial));
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Partners, Ltd");
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names.extend(uri.map(|uri| SanType::URI(uri.try_into().unwrap())));
    let certificate = params.signed_by(&key, issuer).unwrap();
    std::fs::write(directory.join(format!("{name}.pem")), certificate.pem()).unwrap();
    std::fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

fn crl(issuer: &Authority, serials: &[u64]) -> String {
    let revoked = |serial: &u64| RevokedCertParams {
        serial_number: SerialNumber::from(*serial),
        revocation_time: date_time_ymd(2024, 1, 1),
        reason_code: None,
        invalidity_date: None,
    };
    let params = CertificateRevocationListParams {
        this_update: date_time_ymd(2024, 1, 1),
        next_update: date_time_ymd(2099, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: serials.iter().map(revoked).collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(issuer).unwrap().pem().unwrap()
}

struct Scene {
    directory: tempfile::TempDir,
    gateway: Gateway,
    authority: Authority,
}

const HOSTS: [&str; 4] = ["required.test", "optional.test", "open.test", "other.test"];

impl Scene {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (authority, stranger) = (authority("partners"), authority("others"));
        issue(directory.path(), "shop", 7, None, &authority);
        issue(directory.path(), "service", 8, Some("spiffe://partners.example/orders"), &authority);
        issue(directory.path(), "nobody", 9, None, &authority);
        issue(directory.path(), "forged", 7, Some("spiffe://partners.example/orders"), &stranger);
        let own = rcgen::generate_simple_self_signed(HOSTS.map(str::to_owned)).unwrap();
        let certificate = json!({"certificate": own.cert.pem(), "key": own.signing_key.serialize_pem()});
        let client = |mode: &str| json!({"mode": mode, "authorities": authority.pem(), "crl": crl(&authority, &[])});
        let app = Echo::start();
        let policy = json!({"rules": [{"id": "who", "when": "true", "action": "mtls"}]});
        let gateway = Gateway::start_with(
            Setup::gateway().listen("ssl").workers(1),
            &[
                ("certificates/own", certificate),
                ("consumers/shop", json!({"credentials": [{"mtls": {"subject": "CN=shop,O=Partners\\, Ltd"}}]})),
                ("consumers/orders", json!({"credentials": [{"mtls": {"uri": "spiffe://partners.example/orders"}}]})),
                ("policies/known", policy),
                ("upstreams/app", json!({"members": {"a": {"address": app.to_string()}}})),
                (
                    "sites/required",
                    json!({"hosts": [HOSTS[0]], "policies": ["known"], "tls": {"client": client("require")}}),
                ),
                (
                    "sites/optional",
                    json!({"hosts": [HOSTS[1]], "policies": ["known"], "tls": {"client": client("optional")}}),
                ),
                ("sites/open", json!({"hosts": [HOSTS[2]]})),
                ("sites/other", json!({"hosts": [HOSTS[3]], "tls": {"client": {"authorities": stranger.pem()}}})),
                ("routes/required", json!({"site": "required", "to": "app"})),
                ("routes/optional", json!({"site": "optional", "to": "app"})),
                ("routes/open", json!({"site": "open", "to": "app"})),
                ("routes/other", json!({"site": "other", "to": "app"})),
            ],
        );
        Self { directory, gateway, authority }
    }

    fn openssl(&self, host: &str, certificate: Option<&str>, more: &[&str]) -> Command {
        let mut command = Command::new("openssl");
        command.current_dir(self.directory.path());
        command.args(["s_client", "-quiet", "-connect", &format!("127.0.0.1:{}", self.gateway.nginx.port)]);
        command
            .args(["-servername", host])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(name) = certificate {
            command.args(["-cert", &format!("{name}.pem"), "-key", &format!("{name}.key")]);
        }
        command
    }

    /// Status, body and head of the answer to one request.
    fn ask(&self, host: &str, certificate: Option<&str>, more: &[&str]) -> (u16, String) {
        let mut client = self.openssl(host, certificate, more).spawn().unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        client.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
        (status.unwrap_or_default(), text)
    }

    fn consumer(&self, host: &str, certificate: Option<&str>) -> Result<String, u16> {
        let (status, text) = self.ask(host, certificate, &[]);
        if status != 200 {
            return Err(status);
        }
        let body: Value = serde_json::from_str(&text[text.find("\r\n\r\n").unwrap()..]).unwrap();
        let mut headers = body["headers"].as_array().unwrap().iter();
        let id = headers.find(|header| header[0].as_str().unwrap().eq_ignore_ascii_case("x-consumer-id"));
        Ok(id.map(|header| header[1].as_str().unwrap().to_owned()).unwrap_or_default())
    }
}

#[test]
fn certificates_of_a_sites_authorities_name_consumers() {
    let scene = Scene::start();
    let [required, optional, open, other] = HOSTS;
    for host in [required, optional] {
        assert_eq!(scene.consumer(host, Some("shop")), Ok("shop".to_owned()), "by its subject");
        assert_eq!(scene.consumer(host, Some("service")), Ok("orders".to_owned()), "by a URI");
        assert_eq!(scene.consumer(host, Some("forged")), Err(400), "of another authority");
        let (status, text) = scene.ask(host, Some("nobody"), &[]);
        assert_eq!(status, 401);
        assert!(text.to_ascii_lowercase().contains("www-authenticate: clientcertificate realm=\"weir\""), "{text}");
    }
    let (status, text) = scene.ask(required, None, &[]);
    assert!(status == 400 && text.contains("\"client_certificate\""), "{text}");
    assert_eq!(scene.consumer(optional, None), Err(401), "the policy asks");
    assert_eq!(scene.consumer(open, Some("shop")), Ok(String::new()), "nobody asks");
    assert_eq!(scene.consumer(other, Some("shop")), Err(400));
    assert_eq!(scene.consumer(other, Some("forged")), Ok(String::new()));

    let refused =
        scene.gateway.api().patch("sites/open", &json!({"tls": {"client": {"authorities": "x"}}})).expect(422);
    assert!(refused.errors()[0].0.ends_with("/tls/client/authorities"), "{:?}", refused.errors());
}

#[test]
fn revocation_holds_for_new_open_and_resumed_connections() {
    let scene = Scene::start();
    let host = HOSTS[0];
    let resumable = |more: &[&str]| scene.ask(host, Some("shop"), more).0;
    for version in ["-tls1_2", "-tls1_3"] {
        assert_eq!(resumable(&[version, "-sess_out", &format!("session{version}")]), 200);
        assert_eq!(resumable(&[version, "-sess_in", &format!("session{version}")]), 200);
    }
    let mut open = scene.openssl(host, Some("shop"), &[]).spawn().unwrap();
    let mut answers = BufReader::new(open.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut ask = || {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        open.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
        answers.find_map(|line| line.find("HTTP/1.1 ").map(|at| line[at + 9..at + 12].to_owned())).unwrap()
    };
    assert_eq!(ask(), "200");
    let revoked = json!({"tls": {"client": {"crl": crl(&scene.authority, &[7])}}});
    let _ = scene.gateway.api().patch("sites/required", &revoked).expect(200);
    assert_eq!(ask(), "421", "the connection was made before");
    open.kill().unwrap();
    open.wait().unwrap();
    assert_eq!(scene.consumer(host, Some("shop")), Err(400));
    assert_eq!(scene.consumer(host, Some("service")), Ok("orders".to_owned()), "another certificate");
    for version in ["-tls1_2", "-tls1_3"] {
        assert_eq!(
            resumable(&[version, "-sess_in", &format!("session{version}")]),
            400,
            "the old session is not resumed"
        );
    }
}

#[test]
fn a_connection_and_a_session_are_good_for_the_settings_that_they_were_made_under() {
    let scene = Scene::start();
    let [required, optional, open, other] = HOSTS;
    let asked = |name: &str, host: &str| {
        let mut client = scene.openssl(name, Some("shop"), &[]).spawn().unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        client.stdin.as_mut().unwrap().write_all(request.as_bytes()).unwrap();
        String::from_utf8_lossy(&client.wait_with_output().unwrap().stdout)[9..12].to_owned()
    };
    for (name, host) in [(open, required), (required, open), (required, optional), (other, required)] {
        assert_eq!(asked(name, host), "421", "{name} {host}");
    }
    for version in ["-tls1_2", "-tls1_3"] {
        for from in [required, optional, open] {
            let file = format!("{from}{version}");
            assert_ne!(scene.ask(from, Some("shop"), &[version, "-sess_out", &file]).0, 0);
            let (status, text) = scene.ask(other, None, &[version, "-sess_in", &file]);
            assert_eq!(status, 400, "a session of {from} has no certificate for another site: {text}");
        }
    }
}
