//! Streams are not delayed: nothing is buffered unless a rule reads it.

use std::time::Duration;

use weir_tests::client::{self, GrpcCall};
use weir_tests::origin::{self, events};
use weir_tests::{Request, Setup};

use crate::LOOKS_EVERYWHERE;

/// Rules in all phases, none of which reads the body of a stream.
const ALL_PHASES: &str = r#"
policies:
  - id: p
    rules:
      - {id: request, when: 'http.user_agent contains "attack-agent"', action: block}
      - {id: form, when: 'any(http.request.body.form.values[*] contains "attack-form")', action: block}
      - {id: json, when: 'any(http.request.body.json.values[*] contains "attack-json")', action: block}
      - {id: response, when: 'http.response.code eq 500', action: {block: 502}}
      - {id: mark, when: 'http.response.code in {100..499}', action: {set_header: {on: response, name: X-Marked, value: '"1"'}}}
"#;

#[test]
fn events_arrive_as_they_are_sent() {
    let (address, next) = events::start();
    let nginx = Setup::policy(ALL_PHASES).proxy(address).start();
    let mut connection = nginx.connect();
    connection.send(&Request::get("/events").wire());
    let mut head = Vec::new();
    loop {
        let line = connection.line().unwrap();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    assert!(head.iter().any(|line| line == "X-Marked: 1"), "{head:?}");
    // The origin sends an event when the one before it has arrived.
    for number in 0..5 {
        next.send(()).unwrap();
        let chunk = connection.chunk().unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&chunk), format!("data: {number}\n\n"));
    }
    drop(next);
    assert_eq!(connection.chunk().unwrap(), None);
}

#[test]
fn a_web_socket_is_upgraded_and_echoes() {
    let location = format!(
        "location / {{ proxy_pass http://{}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }}",
        origin::websocket::start()
    );
    let nginx = Setup::policy(LOOKS_EVERYWHERE).server(&location).start();
    let stream = nginx.connect().into_stream();
    let (mut socket, response) = tungstenite::client(format!("ws://127.0.0.1:{}/chat", nginx.port), stream).unwrap();
    assert_eq!(response.status().as_u16(), 101);
    for message in ["hello", "attack-body is no business of the handshake's rules", &"x".repeat(100_000)] {
        socket.send(message.into()).unwrap();
        assert_eq!(socket.read().unwrap().into_text().unwrap().as_str(), message);
    }
    socket.close(None).unwrap();
    let stream = nginx.connect().into_stream();
    let refused = tungstenite::client(format!("ws://127.0.0.1:{}/attack-path", nginx.port), stream);
    assert!(refused.is_err(), "a blocked handshake is not upgraded");
    let lines = nginx.accesses(2);
    assert!(lines.iter().any(|line| line["status"] == 101), "{lines:#?}");
}

