//! A gRPC call over HTTP/2 without TLS, in which a test interleaves sent frames, received frames and
//! trailers as it needs.

use std::net::Ipv4Addr;

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::wait::PATIENCE;

/// One bidirectional call.
pub struct GrpcCall {
    runtime: Runtime,
    upstream: SendStream<Bytes>,
    response: Option<h2::client::ResponseFuture>,
    downstream: Option<RecvStream>,
}

impl GrpcCall {
    /// Starts a call to `path`.
    ///
    /// # Panics
    /// If the connection cannot be made.
    #[must_use]
    pub fn start(port: u16, path: &str) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let uri = format!("http://127.0.0.1:{port}{path}");
        let request = Request::post(uri).header("content-type", "application/grpc").header("te", "trailers");
        let request = request.body(()).expect("a valid request");
        let (response, upstream) = runtime.block_on(async {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.expect("somebody listens");
            let (client, connection) = h2::client::handshake(stream).await.expect("an HTTP/2 server");
            tokio::spawn(connection);
            let mut client = client.ready().await.expect("the connection stands");
            client.send_request(request, false).expect("the request goes out")
        });
        Self { runtime, upstream, response: Some(response), downstream: None }
    }

    /// Sends a message; `last` ends the client's side.
    ///
    /// # Panics
    /// If the stream is closed.
    pub fn send(&mut self, message: &[u8], last: bool) {
        let length = u32::try_from(message.len()).expect("a small message").to_be_bytes();
        let frame = [[0].as_slice(), &length, message].concat();
        self.upstream.send_data(frame.into(), last).expect("the stream stands");
        // Lets the connection's task write the message.
        self.runtime.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(1)).await });
    }

    /// Waits for the head of the response and returns its status.
    ///
    /// # Panics
    /// On timeout.
    pub fn status(&mut self) -> u16 {
        let response = self.response.take().expect("asked once");
        let response = self.runtime.block_on(async { timeout(PATIENCE, response).await });
        let response = response.expect("a header in time").expect("the stream stands");
        let status = response.status().as_u16();
        self.downstream = Some(response.into_body());
        status
    }

    /// Waits for the next bytes; `None` at the end.
    ///
    /// # Panics
    /// On timeout.
    pub fn receive(&mut self) -> Option<Bytes> {
        let Self { runtime, downstream, .. } = self;
        let body = downstream.as_mut().expect("status() first");
        let data = runtime.block_on(async { timeout(PATIENCE, body.data()).await }).expect("data in time");
        let data = data.map(|data| data.expect("the stream stands"));
        if let Some(data) = &data {
            body.flow_control().release_capacity(data.len()).expect("just received");
        }
        data
    }

    /// Waits for the trailers.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn trailers(&mut self) -> HeaderMap {
        let Self { runtime, downstream, .. } = self;
        let body = downstream.as_mut().expect("status() first");
        let trailers = runtime.block_on(async { timeout(PATIENCE, body.trailers()).await });
        trailers.expect("trailers in time").expect("the stream stands").expect("there are trailers")
    }
}
