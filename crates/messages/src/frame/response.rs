//! What the server says. Each function appends one JSON object; the WebSocket header goes before it
//! ([`encode`](crate::websocket::encode)).

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

use crate::cursor::Cursor;
use crate::topic::TopicName;

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum About<'a> {
    /// A filter or topic, as the client wrote it.
    Topic(&'a str),
    /// The `id` of a publication.
    Id(u64),
}

/// Writes a message. Nothing in it depends on the subscriber: it is written once and sent to all.
pub fn message(topic: TopicName<'_>, cursor: Cursor, payload: &[u8], out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Message<'a> {
        topic: &'a str,
        id: Cursor,
        #[serde(flatten)]
        payload: Payload<'a>,
    }
    let payload = std::str::from_utf8(payload).map_or(Payload::Base64(payload), Payload::Data);
    write(&Message { topic: topic.as_str(), id: cursor, payload }, out);
}

/// Writes that messages behind a cursor, up to and with another, were lost for a filter or for all of them (`*`).
pub fn gap(filter: &str, from: Cursor, to: Cursor, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Gap<'a> {
        gap: &'a str,
        from: Cursor,
        to: Cursor,
    }
    write(&Gap { gap: filter, from, to }, out);
}

/// Writes that filters are subscribed to, with the cursor that messages begin behind.
pub fn subscribed(filters: &[&str], at: Cursor, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Subscribed<'a> {
        subscribed: &'a [&'a str],
        at: Cursor,
    }
    write(&Subscribed { subscribed: filters, at }, out);
}

/// Writes that a message was published, with its cursor and the client's number.
pub fn published(cursor: Cursor, id: u64, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Published {
        published: Cursor,
        id: u64,
    }
    write(&Published { published: cursor, id }, out);
}

/// Writes an error: what failed, what to do, and what it is about.
pub fn error(error: &str, hint: Option<&str>, about: Option<About<'_>>, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Failed<'a> {
        error: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        about: Option<About<'a>>,
    }
    write(&Failed { error, hint, about }, out);
}

/// Writes that the server is about to close, and when to come back.
pub fn reconnect(wait_ms: u64, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Reconnect {
        reconnect_ms: u64,
    }
    write(&Reconnect { reconnect_ms: wait_ms }, out);
}

/// A client that is connected to a topic.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Member<'a> {
    /// Its number, of this connection.
    #[serde(serialize_with = "as_hex")]
    pub id: u64,
    /// The consumer; empty if nobody has been authenticated.
    pub name: &'a str,
}

fn as_hex<S: Serializer>(id: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&format_args!("{id:016x}"))
}

/// Writes how many are connected to a topic, and who.
pub fn present(topic: &str, count: usize, present: Vec<Member<'_>>, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Present<'a> {
        topic: &'a str,
        count: usize,
        present: Vec<Member<'a>>,
    }
    write(&Present { topic, count, present }, out);
}

/// Writes that a client has come to a topic or left it, and how many are there then.
pub fn presence_change(topic: &str, has_joined: bool, member: Member<'_>, count: usize, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Change<'a> {
        topic: &'a str,
        count: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        joined: Option<Member<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<Member<'a>>,
    }
    let (joined, left) = if has_joined { (Some(member), None) } else { (None, Some(member)) };
    write(&Change { topic, count, joined, left }, out);
}

/// Writes the answer to a ping.
pub fn pong(number: u64, out: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Pong {
        pong: u64,
    }
    write(&Pong { pong: number }, out);
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Payload<'a> {
    Data(&'a str),
    #[serde(serialize_with = "as_base64")]
    Base64(&'a [u8]),
}

fn as_base64<S: Serializer>(bytes: &&[u8], out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&Base64Display::new(bytes, &STANDARD))
}

fn write(frame: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, frame).expect("memory takes all, and the keys are strings");
}
