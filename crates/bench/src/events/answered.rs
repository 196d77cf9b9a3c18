//! What an answer to a change says: whether it is live in every worker, since which revision, and
//! how long the slowest worker took. Measurement in the bytes: a JSON parser would cost the client more than the
//! change costs a worker.

use super::nginx::WORKERS;
use weir_measure::http::Answer;

/// An answered change that is live in all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The revision that it made.
    pub revision: u64,
    /// The slowest worker's time, microseconds.
    pub worker_us: u64,
}

/// What it says if all workers have applied the change; otherwise what is wrong.
pub fn applied(answer: &Answer) -> Result<Applied, String> {
    let quoted = || format!("{}: {:.500}", answer.status, String::from_utf8_lossy(&answer.body));
    let workers = values(&answer.body, b"\"result\":").count();
    let applied = values(&answer.body, b"\"result\":").filter(|value| value.starts_with(b"\"applied\"")).count();
    if answer.status != 200 || applied != workers || applied < WORKERS {
        return Err(format!("a change was not applied by all workers: {}", quoted()));
    }
    let revision = values(&answer.body, b"\"revision\":").find_map(number);
    let revision = revision.ok_or_else(|| format!("an answer without a revision: {}", quoted()))?;
    let worker_us = values(&answer.body, b"\"us\":").filter_map(number).max().unwrap_or(0);
    Ok(Applied { revision, worker_us })
}

/// What stands behind each occurrence of a key.
fn values<'b>(body: &'b [u8], key: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
    let places = body.windows(key.len()).enumerate().filter(move |(_, window)| *window == key);
    places.map(move |(place, _)| body[place + key.len()..].trim_ascii_start())
}

fn number(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&value[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, head: 0..0, body: body.as_bytes().to_vec(), end: 0, close: false }
    }

    const GOOD: &str = r#"{"revision":42,"workers":[{"worker":0,"result":"applied","us":85},
        {"worker":1,"result": "applied","us": 90}],"changed":[]}"#;

    #[test]
    fn only_what_all_workers_have_applied_counts() {
        assert_eq!(applied(&answer(200, GOOD)), Ok(Applied { revision: 42, worker_us: 90 }));
        let half = GOOD.replacen("applied", "pending", 1);
        for (status, body) in [(202, half.as_str()), (200, &half), (409, GOOD), (200, "{}"), (422, "")] {
            assert!(applied(&answer(status, body)).is_err(), "{status} {body}");
        }
    }
}
