//! `weir sign`: what it signs passes the rule in nginx, as a shell and curl send it; what it cannot sign, it says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::running::{Running, command};

const SECRET: &str = "it's a shared secret of more than thirty-two bytes";

/// Rules, each for the path of its name: the action, and what the request has besides.
const RULES: &[(&str, &str, &[&str])] = &[
    ("message", "verify_signature: message_signatures", &["--credential", "shop-2"]),
    (
        "message-fields",
        "verify_signature: {scheme: message_signatures, signed: ['@method', '@path', '@query', x-order, content-digest], tag: shop, label: s, require_nonce: true, replay: refuse}",
        &["-H", "X-Order: it's \"7\"", "--credential", "shop-2"],
    ),
    ("ed25519", "verify_signature: message_signatures", &["--private-key", "ed25519.pem", "--credential", "ed25519"]),
    ("rsa", "verify_signature: message_signatures", &["--private-key", "rsa.pem"]),
    ("apisix", "verify_signature: {scheme: apisix, signed: [host, date, x-order]}", &["-H", "X-Order: 7"]),
    ("kong", "verify_signature: {scheme: kong, algorithms: [sha512]}", &[]),
    ("cavage", "verify_signature: cavage", &[]),
    ("aws", "verify_signature: {scheme: aws_sigv4, regions: [eu-central-1], services: [shop]}", &["-X", "PUT"]),
    ("s3", "verify_signature: aws_s3", &[]),
    ("github", "verify_signature: {scheme: github, consumer: shop}", &[]),
    ("stripe", "verify_signature: {scheme: stripe, consumer: shop}", &[]),
    ("slack", "verify_signature: {scheme: slack, consumer: shop}", &[]),
    ("shopify", "verify_signature: {scheme: shopify, consumer: shop}", &[]),
    (
        "webhook",
        "verify_signature: {scheme: webhook, consumer: shop, timestamp_header: X-Time, template: '{timestamp}/{body}', algorithm: sha512, encoding: base64}",
        &[],
    ),
    (
        "parameters",
        "verify_signature: {scheme: sorted_parameters, timestamp_parameter: t, nonce_parameter: n, replay: refuse}",
        &[],
    ),
    ("wechat", "verify_signature: wechat_pay_v2", &[]),
    ("taobao", "verify_signature: taobao", &[]),
    (
        "tokens",
        "verify_signature: {scheme: sorted_tokens, signature_header: X-Sign}",
        &["-H", "Content-Type: text/plain"],
    ),
    (
        "jwt",
        "jwt: {issuers: [shop], audiences: [api], max_lifetime: 60s, required_claims: [nbf, role], typ: at+jwt}",
        &["--claim", "role=admin", "--credential", "shop-jwt"],
    ),
    ("jwt-rsa", "jwt: {cookies: [token]}", &["--private-key", "rsa.pem", "-H", "Cookie: a=1"]),
    ("key", "key_auth", &[]),
    ("key-in-url", "key_auth: {parameters: [key]}", &[]),
    ("any", "authenticate: [jwt, key_auth]", &["--credential", "shop-jwt"]),
];

const CONSUMERS: &str = r#"
  shop:
    credentials:
      - key_auth: {key: "an-old-key-of-22-bytes"}
      - key_auth: {key: {file: key}}
      - signature: {id: shop-1, secret: "an old secret that is replaced"}
      - signature: {id: shop-2, secret: "SECRET"}
      - jwt: {id: shop-jwt, algorithm: HS512, secret: {file: jwt-secret}}
"#;

