use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::Extension;
use axum::routing::get;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use super::*;
use crate::auth::{Grant, Role, create_token, grant_certificate};
use crate::metrics::Metrics;

struct Scene {
    dir: tempfile::TempDir,
    access: Arc<Access>,
    shutdown: watch::Sender<bool>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let access = Arc::new(Access::new(dir.path(), Arc::new(Metrics::new()), Box::new(|_| ())));
        Self { dir, access, shutdown: watch::Sender::new(false) }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn router() -> Router {
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            "slow"
        };
        Router::new()
            .route("/who", get(|Extension(peer): Extension<Peer>| async move { peer.actor.to_string() }))
            .route("/slow", get(slow))
    }

    fn serve(&self, listener: Listener) {
        tokio::spawn(serve(listener, Self::router(), Arc::clone(&self.access), self.shutdown.subscribe()));
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str, more: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // TLS that ends without a farewell is as good here.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

#[tokio::test]
async fn the_unix_socket_is_private_and_knows_its_peer() {
    let scene = Scene::new();
    let path = scene.path("socket");
    let listener = bind(&Bind::Unix(path.clone())).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    scene.serve(listener);
    let answer = ask(UnixStream::connect(&path).await.unwrap(), "/who", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\n\r\nunix:"), "{answer}");
}

#[tokio::test]
async fn a_socket_is_replaced_only_if_nobody_answers() {
    let scene = Scene::new();
    let path = scene.path("socket");
    let first = bind(&Bind::Unix(path.clone())).await.unwrap();
    assert!(matches!(bind(&Bind::Unix(path.clone())).await, Err(ListenError::Taken(_))));
    drop(first);
    bind(&Bind::Unix(path.clone())).await.unwrap();
    std::fs::write(scene.path("file"), "").unwrap();
    assert!(matches!(bind(&Bind::Unix(scene.path("file"))).await, Err(ListenError::NotASocket(_))));
}

#[tokio::test]
async fn tcp_without_tls_is_for_loopback() {
    let tcp = |address: &str, insecure| Bind::Tcp { address: address.parse().unwrap(), tls: None, insecure };
    let error = bind(&tcp("0.0.0.0:0", false)).await.unwrap_err();
    assert!(error.to_string().contains("--insecure"), "{error}");
    bind(&tcp("0.0.0.0:0", true)).await.unwrap();
    bind(&tcp("127.0.0.1:0", false)).await.unwrap();
}

#[tokio::test]
async fn tcp_asks_for_a_token() {
    let scene = Scene::new();
    let token = create_token(scene.dir.path(), "ci", Grant::unlimited(Role::Read)).unwrap();
    let listen = Bind::Tcp { address: "127.0.0.1:0".parse().unwrap(), tls: None, insecure: false };
    let listener = bind(&listen).await.unwrap();
    let address = listener.address().unwrap();
    scene.serve(listener);
    let answer = ask(TcpStream::connect(address).await.unwrap(), "/who", "").await;
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("application/problem+json"), "{answer}");
    let header = format!("authorization: Bearer {token}\r\n");
    let answer = ask(TcpStream::connect(address).await.unwrap(), "/who", &header).await;
    assert!(answer.ends_with("token:ci"), "{answer}");
}

#[tokio::test]
async fn requests_end_before_the_listener_does_and_idle_connections_do_not_hold_it() {
    let scene = Scene::new();
    let path = scene.path("socket");
    let listener = bind(&Bind::Unix(path.clone())).await.unwrap();
    // Without the limit after which what is left is dropped.
    let left = accept(listener, Scene::router(), Arc::clone(&scene.access), scene.shutdown.subscribe());
    let served = tokio::spawn(async { left.await.join_all().await });
    let _idle = UnixStream::connect(&path).await.unwrap();
    let slow = tokio::spawn(ask(UnixStream::connect(&path).await.unwrap(), "/slow", ""));
    tokio::time::sleep(Duration::from_millis(50)).await;
    scene.shutdown.send(true).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(20), served).await;
    ended.expect("no connection holds the listener").unwrap();
    assert!(slow.await.unwrap().ends_with("slow"));
}

/// Writes an authority and a certificate of it.
fn certificate(dir: &Path, name: &str, issuer: &CertifiedIssuer<'_, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.signed_by(&key, issuer).unwrap();
    std::fs::write(dir.join(format!("{name}.pem")), certificate.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

#[tokio::test]
async fn client_certificates_are_asked_for_and_name_the_actor() {
    let scene = Scene::new();
    let dir = scene.dir.path();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
    certificate(dir, "localhost", &issuer);
    certificate(dir, "ops", &issuer);
    grant_certificate(dir, "ops", Grant::unlimited(Role::Edit)).unwrap();
    let tls = Tls {
        certificate: dir.join("localhost.pem"),
        key: dir.join("localhost.key"),
        client_authorities: Some(dir.join("ca.pem")),
    };
    let listen = Bind::Tcp { address: "127.0.0.1:0".parse().unwrap(), tls: Some(tls), insecure: false };
    let listener = bind(&listen).await.unwrap();
    let address = listener.address().unwrap();
    scene.serve(listener);

    let connect = async |client: Option<&str>| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(dir.join("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.unwrap().with_root_certificates(roots);
        let config = match client {
            None => builder.with_no_client_auth(),
            Some(name) => {
                let chain = vec![CertificateDer::from_pem_file(dir.join(format!("{name}.pem"))).unwrap()];
                let key = PrivateKeyDer::from_pem_file(dir.join(format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let stream = TcpStream::connect(address).await.unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        ask(stream, "/who", "").await
    };
    let answer = connect(Some("ops")).await;
    assert!(answer.ends_with("certificate:ops"), "{answer}");
    // With TLS 1.3 the refusal comes after the handshake, in place of an answer.
    assert_eq!(connect(None).await, "");
}
