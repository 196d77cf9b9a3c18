//! What comes over the bus: members that other workers have taken out, and questions.

use weir_bus::{Endpoint, MessageKind, Received, Topic};

use super::{ejected, measure};
use crate::{note, worker};

/// Takes what has come, a bounded number at a time; the bell rings again for the rest.
pub fn receive(endpoint: &'static Endpoint) {
    endpoint.receive(&mut |message| handle(endpoint, &message));
}

fn handle(endpoint: &Endpoint, message: &Received<'_>) {
    match (message.topic, message.kind) {
        (Topic::EJECT, MessageKind::Oneway) => {
            if let Some((upstream, member, until_ms)) = read(message.payload) {
                ejected::add(upstream, member, until_ms);
            }
        }
        (Topic::PING, _) => measure::ping(endpoint, message),
        (measure::TOPIC, MessageKind::Request(_)) => measure::begin(endpoint, message),
        // Nobody sends anything else to a worker; what a newer version may send is not for us.
        _ => {}
    }
}

/// Tells all other workers. One whose queue is full finds out by itself.
pub fn tell_ejected(endpoint: &Endpoint, upstream: &str, member: &str, until_ms: u64) {
    let told = endpoint.broadcast(Topic::EJECT, &write(upstream, member, until_ms));
    if !told.complete() {
        // SAFETY: a cycle has a log.
        note!(unsafe { (*worker::cycle()).log }, Info, "weir: not all workers were told that {member} is out");
    }
}

/// Until when (8 bytes, little endian), length of the upstream's id (1 byte: ids have at most 128),
/// the upstream's id, the member's.
fn write(upstream: &str, member: &str, until_ms: u64) -> Vec<u8> {
    let mut payload = until_ms.to_le_bytes().to_vec();
    payload.push(upstream.len() as u8);
    payload.extend_from_slice(upstream.as_bytes());
    payload.extend_from_slice(member.as_bytes());
    payload
}

fn read(payload: &[u8]) -> Option<(&str, &str, u64)> {
    let (until_ms, rest) = payload.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first()?;
    let (upstream, member) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(upstream).ok()?, std::str::from_utf8(member).ok()?, u64::from_le_bytes(*until_ms)))
}
