use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};

use super::*;

fn check(kind: CheckKind, tls: Option<UpstreamTls>) -> Check {
    let active = ActiveHealth { kind, interval_ms: 100, timeout_ms: 500, healthy: 1, unhealthy: 1 };
    Check { active, tls, host: None, client: OnceLock::new() }
}

fn http(path: &str) -> CheckKind {
    CheckKind::Http { path: path.to_owned(), host: None, expect: (200, 399) }
}

/// Reads a request and answers by its path: `/STATUS` with that status, `/host` only to the host `app`, `/slow` never.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap();
    let status = match path {
        "/slow" => std::future::pending().await,
        "/host" if request.contains("\r\nHost: app\r\n") => "200",
        "/host" => "400",
        path => &path[1..],
    };
    let _ = stream.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nhi").as_bytes()).await;
}

async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    address
}

/// A port that nobody listens on.
async fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn answers_are_good_or_say_why_not() {
    let (open, closed) = (server().await, closed().await);
    for (kind, addresses, expected) in [
        (CheckKind::Tcp, vec![open], Ok(())),
        (CheckKind::Tcp, vec![closed], Err("refused")),
        (CheckKind::Tcp, vec![closed, open], Ok(())),
        (CheckKind::Tcp, vec![], Err("no address")),
        (http("/204"), vec![open], Ok(())),
        (http("/503"), vec![open], Err("status 503, expected 200 to 399")),
        (http("/slow"), vec![open], Err("no answer within 500 ms")),
        (http("/host"), vec![open], Ok(())),
    ] {
        let made = check(kind.clone(), None).make(&MemberAddress::Sockets(addresses), "app").await;
        match (made, expected) {
            (Ok(()), Ok(())) => {}
            (Err(message), Err(part)) if message.contains(part) => {}
            (made, expected) => panic!("{kind:?}: {made:?}, expected {expected:?}"),
        }
    }
}

#[tokio::test]
async fn unix_sockets_are_checked_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    let place = MemberAddress::Unix(path);
    check(http("/200"), None).make(&place, "localhost").await.unwrap();
    check(http("/500"), None).make(&place, "localhost").await.unwrap_err();
}

#[tokio::test]
async fn certificates_are_verified_unless_that_is_switched_off() {
    let made = rcgen::generate_simple_self_signed(vec!["app".to_owned()]).unwrap();
    let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = MemberAddress::Sockets(vec![listener.local_addr().unwrap()]);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream).await;
                }
            });
        }
    });
    let own = Some(made.cert.pem());
    for (verify, authorities, name, good) in [
        (false, None, "app", true),
        (true, None, "app", false),
        (true, own.clone(), "app", true),
        (true, own, "other", false),
    ] {
        let tls = UpstreamTls { verify, authorities, ..UpstreamTls::default() };
        let made = check(http("/200"), Some(tls)).make(&place, name).await;
        assert_eq!(made.is_ok(), good, "verify {verify}, name {name}: {made:?}");
    }
}
