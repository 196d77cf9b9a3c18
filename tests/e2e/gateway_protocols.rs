//! WebSocket, gRPC, HTTP/2 and streams pass through the gateway.

use std::process::Command;

use serde_json::{Value, json};
use weir_tests::client::GrpcCall;
use weir_tests::origin::{self, Echo};
use weir_tests::{Gateway, Request, Setup};

fn gateway(setup: Setup, upstream: Value, route: Value) -> Gateway {
    let mut all = json!({"site": "all", "path": "/", "to": "app"});
    for (key, value) in route.as_object().expect("an object") {
        all[key] = value.clone();
    }
    Gateway::start_with(
        setup,
        &[("upstreams/app", upstream), ("sites/all", json!({"hosts": ["*"]})), ("routes/all", all)],
    )
}

#[test]
fn web_sockets_are_upgraded_unless_the_route_forbids_it() {
    let upstream = json!({"members": {"a": {"address": origin::websocket::start().to_string()}}});
    let gateway = gateway(Setup::gateway(), upstream, json!({}));
    let url = format!("ws://127.0.0.1:{}/chat", gateway.nginx.port);
    let (mut socket, response) = tungstenite::connect(&url).expect("is upgraded");
    assert_eq!(response.status(), 101);
    for text in ["one", "two"] {
        socket.send(text.into()).expect("the socket stands");
        assert_eq!(socket.read().expect("is sent back").into_text().expect("is text").as_str(), text);
    }
    let _ = gateway.api().patch("upstreams/app/members/a", &json!({"weight": 7})).expect(200);
    socket.send("after a change".into()).expect("the socket stands");
    assert_eq!(socket.read().expect("is sent back").into_text().expect("is text").as_str(), "after a change");
    let _ = gateway.api().patch("routes/all", &json!({"websocket": false})).expect(200);
    assert!(tungstenite::connect(&url).is_err());
}

#[test]
fn grpc_streams_flow_both_ways() {
    let upstream = json!({"protocol": "grpc", "members": {"a": {"address": origin::grpc::start().to_string()}}});
    let gateway = gateway(Setup::gateway().listen("http2"), upstream, json!({}));
    for _ in 0..3 {
        let mut call = GrpcCall::start(gateway.nginx.port, "/echo.Echo/Both");
        call.send(b"first", false);
        assert_eq!(call.status(), 200);
        let first = call.receive().expect("an answer before our side ends");
        assert!(first.ends_with(b"first"));
        call.send(b"second", true);
        assert!(call.receive().expect("an answer").ends_with(b"second"));
        while call.receive().is_some() {}
        assert_eq!(call.trailers()["grpc-status"], "0");
    }
}

#[test]
fn h2load_gets_every_answer_over_few_connections_to_the_member() {
    let app = Echo::start();
    let upstream = json!({"members": {"a": {"address": app.to_string()}}});
    let gateway = gateway(Setup::gateway().listen("http2"), upstream, json!({}));
    let output = Command::new("h2load")
        .args(["-n", "2000", "-c", "4", "-m", "8", &format!("http://127.0.0.1:{}/", gateway.nginx.port)])
        .output()
        .expect("h2load is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("2000 succeeded, 0 failed, 0 errored"), "{text}");
    assert!(app.connections() <= 64, "{} connections for 32 requests at a time", app.connections());
}

#[test]
fn unbuffered_routes_forward_events_at_once() {
    let (address, next) = origin::events::start();
    let upstream = json!({"members": {"a": {"address": address.to_string()}}});
    let gateway = gateway(Setup::gateway(), upstream, json!({"buffering": false}));
    let mut connection = gateway.nginx.connect();
    connection.send(&Request::get("/events").wire());
    while !connection.line().expect("the head").is_empty() {}
    // The origin sends an event when the one before it has arrived.
    for number in 0..5 {
        next.send(()).expect("the origin listens");
        let event = connection.chunk().expect("an event before the stream's end");
        assert_eq!(event.as_deref(), Some(format!("data: {number}\n\n").as_bytes()));
    }
}
