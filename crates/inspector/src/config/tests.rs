use super::*;
use std::collections::BTreeSet;

fn errors(text: &str) -> String {
    Config::parse(text, Path::new("inspector.yaml")).expect_err("it has errors").to_string()
}

#[test]
fn a_configuration_has_all_kinds() {
    let config = Config::parse(
        r#"
listen: ["127.0.0.1:7331", "unix:/run/weir/inspector.sock"]
token: {env: WEIR_TOKEN}
metrics: 127.0.0.1:7332
detectors:
  crs: {kind: rules, policy: policies/crs.yaml, apply: [site]}
  login:
    kind: counters
    redis: redis://127.0.0.1
    limits:
      - {id: by-ip, rate: 100/10s, key: ip.src}
      - {id: by-user, rate: 5/m, key: 'http.request.headers["x-user"][0]', answer: detect}
  fraud:
    kind: risk
    policy: fraud.yaml
    counters: [{id: accounts, window: 10m, key: ip.src, distinct: 'http.request.body.form["user"][0]'}]
    thresholds: [{score: 5, answer: detect}, {score: 10, answer: {status: 401, body: "prove it\n", tags: [challenge]}}]
  opa: {kind: ext_authz, endpoint: "http://127.0.0.1:9191", with_body: true}
tenants:
  shop: {detectors: {crs: off, opa: on}}
"#,
        Path::new("/etc/weir/inspector.yaml"),
    )
    .unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.listen[1], Address::Unix("/run/weir/inspector.sock".into()));
    assert_eq!(config.tenants["shop"], BTreeSet::from(["crs".to_owned()]));
    let DetectorConfig::Rules(rules) = &config.detectors["crs"] else { panic!() };
    assert_eq!(rules.policy, Path::new("/etc/weir/policies/crs.yaml"));
    let DetectorConfig::Risk(risk) = &config.detectors["fraud"] else { panic!() };
    assert_eq!(
        risk.thresholds.iter().map(|(score, answer)| (*score, answer.status)).collect::<Vec<_>>(),
        [(10, 401), (5, 0)]
    );
    let DetectorConfig::Counters(counters) = &config.detectors["login"] else { panic!() };
    assert_eq!(counters.limits[0].answer.status, 429);
    assert_eq!(counters.store.redis.as_ref().map(|redis| redis.timeout_ms), Some(10));
}

#[test]
fn every_error_has_its_place_and_a_hint() {
    for (text, expected) in [
        ("detectors: {}\n", "inspector.yaml:1:1: a configuration needs `listen`"),
        ("listen: [\"0.0.0.0:7331\"]\ndetectors: {}\n", "inspector.yaml:1:10: anybody who can reach 0.0.0.0:7331"),
        ("listen: [\"127.0.0.1:1\"]\ndetectors: {a: {kind: rule}}\n", "did you mean `rules`?"),
        ("listen: [\"127.0.0.1:1\"]\ndetectors: {a: {kind: rules}}\n", "a detector of kind `rules` needs `policy`"),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors: {a: {kind: rules, policy: p, limits: []}}\n",
            "inspector.yaml:2:49: expected at least one item",
        ),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors: {a: {kind: rules, policy: p, redis: r}}\n",
            "2:41: a detector of kind `rules` has no key \"redis\"",
        ),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors:\n  a:\n    kind: counters\n    limits: [{id: a, rate: 1/s, key: ip.sorc}]\n",
            "inspector.yaml:5:38: unknown field `ip.sorc`",
        ),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors:\n  a:\n    kind: counters\n    limits: [{id: a, rate: 1/s, key: http.response.code}]\n",
            "a counter cannot read `http.response.code`",
        ),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors:\n  a:\n    kind: counters\n    limits: [{id: a, rate: 1/s, key: ip.src}, {id: a, rate: 2/s, key: ip.src}]\n",
            "the id \"a\" is already taken",
        ),
        (
            "listen: [\"127.0.0.1:1\"]\ndetectors: {crs: {kind: rules, policy: p}}\ntenants: {t: {detectors: {csr: off}}}\n",
            "3:27: there is no detector \"csr\"",
        ),
        ("listen: [\"127.0.0.1:1\"]\ntoken: {}\ndetectors: {}\n", "needs one of `value`, `env`, `file`"),
        ("listen: [\"127.0.0.1:1\"]\nmetrics: localhost:80\ndetectors: {}\n", "not an address with a port"),
    ] {
        let found = errors(text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
    let open = "listen: [\"[::1]:1\", \"localhost:1\", \"0.0.0.0:1\"]\ninsecure: true\ndetectors: {}\n";
    assert!(Config::parse(open, Path::new("x")).is_ok());
}

#[test]
fn secrets_come_from_three_places() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    assert_eq!(Secret::File(file).read().as_deref(), Ok("s3cret"));
    assert_eq!(Secret::Value("a".into()).read().as_deref(), Ok("a"));
    assert!(Secret::Value(String::new()).read().is_err());
    assert!(Secret::Environment("WEIR_THERE_IS_NO_SUCH_VARIABLE".into()).read().unwrap_err().contains("no variable"));
    assert_eq!(format!("{:?}", Secret::Value("a".into())), "hidden");
}

#[test]
fn a_check_reads_all_that_is_named_and_places_every_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inspector.yaml");
    std::fs::write(folder.path().join("broken.yaml"), "policies: [\n").unwrap();
    let reads =
        "policies:\n  - id: site\n    rules: [{id: r, when: 'inspector.counters[\"al\"] gt 1', action: block}]\n";
    std::fs::write(folder.path().join("reads.yaml"), reads).unwrap();
    let text = r#"listen: ["127.0.0.1:1"]
token: {env: WEIR_THERE_IS_NO_SUCH_VARIABLE}
tls: {certificate: none.pem, key: none.key}
detectors:
  absent: {kind: rules, policy: nowhere.yaml}
  broken: {kind: rules, policy: broken.yaml}
  named: {kind: rules, policy: reads.yaml, apply: [sit]}
  counter:
    kind: risk
    policy: reads.yaml
    counters: [{id: all, window: 1m, key: ip.src}]
  bridge: {kind: ext_authz, endpoint: "https://127.0.0.1:1"}
  shared: {kind: counters, redis: "http://127.0.0.1", limits: [{id: a, rate: 1/s, key: ip.src}]}
"#;
    std::fs::write(&path, text).unwrap();
    let found = Config::examine(&path).expect_err("it has errors").to_string();
    for expected in [
        "inspector.yaml:2:8: there is no token: the environment has no variable",
        "inspector.yaml:3:20: ",
        "inspector.yaml:5:33: ",
        "broken.yaml:",
        "inspector.yaml:7:52: ",
        "inspector.yaml:10:13: the policy reads a counter `al`",
        "did you mean `all`?",
        "inspector.yaml:12:39: expected http://HOST:PORT",
        "inspector.yaml:13:35: the address of Redis makes no sense",
    ] {
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    std::fs::write(&path, "").unwrap();
    assert!(Config::examine(&path).expect_err("it is empty").to_string().contains("expected a document"));
}
