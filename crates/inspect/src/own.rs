//! Questions and answers as frames of Weir's own protocol: what the gateway writes, a service reads, and the reverse.

use std::net::IpAddr;

use crate::address::AddressText;
use crate::frame::{Frame, FrameError, Writer, kind};
use crate::{Advice, Answer, OwnedField, Question};

/// Tags of the items of a question. Items that may come several times say so.
pub mod ask {
    /// Name of the detector.
    pub const DETECTOR: u8 = 1;
    /// For whom.
    pub const TENANT: u8 = 2;
    /// The request's id.
    pub const REQUEST_ID: u8 = 3;
    /// Address of the client, as text.
    pub const CLIENT: u8 = 4;
    /// Method.
    pub const METHOD: u8 = 5;
    /// `http` or `https`.
    pub const SCHEME: u8 = 6;
    /// Host without its port.
    pub const HOST: u8 = 7;
    /// Path and query.
    pub const TARGET: u8 = 8;
    /// Protocol.
    pub const PROTOCOL: u8 = 9;
    /// A header field, `name:value`, as it was sent; once for each.
    pub const HEADER: u8 = 10;
    /// The beginning of the body.
    pub const BODY: u8 = 11;
    /// Length of the whole body, u64, also if none of it is sent; all ones if it is not known yet.
    pub const BODY_BYTES: u8 = 12;
    /// A rule that has matched; once for each.
    pub const FINDING: u8 = 13;
    /// Score so far, u32.
    pub const SCORE: u8 = 14;
    /// A tag; once for each.
    pub const TAG: u8 = 15;
    /// A fact about TLS, `name=value`; once for each.
    pub const TLS: u8 = 16;
    /// The consumer.
    pub const CONSUMER: u8 = 17;
    /// How long the gateway waits, u32, in milliseconds.
    pub const DEADLINE_MS: u8 = 18;
    /// Path, decoded and normalised.
    pub const PATH: u8 = 19;
}

/// Tags of the items of an answer.
pub mod say {
    /// u8: 0 pass, 1 refuse, 2 detect, 3 unable.
    pub const ADVICE: u8 = 1;
    /// Status of the response that refuses, u16.
    pub const STATUS: u8 = 2;
    /// A header field of it, `name:value`; once for each.
    pub const RESPONSE_HEADER: u8 = 3;
    /// Its body.
    pub const BODY: u8 = 4;
    /// A field of the request to set, `name:value`; once for each.
    pub const SET_HEADER: u8 = 5;
    /// Name of a field of the request to remove; once for each.
    pub const REMOVE_HEADER: u8 = 6;
    /// A tag; once for each.
    pub const TAG: u8 = 7;
    /// What is added to the score, u32.
    pub const SCORE: u8 = 8;
    /// Why, for the log; UTF-8.
    pub const REASON: u8 = 9;
}

/// Appends a question.
///
/// # Errors
/// If it is too long to be asked; then nothing is appended.
pub fn write_question(buffer: &mut Vec<u8>, id: u32, question: &Question<'_>) -> Result<(), FrameError> {
    let mut frame = Writer::begin(buffer, kind::QUESTION, id);
    frame.some(ask::DETECTOR, question.detector.as_bytes()).some(ask::TENANT, question.tenant.as_bytes());
    frame.some(ask::REQUEST_ID, question.request_id);
    let client = AddressText::from(question.client);
    frame.item(ask::CLIENT, &[&client]).item(ask::METHOD, &[question.method]).item(ask::SCHEME, &[question.scheme]);
    frame.some(ask::HOST, question.host).item(ask::TARGET, &[question.target]).some(ask::PROTOCOL, question.protocol);
    for (name, value) in &question.headers {
        frame.item(ask::HEADER, &[name, b":", value]);
    }
    if question.body_bytes > 0 {
        frame.some(ask::BODY, question.body).item(ask::BODY_BYTES, &[&question.body_bytes.to_be_bytes()]);
    }
    for finding in &question.findings {
        frame.item(ask::FINDING, &[finding.as_bytes()]);
    }
    if question.score > 0 {
        frame.item(ask::SCORE, &[&question.score.to_be_bytes()]);
    }
    for tag in question.tags {
        frame.item(ask::TAG, &[tag.as_bytes()]);
    }
    for (name, value) in &question.tls {
        frame.item(ask::TLS, &[name.as_bytes(), b"=", value]);
    }
    frame.some(ask::CONSUMER, question.consumer.as_bytes());
    frame.item(ask::DEADLINE_MS, &[&question.deadline_ms.to_be_bytes()]).item(ask::PATH, &[question.path]);
    frame.end()
}

