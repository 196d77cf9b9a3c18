//! TCP sockets, from `/proc/PID/net/tcp` and `tcp6`, attributed to processes by inode.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::files::OpenFiles;
use super::{RemoteSockets, SocketFacts};

/// Maximum number of lines read from both tables.
const MAX_LINES: usize = 1_000_000;
/// Maximum number of addresses.
const MAX_ADDRESSES: usize = 256;
/// Maximum number of addresses for which `TIME_WAIT` is counted; clients' ephemeral ports make many.
const MAX_COUNTED: usize = 200_000;
/// Minimum number of sockets in `TIME_WAIT` for an address to count as a remote address without current connections.
const MANY_TIME_WAIT: u64 = 16;

/// TCP states in these tables (`include/net/tcp_states.h`).
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const TIME_WAIT: u8 = 6;
const LISTEN: u8 = 10;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    inode: u64,
}

/// Sockets of the processes in `open`, in the network namespace of `pid`.
pub(super) fn read(pid: u32, open: &OpenFiles) -> SocketFacts {
    let mut facts = SocketFacts::default();
    let mut listening: BTreeSet<SocketAddr> = BTreeSet::new();
    let mut own: Vec<Socket> = Vec::new();
    let mut waiting: HashMap<SocketAddr, u64> = HashMap::new();
    facts.cut = each(pid, |socket| {
        if socket.state == TIME_WAIT {
            for end in [socket.local, socket.remote] {
                if waiting.len() < MAX_COUNTED || waiting.contains_key(&end) {
                    *waiting.entry(end).or_default() += 1;
                }
            }
        } else if open.sockets.contains_key(&socket.inode) {
            if socket.state == LISTEN {
                listening.insert(socket.local);
            } else {
                own.push(socket);
            }
        }
    });
    let ports: BTreeSet<u16> = listening.iter().map(SocketAddr::port).collect();
    facts.listening = listening.iter().take(MAX_ADDRESSES).map(SocketAddr::to_string).collect();
    facts.remotes = remotes(&own, &ports, &waiting);
    facts
}

fn remotes(own: &[Socket], listening: &BTreeSet<u16>, waiting: &HashMap<SocketAddr, u64>) -> Vec<RemoteSockets> {
    let mut counts: BTreeMap<SocketAddr, (u64, u64)> = BTreeMap::new();
    let outgoing = own.iter().filter(|socket| matches!(socket.state, ESTABLISHED | SYN_SENT));
    for socket in outgoing.filter(|socket| !listening.contains(&socket.local.port())) {
        counts.entry(socket.remote).or_default().0 += 1;
    }
    for (&address, &count) in waiting {
        if count >= MANY_TIME_WAIT && !listening.contains(&address.port()) {
            counts.entry(address).or_default();
        }
    }
    let with_waiting = counts.into_iter().map(|(address, (established, _))| RemoteSockets {
        address: address.to_string(),
        established,
        time_wait: waiting.get(&address).copied().unwrap_or(0),
    });
    let mut remotes: Vec<RemoteSockets> = with_waiting.collect();
    remotes.sort_by_key(|remote| std::cmp::Reverse(remote.established + remote.time_wait));
    remotes.truncate(MAX_ADDRESSES);
    remotes
}

/// Number of established connections by owning process.
pub(super) fn established_by_pid(pid: u32, open: &OpenFiles) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    each(pid, |socket| {
        if socket.state == ESTABLISHED {
            for &owner in open.sockets.get(&socket.inode).map_or(&[][..], Vec::as_slice) {
                *counts.entry(owner).or_default() += 1;
            }
        }
    });
    counts
}

/// Calls `with` for each socket; returns whether the limit was exceeded.
fn each(pid: u32, mut with: impl FnMut(Socket)) -> bool {
    let mut left = MAX_LINES;
    for name in ["tcp", "tcp6"] {
        let Ok(file) = File::open(format!("/proc/{pid}/net/{name}")) else { continue };
        for line in BufReader::new(file).lines().skip(1).map_while(Result::ok) {
            if left == 0 {
                return true;
            }
            left -= 1;
            if let Some(socket) = parse(&line) {
                with(socket);
            }
        }
    }
    false
}

fn parse(line: &str) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (address(fields.next()?)?, address(fields.next()?)?);
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    Some(Socket { local, remote, state, inode: fields.nth(5)?.parse().ok()? })
}

/// `0100007F:1F90`: words of an address in native byte order, in hexadecimal digits.
fn address(text: &str) -> Option<SocketAddr> {
    let (digits, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..digits.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(digits.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_people_write_them() {
        let cases = [
            ("0100007F:1F90", Some("127.0.0.1:8080")),
            ("00000000:0050", Some("0.0.0.0:80")),
            ("00000000000000000000000001000000:01BB", Some("[::1]:443")),
            ("0000000000000000FFFF00000100007F:0050", Some("127.0.0.1:80")),
            ("0100007F", None),
            ("01000:1F90", None),
            ("é100007F:1F90", None),
        ];
        for (text, want) in cases {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_line_of_the_kernel_is_a_socket() {
        let line = "   0: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 1065 1 0 100 0 0 10 0";
        let socket = parse(line).expect("parses");
        assert_eq!((socket.state, socket.inode), (ESTABLISHED, 1065));
        assert_eq!(parse("  sl  local_address rem_address   st"), None);
    }
}
