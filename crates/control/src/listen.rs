//! Accepting connections of the API: the Unix socket, and TCP when asked for.
//!
//! `axum::serve` was the alternative; it has no limit of connections, no TLS, no time limit for a request's head, and
//! knows nothing of who asks. On the Unix socket a request costs no timer and no check of its own: one `Arc` more.

mod bind;
mod connection;
mod keep;
mod places;
mod tls;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use bind::{Bind, ListenError, bind};
use connection::Connection;
pub use keep::keep;
pub use places::MAX_CONNECTIONS;
use places::{Place, Places};
pub use tls::Tls;

use crate::auth::{Access, Origin, Peer};
use crate::shared::ended;

/// How long requests that are being answered may take after the end was announced.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long nothing is accepted after the kernel had no descriptor or memory for a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener, Option<TlsAcceptor>),
}

impl Listener {
    /// The address of a TCP listener, of use where the port was left to the kernel.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        match &self.socket {
            Socket::Unix(_) => None,
            Socket::Tcp(listener, _) => listener.local_addr().ok(),
        }
    }
}

/// Serves a router until `shutdown` is true (or its sender is gone), then lets requests end for [`GRACE`]. Each request
/// that is let in and had to say who asks has a [`Peer`] among its extensions.
pub async fn serve(listener: Listener, router: Router, access: Arc<Access>, shutdown: watch::Receiver<bool>) {
    let mut connections = accept(listener, router, access, shutdown).await;
    let all = async { while connections.join_next().await.is_some() {} };
    // What is not done by then is dropped with the set.
    let _ = tokio::time::timeout(GRACE, all).await;
}

/// Accepts connections until `shutdown`; those that are left then.
async fn accept(
    listener: Listener,
    router: Router,
    access: Arc<Access>,
    shutdown: watch::Receiver<bool>,
) -> JoinSet<()> {
    let places = match listener.socket {
        Socket::Unix(_) => Places::local(),
        Socket::Tcp(..) => Places::remote(),
    };
    let mut connections = JoinSet::new();
    let mut stop = shutdown.clone();
    let mut end = pin!(ended(&mut stop));
    loop {
        tokio::select! {
            biased;
            () = &mut end => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.socket.accept() => {
                let Ok(accepted) = accepted else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                let Some(place) = places.take(accepted.client()) else {
                    access.metrics().connections_refused.add(1);
                    continue;
                };
                let connection = Connection::new(router.clone(), Arc::clone(&access));
                connections.spawn(run(accepted, connection, shutdown.clone(), place));
            }
        }
    }
    drop(listener);
    connections
}

/// An accepted connection.
enum Accepted {
    Unix(tokio::net::UnixStream),
    Plain(tokio::net::TcpStream, std::net::SocketAddr),
    Tls(tokio::net::TcpStream, std::net::SocketAddr, TlsAcceptor),
}

impl Accepted {
    /// The address of the client; none on the Unix socket.
    fn client(&self) -> Option<std::net::IpAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Plain(_, remote) | Self::Tls(_, remote, _) => Some(remote.ip()),
        }
    }
}

impl Socket {
    async fn accept(&self) -> std::io::Result<Accepted> {
        match self {
            Self::Unix(listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
            Self::Tcp(listener, tls) => {
                let (stream, remote) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(match tls {
                    Some(acceptor) => Accepted::Tls(stream, remote, acceptor.clone()),
                    None => Accepted::Plain(stream, remote),
                })
            }
        }
    }
}

async fn run(accepted: Accepted, connection: Connection, shutdown: watch::Receiver<bool>, _place: Place) {
    let metrics = Arc::clone(connection.access.metrics());
    metrics.connections.add(1);
    match accepted {
        Accepted::Unix(stream) => {
            let origin = Origin::Unix(Peer::of_unix(&stream));
            connection.serve_local(stream, origin, shutdown).await;
        }
        Accepted::Plain(stream, remote) => {
            connection.serve_remote(stream, Origin::Tcp { remote, certificate: None }, shutdown).await;
        }
        Accepted::Tls(stream, remote, acceptor) => {
            if let Some((stream, certificate)) = tls::handshake(&acceptor, stream).await {
                connection.serve_remote(stream, Origin::Tcp { remote, certificate }, shutdown).await;
            }
        }
    }
    metrics.connections.sub(1);
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(listener) => out.debug_tuple("Unix").field(listener).finish(),
            Self::Tcp(listener, _) => out.debug_tuple("Tcp").field(listener).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
