//! Members that are out for a while, and the timer that takes them back in.
//!
//! A member is taken out in what is served and in the draft beside it; taking it out is a change of
//! the gateway like any other, only without a revision.

use std::cell::{Cell, RefCell};
use std::ptr;

use nginx_sys::{ngx_add_timer, ngx_del_timer, ngx_event_t, ngx_msec_t};

use super::WORKER;
use crate::{fault, ffi, worker};

/// Members that may be out at a time; a worker that meets more leaves them in.
const MAX_OUT: usize = 10_000;

struct Out {
    upstream: Box<str>,
    member: Box<str>,
    until_ms: u64,
}

struct State {
    out: RefCell<Vec<Out>>,
    timer: Cell<*mut ngx_event_t>,
}

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for State {}

static STATE: State = State { out: RefCell::new(Vec::new()), timer: Cell::new(ptr::null_mut()) };

/// Takes a member out until `until_ms`, in this worker. One that is not there, or the last one that
/// is available, stays.
pub fn add(upstream: &str, member: &str, until_ms: u64) {
    let mut out = STATE.out.borrow_mut();
    let known = out.iter().position(|one| *one.upstream == *upstream && *one.member == *member);
    if known.is_none() && out.len() >= MAX_OUT {
        return;
    }
    let mut taken = false;
    if let Some(follower) = WORKER.follower.borrow_mut().as_mut() {
        follower.each(&mut |gateway| taken |= gateway.eject(upstream, member, until_ms));
    }
    if !taken {
        return;
    }
    match known {
        Some(place) => out[place].until_ms = until_ms,
        None => out.push(Out { upstream: upstream.into(), member: member.into(), until_ms }),
    }
    arm(&out);
}

/// Takes those back in whose time is over.
fn readmit() {
    let now = ffi::now_ms();
    let mut out = STATE.out.borrow_mut();
    let mut follower = WORKER.follower.borrow_mut();
    out.retain(|one| {
        if one.until_ms > now {
            return true;
        }
        if let Some(follower) = follower.as_mut() {
            follower.each(&mut |gateway| {
                gateway.readmit(&one.upstream, &one.member); // it may be gone by now
            });
        }
        false
    });
    arm(&out);
}

/// Sets the timer for who comes next.
fn arm(out: &[Out]) {
    let timer = timer();
    // SAFETY: the event is leaked; workers are single-threaded.
    unsafe {
        if (*timer).timer_set() != 0 {
            ngx_del_timer(timer);
        }
        if let Some(until_ms) = out.iter().map(|one| one.until_ms).min() {
            ngx_add_timer(timer, until_ms.saturating_sub(ffi::now_ms()).max(1) as ngx_msec_t);
        }
    }
}

fn timer() -> *mut ngx_event_t {
    if STATE.timer.get().is_null() {
        // SAFETY: ngx_event_t is plain data, and nginx's own begin as zeros; the event is leaked.
        unsafe {
            let event: *mut ngx_event_t = Box::leak(Box::new(std::mem::zeroed()));
            (*event).handler = Some(due);
            (*event).data = event.cast();
            (*event).log = (*worker::cycle()).log;
            (*event).set_cancelable(1);
            STATE.timer.set(event);
        }
    }
    STATE.timer.get()
}

unsafe extern "C" fn due(_: *mut ngx_event_t) {
    fault::contain("taking members back in", readmit);
}
