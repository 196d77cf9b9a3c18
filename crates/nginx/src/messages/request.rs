//! Requests of clients to a route of messages: what they want, and how they get it.

use std::borrow::Cow;
use std::rc::Rc;

use nginx_sys::{ngx_http_core_loc_conf_t, ngx_http_core_module, ngx_http_request_t, ngx_tcp_nodelay};
use weir_engine::Response;
use weir_gateway::resource::{Messages, PathMatch, RouteAction};
use weir_http::header_hash;
use weir_messages::cursor::{Cursor, CursorError, Start};
use weir_messages::hub::{Hub, Key, Refusal};
use weir_messages::subscriber::Form;

use super::counters;
use super::delivery::{TICK_MS, arm, flush};
use super::rights::Rights;
use super::state::{Connection, key_of, with_hub};
use crate::gateway::Routed;
use crate::transaction::Inspection;
use crate::{fault, ffi, transaction};

/// How long a request that polls waits for a message.
const POLL_MS: u64 = 25_000;

/// What a client asks for.
pub struct Wanted {
    /// Topics or filters.
    pub topics: Vec<String>,
    pub start: Start,
    /// Who is connected to the topics, too.
    pub presence: bool,
    /// Objects with topic and data, rather than the data alone.
    pub is_json: bool,
}

/// The route's target, if it is this one.
pub fn target(routed: &Routed) -> Option<&Messages> {
    match &routed.route().action {
        RouteAction::Messages(messages) => Some(messages),
        RouteAction::Forward(_) | RouteAction::Redirect { .. } | RouteAction::Respond { .. } => None,
    }
}

/// Reads topics and position from path, query and header.
pub fn wanted(inspection: &Inspection, routed: &Rc<Routed>) -> Result<Wanted, Response> {
    let transaction = &inspection.transaction;
    let mut topics: Vec<String> = Vec::new();
    let mut since: Option<Cow<'_, str>> = None;
    let (mut format, mut presence) = (None, false);
    let text = |value| std::str::from_utf8(value).map_err(|_| problem(400, "the request is not UTF-8", None));
    if let Some(topic) = topic_in_path(routed, transaction.head.path) {
        topics.push(text(topic)?.to_owned());
    }
    for pair in transaction.arguments() {
        match pair.name {
            b"topic" => topics.push(text(pair.value)?.to_owned()),
            b"presence" => presence = true,
            b"since" => since = Some(text(pair.value)?.into()),
            b"format" => format = Some(text(pair.value)?),
            _ => {}
        }
    }
    // What a browser sends by itself when it comes back is newer than what its page has asked for.
    if let Some(last) =
        transaction.header(b"last-event-id", const { header_hash(b"last-event-id") }).filter(|last| !last.is_empty())
    {
        since = Some(text(last)?.into());
    }
    let start = since.as_deref().map_or(Ok(Start::Now), str::parse).map_err(|error: CursorError| {
        problem(400, &error.to_string(), Some("`since` is the id of the last message, or `oldest`"))
    })?;
    let is_one = topics.len() == 1 && !topics[0].contains(['+', '#']);
    let is_json = match format {
        None => !is_one,
        Some("json") => true,
        Some("raw") => false,
        Some(_) => return Err(problem(400, "there is no such format", Some("`format` is `json` or `raw`"))),
    };
    Ok(Wanted { topics, start, presence, is_json })
}

/// The topic behind the path of the route, decoded.
pub fn topic_in_path<'p>(routed: &Routed, path: &'p [u8]) -> Option<&'p [u8]> {
    let PathMatch::Prefix(prefix) = &routed.route().matches.path else { return None };
    let rest = path.get(prefix.trim_end_matches('/').len()..)?;
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    (!rest.is_empty()).then_some(rest)
}

/// Adds a subscriber for the request, with its topics.
///
/// # Safety
/// `r` is a live main request.
pub unsafe fn join(
    r: *mut ngx_http_request_t,
    routed: &Routed,
    form: Form,
    wanted: &Wanted,
) -> Result<(Key, Cursor), Refusal> {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(messages) = target(routed) else { return Err(Refusal::Unavailable) };
        let Some(inspection) = transaction::find(r) else { return Err(Refusal::Unavailable) };
        let rights = rights(&*inspection, messages);
        rights.may_subscribe(wanted.topics.iter().map(String::as_str))?;
        let now_ms = ffi::now_ms();
        let ping_ms = if form == Form::Poll { POLL_MS } else { messages.ping_ms };
        let owner = Connection {
            request: r,
            filtered: None,
            decoder: None,
            ping_ms,
            written_ms: now_ms,
            heard_ms: now_ms,
            blocked_ms: None,
            rights,
            max_topics: messages.max_connection_topics as usize,
            topics: messages.topics.as_str().into(),
            route: (routed.route().id.as_str().into(), routed.matched().route.digest()),
        };
        let most = owner.max_topics;
        let joined = with_hub(|hub| {
            let key = hub.join(&messages.topics, form, messages.buffer as usize, owner)?;
            let filters: Vec<&str> = wanted.topics.iter().map(String::as_str).collect();
            if let Some(identity) = &(*inspection).outcome.identity {
                hub.set_name(key, identity.consumer.id.as_str());
            }
            let watch = |hub: &mut Hub<Connection>| filters.iter().try_for_each(|topic| hub.watch(key, topic));
            let joined = hub.subscribe(key, &filters, wanted.start, false, most);
            match joined.and_then(|at| if wanted.presence { watch(hub).map(|()| at) } else { Ok(at) }) {
                Ok(at) => Ok((key, at)),
                Err(refusal) => {
                    hub.leave(key);
                    Err(refusal)
                }
            }
        });
        let (key, at) = joined.unwrap_or(Err(Refusal::Unavailable))?;
        (*inspection).subscriber = Some(key);
        if ffi::keep((*r).pool, Ticket(key)).is_none() {
            with_hub(|hub| hub.leave(key));
            return Err(Refusal::Unavailable);
        }
        arm(TICK_MS);
        send_at_once(r);
        Ok((key, at))
    }
}

