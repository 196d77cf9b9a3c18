//! The end of the service, as all of its tasks see it.

use tokio::sync::watch;

/// Waits until the service is to stop.
pub(crate) async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}
