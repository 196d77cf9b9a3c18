//! A checker from outside: is a change that was answered live in every worker?
//!
//! It asks the gateway on new connections until it has met every worker, whose server block tells its
//! number and its revision in a header. A single answer from an older revision than the one that was
//! answered before the question was sent ends the run.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use super::nginx::WORKERS;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client};

/// One of so many answered changes is looked for.
pub const EVERY: u64 = 100;
/// Connections to meet all workers on; with two of them, all the same has a chance of 1 in 2^64.
const ATTEMPTS: usize = 64;

/// Checks revisions as they come, until nobody sends any more; how many. The host must have a route `/r0`.
pub fn check(port: u16, host: &str, revisions: &Receiver<u64>) -> Result<u64, MeasureError> {
    let question = format!("GET /r0/live HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes();
    let mut checked = 0;
    for revision in revisions {
        let mut seen = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            let mut client = Client::new(Address::local(port));
            let answer = client.exchange(&question)?;
            let head = client.head(&answer);
            let (worker, serves) = told(&head)
                .ok_or_else(|| MeasureError::wrong("live", format!("no worker and revision in its answer: {head}")))?;
            if serves < revision {
                let words = format!("revision {revision} was answered, and worker {worker} serves {serves}");
                return Err(MeasureError::wrong("live", words));
            }
            seen.insert(worker, serves);
            if seen.len() == WORKERS {
                break;
            }
        }
        if seen.len() < WORKERS {
            let words = format!("met only {} of {WORKERS} workers on {ATTEMPTS} connections", seen.len());
            return Err(MeasureError::wrong("live", words));
        }
        checked += 1;
    }
    Ok(checked)
}

/// Worker and revision from an answer's head.
pub fn told(head: &str) -> Option<(u64, u64)> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut ours = fields.filter(|(name, _)| name.eq_ignore_ascii_case("x-weir")).map(|(_, value)| value.trim());
    let (worker, revision) = ours.next()?.split_once(' ')?;
    Some((worker.parse().ok()?, revision.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_and_revision_are_read_from_the_header() {
        assert_eq!(told("HTTP/1.1 404 Not Measurement\r\nServer: nginx\r\nX-Weir: 1 42"), Some((1, 42)));
        for head in ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nX-Weir: 1", "HTTP/1.1 200 OK\r\nX-Weir: - -"] {
            assert_eq!(told(head), None, "{head}");
        }
    }
}
