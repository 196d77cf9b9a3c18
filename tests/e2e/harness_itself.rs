//! The harness with a bare nginx, so that failures of later tests are due to Weir.

use weir_tests::client::{GrpcCall, curl};
use weir_tests::load::{Life, during};
use weir_tests::origin::{self, Echo};
use weir_tests::tls::Certificate;
use weir_tests::{Request, Setup, fnv::fnv};

#[test]
fn origins_echo_through_a_bare_nginx() {
    let origin = Echo::start();
    let nginx = Setup::plain().proxy(&origin).start();
    let response = nginx.send(&Request::post("/a?b=c", "text/plain", "hello").header("X-A", "1"));
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["target"], "/a?b=c");
    assert_eq!(response.json()["body_fnv"], fnv(b"hello"));
    assert_eq!(response.received("x-a").as_deref(), Some("1"));
    let chunked = nginx.send(&Request::post("/", "text/plain", vec![b'x'; 100_000]).chunked());
    assert_eq!(chunked.json()["body_length"], 100_000);
}

#[test]
fn a_bare_nginx_reloads_and_survives_the_loss_of_a_worker() {
    let origin = Echo::start();
    let nginx = Setup::plain().proxy(&origin).start();
    let totals = during(nginx.port, 4, Life::KeepAlive, &Request::get("/"), |_| nginx.reload());
    assert!(totals.failed.is_empty() && totals.answered > 0, "{totals:?}");
    let (old, new) = nginx.kill_worker();
    assert_ne!(old, new);
    assert_eq!(nginx.get("/").status, 200);
}

#[test]
fn curl_and_grpc_clients_speak_http2_through_a_bare_nginx() {
    let (origin, grpc) = (Echo::start(), origin::grpc::start());
    let setup = Setup::plain();
    let certificate = Certificate::create(setup.prefix());
    let tls_port = weir_tests::port::free();
    let tls = format!(
        "server {{ listen 127.0.0.1:{tls_port} ssl http2;\n{}location / {{ proxy_pass http://{origin}; }} }}",
        certificate.directives()
    );
    let nginx = setup.listen("http2").server(&format!("location / {{ grpc_pass grpc://{grpc}; }}")).http(&tls).start();
    let response = curl(&["--http2", &format!("https://127.0.0.1:{tls_port}/x")]);
    assert_eq!((response.status, response.json()["target"].as_str()), (200, Some("/x")));
    let mut call = GrpcCall::start(nginx.port, "/echo.Echo/Both");
    call.send(b"one", false);
    assert_eq!(call.status(), 200);
    assert!(call.receive().unwrap().ends_with(b"one"));
    call.send(b"two", true);
    assert!(call.receive().unwrap().ends_with(b"two"));
    assert!(call.receive().is_none());
    assert_eq!(call.trailers()["grpc-status"], "0");
}
