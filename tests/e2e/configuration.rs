//! Positions of directives: inheritance, nesting, servers without Weir, unusual listeners.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::json;
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup, port};

use crate::LOOKS_EVERYWHERE;

#[test]
fn settings_are_inherited_into_nested_locations_and_conditions() {
    let server = "location /a { weir detect; location /a/b { weir on; location ~ ^/a/b/c { try_files /a.txt =404; } try_files /a.txt =404; } try_files /a.txt =404; }\n\
                  location /cond { if ($arg_x = 1) { return 200 yes; } try_files /a.txt =404; }\n\
                  location ~ \\.txt$ { weir off; }";
    let nginx = Setup::policy(LOOKS_EVERYWHERE).server(server).file("html/a.txt", "a").start();
    for (target, status) in [
        ("/a/?q=union%20select", 200),
        ("/a/b/?q=union%20select", 403),
        ("/a/b/c?q=union%20select", 403),
        ("/cond?x=1", 200),
        ("/cond?x=1&q=union%20select", 403),
        ("/cond?q=union%20select", 403),
        ("/a.txt?q=union%20select", 200),
    ] {
        assert_eq!(nginx.get(target).status, status, "{target}");
    }
}

#[test]
fn a_server_without_weir_is_neither_changed_nor_logged() {
    let other = port::free();
    let origin = Echo::start();
    let http = format!("server {{ listen 127.0.0.1:{other}; weir off; location / {{ proxy_pass http://{origin}; }} }}");
    let nginx = Setup::policy(LOOKS_EVERYWHERE).http(&http).proxy(&origin).start();
    assert_eq!(Request::get("/attack-path").send(other).status, 200);
    assert_eq!(nginx.get("/attack-path").status, 403);
    let lines = nginx.accesses(1);
    assert_eq!((&lines[0]["verdict"], &lines[0]["server_port"]), (&json!("block"), &json!(nginx.port)));
}

#[test]
fn weir_on_without_a_policy_only_logs() {
    let nginx = Setup::weir().server("weir on;\nlocation / { return 204; }").start();
    assert_eq!(nginx.get("/attack-path").status, 204);
    assert_eq!(nginx.accesses(1)[0]["status"], 204);
}

#[test]
fn the_module_loaded_but_unused_changes_nothing() {
    let module = weir_tests::setup::module();
    let nginx = Setup::plain().module(module).proxy(Echo::start()).start();
    assert_eq!(nginx.get("/attack-path").status, 200);
    assert!(!nginx.path("run/control").exists());
}

#[test]
fn a_body_larger_than_nginx_takes_is_its_413() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).server("client_max_body_size 1k;").proxy(Echo::start()).start();
    let post = |size: usize| Request::post("/", "text/plain", "x".repeat(size));
    assert_eq!(nginx.send(&post(1000)).status, 200);
    assert_eq!(nginx.send(&post(3000)).status, 413);
    assert_eq!(nginx.send(&post(3000).chunked()).status, 413);
    assert_eq!(nginx.accesses(3).len(), 3);
}

#[test]
fn a_client_that_aborts_its_body_is_logged_once() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let mut connection = nginx.connect();
    let wire = Request::post("/", "text/plain", "x".repeat(1000)).wire();
    connection.send(&wire[..wire.len() - 10]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    drop(connection);
    let line = &nginx.accesses(1)[0];
    assert!(line["status"] == 400 || line["status"] == 499, "{line:#}");
    assert_eq!(nginx.get("/").status, 200);
    assert!(nginx.crashes().is_empty());
}

/// A response rule that shows the values it read.
const SHOWS: &str = r#"
policies:
  - id: p
    rules:
      - {id: show, when: 'http.response.code gt 0', action: {set_header: {on: response, name: X-Seen, value: 'concat(to_string(http.response.code), " ", http.response.content_type.media_type, " ", http.response.headers["x-added"][0])'}}}
      - {id: length, when: 'any(http.response.headers.names[*] eq "Content-Length")', action: {set_header: {on: response, name: X-Length, value: 'http.response.headers["content-length"][0]'}}}
"#;

#[test]
fn response_rules_see_files_ranges_conditions_and_added_headers() {
    let server = "add_header X-Added here always;\ntypes { text/html html; }\nlocation /r { return 201 created; }\nlocation /stub { stub_status; }";
    let nginx = Setup::policy(SHOWS).server(server).file("html/a.html", "0123456789").start();
    let seen = |request: &Request| {
        let response = nginx.send(request);
        (
            response.status,
            response.header("x-seen").unwrap_or_default().to_owned(),
            response.header("x-length").map(str::to_owned),
        )
    };
    let length = |length: &str| Some(length.to_owned());
    let whole = nginx.get("/a.html");
    assert_eq!(seen(&Request::get("/a.html")), (200, "200 text/html here".into(), length("10")));
    assert_eq!(seen(&Request::new("HEAD", "/a.html")), (200, "200 text/html here".into(), length("10")));
    let modified = whole.header("last-modified").unwrap();
    assert_eq!(seen(&Request::get("/a.html").header("If-Modified-Since", modified)).0, 304);
    let part = nginx.send(&Request::get("/a.html").header("Range", "bytes=2-4"));
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(seen(&Request::get("/missing")).0, 404);
    assert_eq!(seen(&Request::get("/missing")).1, "404 text/html here");
    assert_eq!(seen(&Request::get("/r")).0, 201);
    assert_eq!(seen(&Request::get("/stub")).0, 200);
}

#[test]
fn unix_sockets_work_as_listeners() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let path = setup.prefix().join("nginx.sock");
    let nginx =
        setup.http(&format!("server {{ listen unix:{}; location / {{ return 204; }} }}", path.display())).start();
    for (target, status) in [("/", "204"), ("/attack-path", "403")] {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    }
    assert_eq!(nginx.accesses(2).len(), 2);
}

#[test]
fn satisfy_any_and_access_rules_do_not_bypass_a_block() {
    let server = "location / { satisfy any; allow 127.0.0.1; deny all; auth_basic x; auth_basic_user_file none; try_files /a.txt =404; }";
    let nginx = Setup::policy(LOOKS_EVERYWHERE).server(server).file("html/a.txt", "a").start();
    assert_eq!(nginx.get("/").status, 200);
    assert_eq!(nginx.get("/attack-path").status, 403);
    assert_eq!(nginx.attacks(1).len(), 1);
}
