//! A gRPC origin that returns every frame of the request at once, then sends trailers.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Starts the origin and returns its address.
///
/// # Panics
/// If no port can be bound.
#[must_use]
pub fn start() -> SocketAddr {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream));
            }
        });
    });
    address
}

async fn connection(stream: TcpStream) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(next) = connection.accept().await {
        let (request, respond) = next?;
        tokio::spawn(call(request, respond));
    }
    Ok(())
}

async fn call(request: Request<h2::RecvStream>, mut respond: h2::server::SendResponse<Bytes>) -> Result<(), h2::Error> {
    let head = Response::builder().header("content-type", "application/grpc").body(()).expect("a valid response");
    let mut downstream = respond.send_response(head, false)?;
    let mut upstream = request.into_body();
    while let Some(data) = upstream.data().await {
        let data = data?;
        upstream.flow_control().release_capacity(data.len())?;
        downstream.send_data(data, false)?;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    downstream.send_trailers(trailers)
}
