//! Making sockets that listen.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::{TcpListener, UnixSocket, UnixStream};

use super::tls::{self, Tls};
use super::{Listener, Socket};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// An address to listen on.
#[derive(Clone, Debug)]
pub enum Bind {
    /// A Unix socket, for its owner only.
    Unix(PathBuf),
    /// TCP.
    Tcp {
        /// Address and port.
        address: SocketAddr,
        /// Certificate and key; without them the address must be a loopback one.
        tls: Option<Tls>,
        /// Allows TCP without TLS on any address: tokens and keys can be read on the way.
        insecure: bool,
    },
}

/// The reason why a listener cannot start.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Another process answers on the socket.
    #[error("{0} is in use by a process that answers: weir control runs already; stop it, or take another --socket")]
    Taken(PathBuf),
    /// Something else is there.
    #[error("{0} is there and no socket; remove it, or take another --socket")]
    NotASocket(PathBuf),
    /// The socket cannot be made.
    #[error("cannot listen on {place}: {error}")]
    Io {
        /// Path or address.
        place: String,
        /// The reason.
        error: io::Error,
    },
    /// TCP without TLS, not on loopback.
    #[error(
        "{0} can be reached from other machines and has no TLS, so that tokens could be read on the way; \
         add --tls-certificate and --tls-key, or listen on 127.0.0.1, or say --insecure"
    )]
    Insecure(SocketAddr),
    /// Certificate, key or authorities are no good.
    #[error("TLS: {0}")]
    Tls(String),
}

/// Listens. A socket's file that nobody answers on any more is replaced.
///
/// # Errors
/// If the place is taken, or what is asked for is not safe.
pub async fn bind(bind: &Bind) -> Result<Listener, ListenError> {
    let socket = match bind {
        Bind::Unix(path) => bind_unix(path).await?,
        Bind::Tcp { address, tls: None, insecure: false } if !address.ip().is_loopback() => {
            return Err(ListenError::Insecure(*address));
        }
        Bind::Tcp { address, tls, .. } => {
            let acceptor = tls.as_ref().map(tls::acceptor).transpose().map_err(ListenError::Tls)?;
            Socket::Tcp(TcpListener::bind(address).await.map_err(at(address))?, acceptor)
        }
    };
    Ok(Listener { socket })
}

async fn bind_unix(path: &Path) -> Result<Socket, ListenError> {
    make_room(path).await?;
    let place = path.display();
    let socket = UnixSocket::new_stream().map_err(at(&place))?;
    // Before the file has a name: a change of its mode afterwards would leave a moment for others to connect. Linux
    // gives the file the mode of the socket (unix(7)).
    // SAFETY: a plain system call on a descriptor that `socket` keeps open.
    if unsafe { libc::fchmod(socket.as_raw_fd(), 0o600) } != 0 {
        return Err(at(&place)(io::Error::last_os_error()));
    }
    socket.bind(path).map_err(at(&place))?;
    Ok(Socket::Unix(socket.listen(BACKLOG).map_err(at(&place))?))
}

/// Removes a socket that nobody answers on.
async fn make_room(path: &Path) -> Result<(), ListenError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(&path.display())(error)),
        Ok(about) if !about.file_type().is_socket() => return Err(ListenError::NotASocket(path.to_owned())),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(at(&path.display()))
        }
        // It answers, or is too busy to (EAGAIN): either way somebody has it.
        _ => Err(ListenError::Taken(path.to_owned())),
    }
}

fn at(place: &impl ToString) -> impl FnOnce(io::Error) -> ListenError {
    let place = place.to_string();
    move |error| ListenError::Io { place, error }
}
