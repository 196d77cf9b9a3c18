//! Whether a variant does what its row says, seen before it is timed: a peer that lets an
//! attack through is quick for the wrong reason.

use std::path::Path;

use crate::request::Request;
use crate::rules::{RULES, Subject};
use crate::variants::Duty;
use weir_measure::addresses::{ABROAD, LISTED};
use weir_measure::error::MeasureError;
use weir_measure::http::encode;

/// Lines that may still lie in a log's buffer when a round ends: 64 KiB and then some.
const BUFFERED_LINES: u64 = 2_000;
/// Fields that a log line must have at least.
const LOG_FIELDS: usize = 33;

/// Sends the checks of `duty` to the variant and compares the answers.
pub fn duty(name: &str, duty: Duty, port: u16) -> Result<(), MeasureError> {
    let attack = Request { target: format!("/search?q={}", encode("1 union select 2")), ..Request::default() };
    expect(name, port, "a harmless form", &Request::default(), 200)?;
    match duty {
        Duty::Pass => expect(name, port, "an attack, which this variant does not look for,", &attack, 200),
        Duty::Crs => {
            let cross = Request {
                target: format!("/search?q={}", encode("1' union select password from users -- ")),
                ..attack
            };
            expect(name, port, "an SQL injection", &cross, 403)
        }
        Duty::Policy => policy(name, port),
    }
}

fn policy(name: &str, port: u16) -> Result<(), MeasureError> {
    let listed = Request { client: LISTED.to_string(), ..Request::default() };
    let abroad = Request { client: ABROAD.to_string(), ..Request::default() };
    expect(name, port, "a request from a listed address", &listed, 403)?;
    expect(name, port, "a request from a blocked country", &abroad, 403)?;
    for rule in RULES {
        let request = attack(rule.subject, rule.attack);
        expect(name, port, &format!("the attack of rule {} ({:?})", rule.id, rule.attack), &request, 403)?;
    }
    Ok(())
}

/// A harmless request but for one value.
#[must_use]
pub fn attack(subject: Subject, value: &str) -> Request {
    let usual = Request::default();
    match subject {
        Subject::Path => Request { target: value.to_owned(), ..usual },
        Subject::Argument => Request { target: format!("/search?page=1&q={}", encode(value)), ..usual },
        Subject::Agent => Request { agent: value.to_owned(), ..usual },
        Subject::Cookie => Request { cookie: value.to_owned(), ..usual },
        Subject::Referer => Request { referer: value.to_owned(), ..usual },
        Subject::Form => Request { body: format!("name=x&note={}", encode(value)), ..usual },
    }
}

fn expect(name: &str, port: u16, what: &str, request: &Request, wanted: u16) -> Result<(), MeasureError> {
    let got =
        request.status(port).map_err(|error| MeasureError::wrong(name, format!("{what} got no answer: {error}")))?;
    if got == wanted {
        return Ok(());
    }
    Err(MeasureError::wrong(name, format!("{what} was answered with {got}, expected {wanted}")))
}

/// Looks into an access log after a round of `requests`: every request has its line, and a line
/// is a JSON object of at least 33 fields.
pub fn log(name: &str, path: &Path, requests: u64) -> Result<(), MeasureError> {
    let bytes = std::fs::read(path).map_err(MeasureError::file(path))?;
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    if lines + BUFFERED_LINES < requests {
        return Err(MeasureError::wrong(name, format!("wrote {lines} log lines for {requests} requests")));
    }
    // The first line may be the rest of one that was cut when the file was emptied.
    let Some(line) = bytes.split(|&byte| byte == b'\n').nth(1).filter(|line| line.ends_with(b"}")) else {
        return Ok(());
    };
    let fields = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).map(|object| object.len());
    match fields {
        Ok(count) if count >= LOG_FIELDS => Ok(()),
        Ok(count) => Err(MeasureError::wrong(name, format!("its log lines have {count} fields, not {LOG_FIELDS}"))),
        Err(error) => Err(MeasureError::wrong(
            name,
            format!("a log line is no JSON ({error}): {}", String::from_utf8_lossy(line)),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(text: &str, requests: u64) -> Result<(), MeasureError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.log");
        std::fs::write(&path, text).unwrap();
        log("peer", &path, requests)
    }

    #[test]
    fn a_log_with_too_few_lines_or_fields_is_found_out() {
        let fields: Vec<String> = (0..33).map(|index| format!("\"f{index}\":\"\"")).collect();
        let line = format!("{{{}}}\n", fields.join(","));
        assert!(logged(&line.repeat(3), 3).is_ok());
        assert!(logged(&line.repeat(3), 10_000).unwrap_err().to_string().contains("3 log lines for 10000"));
        assert!(logged("{}\n{\"a\":1}\n", 2).unwrap_err().to_string().contains("1 fields"));
        assert!(logged("{}\n{\"a\":\x01}\n", 2).unwrap_err().to_string().contains("no JSON"));
    }

    #[test]
    fn every_subject_has_its_place_in_the_request() {
        for (subject, place) in [
            (Subject::Path, "POST /EVIL"),
            (Subject::Argument, "q=%2FEVIL"),
            (Subject::Agent, "User-Agent: /EVIL\r\n"),
            (Subject::Cookie, "Cookie: /EVIL\r\n"),
            (Subject::Referer, "Referer: /EVIL\r\n"),
            (Subject::Form, "note=%2FEVIL"),
        ] {
            let text = String::from_utf8(attack(subject, "/EVIL").bytes()).unwrap();
            assert!(text.contains(place), "{text}");
        }
    }
}
