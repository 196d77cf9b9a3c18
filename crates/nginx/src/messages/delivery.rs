//! What was published, on its way to subscribers: read, written, and what happens to connections once a second.

use nginx_sys::{ngx_add_timer, ngx_event_t, ngx_msec_t};
use weir_messages::hub::{Key, Rest, chunked};
use weir_messages::sse::{self, KEEP_ALIVE};
use weir_messages::subscriber::Form;
use weir_messages::websocket::{Opcode, encode};

use super::connection::{self, Ending, Written};
use super::counters;
use super::state::{STATE, with_hub};
use crate::{fault, ffi, worker};

/// How often silent connections are looked for.
pub const TICK_MS: ngx_msec_t = 1000;

/// Connections that a worker which ends closes at a time, so that its other requests get their turn.
const CLOSED_AT_ONCE: usize = 256;

/// The time until it closes more of them.
const CLOSING_MS: ngx_msec_t = 10;

/// Clients of a worker that ends come back within so many milliseconds, each at a time of its own.
const RECONNECT_MS: u64 = 5000;

/// How long a connection may not take anything: as long as nginx's `send_timeout` by default.
const BLOCKED_MS: u64 = 60_000;

/// The bell has rung.
pub unsafe extern "C" fn rung(_: *mut ngx_event_t) {
    fault::contain("messages", deliver);
}

/// This worker has published something itself.
pub unsafe extern "C" fn delivered(_: *mut ngx_event_t) {
    fault::contain("messages", deliver);
}

/// Reads what was published and writes it to subscribers.
fn deliver() {
    let rest = counters::timed(|| with_hub(|hub| hub.receive(ffi::now_ms())));
    let wakes = with_hub(weir_messages::hub::Hub::take_wakes).unwrap_or_default();
    wakes.iter().for_each(|wake| wake());
    counters::timed(flush);
    match rest {
        Some(Rest::More) => _ = with_hub(|hub| hub.follower().wake_self()),
        Some(Rest::Later(ms)) => {
            // SAFETY: the event is leaked.
            unsafe {
                if (*STATE.later.get()).timer_set() == 0 {
                    ngx_add_timer(STATE.later.get(), ms as ngx_msec_t);
                }
            }
        }
        Some(Rest::Nothing) | None => {}
    }
}

/// Writes to all subscribers that have something to be written.
pub fn flush() {
    let now_ms = ffi::now_ms();
    // One that is behind is due again and again, as long as it takes what it is given.
    let mut most = with_hub(|hub| hub.len()).unwrap_or(0) + CLOSED_AT_ONCE;
    while let Some(key) = with_hub(|hub| hub.next_due(now_ms)).flatten() {
        flush_one(key, now_ms);
        most -= 1;
        if most == 0 {
            with_hub(|hub| hub.follower().wake_self());
            break;
        }
    }
}

/// Writes to one subscriber.
fn flush_one(key: Key, now_ms: u64) {
    let ending = with_hub(|hub| {
        let one = hub.subscriber(key)?;
        if let Some(leaving) = one.leaving() {
            return Some(Ending::from(leaving));
        }
        if one.form() == Form::Poll {
            return (one.waiting() > 0).then_some(Ending::Said(0, "".into()));
        }
        let before = one.waiting();
        // SAFETY: a request whose subscriber is there is live.
        let written = unsafe { connection::write(one) };
        if one.waiting() < before {
            one.owner.written_ms = now_ms;
            one.owner.blocked_ms = None;
        }
        match written {
            Written::Broken => return Some(Ending::Broken),
            Written::Blocked => _ = one.owner.blocked_ms.get_or_insert(now_ms),
            Written::All if one.is_behind() => hub.has_room(key),
            Written::All => one.owner.blocked_ms = None,
        }
        None
    });
    if let Some(ending) = ending.flatten() {
        // SAFETY: nothing is borrowed.
        unsafe { connection::close(key, ending) };
    }
}

/// Starts the timer, which keeps a worker that is to end until its subscribers are gone.
pub fn arm(after_ms: ngx_msec_t) {
    let tick = STATE.tick.get();
    // SAFETY: the event is leaked.
    unsafe {
        if !tick.is_null() && (*tick).timer_set() == 0 {
            ngx_add_timer(tick, after_ms);
        }
    }
}

/// When a client is to come back: each at a time of its own.
pub fn reconnect_ms() -> u64 {
    RECONNECT_MS / 10 + worker::random()[0] % RECONNECT_MS
}

/// A second is over.
pub unsafe extern "C" fn ticked(_: *mut ngx_event_t) {
    fault::contain("messages", || {
        // SAFETY: nginx's own flag, set in its only thread.
        let is_ending = unsafe { nginx_sys::ngx_exiting } != 0;
        let now_ms = ffi::now_ms();
        let keys: Vec<Key> = with_hub(|hub| hub.keys().collect()).unwrap_or_default();
        if is_ending {
            for key in keys.into_iter().take(CLOSED_AT_ONCE) {
                // SAFETY: nothing is borrowed.
                unsafe { connection::close(key, Ending::Reconnect(reconnect_ms())) };
            }
        } else {
            keys.into_iter().for_each(|key| look_after(key, now_ms));
            deliver();
        }
        if with_hub(|hub| !hub.is_empty()).unwrap_or(false) {
            arm(if is_ending { CLOSING_MS } else { TICK_MS });
        }
    });
}

/// Keeps a silent connection alive, and ends a dead one.
fn look_after(key: Key, now_ms: u64) {
    let ending = with_hub(|hub| {
        let one = hub.subscriber(key)?;
        let (form, is_behind, owner) = (one.form(), one.is_behind(), &one.owner);
        if owner.blocked_ms.is_some_and(|since| now_ms.saturating_sub(since) > BLOCKED_MS) {
            return Some(Ending::Broken);
        }
        let is_silent = now_ms.saturating_sub(owner.written_ms) >= owner.ping_ms;
        match form {
            Form::WebSocket if now_ms.saturating_sub(owner.heard_ms) > 3 * owner.ping_ms => {
                return Some(Ending::Said(1001, "nothing was heard of the client".into()));
            }
            Form::Poll if is_silent => return Some(Ending::Said(0, "".into())),
            Form::WebSocket if is_silent => hub.say(key, encode(Opcode::Ping, 0).to_vec()),
            Form::Events { is_chunked, .. } if is_silent => {
                let mut sign = Vec::new();
                match hub.cursor(key).filter(|_| !is_behind) {
                    Some(cursor) => sse::at(cursor, &mut sign),
                    None => sign.extend_from_slice(KEEP_ALIVE),
                }
                hub.say(key, chunked(is_chunked, sign));
            }
            _ => {}
        }
        None
    });
    if let Some(ending) = ending.flatten() {
        // SAFETY: nothing is borrowed.
        unsafe { connection::close(key, ending) };
    }
}
