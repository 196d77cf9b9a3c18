//! Backups: made and restored while the gateway runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::Problem;
use super::change::ChangeRequest;
use super::context::Context;
use super::query::{Arguments, no_condition};
use crate::auth::{Peer, Role};
use crate::backup::{self, BackupError, MEDIA_TYPE, Manifest, Receiving, STORE, Sending, Source, TemporaryDir};
use crate::log;
use crate::publish::Operation;
use crate::shared::now_ms;
use crate::state::Key;
use crate::store::read_copy;

/// Pieces of a body that wait for the thread that reads or writes them.
const WAITING: usize = 4;

pub(super) async fn make(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    match begin(&context, &request) {
        Ok(body) => {
            let kind = HeaderValue::from_static(MEDIA_TYPE);
            ([(header::CONTENT_TYPE, kind)], body).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

fn begin(context: &Context, request: &Request<Body>) -> Result<Body, Problem> {
    Arguments::parse(request.uri().query(), &[])?;
    if request.extensions().get::<Peer>().map(|peer| peer.role) < Some(Role::Admin) {
        return Err(Problem::forbidden(Role::Admin));
    }
    let objects = Arc::clone(&context.shared.objects);
    let source = Source {
        state: context.state_dir.clone(),
        _held: objects.hold(),
        store: context.shared.store().copying().map_err(Problem::failed)?,
        objects,
        time_ms: now_ms(),
    };
    let (sender, receiver) = mpsc::channel::<std::io::Result<Bytes>>(WAITING);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = backup::write(&source, Sending::new(sender.clone())) {
            log::failure!("a backup failed: {error}");
            // The client sees a body that was cut off.
            let _ = sender.blocking_send(Err(std::io::Error::other(error.to_string())));
        }
    });
    Ok(Body::from_stream(ReceiverStream::new(receiver)))
}

pub(super) async fn restore(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let prepared = async {
        no_condition(&head.headers, "?expect=REVISION names the revision that the gateway must have")?;
        let mut how = ChangeRequest::of(&context, &head, Role::Admin)?;
        has_type(&head.headers)?;
        let held = context.shared.objects.hold();
        let (manifest, documents) = receive(&context, body).await?;
        let revision = manifest.revision;
        // What identifies the backup, of any length.
        how.stand_for(&manifest.files.iter().map(|entry| entry.sha256.to_string()).collect::<String>());
        how.prefix_message(format!("restores the backup of revision {revision}"));
        Ok::<_, Problem>((how, documents, held))
    };
    match prepared.await {
        Ok((how, documents, _held)) => how.make(&context, Operation::Restore(Arc::new(documents))).await,
        Err(problem) => problem.into_response(),
    }
}

/// A page of another site cannot send this type without being asked first.
fn has_type(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get(header::CONTENT_TYPE).is_some_and(|given| given == MEDIA_TYPE) {
        return Ok(());
    }
    let detail = format!("a backup of the type `{MEDIA_TYPE}` was expected");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).hint("weir restore FILE sends one"))
}

/// Unpacks a backup; contents of files are then kept as objects.
async fn receive(context: &Context, mut body: Body) -> Result<(Manifest, BTreeMap<Key, Box<str>>), Problem> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let (state, objects) = (context.state_dir.clone(), Arc::clone(&context.shared.objects));
    let unpacked = tokio::task::spawn_blocking(move || {
        let directory = TemporaryDir::new(&state)?;
        let manifest = backup::unpack(Receiving::new(receiver), directory.path())?;
        let loaded = read_copy(&directory.path().join(STORE))?;
        for entry in manifest.objects() {
            let adopted = objects.adopt(&directory.path().join(&entry.name), entry.sha256);
            adopted.map_err(|source| BackupError::Io { what: format!("keep {}", entry.name), source })?;
        }
        let documents = loaded.documents.into_iter().map(|(key, stored)| (key, stored.text)).collect();
        Ok::<_, BackupError>((manifest, documents))
    });
    while let Some(frame) = body.frame().await {
        let piece = frame.map(|frame| frame.into_data().unwrap_or_default()).map_err(std::io::Error::other);
        let is_broken = piece.is_err();
        if sender.send(piece).await.is_err() || is_broken {
            break;
        }
    }
    drop(sender);
    unpacked.await.map_err(Problem::failed)?.map_err(|error| match error {
        error if error.is_full() => Problem::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string()),
        BackupError::Invalid(_) | BackupError::Store(_) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()).hint("nothing was changed")
        }
        BackupError::Io { .. } => Problem::failed(error),
    })
}
