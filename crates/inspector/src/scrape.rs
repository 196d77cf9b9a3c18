//! `/metrics` and `/health` over HTTP.

mod text;

use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::desk::Desk;
use crate::stop::ended;

/// Serves until `stop` is true. While the service drains, `/health` answers 503 as long as anybody asks.
pub(crate) async fn serve(listener: TcpListener, desk: Arc<Desk>, mut stop: watch::Receiver<bool>) {
    let health = stop.clone();
    let router = Router::new()
        .route(
            "/metrics",
            get(async move || ([(CONTENT_TYPE, text::CONTENT_TYPE)], text::render(&desk.metrics, desk.detectors()))),
        )
        .route(
            "/health",
            get(async move || match *health.borrow() {
                true => (axum::http::StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
                false => (axum::http::StatusCode::OK, "ok\n"),
            }),
        );
    let end = async move { ended(&mut stop).await };
    let _ = axum::serve(listener, router).with_graceful_shutdown(end).await;
}