/// A policy with all rules, and what it names.
fn files(dir: &Path) -> PathBuf {
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("writes");
    write("key", "0123456789abcdef&=/+\n");
    write("jwt-secret", &format!("{}\n", "0123456789abcdef".repeat(4)));
    let mut consumers = CONSUMERS.replace("SECRET", SECRET);
    for (kind, id, algorithm, key) in [
        ("signature", "ed25519", "ed25519", "ed25519"),
        ("signature", "rsa", "rsa-v1_5-sha256", "rsa"),
        ("jwt", "jwt-rsa", "PS384", "rsa"),
    ] {
        let private = dir.join(format!("{key}.pem"));
        if !private.exists() {
            let arguments: &[&str] = if key == "rsa" { &["-pkeyopt", "rsa_keygen_bits:2048"] } else { &[] };
            let mut openssl = Command::new("openssl");
            openssl.args(["genpkey", "-algorithm", key, "-out"]).arg(&private).args(arguments);
            assert!(openssl.output().expect("openssl is installed").status.success());
        }
        let public = Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(&private).output().expect("runs");
        let public = String::from_utf8(public.stdout).expect("is text").replace('\n', "\\n");
        let key = format!("{{id: {id}, algorithm: {algorithm}, public_key: \"{public}\"}}");
        writeln!(consumers, "      - {kind}: {key}").expect("has room");
    }
    // The newest signing key is the one that most rules need.
    consumers.push_str(&format!("      - signature: {{id: shop-3, secret: \"{SECRET}\"}}\n"));
    let rule = |(id, action, _): &(&str, &str, &[&str])| {
        let (name, options) = action.split_once(": ").unwrap_or((action, "{}"));
        format!("      - {{id: {id}, when: 'http.request.uri.path eq \"/{id}\"', action: {{{name}: {options}}}}}\n")
    };
    let rules: String = RULES.iter().map(rule).collect();
    let policy = dir.join("policy.yaml");
    let text = format!("consumers:{consumers}policies:\n  - id: site\n    rules:\n{rules}");
    std::fs::write(&policy, text).expect("writes");
    policy
}

fn sign(dir: &Path, arguments: &[&str]) -> Output {
    command(&[&["sign"], arguments].concat()).current_dir(dir).output().expect("runs")
}

