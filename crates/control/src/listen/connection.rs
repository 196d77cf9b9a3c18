//! One connection: HTTP over a stream, each request let in or not, then the router.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tower::ServiceExt as _;

use crate::auth::{Access, Origin};
use crate::shared::ended;

/// How long the head of a request may take over TCP, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a TCP connection may take to bring its first request, after the TLS handshake.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request's head at most.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Streams of an HTTP/2 connection at most.
const MAX_STREAMS: u32 = 128;

/// What serving a connection needs.
pub(super) struct Connection {
    router: Router,
    pub access: Arc<Access>,
    /// Whether a request has come.
    is_used: AtomicBool,
}

impl Connection {
    pub fn new(router: Router, access: Arc<Access>) -> Self {
        Self { router, access, is_used: AtomicBool::new(false) }
    }

    /// HTTP/1.1 for the Unix socket: no timers, as only its user can connect.
    pub async fn serve_local<S>(self, stream: S, origin: Origin, mut shutdown: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|request| self.answer(&origin, request));
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_HEAD_BYTES).header_read_timeout(None);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = ended(&mut shutdown) => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    /// HTTP/1.1 or HTTP/2, as the other side begins.
    pub async fn serve_remote<S>(self, stream: S, origin: Origin, mut shutdown: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let this = Arc::new((self, origin));
        let service = Arc::clone(&this);
        let service = service_fn(move |request| {
            let service = Arc::clone(&service);
            async move { service.0.answer(&service.1, request).await }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .keep_alive_interval(HEAD_TIMEOUT);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        // hyper has no limit for the bytes that tell HTTP/1.1 from HTTP/2.
        let silent = async {
            tokio::time::sleep(FIRST_REQUEST_TIMEOUT).await;
            if this.0.is_used.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _ = connection.as_mut() => return,
            () = silent => return,
            () = ended(&mut shutdown) => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    async fn answer(&self, origin: &Origin, mut request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        self.is_used.store(true, Ordering::Relaxed);
        let peer = match self.access.admit(origin, &request) {
            Ok(peer) => peer,
            Err(response) => return Ok(*response),
        };
        let Some(peer) = peer else { return self.router.clone().oneshot(request.map(Body::new)).await };
        request.extensions_mut().insert(peer.clone());
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let response = self.router.clone().oneshot(request.map(Body::new)).await?;
        Ok(match response.status() {
            StatusCode::FORBIDDEN => self.access.forbidden(origin, peer, (&method, &uri), response),
            _ => response,
        })
    }
}
