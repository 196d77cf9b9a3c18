//! Messages for plugins written in C or Lua: the functions of `include/weir_bus.h`.
//!
//! Lua calls them through LuaJIT's FFI. A Lua subscriber waits on a semaphore of lua-nginx-module, and the wake of its
//! listener posts that: no callback into Lua, no polling.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use weir_messages::hub::{Refusal, To, Wake};
use weir_messages::listener::Delivery;

use super::state::{Connection, deliver_soon, with_hub};
use crate::{fault, ffi};

/// The version of the functions and of [`Message`]. It changes when an older plugin could not use them.
const ABI: c_int = 1;

/// Bytes that wait for a listener if it does not say.
const LIMIT: usize = 1 << 20;

/// A message as C sees it; its bytes stay until the next call of `weir_bus_next`.
#[repr(C)]
pub struct Message {
    topic: *const c_char,
    topic_len: usize,
    data: *const c_char,
    len: usize,
    id: u64,
    kind: u32,
}

type WakeFunction = unsafe extern "C" fn(*mut c_void);
type Hub = weir_messages::hub::Hub<Connection>;

thread_local! {
    /// Why the last call failed, with a NUL.
    static ERROR: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The message that a plugin is reading.
    static READING: RefCell<Option<Delivery>> = const { RefCell::new(None) };
}

/// Bytes of a plugin.
///
/// # Safety
/// `bytes` is null, or `length` bytes that stay for the call.
unsafe fn slice<'a>(bytes: *const c_char, length: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    if bytes.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(bytes.cast(), length) } }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "topics are UTF-8".to_owned())
}

/// Does something with the hub; -1 if it fails, and the reason is kept.
fn call(work: impl FnOnce(&mut Hub) -> Result<i64, String>) -> i64 {
    let done = fault::contain("a plugin's message", || {
        with_hub(work).unwrap_or_else(|| Err("this worker has no messages: see weir_messages_zone".to_owned()))
    });
    let reason = match done {
        Some(Ok(value)) => {
            deliver_soon();
            return value;
        }
        Some(Err(reason)) => reason,
        None => "a fault of Weir, see the error log".to_owned(),
    };
    ERROR.with_borrow_mut(|kept| {
        kept.clear();
        kept.extend(reason.bytes().filter(|byte| *byte != 0));
        kept.push(0);
    });
    -1
}

fn done<T>(result: Result<T, Refusal>, value: impl FnOnce(T) -> i64) -> Result<i64, String> {
    result.map(value).map_err(|refusal| refusal.to_string())
}

fn wake(function: Option<WakeFunction>, data: *mut c_void) -> Wake {
    match function {
        // SAFETY: the plugin promises that function and data stay until it closes the listener.
        Some(function) => Rc::new(move || unsafe { function(data) }),
        None => Rc::new(|| {}),
    }
}

fn limit(limit: usize) -> usize {
    if limit == 0 { LIMIT } else { limit }
}

/// The version of these functions.
#[unsafe(no_mangle)]
pub extern "C" fn weir_bus_abi() -> c_int {
    ABI
}

/// Why the last call that returned -1 failed.
#[unsafe(no_mangle)]
pub extern "C" fn weir_bus_error() -> *const c_char {
    ERROR.with_borrow(|kept| if kept.is_empty() { c"".as_ptr() } else { kept.as_ptr().cast() })
}

/// Publishes to all that listen to a topic.
///
/// # Safety
/// Pointers are valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_publish(
    topic: *const c_char,
    topic_len: usize,
    data: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let (topic, data) = unsafe { (slice(topic, topic_len), slice(data, len)) };
    call(|hub| done(hub.send(To::Topic(text(topic)?), data, ffi::now_ms()), |_| 0)) as c_int
}

/// Sends to the worker that owns a key.
///
/// # Safety
/// Pointers are valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_send_to_owner(
    key: *const c_char,
    key_len: usize,
    data: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let (key, data) = unsafe { (slice(key, key_len), slice(data, len)) };
    call(|hub| done(hub.send(To::Owner(key), data, ffi::now_ms()), |_| 0)) as c_int
}

/// Listens to topics; `group` may be null.
///
/// # Safety
/// Pointers are valid for their lengths; `wake_function` and its data until the listener is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_subscribe(
    filter: *const c_char,
    filter_len: usize,
    group: *const c_char,
    group_len: usize,
    limit_bytes: usize,
    wake_function: Option<WakeFunction>,
    data: *mut c_void,
) -> i64 {
    // SAFETY: as the caller promises.
    let (filter, group) = unsafe { (slice(filter, filter_len), (!group.is_null()).then(|| slice(group, group_len))) };
    call(|hub| {
        let group = group.map(text).transpose()?;
        done(hub.listen(text(filter)?, group, limit(limit_bytes), wake(wake_function, data)), |n| n as i64)
    })
}

