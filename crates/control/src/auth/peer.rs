//! The authenticated client of a request.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::{Role, Scope};

/// The authenticated client, an extension of every admitted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// For revisions and the audit: `unix:USER`, `token:NAME` or `certificate:NAME`.
    pub actor: Arc<str>,
    /// The granted role.
    pub role: Role,
    /// The limits, if there are any.
    pub scope: Option<Arc<Scope>>,
}

impl Peer {
    /// The peer of a Unix socket (`SO_PEERCRED`): an admin, since the socket's permissions admitted it.
    #[must_use]
    pub fn of_unix(stream: &impl AsRawFd) -> Self {
        let actor = match uid(stream) {
            Some(uid) => format!("unix:{}", user_name(uid).unwrap_or_else(|| uid.to_string())),
            None => "unix:?".to_owned(),
        };
        Self { actor: actor.into(), role: Role::Admin, scope: None }
    }
}

fn uid(stream: &impl AsRawFd) -> Option<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `credentials`, which is a plain C struct of that size.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    (result == 0).then_some(credentials.uid)
}

/// The name of a user in `/etc/passwd`. `getpwuid` could ask the network, where users come from a directory service.
fn user_name(uid: u32) -> Option<String> {
    let text = std::fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_of_a_unix_socket_is_a_user_and_an_admin() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let peer = Peer::of_unix(&one);
        // SAFETY: it has no arguments and cannot fail.
        let uid = unsafe { libc::getuid() };
        assert_eq!(*peer.actor, *format!("unix:{}", user_name(uid).unwrap_or(uid.to_string())));
        assert_eq!(peer.role, Role::Admin);
        assert_eq!(user_name(0).as_deref(), Some("root"));
        assert_eq!(user_name(u32::MAX), None);
    }
}
