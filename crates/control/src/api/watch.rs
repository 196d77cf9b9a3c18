//! Revisions as they happen: server-sent events (HTML living standard, 9.2).
//!
//! A watcher that is too slow for the live ones is not disconnected: it reads what it has missed from the store.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use bytes::Bytes;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::Problem;
use super::context::Context;
use super::query::Arguments;
use super::revisions::summary;
use crate::shared::{Shared, ended};
use crate::store::Revision;

/// A comment in so long a silence, so that proxies do not close the connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Revisions that are read from the store at a time.
const PAGE: u64 = 256;
/// Events that wait for a slow watcher; more stay in the store.
const AHEAD: usize = 64;

type Sender = mpsc::Sender<Result<Bytes, std::convert::Infallible>>;

pub(super) async fn watch(
    State(context): State<Arc<Context>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    let arguments = Arguments::parse(uri.query(), &["since"])?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let head = context.shared.state().revision();
    let since = last.or(arguments.number("since")?).unwrap_or(head);
    if since > head {
        let detail = format!("revision {since} is not there yet; the newest is {head}");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    let oldest = context.shared.store().oldest().map_err(Problem::failed)?.unwrap_or(head + 1);
    if since + 1 < oldest && since < head {
        let detail = format!("revisions before {oldest} are not kept");
        return Err(Problem::new(StatusCode::CONFLICT, detail).hint("read /api/v1/state, and watch from its ETag on"));
    }
    if context.shared.events.receiver_count() >= context.shared.limits.watchers {
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many watch already"));
    }
    let (sender, receiver) = mpsc::channel(AHEAD);
    // Counted from here on, so that many who come at once are not more than may.
    let live = context.shared.events.subscribe();
    tokio::spawn(follow(context, since, live, sender));
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Sends until nobody listens any more, or control ends, which a client that does not read cannot delay.
async fn follow(context: Arc<Context>, since: u64, live: Receiver<Arc<Revision>>, sender: Sender) {
    let mut stop = context.stop.clone();
    context.shared.metrics.watchers.add(1);
    tokio::select! {
        biased;
        () = ended(&mut stop) => {}
        () = sender.closed() => {}
        () = tell(&context.shared, since, live, &sender) => {}
    }
    context.shared.metrics.watchers.sub(1);
}

/// Sends what has happened and what happens.
async fn tell(shared: &Shared, mut since: u64, mut live: Receiver<Arc<Revision>>, sender: &Sender) {
    // At once, so that the client knows that it is heard.
    let mut open = sender.send(Ok(Bytes::from_static(b": watching\n\n"))).await.is_ok();
    let mut behind = true;
    while open {
        if behind {
            open = catch_up(shared, &mut since, sender).await;
            behind = false;
            continue;
        }
        tokio::select! {
            received = live.recv() => match received {
                // One that the store has told of already is skipped.
                Ok(row) if row.revision <= since => {}
                Ok(row) if row.revision == since + 1 => {
                    since = row.revision;
                    open = send(sender, &row).await;
                }
                Ok(_) | Err(RecvError::Lagged(_)) => behind = true,
                Err(RecvError::Closed) => break,
            },
            () = tokio::time::sleep(HEARTBEAT) => open = sender.send(Ok(Bytes::from_static(b":\n\n"))).await.is_ok(),
        }
    }
}

async fn catch_up(shared: &Shared, since: &mut u64, sender: &Sender) -> bool {
    loop {
        let rows = shared.store().revisions_after(*since, PAGE).unwrap_or_default();
        for row in &rows {
            *since = row.revision;
            if !send(sender, row).await {
                return false;
            }
        }
        if (rows.len() as u64) < PAGE {
            return true;
        }
    }
}

async fn send(sender: &Sender, row: &Revision) -> bool {
    let Ok(summary) = summary(row) else { return true };
    let event = format!("id: {}\nevent: revision\ndata: {summary}\n\n", row.revision);
    sender.send(Ok(Bytes::from(event))).await.is_ok()
}