/// A question as a service has received it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedQuestion {
    /// As in [`Question`].
    pub detector: String,
    /// As in [`Question`].
    pub tenant: String,
    /// As in [`Question`].
    pub request_id: Vec<u8>,
    /// Address of the client, if it is one.
    pub client: Option<IpAddr>,
    /// As in [`Question`].
    pub method: Vec<u8>,
    /// As in [`Question`].
    pub scheme: Vec<u8>,
    /// As in [`Question`].
    pub host: Vec<u8>,
    /// As in [`Question`].
    pub target: Vec<u8>,
    /// As in [`Question`].
    pub protocol: Vec<u8>,
    /// As in [`Question`].
    pub headers: Vec<OwnedField>,
    /// As in [`Question`].
    pub body: Vec<u8>,
    /// As in [`Question`].
    pub body_bytes: u64,
    /// As in [`Question`].
    pub findings: Vec<String>,
    /// As in [`Question`].
    pub score: u32,
    /// As in [`Question`].
    pub tags: Vec<String>,
    /// As in [`Question`].
    pub tls: Vec<(String, Vec<u8>)>,
    /// As in [`Question`].
    pub consumer: String,
    /// As in [`Question`].
    pub deadline_ms: u32,
    /// As in [`Question`]; empty from a gateway that does not tell it.
    pub path: Vec<u8>,
}

/// Reads a question.
///
/// # Errors
/// If the frame is malformed, or a number has another length.
pub fn read_question(frame: Frame<'_>) -> Result<ReceivedQuestion, FrameError> {
    let mut question = ReceivedQuestion::default();
    for item in frame.items() {
        let (tag, bytes) = item?;
        match tag {
            ask::DETECTOR => question.detector = text(bytes),
            ask::TENANT => question.tenant = text(bytes),
            ask::REQUEST_ID => question.request_id = bytes.to_vec(),
            ask::CLIENT => question.client = text(bytes).parse().ok(),
            ask::METHOD => question.method = bytes.to_vec(),
            ask::SCHEME => question.scheme = bytes.to_vec(),
            ask::HOST => question.host = bytes.to_vec(),
            ask::TARGET => question.target = bytes.to_vec(),
            ask::PROTOCOL => question.protocol = bytes.to_vec(),
            ask::HEADER => question.headers.push(field(bytes, b':')?),
            ask::BODY => question.body = bytes.to_vec(),
            ask::BODY_BYTES => question.body_bytes = u64::from_be_bytes(exact(bytes)?),
            ask::FINDING => question.findings.push(text(bytes)),
            ask::SCORE => question.score = u32::from_be_bytes(exact(bytes)?),
            ask::TAG => question.tags.push(text(bytes)),
            ask::TLS => question.tls.push(field(bytes, b'=').map(|(name, value)| (text(&name), value))?),
            ask::CONSUMER => question.consumer = text(bytes),
            ask::DEADLINE_MS => question.deadline_ms = u32::from_be_bytes(exact(bytes)?),
            ask::PATH => question.path = bytes.to_vec(),
            _ => {} // of a newer gateway
        }
    }
    Ok(question)
}

/// Appends an answer.
///
/// # Errors
/// If it is too long; then nothing is appended.
pub fn write_answer(buffer: &mut Vec<u8>, id: u32, answer: &Answer) -> Result<(), FrameError> {
    let mut frame = Writer::begin(buffer, kind::ANSWER, id);
    let advice = match answer.advice {
        Advice::Pass => 0,
        Advice::Refuse => 1,
        Advice::Detect => 2,
        Advice::Unable => 3,
    };
    frame.item(say::ADVICE, &[&[advice]]);
    if answer.status > 0 {
        frame.item(say::STATUS, &[&answer.status.to_be_bytes()]);
    }
    for (name, value) in &answer.response_headers {
        frame.item(say::RESPONSE_HEADER, &[name, b":", value]);
    }
    frame.some(say::BODY, &answer.body);
    for (name, value) in &answer.set_headers {
        frame.item(say::SET_HEADER, &[name, b":", value]);
    }
    for name in &answer.remove_headers {
        frame.item(say::REMOVE_HEADER, &[name]);
    }
    for tag in &answer.tags {
        frame.item(say::TAG, &[tag.as_bytes()]);
    }
    if answer.score > 0 {
        frame.item(say::SCORE, &[&answer.score.to_be_bytes()]);
    }
    frame.some(say::REASON, answer.reason.as_bytes());
    frame.end()
}

/// Reads an answer.
///
/// # Errors
/// If the frame is malformed, a number has another length, or the advice is unknown.
pub fn read_answer(frame: Frame<'_>) -> Result<Answer, FrameError> {
    let mut answer = Answer::default();
    let mut advice = None;
    for item in frame.items() {
        let (tag, bytes) = item?;
        match tag {
            say::ADVICE => {
                advice = Some(match bytes {
                    [0] => Advice::Pass,
                    [1] => Advice::Refuse,
                    [2] => Advice::Detect,
                    [3] => Advice::Unable,
                    _ => return Err(FrameError::Malformed),
                });
            }
            say::STATUS => answer.status = u16::from_be_bytes(exact(bytes)?),
            say::RESPONSE_HEADER => answer.response_headers.push(field(bytes, b':')?),
            say::BODY => answer.body = bytes.to_vec(),
            say::SET_HEADER => answer.set_headers.push(field(bytes, b':')?),
            say::REMOVE_HEADER => answer.remove_headers.push(bytes.to_vec()),
            say::TAG => answer.tags.push(text(bytes)),
            say::SCORE => answer.score = u32::from_be_bytes(exact(bytes)?),
            say::REASON => answer.reason = text(bytes),
            _ => {} // of a newer service
        }
    }
    // An answer without advice is not an advice to let the request pass.
    answer.advice = advice.ok_or(FrameError::Malformed)?;
    Ok(answer)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], FrameError> {
    bytes.try_into().map_err(|_| FrameError::Malformed)
}

