//! One transaction per client request, evaluated once: whatever nginx does internally, nothing is
//! counted twice and nothing bypasses the rules.

use serde_json::{Value, json};
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup, log};

/// Every evaluation of a request leaves a finding; `attack` anywhere in the URI is blocked.
const COUNTS: &str = r#"
policies:
  - id: all
    rules:
      - {id: seen, when: 'true', action: log}
      - {id: stop, when: 'http.request.uri contains "attack"', action: block}
  - id: extra
    rules:
      - {id: extra, when: 'true', action: log}
"#;

/// Stops nginx and returns its complete attack and access logs.
fn logs(mut nginx: Nginx) -> (Vec<Value>, Vec<Value>) {
    nginx.stop();
    (log::whole(&nginx.path("attack.log")), log::whole(&nginx.path("access.log")))
}

/// Sends `targets` one by one and expects these statuses, and one line per request in each log.
fn expect_once(setup: Setup, rules: &Value, targets: &[(&str, u16)]) {
    // One worker, so that lines come in the order of the requests.
    let nginx = setup.workers(1).start();
    for (target, status) in targets {
        assert_eq!(nginx.get(target).status, *status, "{target}");
    }
    let (attacks, accesses) = logs(nginx);
    assert_eq!(attacks.len(), targets.len(), "{attacks:#?}");
    assert_eq!(accesses.len(), targets.len(), "{accesses:#?}");
    for (line, (target, status)) in attacks.iter().zip(targets) {
        if *status != 403 {
            assert_eq!(&line["rule_ids"], rules, "{target}: {line:#}");
        }
        assert_eq!(line["uri"], json!(target), "the client's request is logged, not an inner one: {line:#}");
    }
}

fn setup(server: &str) -> Setup {
    let setup = Setup::policy(COUNTS).http("weir_apply all;").server(server);
    std::fs::create_dir(setup.prefix().join("html/dir")).unwrap();
    setup.file("html/a.txt", "static").file("html/dir/index.html", "index").file("html/denied.html", "custom page")
}

#[test]
fn static_files_and_index_pages() {
    let targets = [("/a.txt", 200), ("/dir/", 200), ("/missing", 404), ("/a.txt?attack", 403), ("/dir/?attack", 403)];
    expect_once(setup(""), &json!(["seen"]), &targets);
}

