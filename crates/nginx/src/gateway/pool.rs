//! Idle connections to members, kept for the next request: on unless an upstream switches it off.
//!
//! nginx's keepalive module belongs to an `upstream` block, of which a live configuration has none; it
//! also looks through all idle connections for a fitting one, with a limit that all servers share.
//! Here connections wait in a group for each member, address and TLS identity: taking and putting
//! are O(1), whatever the number of members, and limits are the member's own. A member that is gone
//! takes its idle connections with it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use nginx_sys::{
    ngx_add_timer, ngx_close_connection, ngx_connection_t, ngx_del_timer, ngx_destroy_pool, ngx_event_t,
    ngx_handle_read_event, ngx_log_t, ngx_msec_t,
};
use weir_gateway::MemberState;
use weir_gateway::resource::KeepAlive;

use super::upstream_tls;
use crate::{fault, ffi, live, worker};

/// Delay between a change and the closing of idle connections to removed members. Changes may come by the thousand.
const SWEEP_MS: ngx_msec_t = 1000;

/// Connections with the same key are interchangeable.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// `Member::identity`, which no other server ever has.
    pub member: u64,
    /// The member's address; `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    /// Identity of the TLS configuration; 0 without TLS.
    pub tls: u64,
}

/// Idle connections that are interchangeable, the last used at the end.
struct Group {
    idle: RefCell<Vec<*mut ngx_connection_t>>,
    /// Dead when the member has been removed.
    state: Weak<MemberState>,
}

struct Pool {
    groups: RefCell<Option<HashMap<PoolKey, Rc<Group>, foldhash::fast::FixedState>>>,
    sweeping: RefCell<Option<*mut ngx_event_t>>,
}

// SAFETY: one thread per process ever touches it, as all of a worker's state.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool { groups: RefCell::new(None), sweeping: RefCell::new(None) };

/// Takes the connection that was put last.
///
/// # Safety
/// `log` lives as long as the request that takes it.
pub unsafe fn take(key: &PoolKey, log: *mut ngx_log_t) -> Option<*mut ngx_connection_t> {
    let group = POOL.groups.borrow().as_ref()?.get(key).cloned()?;
    let connection = group.idle.borrow_mut().pop()?;
    // SAFETY: an idle connection of ours; what its handler refers to is set anew by nginx.
    unsafe {
        (*connection).set_idle(0);
        (*connection).sent = 0;
        (*connection).data = std::ptr::null_mut();
        set_log(connection, log);
        if (*(*connection).read).timer_set() != 0 {
            ngx_del_timer((*connection).read);
        }
    }
    Some(connection)
}

/// Keeps a connection, which the caller forgets. It has been used well, and nothing is to come on it.
///
/// # Safety
/// `connection` is live and has a pool of its own; no request uses it any more.
pub unsafe fn put(key: PoolKey, state: &Rc<MemberState>, limits: &KeepAlive, connection: *mut ngx_connection_t) {
    let group = {
        let mut groups = POOL.groups.borrow_mut();
        let groups = groups.get_or_insert_with(HashMap::default);
        let group = || Rc::new(Group { idle: RefCell::new(Vec::new()), state: Rc::downgrade(state) });
        Rc::clone(groups.entry(key).or_insert_with(group))
    };
    let oldest = {
        let mut idle = group.idle.borrow_mut();
        // The one that has waited longest is in front; the order of the others hardly matters.
        let full = idle.len() >= limits.connections.max(1) as usize;
        let oldest = full.then(|| idle.swap_remove(0));
        idle.push(connection);
        oldest
    };
    // SAFETY: as the caller promises; the group stays in the map as long as it has connections.
    unsafe {
        if let Some(oldest) = oldest {
            close(oldest);
        }
        let (read, write) = ((*connection).read, (*connection).write);
        (*read).set_delayed(0);
        ngx_add_timer(read, limits.idle_ms as ngx_msec_t);
        if (*write).timer_set() != 0 {
            ngx_del_timer(write);
        }
        (*write).handler = Some(nothing);
        (*read).handler = Some(on_read);
        (*connection).data = Rc::as_ptr(&group).cast_mut().cast();
        (*connection).set_idle(1); // nginx closes idle ones, by their read handler, when a worker ends
        set_log(connection, (*worker::cycle()).log);
        if (*read).ready() != 0 {
            on_read(read);
        }
    }
}

