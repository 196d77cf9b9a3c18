//! The bell in nginx's event loop: a descriptor in its epoll set, as the channel is through which the
//! master talks to workers. A worker that sleeps wakes at once; nothing here is done by timers.

use std::os::fd::RawFd;

use nginx_sys::{NGX_LEVEL_EVENT, ngx_cycle_t, ngx_event_actions, ngx_event_t, ngx_get_connection, ngx_int_t};

use crate::{fault, ffi};

/// nginx's NGX_READ_EVENT, which bindgen does not see through: what it is wherever there is epoll.
const READ_EVENT: ngx_int_t = (libc::EPOLLIN | libc::EPOLLRDHUP) as ngx_int_t;

/// Has nginx call a handler whenever the bell has been rung.
///
/// # Safety
/// `cycle` is complete and this process will serve it; `bell` stays open until the process ends.
pub unsafe fn install(
    cycle: *mut ngx_cycle_t,
    bell: RawFd,
    handler: unsafe extern "C" fn(*mut ngx_event_t),
) -> Option<()> {
    // SAFETY: as the caller promises; nginx's event module has been initialised before us.
    unsafe {
        let connection = ngx_get_connection(bell, (*cycle).log);
        if connection.is_null() {
            return None;
        }
        (*connection).pool = (*cycle).pool;
        let event = (*connection).read;
        (*event).log = (*cycle).log;
        (*event).set_channel(1); // not a client: nginx neither waits for it nor complains about it at its end
        (*event).handler = Some(handler);
        let add = ngx_event_actions.add?;
        // Level-triggered: whatever is left in the bell wakes us again.
        (add(event, READ_EVENT, NGX_LEVEL_EVENT as usize) == ffi::code::OK).then_some(())
    }
}

pub unsafe extern "C" fn rung(_: *mut ngx_event_t) {
    fault::contain("a change", super::rung);
}
