//! A client of the API, for the command and for tests: one connection, kept open.

mod connect;
mod events;
mod file;
mod target;

use std::fmt;
use std::fs::File;
use std::io::Write;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HOST};
use hyper::{Request, Response, body::Incoming};
use serde_json::Value;
use tokio::sync::Mutex;

pub use target::{Target, encode};

/// Answers that are longer are an error.
const MAX_ANSWER: usize = 256 << 20;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Adds, or does.
    Post,
    /// Deletes.
    Delete,
}

impl Method {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A request to control failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection failed.
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    /// The address is invalid.
    #[error("{0}")]
    Target(String),
    /// The connection broke.
    #[error("{0}")]
    Http(#[from] hyper::Error),
    /// The request is invalid.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    /// The response is invalid.
    #[error("{0}")]
    Answer(String),
    /// A stream was refused.
    #[error("status {status}: {}", body["detail"].as_str().unwrap_or_default())]
    Refused {
        /// The status.
        status: u16,
        /// The problem.
        body: Value,
    },
}

/// A response of control.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The `ETag`, as it stands there.
    pub etag: Option<String>,
    /// The body; `null` for an empty one, a text for one that is not JSON.
    pub body: Value,
}

/// The client.
pub struct Client {
    target: Target,
    connection: Mutex<Option<Sender>>,
}

/// The body of a request.
type RequestBody = UnsyncBoxBody<Bytes, std::io::Error>;
type Sender = SendRequest<RequestBody>;

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of control at an address. It connects on first use.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self { target, connection: Mutex::new(None) }
    }

    /// The address of control.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Sends a request. `path` begins with a slash and may have a query.
    ///
    /// # Errors
    /// If there is no response. A response with an error status is not an error.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, ClientError> {
        self.call_with(method, path, body, &[]).await
    }

    /// As [`Client::call`], with headers.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn call_with(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, ClientError> {
        let mut connection = self.connection.lock().await;
        if let Some(mut open) = connection.take() {
            // One that control has closed in the meantime is found out here; nothing was sent then.
            if open.ready().await.is_ok() {
                let answer = self.exchange(&mut open, method, path, body, headers).await?;
                *connection = Some(open);
                return Ok(answer);
            }
        }
        let mut open = connect::connect(&self.target).await?;
        let answer = self.exchange(&mut open, method, path, body, headers).await?;
        *connection = Some(open);
        Ok(answer)
    }

    /// Calls `see` for each event of a stream, until it ends.
    ///
    /// # Errors
    /// If it cannot be opened, or breaks.
    pub async fn events(&self, path: &str, see: &mut dyn FnMut(&Value)) -> Result<(), ClientError> {
        let mut connection = connect::connect(&self.target).await?;
        let request = self.request(Method::Get, path, None, &[("accept", "text/event-stream")])?;
        events::read(accepted(connection.send_request(request).await?).await?, see).await
    }

    /// Writes a response's body to `out`, of any length.
    ///
    /// # Errors
    /// If there is none, it breaks off, or cannot be written.
    pub async fn download(&self, path: &str, out: &mut dyn Write) -> Result<(), ClientError> {
        let mut connection = connect::connect(&self.target).await?;
        let mut body = accepted(connection.send_request(self.request(Method::Get, path, None, &[])?).await?).await?;
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                out.write_all(&data)?;
            }
        }
        Ok(())
    }

    /// Sends a file of any length.
    ///
    /// # Errors
    /// As [`Client::call`], and if the file cannot be read.
    pub async fn upload(&self, path: &str, file: File, headers: &[(&str, &str)]) -> Result<Answer, ClientError> {
        let mut connection = connect::connect(&self.target).await?;
        let mut request = self.request(Method::Post, path, None, headers)?;
        *request.body_mut() = file::body(file)?;
        answer(connection.send_request(request).await?).await
    }

    async fn exchange(
        &self,
        connection: &mut Sender,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, ClientError> {
        answer(connection.send_request(self.request(method, path, body, headers)?).await?).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Request<RequestBody>, ClientError> {
        let mut request = Request::builder().method(method.as_str()).uri(path).header(HOST, self.target.host());
        if let Some(token) = self.target.token() {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        Ok(request.body(Full::new(bytes).map_err(|never| match never {}).boxed_unsync())?)
    }
}

/// The body of a response that is not an error.
async fn accepted(response: Response<Incoming>) -> Result<Incoming, ClientError> {
    let status = response.status().as_u16();
    if status == 200 {
        return Ok(response.into_body());
    }
    let Answer { body, .. } = answer(response).await?;
    Err(ClientError::Refused { status, body })
}

async fn answer(response: Response<Incoming>) -> Result<Answer, ClientError> {
    let status = response.status().as_u16();
    let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let limited = http_body_util::Limited::new(response.into_body(), MAX_ANSWER);
    let bytes = limited.collect().await.map_err(|error| ClientError::Answer(error.to_string()))?.to_bytes();
    let body = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())
    };
    Ok(Answer { status, etag, body })
}
