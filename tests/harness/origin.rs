//! Origins behind the gateway. Each consists of a thread or two of the test's own process, and
//! reports what it received.

pub mod echo;
pub mod events;
pub mod fastcgi;
pub mod grpc;
pub mod inspector;
pub mod websocket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

pub use echo::Echo;

/// Accepts connections on a free port of 127.0.0.1 for as long as the process lives, a thread
/// for each.
///
/// # Panics
/// If no port can be bound.
pub fn serve(handle: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            // An error means that the other side has closed the connection; the test sees its effect.
            thread::spawn(move || drop(handle(stream)));
        }
    });
    address
}