/// Claims a key, and listens to what is sent to its owner.
///
/// # Safety
/// As of [`weir_bus_subscribe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_claim(
    key: *const c_char,
    key_len: usize,
    limit_bytes: usize,
    wake_function: Option<WakeFunction>,
    data: *mut c_void,
) -> i64 {
    // SAFETY: as the caller promises.
    let key = unsafe { slice(key, key_len) };
    call(|hub| done(hub.claim(key, limit(limit_bytes), wake(wake_function, data)), |n| n as i64))
}

/// Listens to questions to this worker on a topic.
///
/// # Safety
/// As of [`weir_bus_subscribe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_serve(
    topic: *const c_char,
    topic_len: usize,
    limit_bytes: usize,
    wake_function: Option<WakeFunction>,
    data: *mut c_void,
) -> i64 {
    // SAFETY: as the caller promises.
    let topic = unsafe { slice(topic, topic_len) };
    call(|hub| done(hub.listen_as_worker(text(topic)?, limit(limit_bytes), wake(wake_function, data)), |n| n as i64))
}

/// Asks those that listen to a topic (`worker` is -1 and `is_key` 0), the owner of a key, or a worker; the listener that
/// is returned gets the reply.
///
/// # Safety
/// As of [`weir_bus_subscribe`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_request(
    to: *const c_char,
    to_len: usize,
    is_key: c_int,
    worker: c_int,
    data: *const c_char,
    len: usize,
    wake_function: Option<WakeFunction>,
    wake_data: *mut c_void,
) -> i64 {
    // SAFETY: as the caller promises.
    let (to, data) = unsafe { (slice(to, to_len), slice(data, len)) };
    call(|hub| {
        let to = match (is_key != 0, u16::try_from(worker)) {
            (true, _) => To::Owner(to),
            (false, Ok(worker)) => To::Worker(worker, text(to)?),
            (false, Err(_)) => To::Topic(text(to)?),
        };
        done(hub.ask(to, data, LIMIT, wake(wake_function, wake_data), ffi::now_ms()), |n| n as i64)
    })
}

/// Replies to a question.
///
/// # Safety
/// Pointers are valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_reply(id: u64, data: *const c_char, len: usize) -> c_int {
    // SAFETY: as the caller promises.
    let data = unsafe { slice(data, len) };
    call(|hub| done(hub.answer(id, data, ffi::now_ms()), |_| 0)) as c_int
}

/// The next message of a listener: 1, or 0 if there is none.
///
/// # Safety
/// `message` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_next(listener: i64, message: *mut Message) -> c_int {
    let next = with_hub(|hub| hub.next_delivery(listener as u64)).flatten();
    READING.with_borrow_mut(|reading| {
        *reading = next;
        // SAFETY: as the caller promises.
        let (Some(delivery), Some(to)) = (reading, unsafe { message.as_mut() }) else { return 0 };
        to.topic = delivery.topic.as_ptr().cast();
        to.topic_len = delivery.topic.len();
        to.data = delivery.payload.as_ptr().cast();
        to.len = delivery.payload.len();
        to.id = if delivery.kind.is_question() { delivery.id } else { 0 };
        to.kind = delivery.kind as u32;
        1
    })
}

/// Messages that a listener has lost because it did not read.
#[unsafe(no_mangle)]
pub extern "C" fn weir_bus_dropped(listener: i64) -> u64 {
    with_hub(|hub| hub.dropped(listener as u64)).unwrap_or(0)
}

/// Stops listening, and gives a key up.
#[unsafe(no_mangle)]
pub extern "C" fn weir_bus_close(listener: i64) {
    with_hub(|hub| hub.unlisten(listener as u64));
}

/// Posts a semaphore of lua-nginx-module: the wake of Lua's listeners.
///
/// # Safety
/// `semaphore` is a live one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weir_bus_wake_lua(semaphore: *mut c_void) {
    type Post = unsafe extern "C" fn(*mut c_void, c_int);
    // SAFETY: the name is a C string. lua-nginx-module has the function of this type since 0.10.
    unsafe {
        let post = libc::dlsym(ptr::null_mut(), c"ngx_http_lua_ffi_sema_post".as_ptr());
        if !post.is_null() {
            std::mem::transmute::<*mut c_void, Post>(post)(semaphore, 1);
        }
    }
}