#[test]
fn early_data_of_a_web_socket_reaches_the_origin_and_not_the_logs() {
    const POLICY: &str = r#"
policies:
  - id: p
    rules:
      - {id: probe, when: 'http.request.uri.path contains "attack"', action: log}
"#;
    let early = b"weir-forged-".repeat(1000);
    // The origin answers late, so that all early data waits in nginx when the connection is upgraded.
    let length = early.len();
    let origin = origin::serve(move |mut stream| {
        use std::io::{Read, Write};
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            seen.push(byte[0]);
        }
        std::thread::sleep(Duration::from_millis(300));
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")?;
        let mut received = vec![0; length];
        stream.read_exact(&mut received)?;
        stream.write_all(&received)
    });
    let proxy = format!(
        "proxy_pass http://{origin}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"
    );
    // Heads in the small buffer of a connection, and in a large one.
    for (buffer, agent) in [("1k", "agent".to_owned()), ("256", format!("agent{}", "x".repeat(600)))] {
        let http = format!("client_header_buffer_size {buffer};\nlog_format own '$request $http_user_agent';");
        let setup = Setup::policy(POLICY).http(&http);
        let own = setup.prefix().join("own.log");
        let setup = setup.server(&format!("access_log {} own;\nlocation / {{ {proxy} }}", own.display()));
        let mut nginx = setup.start();
        let head = format!(
            "GET /attack?right=1 HTTP/1.1\r\nHost: right.example\r\nUser-Agent: {agent}\r\nReferer: http://right/\r\n\
             Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"
        );
        let mut connection = nginx.connect();
        connection.send(&[head.as_bytes(), &early].concat());
        while !connection.line().unwrap().is_empty() {}
        let echo = connection.to_end();
        assert!(echo == early, "the origin got {:?}", String::from_utf8_lossy(echo));
        let lines = [&nginx.accesses(1)[0], &nginx.attacks(1)[0]];
        assert_eq!(lines[0]["user_agent"], *agent);
        for (field, expected) in [("uri", "/attack?right=1"), ("host", "right.example"), ("method", "GET")] {
            assert_eq!(lines.map(|line| &line[field]), [expected; 2], "{field}");
        }
        nginx.stop();
        assert_eq!(std::fs::read_to_string(own).unwrap().trim_end(), format!("GET /attack?right=1 HTTP/1.1 {agent}"));
    }
}

#[test]
fn grpc_streams_flow_both_ways_with_body_rules_active() {
    // A rule that reads every body, but must not delay a stream for it.
    let raw = "      - {id: raw, when: 'http.request.body.raw contains \"attack-body\"', action: block}\n";
    let setup = Setup::policy(&format!("{ALL_PHASES}{raw}")).listen("http2");
    let nginx = setup.server(&format!("location / {{ grpc_pass grpc://{}; }}", origin::grpc::start())).start();
    let mut call = GrpcCall::start(nginx.port, "/echo.Echo/Both");
    call.send(b"one", false);
    assert_eq!(call.status(), 200);
    for (send, expect) in [("two", "one"), ("three", "two"), ("four", "three")] {
        assert!(call.receive().unwrap().ends_with(expect.as_bytes()));
        call.send(send.as_bytes(), send == "four");
    }
    assert!(call.receive().unwrap().ends_with(b"four"));
    assert!(call.receive().is_none());
    assert_eq!(call.trailers()["grpc-status"], "0");
}

#[test]
fn an_upload_that_no_rule_reads_is_not_delayed() {
    // The origin answers the first chunk, and the client sends no other: if nginx waited for one, nothing would come.
    let origin = origin::serve(|mut stream| {
        use std::io::{Read, Write};
        let mut seen = Vec::new();
        let mut block = [0; 4096];
        while !seen.ends_with(b"first") && !String::from_utf8_lossy(&seen).contains("first") {
            let read = stream.read(&mut block)?;
            seen.extend(&block[..read]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nseen")
    });
    let location =
        format!("location / {{ proxy_http_version 1.1; proxy_request_buffering off; proxy_pass http://{origin}; }}");
    let nginx = Setup::policy(ALL_PHASES).server(&location).start();
    let mut connection = nginx.connect();
    connection.send(b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    assert_eq!(connection.receive().text(), "seen");
}

#[test]
fn response_rules_do_not_affect_a_large_download() {
    let nginx = Setup::policy(ALL_PHASES).proxy(origin::Echo::start()).start();
    let response = nginx.get("/big/20000000");
    assert_eq!((response.status, response.body.len()), (200, 20_000_000));
    assert_eq!(response.header("x-marked"), Some("1"));
}

#[test]
fn claiming_to_be_grpc_does_not_bypass_body_rules() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).listen("http2").proxy(origin::Echo::start()).start();
    let (from, url) = (nginx.path("upload").display().to_string(), format!("http://127.0.0.1:{}/", nginx.port));
    std::fs::write(&from, "an attack-body").unwrap();
    let chunked = ["-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/grpc"];
    let response = client::curl(&[&["--http2-prior-knowledge", "-T", &from, &url], &chunked[..]].concat());
    assert_eq!(response.status, 403);
}
