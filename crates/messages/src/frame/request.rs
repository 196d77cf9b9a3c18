//! What clients ask for.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::cursor::{CursorError, Start};

/// The most filters of one frame. A client sends all of its own when it connects again.
pub const MAX_FILTERS: usize = 1_024;

/// A frame of a client. Topics and filters are not checked: see [`TopicName`](crate::TopicName) and
/// [`TopicFilter`](crate::TopicFilter).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `{"subscribe": […]}`
    Subscribe {
        /// One to [`MAX_FILTERS`] filters.
        filters: Vec<Cow<'a, str>>,
        /// `since`: the last message that the client has, or `oldest`.
        start: Start,
        /// `more`: that further frames name the rest of what the client begins with.
        more: bool,
    },
    /// `{"unsubscribe": […]}`
    Unsubscribe {
        /// One to [`MAX_FILTERS`] filters.
        filters: Vec<Cow<'a, str>>,
    },
    /// `{"publish": "…"}`
    Publish {
        /// The topic.
        topic: Cow<'a, str>,
        /// `data`, or what `base64` stands for.
        payload: Cow<'a, [u8]>,
        /// Asks for an answer with this number.
        id: Option<u64>,
    },
    /// `{"presence": […]}`
    Presence {
        /// One to [`MAX_FILTERS`] topics.
        topics: Vec<Cow<'a, str>>,
    },
    /// `{"ping": 1}`
    Ping(u64),
}

/// Why a frame is not one. `weir.v1` goes on after it: the client gets an [`error`](super::error).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Not JSON, or with members that there are not.
    #[error("{0}")]
    Json(String),
    /// Not one of the requests, or several.
    #[error("a frame has exactly one of subscribe, unsubscribe, publish, presence and ping")]
    Operation,
    /// A member beside a request that it does not belong to.
    #[error("{member} belongs to {operation}")]
    Misplaced {
        /// The member.
        member: &'static str,
        /// The request that has it.
        operation: &'static str,
    },
    /// No filters, or too many.
    #[error("a frame has 1 to {MAX_FILTERS} filters, this one {0}; send the others in further frames")]
    Filters(usize),
    /// Neither `data` nor `base64`, or both.
    #[error("publish has data, a text, or base64 for other bytes")]
    Payload,
    /// A number that is none, or has a sign or a fraction.
    #[error("{0} is a whole number from 0 to 2^64 - 1")]
    Number(&'static str),
    /// Base64 that is not.
    #[error("base64 is not standard Base64 with padding: {0}")]
    Base64(String),
    /// A cursor that is not.
    #[error("since: {0}")]
    Since(#[from] CursorError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Members<'a> {
    #[serde(borrow)]
    subscribe: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    since: Option<Text<'a>>,
    more: Option<bool>,
    #[serde(borrow)]
    unsubscribe: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    publish: Option<Text<'a>>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    base64: Option<Text<'a>>,
    id: Option<serde_json::Number>,
    #[serde(borrow)]
    presence: Option<Vec<Text<'a>>>,
    ping: Option<serde_json::Number>,
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads a text frame.
///
/// # Errors
///
/// If it is not one of the requests.
pub fn parse(text: &[u8]) -> Result<Request<'_>, FrameError> {
    // serde would read an array as the members in their order.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(FrameError::Json("a frame is a JSON object, as in {\"subscribe\": [\"a/#\"]}".to_owned()));
    }
    let members: Members<'_> =
        serde_json::from_slice(text).map_err(|error| FrameError::Json(format!("not a frame: {error}")))?;
    let Members { subscribe, since, more, unsubscribe, publish, data, base64, id, presence, ping } = members;
    for (member, is_there, operation, is_right) in [
        ("since", since.is_some(), "subscribe", subscribe.is_some()),
        ("more", more.is_some(), "subscribe", subscribe.is_some()),
        ("data", data.is_some(), "publish", publish.is_some()),
        ("base64", base64.is_some(), "publish", publish.is_some()),
        ("id", id.is_some(), "publish", publish.is_some()),
    ] {
        if is_there && !is_right {
            return Err(FrameError::Misplaced { member, operation });
        }
    }
    match (subscribe, unsubscribe, publish, presence, ping) {
        (Some(list), None, None, None, None) => {
            let start = since.map_or(Ok(Start::Now), |text| text.0.parse())?;
            Ok(Request::Subscribe { filters: filters(list)?, start, more: more == Some(true) })
        }
        (None, Some(list), None, None, None) => Ok(Request::Unsubscribe { filters: filters(list)? }),
        (None, None, Some(topic), None, None) => {
            let id = id.map(|id| whole("id", &id)).transpose()?;
            Ok(Request::Publish { topic: topic.0, payload: payload(data, base64)?, id })
        }
        (None, None, None, Some(list), None) => Ok(Request::Presence { topics: filters(list)? }),
        (None, None, None, None, Some(number)) => Ok(Request::Ping(whole("ping", &number)?)),
        _ => Err(FrameError::Operation),
    }
}

fn whole(member: &'static str, number: &serde_json::Number) -> Result<u64, FrameError> {
    number.as_u64().ok_or(FrameError::Number(member))
}

fn filters(list: Vec<Text<'_>>) -> Result<Vec<Cow<'_, str>>, FrameError> {
    match list.len() {
        1..=MAX_FILTERS => Ok(list.into_iter().map(|text| text.0).collect()),
        length => Err(FrameError::Filters(length)),
    }
}

fn payload<'a>(data: Option<Text<'a>>, base64: Option<Text<'a>>) -> Result<Cow<'a, [u8]>, FrameError> {
    match (data, base64) {
        (Some(Text(Cow::Borrowed(text))), None) => Ok(Cow::Borrowed(text.as_bytes())),
        (Some(Text(Cow::Owned(text))), None) => Ok(Cow::Owned(text.into_bytes())),
        (None, Some(text)) => {
            STANDARD.decode(&*text.0).map(Cow::Owned).map_err(|error| FrameError::Base64(error.to_string()))
        }
        (None, None) | (Some(_), Some(_)) => Err(FrameError::Payload),
    }
}