/// What it prints.
fn printed(dir: &Path, arguments: &[&str]) -> String {
    let output = sign(dir, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("is text").trim_end().to_owned()
}

/// The status that a printed command gets.
fn status(dir: &Path, line: &str) -> String {
    let quiet = line.replacen("curl ", "curl -q -s -o /dev/null -w '%{http_code}' ", 1);
    let output = Command::new("sh").args(["-c", &quiet]).current_dir(dir).output().expect("runs");
    String::from_utf8(output.stdout).expect("is text")
}

#[test]
fn a_signed_request_passes_its_rule_and_a_changed_one_does_not() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (dir, policy) = (dir.path(), files(dir.path()));
    let up = Running::start(&["--policy", policy.to_str().expect("is text"), "--workers", "1"]);
    // Signatures have seconds, and those of the second in which nginx started may have been seen by the one before.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let mut wrong = Vec::new();
    for (id, action, more) in RULES {
        let url = format!("http://127.0.0.1:{}/{id}?b=2&a=it%27s", up.port);
        let body = "name=J%C3%BCrgen&note=it's+$HOME+%22fine%22";
        let arguments = [&["--policy", "policy.yaml", "--rule", id, "-d", body], *more, &[&url]].concat();
        let line = printed(dir, &arguments);
        let changed = line.replacen("a=it%27s", "a=its", 1).replacen("J%C3", "K%C3", 1);
        let bare = format!("curl '{url}'");
        let without_body = printed(dir, &[&arguments[..4], *more, &[&url]].concat());
        let (good, bare, empty) = (status(dir, &line), status(dir, &bare), status(dir, &without_body));
        let expected_change = if action.contains("verify_signature") { "401" } else { "200" };
        if (good.as_str(), bare.as_str(), empty.as_str()) != ("200", "401", "200")
            || status(dir, &changed) != expected_change && !action.contains("replay")
        {
            wrong.push(format!("{id}: {good} {bare} {empty} changed {}: {line}", status(dir, &changed)));
        }
        assert!(!line.contains(SECRET), "{line}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let url = format!("http://127.0.0.1:{}/s3", up.port);
    std::fs::write(dir.join("it's a file"), b"\0\r\n\xff").expect("writes");
    let sent = ["--policy", "policy.yaml", "--rule", "s3", "--data-file", "it's a file", "--send", &url];
    assert!(sign(dir, &sent).status.success());
    let line = printed(dir, &[&sent[..6], &[sent[7]]].concat());
    assert_eq!(status(dir, &line), "200", "{line}");
    // Without a policy file, by the same scheme.
    let by_scheme = ["--scheme", "aws_s3", "--key-id", "shop-2", "--secret", SECRET, &url];
    assert_eq!(status(dir, &printed(dir, &by_scheme)), "200");
}

#[test]
fn every_scheme_signs_without_a_policy() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (url, key) = ("https://shop.example/a?b=1", ["--key-id", "shop-1", "--secret", SECRET]);
    let help = String::from_utf8(command(&["sign", "--help"]).output().expect("runs").stdout).expect("is text");
    let schemes = help.split("possible values: ").nth(1).and_then(|rest| rest.split(']').next()).expect("a list");
    let schemes: Vec<&str> = schemes.split(',').map(str::trim).collect();
    assert!(schemes.len() >= 17, "{schemes:?}");
    for scheme in schemes {
        let line = printed(dir.path(), &[&["--scheme", scheme][..], &key, &[url]].concat());
        assert!(line.starts_with("curl ") && line.contains("https://shop.example/a?b=1"), "{line}");
    }
    let arguments = ["--scheme", "github", "--secret", SECRET, "-d", "x", "--headers", url];
    let headers = printed(dir.path(), &arguments);
    assert!(headers.contains("\nx-hub-signature-256: sha256="), "{headers}");
}

#[test]
fn what_cannot_be_signed_is_said() {
    let dir = tempfile::tempdir().expect("temp dir");
    let (dir, _) = (dir.path(), files(dir.path()));
    let policy = ["--policy", "policy.yaml", "--rule"];
    let scheme = ["--scheme", "kong", "--key-id", "a"];
    let url = "http://shop.example/";
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&policy, &["rsa", "--credential", "rsa", url], "give the private key with --private-key"),
        (&policy, &["rsa", "--credential", "shop-2", "--private-key", "rsa.pem", url], "is not a public key"),
        (&policy, &["rsa", "--credential", "other", url], "a credential `other`"),
        (&policy, &["taobo", url], "did you mean `taobao`?"),
        (&policy, &["key", "--consumer", "shops", url], "did you mean `shop`?"),
        (&policy, &["jwt", "--credential", "shop-jwt", url], "--claim role=VALUE"),
        (&policy, &["kong", "--claim", "a=1", url], "only tokens have claims"),
        (&policy, &["taobao", "--headers", url], "leave out --headers"),
        (&policy, &["ed25519", "--private-key", "rsa.pem", "--credential", "ed25519", url], "does not fit ed25519"),
        (&["--policy", "policy.yaml"], &[url], "name one with --rule"),
        (&scheme, &["--private-key", "rsa.pem", url], "needs a shared secret"),
        (&scheme, &["--option", "region=x", "--secret", "s", url], "unknown key"),
        (&scheme, &["--option", "tag=x", "--secret", "s", url], "has no option `tag`"),
        (&scheme, &[url], "there is no key"),
        (&scheme, &["--secret", "s", "-H", "nothing", url], "expected \"NAME: VALUE\""),
        (&scheme, &["--secret", "s", "ftp://shop.example/"], "neither http nor https"),
        (&scheme, &["--secret", "s", "http://shop.example/a b"], "%XX"),
        (&scheme, &["--secret-env", "NOT_SET_ANYWHERE", url], "not found"),
        (&["--scheme", "cavage"], &["--secret", "s", url], "--key-id"),
        (&["--scheme", "jwt", "--key-id", "a"], &["--secret", "short", url], "at least 32 bytes"),
    ];
    for (first, rest, expected) in cases {
        let output = sign(dir, &[*first, rest].concat());
        let error = String::from_utf8(output.stderr).expect("is text");
        assert!(output.status.code() == Some(1) && error.contains(expected), "{first:?} {rest:?}: {error}");
        assert!(!error.contains(SECRET) && output.stdout.is_empty(), "{error}");
    }
    // A fault in a line with a secret does not show the secret.
    let bad = "consumers:\n  a:\n    credentials: [{signature: {id: a, secret: \"a very secret text\", idd: 1}}]\n";
    std::fs::write(dir.join("bad.yaml"), bad).expect("writes");
    let output = sign(dir, &["--policy", "bad.yaml", url]);
    let error = String::from_utf8(output.stderr).expect("is text");
    assert!(error.contains("bad.yaml:3:") && !error.contains("very secret"), "{error}");
}

#[test]
fn a_shell_gets_back_what_was_signed() {
    let dir = tempfile::tempdir().expect("temp dir");
    let words = ["it's", "a \"b\" $HOME `id` \\ !x", "=cmd", "~", "*", "line\nline", "é", "{a,b}", "@file", ""];
    for word in words {
        let key = ["--scheme", "github", "--secret", "s", "-d", word, "http://shop.example/a/../b?c=[1]"];
        let line = printed(dir.path(), &key).replacen("curl ", "printf '%s\\0' ", 1);
        let output = Command::new("sh").args(["-c", &line]).current_dir(dir.path()).output().expect("runs");
        let arguments: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        assert!(arguments.contains(&word.as_bytes()), "{word:?}: {line}");
        assert!(arguments.contains(&b"http://shop.example/a/../b?c=[1]".as_slice()), "{line}");
        assert!(line.contains("--path-as-is --globoff"), "{line}");
    }
}