/// Has small frames leave at once, unless `tcp_nodelay off`. Otherwise the kernel holds a frame back until the client has
/// acknowledged the one before, and a client that sends, too, delays that by 40 ms.
///
/// # Safety
/// `r` is a live main request.
unsafe fn send_at_once(r: *mut ngx_http_request_t) {
    // SAFETY: as the caller promises. nginx says in its log if it cannot be set; frames are then sent nevertheless.
    unsafe {
        let core = (*(*r).loc_conf.add(ngx_http_core_module.ctx_index)).cast::<ngx_http_core_loc_conf_t>();
        if (*core).tcp_nodelay != 0 {
            ngx_tcp_nodelay((*r).connection);
        }
    }
}

/// Removes the subscriber when its request ends, however it does.
struct Ticket(Key);

impl Drop for Ticket {
    fn drop(&mut self) {
        with_hub(|hub| hub.leave(self.0));
    }
}

pub unsafe extern "C" fn can_write(r: *mut ngx_http_request_t) {
    // SAFETY: nginx calls it with a live request.
    unsafe {
        fault::contain("messages", || {
            if let Some(key) = key_of(r) {
                with_hub(|hub| hub.has_room(key));
                flush();
            }
        });
    }
}

/// What the client may do whose request this is.
pub fn rights(inspection: &Inspection, messages: &Messages) -> Rights {
    let plan = inspection.placed.as_ref().map(|placed| &*placed.plan);
    Rights::of(&inspection.outcome.topics, plan, messages)
}

/// An answer that says what is wrong.
pub fn problem(status: u16, detail: &str, hint: Option<&str>) -> Response {
    let mut object = serde_json::json!({"status": status, "error": detail});
    if let Some(hint) = hint {
        object["hint"] = hint.into();
    }
    let body = format!("{object}\n").into_bytes();
    Response { status, body, content_type: b"application/json".to_vec(), headers: Vec::new() }
}

/// Whether the page that sends the request is of the same host, or of an origin that is listed. What is not a browser sends
/// none.
pub fn is_own_origin(inspection: &Inspection, origins: &[String]) -> bool {
    let mut sent = inspection.transaction.header_values(b"origin", const { header_hash(b"origin") });
    let (Some(origin), None) = (sent.next(), sent.next()) else {
        return inspection.transaction.header(b"origin", const { header_hash(b"origin") }).is_none();
    };
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let origin = origin.trim().to_ascii_lowercase();
    let head = &inspection.transaction.head;
    // The field has the port, which the host that nginx selects a server by has not.
    let host = inspection.transaction.header(b"host", const { header_hash(b"host") }).unwrap_or(head.host);
    let scheme = if head.tls.is_some() { "https" } else { "http" };
    let own = format!("{scheme}://{}", String::from_utf8_lossy(host).to_ascii_lowercase());
    let is_listed = origins.iter().any(|known| *known == origin || known == "*");
    let default_port = if head.tls.is_some() { ":443" } else { ":80" };
    is_listed || origin == own || own.strip_suffix(default_port) == Some(&*origin)
}

/// The answer to a page of another site. Browsers let it connect and send forms, with cookies and client certificates.
pub fn foreign_page() -> Response {
    let hint = "list the origin of the page in `origins` of the route";
    problem(403, "pages of this origin may not use these topics", Some(hint))
}

pub fn no_topic() -> Response {
    problem(400, "the request names no topic", Some("name it behind the path of the route, or as `?topic=`"))
}

/// The answer to a request that the hub refuses.
pub fn refused(refusal: &Refusal, routed: &Routed) -> Response {
    target(routed).into_iter().for_each(|messages| counters::refused(&messages.topics));
    let status = match refusal {
        Refusal::Unavailable | Refusal::TooSlow | Refusal::Full(_) | Refusal::NoOwner | Refusal::NoWorker => 503,
        Refusal::Topic(_) | Refusal::TooMany(_) | Refusal::Key | Refusal::Begun => 400,
        Refusal::Taken => 409,
        Refusal::Foreign(_) | Refusal::Forbidden(_) | Refusal::NoPresence | Refusal::NotHere | Refusal::Uninspected => {
            403
        }
        Refusal::TooFast { .. } | Refusal::Joins(_) => 429,
        Refusal::TooLong(_) => 413,
    };
    problem(status, &refusal.to_string(), refusal.hint())
}
