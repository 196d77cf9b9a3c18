use super::*;
use proto::{
    CheckRequest, CheckResponse, DeniedHttpResponse, HeaderValue, HeaderValueOption, HttpResponse, HttpStatus,
    OkHttpResponse, Status,
};
use std::future::Ready;
use std::net::SocketAddr;
use tonic::server::UnaryService;
use weir_inspect::Advice;

/// A server that decides by the path.
#[derive(Clone, Copy)]
struct Server;

impl UnaryService<CheckRequest> for Server {
    type Response = CheckResponse;
    type Future = Ready<Result<tonic::Response<CheckResponse>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<CheckRequest>) -> Self::Future {
        let attributes = request.into_inner().attributes.unwrap();
        let http = attributes.request.and_then(|request| request.http).unwrap();
        let address = attributes.source.and_then(|peer| peer.address?.socket_address).unwrap().address;
        let header = |key: &str, value: &str, append| HeaderValueOption {
            header: Some(HeaderValue { key: key.into(), value: value.into(), raw_value: Vec::new() }),
            append,
        };
        let status = |code| Some(Status { code, message: "by path".into() });
        let response = match &*http.path {
            "/denied" => CheckResponse {
                status: status(7),
                http_response: Some(HttpResponse::Denied(DeniedHttpResponse {
                    status: Some(HttpStatus { code: 401 }),
                    headers: vec![header("www-authenticate", "Basic", None)],
                    body: "go away\n".into(),
                })),
            },
            "/bare" => CheckResponse { status: status(16), http_response: None },
            "/broken" => return std::future::ready(Err(tonic::Status::internal("no"))),
            "/late" => {
                std::thread::sleep(Duration::from_millis(300));
                CheckResponse::default()
            }
            _ => CheckResponse {
                status: status(0),
                http_response: Some(HttpResponse::Ok(OkHttpResponse {
                    headers: vec![
                        header("x-client", &address, None),
                        header("x-body", &http.body, None),
                        header("x-agent", &http.headers["user-agent"], None),
                        header("x-roles", "more", Some(true)),
                    ],
                    headers_to_remove: vec!["cookie".into()],
                })),
            },
        };
        std::future::ready(Ok(tonic::Response::new(response)))
    }
}

async fn server() -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().fallback(async |request: axum::extract::Request| {
        assert_eq!(request.uri().path(), CHECK);
        let codec = ProstCodec::<CheckResponse, CheckRequest>::default();
        tonic::server::Grpc::new(codec).unary(Server, request).await
    });
    (address, tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }))
}

fn question(target: &str) -> ReceivedQuestion {
    let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    ReceivedQuestion {
        client: Some([192, 0, 2, 7].into()),
        method: b"POST".to_vec(),
        target: target.as_bytes().to_vec(),
        headers: vec![field("User-Agent", "a"), field("User-Agent", "b"), field("X-Roles", "one")],
        body: b"body".to_vec(),
        body_bytes: 4,
        ..ReceivedQuestion::default()
    }
}

fn bridge(address: &str, with_body: bool) -> Result<Bridge, InspectorError> {
    Bridge::new("d", ExtAuthzConfig { endpoint: address.to_owned(), with_body, timeout_ms: 5000 })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_decides() {
    let (address, serving) = server().await;
    let bridge = bridge(&format!("http://{address}"), true).unwrap();
    let second = Duration::from_secs(5);
    let denied = bridge.answer(&question("/denied"), second).await.unwrap();
    assert_eq!((denied.advice, denied.status, &denied.body[..]), (Advice::Refuse, 401, &b"go away\n"[..]));
    assert_eq!(denied.response_headers, [(b"www-authenticate".to_vec(), b"Basic".to_vec())]);
    assert_eq!(denied.reason, "by path");
    let bare = bridge.answer(&question("/bare"), second).await.unwrap();
    assert_eq!((bare.advice, bare.status), (Advice::Refuse, 403));
    let passed = bridge.answer(&question("/"), second).await.unwrap();
    assert_eq!((passed.advice, passed.status), (Advice::Pass, 0));
    let set: Vec<_> = passed
        .set_headers
        .iter()
        .map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
        .collect();
    assert_eq!(
        set,
        [("x-client", "192.0.2.7"), ("x-body", "body"), ("x-agent", "a,b"), ("x-roles", "one,more")]
            .map(|(name, value)| (name.into(), value.into()))
    );
    assert_eq!(passed.remove_headers, [b"cookie".to_vec()]);
    assert_eq!(bridge.answer(&question("/broken"), second).await, None, "an error is no decision");
    assert_eq!(bridge.answer(&question("/late"), Duration::from_millis(50)).await, None);
    serving.abort();
    let _ = serving.await;
}

#[tokio::test]
async fn without_a_server_it_cannot_tell() {
    let bridge = bridge("http://127.0.0.1:1", false).unwrap();
    assert_eq!(bridge.answer(&question("/"), Duration::from_secs(1)).await, None);
}

#[tokio::test]
async fn the_address_is_checked() {
    for address in ["https://127.0.0.1:1", "127.0.0.1:1", "http://"] {
        assert!(bridge(address, false).is_err(), "{address}");
    }
}
