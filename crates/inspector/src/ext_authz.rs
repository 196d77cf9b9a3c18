//! `ext_authz`: asks a server that speaks Envoy's `ext_authz` v3 over gRPC, such as Open Policy Agent.
//!
//! The messages are written out in [`proto`], as far as they are used: generating them would need `protoc` and Envoy's
//! whole API for five messages. What Weir's protocol cannot carry is left out: changes of query parameters, and header
//! fields for responses of requests that pass.

mod convert;
pub(crate) mod proto;

use std::time::Duration;

use axum::http::uri::PathAndQuery;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;
use weir_inspect::Answer;
use weir_inspect::own::ReceivedQuestion;

use crate::config::ExtAuthzConfig;
use crate::error::InspectorError;

/// The method that is called.
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
/// Longest answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The client of one server.
pub(crate) struct Bridge {
    channel: Channel,
    with_body: bool,
    timeout: Duration,
}

impl Bridge {
    /// A client that connects when it is first asked, and again when the connection is lost.
    ///
    /// # Errors
    /// If the address makes no sense.
    pub fn new(detector: &str, config: ExtAuthzConfig) -> Result<Self, InspectorError> {
        let failed = |reason: String| InspectorError::Address {
            detector: detector.to_owned(),
            address: config.endpoint.clone(),
            reason,
        };
        let endpoint = endpoint(&config.endpoint).map_err(failed)?;
        let endpoint = endpoint.connect_timeout(CONNECT).tcp_nodelay(true);
        Ok(Self {
            channel: endpoint.connect_lazy(),
            with_body: config.with_body,
            timeout: Duration::from_millis(config.timeout_ms),
        })
    }

    /// Asks the server; nothing if it does not answer in time, or with an error.
    pub async fn answer(&self, question: &ReceivedQuestion, deadline: Duration) -> Option<Answer> {
        let request = convert::request(question, self.with_body)?;
        let call = async {
            let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES);
            client.ready().await.ok()?;
            let codec = ProstCodec::<proto::CheckRequest, proto::CheckResponse>::default();
            let path = PathAndQuery::from_static(CHECK);
            client.unary(tonic::Request::new(request), path, codec).await.ok()
        };
        let response = tokio::time::timeout(self.timeout.min(deadline), call).await.ok()??;
        Some(convert::answer(question, response.into_inner()))
    }
}

/// Where a server is.
///
/// # Errors
/// Why it is not an address of one.
pub(crate) fn endpoint(url: &str) -> Result<Endpoint, String> {
    if !url.starts_with("http://") {
        return Err("expected http://HOST:PORT; TLS to the server is not supported".to_owned());
    }
    Endpoint::from_shared(url.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
