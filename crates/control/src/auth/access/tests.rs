use std::sync::Mutex;

use super::*;
use crate::auth::{Grant, create_token, grant_certificate};

struct Scene {
    access: Access,
    audited: Arc<Mutex<Vec<Denied>>>,
    dir: tempfile::TempDir,
}

fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let audited: Arc<Mutex<Vec<Denied>>> = Arc::default();
    let log = Arc::clone(&audited);
    let audit = Box::new(move |denied| log.lock().unwrap().push(denied));
    Scene { access: Access::new(dir.path(), Arc::new(Metrics::new()), audit), audited, dir }
}

fn from(certificate: Option<&str>) -> Origin {
    Origin::Tcp { remote: ([192, 0, 2, 1], 999).into(), certificate: certificate.map(Into::into) }
}

fn request(method: &str, path: &str, authorization: &str) -> Request<()> {
    let builder = Request::builder().method(method).uri(path);
    let builder = if authorization.is_empty() { builder } else { builder.header("authorization", authorization) };
    builder.body(()).unwrap()
}

#[test]
fn tokens_tell_who_asks() {
    let scene = scene();
    let read = format!("Bearer {}", create_token(scene.dir.path(), "t", Grant::unlimited(Role::Read)).unwrap());
    for (method, path, authorization, expected) in [
        ("GET", "/api/v1/sites", read.as_str(), 200),
        ("GET", "/api/v1/sites", &read.replace("Bearer", "bearer"), 200),
        ("GET", "/api/v1/sites", "", 401),
        ("GET", "/api/v1/sites", "Bearer weir_0", 401),
        ("GET", "/api/v1/sites", "Basic eDp5", 401),
        ("GET", "/api/v1/sites", "Bearer", 401),
        ("GET", "//healthz", "", 401),
        ("GET", "/healthz/../api/v1/sites", "", 401),
        ("GET", "/healthz", "", 200),
    ] {
        let answer = scene.access.admit(&from(None), &request(method, path, authorization));
        let status = answer.as_ref().map_or_else(|response| response.status().as_u16(), |_| 200);
        assert_eq!(status, expected, "{method} {path} {authorization}");
    }
    assert_eq!(scene.audited.lock().unwrap().len(), 6);
}

#[test]
fn an_expired_token_is_told_when() {
    let scene = scene();
    let grant = Grant { until: Some(1_767_225_600), ..Grant::unlimited(Role::Admin) };
    let token = create_token(scene.dir.path(), "t", grant).unwrap();
    let answer = scene.access.admit(&from(None), &request("GET", "/api/v1/sites", &format!("Bearer {token}")));
    assert_eq!(answer.unwrap_err().status(), 401);
    let audited = scene.audited.lock().unwrap();
    assert_eq!(audited[0].reason, "the token expired on 2026-01-01 00:00 UTC");
}

#[test]
fn a_page_of_another_site_cannot_use_a_certificate() {
    let scene = scene();
    grant_certificate(scene.dir.path(), "ops", Grant::unlimited(Role::Admin)).unwrap();
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let mut request =
            Request::builder().method(method).uri("/api/v1/revisions/3/rollback").header("host", "weir:8443");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        scene.access.admit(&from(Some("ops")), &request.body(()).unwrap()).is_ok()
    };
    assert!(ask("POST", &[]), "curl");
    assert!(ask("POST", &[("origin", "https://WEIR:8443"), ("sec-fetch-site", "same-origin")]));
    assert!(ask("GET", &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")]), "reads are not shown");
    for headers in [
        [("origin", "https://evil.example"), ("accept", "*/*")],
        [("origin", "null"), ("accept", "*/*")],
        [("origin", "https://weir"), ("accept", "*/*")],
        [("sec-fetch-site", "cross-site"), ("accept", "*/*")],
        [("sec-fetch-site", "same-site"), ("origin", "https://weir:8443")],
    ] {
        assert!(!ask("POST", &headers), "{headers:?}");
    }
    let audited = scene.audited.lock().unwrap();
    assert_eq!((audited.len(), audited[0].status, audited[0].actor.as_deref()), (5, 403, Some("certificate:ops")));
}

#[test]
fn a_certificate_has_the_role_that_was_granted_to_its_name() {
    let scene = scene();
    grant_certificate(scene.dir.path(), "ops", Grant::unlimited(Role::Edit)).unwrap();
    let put = request("PUT", "/api/v1/sites/a", "");
    let peer = scene.access.admit(&from(Some("ops")), &put).unwrap().unwrap();
    assert_eq!(&*peer.actor, "certificate:ops");
    assert_eq!(scene.access.admit(&from(Some("other")), &put).unwrap_err().status(), 401);
}

#[test]
fn a_flood_of_failures_is_answered_but_not_audited() {
    let scene = scene();
    let token = format!("Bearer {}", create_token(scene.dir.path(), "a", Grant::unlimited(Role::Read)).unwrap());
    for _ in 0..100 {
        let _ = scene.access.admit(&from(None), &request("GET", "/metrics", ""));
    }
    let answer = scene.access.admit(&from(None), &request("GET", "/metrics", "")).unwrap_err();
    assert_eq!(answer.status(), 429);
    assert!(answer.headers().contains_key("retry-after"));
    // Two windows may have been touched.
    assert!(scene.audited.lock().unwrap().len() <= 60);
    assert!(scene.access.admit(&from(None), &request("GET", "/metrics", &token)).is_ok());
}

#[test]
fn the_unix_socket_asks_for_nothing() {
    let scene = scene();
    let peer = Peer { actor: "unix:root".into(), role: Role::Admin, scope: None };
    let answer = scene.access.admit(&Origin::Unix(peer.clone()), &request("PUT", "/api/v1/settings", ""));
    assert_eq!(answer.unwrap(), Some(peer));
}