unsafe fn set_log(connection: *mut ngx_connection_t, log: *mut ngx_log_t) {
    // SAFETY: a live connection with a pool of its own.
    unsafe {
        (*connection).log = log;
        (*(*connection).read).log = log;
        (*(*connection).write).log = log;
        (*(*connection).pool).log = log;
    }
}

unsafe extern "C" fn nothing(_: *mut ngx_event_t) {}

/// The member has closed the connection or sent unrequested bytes, it waited too long, or the worker ends.
unsafe extern "C" fn on_read(event: *mut ngx_event_t) {
    fault::contain("idle connection", || {
        // SAFETY: set by `put`; the group is in the map.
        unsafe {
            let connection = (*event).data.cast::<ngx_connection_t>();
            if (*connection).close() == 0 && (*event).timedout() == 0 && is_quiet(connection) {
                (*event).set_ready(0);
                if ngx_handle_read_event(event, 0) == ffi::code::OK {
                    return;
                }
            }
            let group = &*(*connection).data.cast::<Group>();
            let place = group.idle.borrow().iter().position(|idle| *idle == connection);
            if let Some(place) = place {
                group.idle.borrow_mut().swap_remove(place);
            }
            close(connection);
        }
    });
}

/// Whether there is nothing to read, not even an end.
unsafe fn is_quiet(connection: *const ngx_connection_t) -> bool {
    let mut byte = 0_u8;
    // SAFETY: a live socket; one byte of room.
    let read = unsafe { libc::recv((*connection).fd, (&raw mut byte).cast(), 1, libc::MSG_PEEK) };
    read == -1 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock
}

/// Closes a connection that is in no group.
unsafe extern "C" fn close(connection: *mut ngx_connection_t) {
    // SAFETY: a live connection with a pool of its own, which is no longer in use.
    unsafe {
        #[cfg(ngx_feature = "http_ssl")]
        if let Some(ssl) = (*connection).ssl.as_mut() {
            ssl.set_no_wait_shutdown(1);
            ssl.set_no_send_shutdown(1);
            if nginx_sys::ngx_ssl_shutdown(connection) == ffi::code::AGAIN {
                (*(*connection).ssl).handler = Some(close);
                return;
            }
        }
        ngx_destroy_pool((*connection).pool);
        ngx_close_connection(connection);
    }
}

/// The live configuration has changed: soon, what was kept for members and certificates that are gone is dropped.
pub fn sweep_soon() {
    let event = *POOL.sweeping.borrow_mut().get_or_insert_with(|| {
        // SAFETY: ngx_event_t is plain data, and nginx's own begin as zeros; the event is leaked.
        let event: &'static mut ngx_event_t = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
        event.handler = Some(sweep);
        // With `error_log ... debug`, nginx reads what it takes for a connection's number behind this pointer.
        event.data = (&raw mut *event).cast();
        event.set_cancelable(1);
        event
    });
    // SAFETY: made above; the cycle has a log.
    unsafe {
        if (*event).timer_set() == 0 {
            (*event).log = (*worker::cycle()).log;
            ngx_add_timer(event, SWEEP_MS);
        }
    }
}

unsafe extern "C" fn sweep(_: *mut ngx_event_t) {
    fault::contain("idle connections", || {
        let mut gone = Vec::new();
        if let Some(groups) = POOL.groups.borrow_mut().as_mut() {
            groups.retain(|_, group| {
                let stays = group.state.strong_count() > 0;
                if !stays {
                    gone.append(&mut group.idle.borrow_mut());
                }
                stays
            });
        }
        #[cfg(ngx_feature = "http_ssl")]
        super::certificate::sweep();
        if let Some(live) = live::current() {
            upstream_tls::sweep(&live.gateway);
            #[cfg(ngx_feature = "http_ssl")]
            super::client_tls::sweep(&live.gateway);
        }
        // SAFETY: they were in a group until now.
        gone.into_iter().for_each(|connection| unsafe { close(connection) });
    });
}