#[test]
fn try_files_and_named_locations() {
    let origin = Echo::start();
    let server = format!(
        "location / {{ try_files $uri @fallback; }}\nlocation @fallback {{ proxy_pass http://{origin}; }}\n\
         location /chain {{ try_files /none1 /none2 /dir/index.html; }}"
    );
    let targets =
        [("/a.txt", 200), ("/nothing", 200), ("/chain", 200), ("/nothing?attack", 403), ("/chain?attack", 403)];
    expect_once(setup(&server), &json!(["seen"]), &targets);
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn error_page_shows_its_page_for_our_403() {
    let nginx =
        setup("error_page 403 /denied.html;\nerror_page 404 = @missing;\nlocation @missing { return 200 missing; }")
            .workers(1)
            .start();
    let denied = nginx.get("/x?attack");
    assert_eq!((denied.status, denied.text().as_str()), (403, "custom page"));
    assert_eq!(nginx.get("/nothing").text(), "missing");
    let (attacks, accesses) = logs(nginx);
    assert_eq!((attacks.len(), accesses.len()), (2, 2), "{attacks:#?}");
    assert_eq!(attacks[0]["rule_ids"], json!(["seen", "stop"]));
    assert_eq!((&accesses[0]["verdict"], &accesses[0]["status"]), (&json!("block"), &json!(403)));
}

#[test]
fn an_error_page_from_the_origin_does_not_unblock_a_request() {
    let origin = Echo::start();
    let server = format!("error_page 403 = @other;\nlocation @other {{ proxy_pass http://{origin}/denied; }}")
        .replace("/denied;", ";");
    let nginx = setup(&server).start();
    // The origin renders the error page; the verdict stays.
    assert_eq!(nginx.get("/x?attack").status, 200);
    let (attacks, accesses) = logs(nginx);
    assert_eq!((attacks.len(), &accesses[0]["verdict"]), (1, &json!("block")));
}

#[test]
fn rewrites_to_another_location_apply_its_policies_once() {
    let server = "location /old { rewrite ^/old(.*)$ /new$1 last; }\n\
                  location /new { weir_apply all extra; try_files /a.txt =404; }\n\
                  rewrite ^/early(.*)$ /new$1 last;";
    let targets = [("/old/x", 200), ("/new/x", 200), ("/early/x", 200), ("/old/x?attack", 403)];
    expect_once(setup(server), &json!(["seen", "extra"]), &targets);
}

#[test]
fn x_accel_redirect_from_the_origin() {
    let server = format!(
        "location / {{ proxy_pass http://{}; }}\nlocation /inside {{ internal; try_files /a.txt =404; }}",
        Echo::start()
    );
    // The origin answers with the header field named in the URI.
    let targets = [("/header/X-Accel-Redirect/%2Finside?attack", 403)];
    expect_once(setup(&server), &json!(["seen"]), &targets);
    let server = server.replace("proxy_pass http://", "proxy_set_header X-A b; proxy_pass http://");
    let nginx =
        setup(&server.replace("location / {", "location /go { rewrite ^ /header/X-Accel-Redirect/@file break;"))
            .server("location @file { root html; try_files /a.txt =404; }")
            .start();
    assert_eq!(nginx.get("/go").text(), "static");
    let (attacks, accesses) = logs(nginx);
    assert_eq!((attacks.len(), accesses.len()), (1, 1), "{attacks:#?}");
}

#[test]
fn auth_request_and_mirror() {
    let (origin, mirror, auth) = (Echo::start(), Echo::start(), Echo::start());
    let server = format!(
        "location / {{ auth_request /auth; mirror /mirror; proxy_pass http://{origin}; }}\n\
         location = /auth {{ internal; proxy_pass_request_body off; proxy_set_header Content-Length \"\"; proxy_pass http://{auth}; }}\n\
         location = /mirror {{ internal; proxy_pass http://{mirror}$request_uri; }}"
    );
    let nginx = setup(&server).start();
    assert_eq!(nginx.send(&Request::post("/x", "text/plain", "body")).status, 200);
    assert_eq!(nginx.get("/x?attack").status, 403);
    weir_tests::wait::until("the mirrored request", || (mirror.seen().len() == 1).then_some(()));
    let (attacks, accesses) = logs(nginx);
    assert_eq!((attacks.len(), accesses.len()), (2, 2), "{attacks:#?}");
    assert_eq!((origin.seen().len(), auth.seen().len(), mirror.seen().len()), (1, 1, 1));
    assert_eq!(mirror.seen()[0]["body_length"], 4);
}

#[test]
fn a_denying_auth_request_still_leaves_one_line() {
    let server = format!(
        "location / {{ auth_request /auth; try_files /a.txt =404; }}\n\
         location = /auth {{ internal; proxy_pass http://{}/status/401/; }}",
        Echo::start()
    );
    expect_once(setup(&server), &json!(["seen"]), &[("/x", 401)]);
}

#[test]
fn server_side_includes_and_post_action() {
    let after = Echo::start();
    let server = format!(
        "location /page {{ ssi on; ssi_types *; default_type text/html; post_action /after; try_files /page.html =404; }}\n\
         location /part {{ try_files /a.txt =404; }}\nlocation /after {{ proxy_pass http://{after}; }}"
    );
    let page = "[<!--# include virtual=\"/part?1\" -->|<!--# include virtual=\"/part?attack\" -->]";
    let nginx = setup(&server).file("html/page.html", page).start();
    assert_eq!(
        nginx.get("/page").text(),
        "[static|static]",
        "what the site includes itself is not the client's request"
    );
    weir_tests::wait::until("the action after the request", || (after.seen().len() == 1).then_some(()));
    let (attacks, accesses) = logs(nginx);
    assert_eq!((attacks.len(), accesses.len()), (1, 1), "{attacks:#?} {accesses:#?}");
}

#[test]
fn error_pages_from_the_origin_are_intercepted_once() {
    let server = format!(
        "location / {{ proxy_pass http://{}; proxy_intercept_errors on; error_page 500 = /a.txt; error_page 404 /denied.html; }}\n\
         location = /a.txt {{ }}\nlocation = /denied.html {{ }}",
        Echo::start()
    );
    let targets = [("/status/500/", 200), ("/status/404/", 404), ("/ok", 200), ("/status/500/attack", 403)];
    expect_once(setup(&server), &json!(["seen"]), &targets);
}

#[test]
fn rate_limits_count_a_request_once_despite_internal_redirects() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: limit, when: 'true', action: {rate_limit: {rate: 10/h}}}
"#;
    let server = "location / { error_page 404 = @again; try_files /none @again; }\n\
                  location @again { error_page 404 = @end; try_files /none =404; }\n\
                  location @end { return 200 end; }";
    let nginx = Setup::policy(text).server(server).start();
    let statuses: Vec<u16> = (0..12).map(|at| nginx.get(&format!("/{at}")).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 2, "{statuses:?}");
}

#[test]
fn requests_that_nginx_rejects_itself_leave_an_access_line() {
    let nginx = setup(
        "location /limited { limit_except GET { deny all; } try_files /a.txt =404; }\nlocation /deny { deny all; }",
    )
    .start();
    assert_eq!(nginx.send(&Request::new("DELETE", "/limited")).status, 403);
    assert_eq!(nginx.get("/deny").status, 403);
    let mut connection = nginx.connect();
    connection.send(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(connection.receive().status, 400);
    let (_, accesses) = logs(nginx);
    assert_eq!(accesses.len(), 3, "{accesses:#?}");
}