/// Name and value on both sides of the first separator.
fn field(bytes: &[u8], separator: u8) -> Result<OwnedField, FrameError> {
    let at = memchr::memchr(separator, bytes).ok_or(FrameError::Malformed)?;
    Ok((bytes[..at].to_vec(), bytes[at + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..30)
    }

    fn fields() -> impl Strategy<Value = Vec<OwnedField>> {
        prop::collection::vec(("[a-z-]{1,9}".prop_map(String::into_bytes), bytes()), 0..4)
    }

    proptest! {
        #[test]
        fn a_question_arrives_as_it_was_asked(
            (detector, tenant, consumer, tags) in ("[a-z]{1,8}", "[a-z]{0,8}", "[a-z]{0,8}", prop::collection::vec("[a-z]{1,5}", 0..3)),
            (target, headers, body, more) in (bytes(), fields(), bytes(), any::<bool>()),
            (v6, score, deadline_ms) in (any::<Option<u128>>(), any::<u32>(), any::<u32>()),
        ) {
            let client = v6.map_or(IpAddr::V4([192, 0, 2, 255].into()), |bits| IpAddr::V6(bits.into()));
            let body_bytes = body.len() as u64 + u64::from(more);
            let question = Question {
                detector: &detector, tenant: &tenant, request_id: b"id", client, method: b"POST", scheme: b"https",
                host: b"a.example", authority: b"a.example:8443", target: &target, path: &target, protocol: b"HTTP/2.0",
                headers: headers.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
                body: &body, body_bytes, findings: vec!["p/r".into()], score, tags: &tags,
                tls: vec![("sni", b"a=b")], consumer: &consumer, deadline_ms,
            };
            let mut buffer = Vec::new();
            write_question(&mut buffer, 7, &question).unwrap();
            let (frame, length) = Frame::first(&buffer).unwrap().unwrap();
            prop_assert_eq!((frame.kind, frame.id, length), (kind::QUESTION, 7, buffer.len()));
            let read = read_question(frame).unwrap();
            let expected = ReceivedQuestion {
                detector, tenant, request_id: b"id".to_vec(), client: Some(client), method: b"POST".to_vec(),
                scheme: b"https".to_vec(), host: b"a.example".to_vec(), target: target.clone(),
                protocol: b"HTTP/2.0".to_vec(), headers: headers.clone(), body: body.clone(), body_bytes,
                findings: vec!["p/r".into()], score, tags: tags.clone(), tls: vec![("sni".into(), b"a=b".to_vec())],
                consumer, deadline_ms, path: target.clone(),
            };
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn an_answer_arrives_as_it_was_given(
            advice in prop::sample::select(vec![Advice::Pass, Advice::Refuse, Advice::Detect, Advice::Unable]),
            (status, score, body, reason) in (any::<u16>(), any::<u32>(), bytes(), "[a-z ]{0,9}"),
            (response_headers, set_headers, tags) in (fields(), fields(), prop::collection::vec("[a-z]{1,5}", 0..3)),
        ) {
            let answer = Answer {
                advice, status, response_headers, body, set_headers, remove_headers: vec![b"x".to_vec()], tags, score, reason,
            };
            let mut buffer = Vec::new();
            write_answer(&mut buffer, 9, &answer).unwrap();
            prop_assert_eq!(read_answer(Frame::first(&buffer).unwrap().unwrap().0).unwrap(), answer);
        }

        #[test]
        fn any_items_are_read_or_refused(items in prop::collection::vec((0..20_u8, bytes()), 0..8)) {
            let mut buffer = Vec::new();
            let mut frame = Writer::begin(&mut buffer, kind::ANSWER, 1);
            items.iter().for_each(|(tag, item)| _ = frame.item(*tag, &[item]));
            frame.end().unwrap();
            let (frame, _) = Frame::first(&buffer).unwrap().unwrap();
            let _ = (read_answer(frame), read_question(frame));
        }
    }

    #[test]
    fn an_answer_without_advice_lets_nothing_pass() {
        let mut buffer = Vec::new();
        crate::frame::bare(&mut buffer, kind::ANSWER, 1);
        assert!(read_answer(Frame::first(&buffer).unwrap().unwrap().0).is_err());
    }
}
