//! `weir publish` and `weir subscribe`: messages of topics, from another process than nginx.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use weir_bus::streams::Streams;
use weir_messages::cursor::Start;
use weir_messages::history::Bounds;
use weir_messages::hub::{Hub, TopicSet};
use weir_messages::subscriber::Form;
use weir_messages::topic::TopicFilter;

use crate::Failure;
use crate::api::Api;
use crate::arguments::{Publish, Subscribe};

/// Bytes that may wait for the terminal; what is more is read on in the history, where one is kept.
const BUFFER: usize = 16 << 20;

/// Longest sleep: messages that were not written in time are looked for again.
const NAP_MS: i32 = 1000;

pub(crate) fn publish(api: &Api, runtime: &Path, publish: &Publish) -> Result<(), Failure> {
    let mut hub = hub(runtime)?;
    let sets = sets(api)?;
    let id = choose(&sets, publish.set.as_deref(), &publish.topic)?.id.clone();
    let message = match publish.message.as_deref() {
        None | Some("-") => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::new(format!("standard input: {error}")))?;
            bytes
        }
        Some(text) => text.as_bytes().to_vec(),
    };
    configure(&mut hub, &sets)?;
    let cursor = hub.publish(&id, &publish.topic, &message, now_ms());
    let cursor = cursor.map_err(|refusal| Failure::new(refusal.to_string()))?;
    println!(
        "{}",
        if publish.json { serde_json::json!({"id": cursor, "topics": id}).to_string() } else { cursor.to_string() }
    );
    Ok(())
}

pub(crate) fn subscribe(api: &Api, runtime: &Path, subscribe: &Subscribe) -> Result<(), Failure> {
    let mut hub = hub(runtime)?;
    let sets = sets(api)?;
    let set = choose(&sets, subscribe.set.as_deref(), &subscribe.filters[0])?;
    configure(&mut hub, &sets)?;
    let start = match subscribe.since.as_deref() {
        None => Start::Now,
        Some(since) => since.parse().map_err(|error| Failure::new(format!("--since {since}: {error}")))?,
    };
    let refused = |refusal: weir_messages::hub::Refusal| {
        let failure = Failure::new(refusal.to_string());
        match refusal.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    let key = hub.join(&set.id, Form::Poll, BUFFER, ()).map_err(refused)?;
    let filters: Vec<&str> = subscribe.filters.iter().map(String::as_str).collect();
    hub.subscribe(key, &filters, start, false, filters.len()).map_err(refused)?;
    let mut left = subscribe.count.unwrap_or(u64::MAX);
    let mut out = std::io::stdout().lock();
    loop {
        let _ = hub.receive(now_ms());
        while let Some(key) = hub.next_due(now_ms()) {
            let Some(one) = hub.subscriber(key) else { continue };
            if one.leaving().is_some() {
                return Err(Failure::new("the output is not read as fast as messages come, and no history is kept"));
            }
            let (mut bytes, mut text) = (0, Vec::new());
            for object in one.pieces(left.try_into().unwrap_or(usize::MAX)) {
                bytes += object.len();
                text.extend_from_slice(object);
                text.push(b'\n');
                // A gap is no message.
                left -= u64::from(object.starts_with(b"{\"topic\""));
            }
            one.advance(bytes);
            // Nobody reads any more: nothing is wrong.
            if out.write_all(&text).and_then(|()| out.flush()).is_err() || left == 0 {
                return Ok(());
            }
            if hub.subscriber(key).is_some_and(|one| one.is_behind() || one.waiting() > 0) {
                hub.has_room(key);
            }
        }
        let mut bell = libc::pollfd { fd: hub.follower().bell(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid descriptor, for the length of the call.
        unsafe { libc::poll(&raw mut bell, 1, NAP_MS) };
    }
}

fn hub(runtime: &Path) -> Result<Hub<()>, Failure> {
    let streams = Streams::open(runtime).map_err(|error| {
        Failure::new(error.to_string()).hint("nginx makes it when it starts, unless `weir_messages_zone` is off")
    })?;
    Hub::new(&Arc::new(streams), None).map_err(|error| Failure::new(error.to_string()))
}

/// The sets of topics that are configured.
fn sets(api: &Api) -> Result<Vec<TopicSet>, Failure> {
    let answer = api.get("/api/v1/topics")?;
    let set = |(id, item): (&String, &Value)| {
        let filters = match &item["topics"] {
            Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            one => one.as_str().map(str::to_owned).into_iter().collect(),
        };
        // Whoever asks here sees all that is in memory.
        let history =
            if item["history"].is_null() { Bounds::default() } else { Bounds { count: u32::MAX, age_ms: u64::MAX } };
        TopicSet { id: id.clone(), filters, history, max_message: usize::MAX, presence: false }
    };
    Ok(answer.as_object().into_iter().flatten().map(set).collect())
}

/// The set that is named, or the only one that has the topics.
fn choose<'s>(sets: &'s [TopicSet], named: Option<&str>, filter: &str) -> Result<&'s TopicSet, Failure> {
    if let Some(named) = named {
        let known = sets.iter().find(|set| set.id == named);
        return known
            .ok_or_else(|| Failure::new(format!("there are no topics `{named}`")).hint("see `weir get topics`"));
    }
    let wanted = TopicFilter::new(filter.as_bytes()).map_err(|error| Failure::new(format!("{filter}: {error}")))?;
    let covers = |known: &String| TopicFilter::new(known.as_bytes()).is_ok_and(|known| known.covers(wanted));
    let mut able = sets.iter().filter(|set| set.filters.iter().any(covers));
    match (able.next(), able.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Failure::new(format!("no topics have `{filter}`")).hint("see `weir get topics`")),
        (Some(one), Some(other)) => {
            let both = format!("`{filter}` is among the topics `{}` and `{}`", one.id, other.id);
            Err(Failure::new(both).hint("name one with --set"))
        }
    }
}

/// All of them, so that none loses its memory to another.
fn configure(hub: &mut Hub<()>, sets: &[TopicSet]) -> Result<(), Failure> {
    match hub.configure(sets, now_ms()).first() {
        None => Ok(()),
        Some(id) => Err(Failure::new(format!("no memory is left for the topics {id}"))),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
