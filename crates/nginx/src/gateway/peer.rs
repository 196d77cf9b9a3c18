//! The balancer: nginx's upstream machinery asks it which member to try, and tells it how that went.
//!
//! nginx reads timeouts, retries and TLS from the location's configuration of the proxy module.
//! A route's are its own, so each request gets a copy of that structure (some 500 bytes in its
//! pool) with the few fields changed; locations with each combination of values, the alternative,
//! would need a reload.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;

use nginx_sys::{
    NGX_PEER_FAILED, ngx_conf_t, ngx_connection_t, ngx_handle_read_event, ngx_http_request_t,
    ngx_http_upstream_srv_conf_t, ngx_http_upstream_t, ngx_int_t, ngx_palloc, ngx_peer_connection_t,
    ngx_pool_cleanup_add, ngx_str_t, ngx_uint_t,
};
use weir_gateway::resource::{HostHeader, Protocol};
use weir_gateway::{Member, Outcome, Upstream, host_name};

use super::exchange::{self, Address};
use super::routed::{self, Routed};
use super::{conf, pool, upstream_tls};
use crate::{fault, ffi, live, note, worker};

/// Most tries of one request, whatever the route says.
pub const MAX_TRIES: usize = 16;

/// The balancer's state for one request to an upstream. Lives in the request's pool. What changes is in cells: nginx
/// calls back while a method runs (a request that is made anew reads variables), and refers to the address meanwhile.
struct Peer {
    request: *mut ngx_http_request_t,
    upstream: Rc<Upstream>,
    routed: Rc<Routed>,
    /// Whether it is a copy for a mirror, about which the request itself hears nothing.
    is_copy: bool,
    tls: Option<Rc<upstream_tls::Context>>,
    /// Members that failed, by identity.
    tried: Cell<[u64; MAX_TRIES]>,
    tries: Cell<usize>,
    /// Idle connections are passed over after one has turned out to be dead.
    only_fresh: Cell<bool>,
    current: Cell<Option<Attempt>>,
    /// The member to try next, chosen when a try failed: if there is none, the client gets that failure.
    next: Cell<Option<Rc<Member>>>,
    address: RefCell<Address>,
}

/// A try that is under way.
struct Attempt {
    member: Rc<Member>,
    key: pool::PoolKey,
    began: u64,
}

/// nginx's `init_upstream`, at start.
pub unsafe extern "C" fn init_upstream(_: *mut ngx_conf_t, upstream: *mut ngx_http_upstream_srv_conf_t) -> ngx_int_t {
    // SAFETY: nginx passes an upstream whose name is ours.
    unsafe { (*upstream).peer.init = Some(init) };
    ffi::code::OK
}

/// nginx's `peer.init`, for each request.
unsafe extern "C" fn init(r: *mut ngx_http_request_t, _: *mut ngx_http_upstream_srv_conf_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request that has an upstream.
    let made = fault::contain("balancer", || unsafe { begin(r) });
    if made.flatten().is_some() { ffi::code::OK } else { ffi::code::ERROR }
}

unsafe fn begin(r: *mut ngx_http_request_t) -> Option<()> {
    // SAFETY: as for `init`; a cleanup's data has room for what was asked for, aligned for pointers.
    unsafe {
        let Some(routed) = routed::of(r) else {
            note!((*(*r).connection).log, Error, "weir: a request for \"weir_gateway\" has not been routed");
            return None;
        };
        let is_copy = r != (*r).main;
        let upstream = Rc::clone(if is_copy { routed.mirror.get()? } else { routed.upstream()? });
        let u = (*r).upstream;
        let tls = match upstream.spec().protocol {
            Protocol::Http | Protocol::Grpc => None,
            Protocol::Https | Protocol::Grpcs => Some(upstream_tls::context(r, &upstream, routed.live())?),
        };
        (*u).conf = conf::adapt(r, &routed, is_copy, tls.as_deref())?;
        (*u).peer.tries = conf::tries(&routed, is_copy).min(upstream.members().len());
        let cleanup = ngx_pool_cleanup_add((*r).pool, size_of::<Peer>());
        if cleanup.is_null() {
            return None;
        }
        let peer = (*cleanup).data.cast::<Peer>();
        peer.write(Peer {
            request: r,
            upstream,
            routed,
            is_copy,
            tls,
            tried: Cell::new([0; MAX_TRIES]),
            tries: Cell::new(0),
            only_fresh: Cell::new(false),
            current: Cell::new(None),
            next: Cell::new(None),
            address: RefCell::default(),
        });
        (*cleanup).handler = Some(drop_peer);
        (*u).peer.data = peer.cast();
        (*u).peer.get = Some(get);
        (*u).peer.free = Some(free);
        Some(())
    }
}

unsafe extern "C" fn drop_peer(data: *mut c_void) {
    // SAFETY: data is the Peer of `begin`; pools run each cleanup once.
    fault::contain("request end", || unsafe { data.cast::<Peer>().drop_in_place() });
}

/// nginx's `peer.get`: which member to try.
unsafe extern "C" fn get(pc: *mut ngx_peer_connection_t, data: *mut c_void) -> ngx_int_t {
    // SAFETY: nginx passes what `begin` set.
    fault::contain("balancer", || unsafe { (*data.cast::<Peer>()).next(pc) }).unwrap_or(ffi::code::ERROR)
}

/// nginx's `peer.free`: how it went.
unsafe extern "C" fn free(pc: *mut ngx_peer_connection_t, data: *mut c_void, state: ngx_uint_t) {
    // SAFETY: as for `get`.
    fault::contain("balancer", || unsafe { (*data.cast::<Peer>()).ended(pc, state) });
}

impl Peer {
    unsafe fn next(&self, pc: *mut ngx_peer_connection_t) -> ngx_int_t {
        let random = worker::random();
        let Some(member) = self.choose(random[0]) else { return ffi::code::BUSY };
        let Some(address) = self.address.borrow_mut().set(&member, random[1]) else { return ffi::code::BUSY };
        // SAFETY: the request is live as long as its upstream is asked for members, and `pc` is part of that; nginx
        // reads the address only, which changes with the next try.
        unsafe {
            let Some(name) = self.name(&member) else { return ffi::code::ERROR };
            (*pc).sockaddr = Address::pointer(self.address.as_ptr());
            (*pc).socklen = self.address.borrow().length();
            (*pc).name = name;
            (*pc).connection = std::ptr::null_mut();
            (*pc).set_cached(0);
            let tls = self.tls.as_ref().map_or(0, |tls| tls.identity());
            let key = pool::PoolKey { member: member.identity(), address, tls };
            member.state().begin();
            self.current.set(Some(Attempt { member: Rc::clone(&member), key, began: worker::ticks() }));
            if !self.is_copy {
                *self.routed.member.borrow_mut() = Some(Rc::clone(&member));
            }
            if self.tls.is_some() && self.name_for_tls(&member).is_none() {
                return ffi::code::ERROR;
            }
            if self.tries.get() > 0 && self.name_in_request(&member).is_none() {
                return ffi::code::ERROR;
            }
            if self.only_fresh.get() || self.upstream.spec().keepalive.is_none() {
                return ffi::code::OK;
            }
            let Some(connection) = pool::take(&key, (*pc).log) else { return ffi::code::OK };
            (*pc).connection = connection;
            (*pc).set_cached(1);
            ffi::code::DONE
        }
    }

    fn choose(&self, random: u64) -> Option<Rc<Member>> {
        let named = if self.is_copy { None } else { self.routed.chosen.take() };
        named.or_else(|| self.next.take()).or_else(|| self.pick(random))
    }

    fn pick(&self, random: u64) -> Option<Rc<Member>> {
        exchange::pick(
            &self.upstream,
            self.routed.key.filter(|_| !self.is_copy),
            random,
            &self.tried.get()[..self.tries.get()],
        )
    }

    /// The member's name in logs; it has to last as long as the request.
    unsafe fn name(&self, member: &Member) -> Option<*mut ngx_str_t> {
        // SAFETY: as for `next`.
        unsafe {
            let pool = (*self.request).pool;
            let name = ngx_palloc(pool, size_of::<ngx_str_t>()).cast::<ngx_str_t>();
            if name.is_null() {
                return None;
            }
            name.write(self.address.borrow().name(pool, member)?);
            Some(name)
        }
    }

    /// The name that TLS asks for and verifies: the upstream's, else that of the member's address.
    unsafe fn name_for_tls(&self, member: &Member) -> Option<()> {
        let configured = self.upstream.spec().tls.server_name.as_deref();
        let name = configured.unwrap_or_else(|| host_name(&member.spec().address));
        // SAFETY: as for `next`.
        unsafe { self.tls.as_ref()?.set_name(self.request, name.as_bytes()) }
    }

    /// A request that names its member in `Host` is written anew for another one; `None` if that fails.
    unsafe fn name_in_request(&self, member: &Rc<Member>) -> Option<()> {
        if self.is_copy || self.upstream.spec().host != HostHeader::Member {
            return Some(());
        }
        // SAFETY: as for `next`. nginx's proxy makes the request from these parts only, and copies what it changes of
        // the body's buffers; with a request that is sent while it is read nginx tries no other member.
        unsafe {
            let r = self.request;
            let u = (*r).upstream;
            if (*u).pipe.is_null() {
                return Some(()); // gRPC keeps a state of the request that cannot be begun again
            }
            *self.routed.chosen.borrow_mut() = Some(Rc::clone(member));
            (*u).request_bufs = (*r).request_body.as_ref().map_or(std::ptr::null_mut(), |body| body.bufs);
            let made = (*u).create_request.map(|create| create(r));
            self.routed.chosen.take();
            (made == Some(ffi::code::OK)).then_some(())
        }
    }

    unsafe fn ended(&self, pc: *mut ngx_peer_connection_t, state: ngx_uint_t) {
        let Some(exchange) = self.current.take() else { return };
        let failed = state & NGX_PEER_FAILED as ngx_uint_t != 0;
        // SAFETY: the upstream, of which `pc` is part, is live until its end; nginx makes the state before it asks for
        // a member; a connection is null or live.
        unsafe {
            let u = (*self.request).upstream;
            let header_ms = (*(*u).state).header_time;
            let answered = header_ms != usize::MAX;
            // A member may close an idle connection while we are about to use it: not a failure, and
            // nginx gives the try back.
            let stale = failed && (*pc).cached() != 0 && !answered && !has_timed_out((*pc).connection);
            let outcome = match (failed, answered) {
                _ if stale => Outcome::Unknown,
                (true, _) => Outcome::Failure,
                (false, true) => Outcome::Success,
                (false, false) => Outcome::Unknown,
            };
            self.book(&exchange, outcome, header_ms);
            self.only_fresh.set(self.only_fresh.get() | stale);
            if state != 0 {
                (*pc).tries = (*pc).tries.saturating_sub(1);
                if !stale && !self.set_aside(&exchange.member, (*pc).tries > 0) {
                    (*pc).tries = 0;
                }
            } else if let Some(limits) = self.upstream.spec().keepalive
                && is_reusable((*pc).connection, u, limits.requests)
            {
                // nginx forgets the connection.
                pool::put(exchange.key, exchange.member.state(), &limits, (*pc).connection);
                (*pc).connection = std::ptr::null_mut();
            }
        }
    }

    /// A member has failed: another one is next if nginx `may_retry`. Whether there is one.
    fn set_aside(&self, member: &Member, may_retry: bool) -> bool {
        let tries = self.tries.get();
        if tries < MAX_TRIES {
            let mut tried = self.tried.get();
            tried[tries] = member.identity();
            self.tried.set(tried);
            self.tries.set(tries + 1);
        }
        let next = if may_retry { self.pick(worker::random()[0]) } else { None };
        let is_there = next.is_some();
        self.next.set(next);
        is_there
    }

    /// Books how an exchange ended: latency, load, and failures that take a member out.
    fn book(&self, exchange: &Attempt, outcome: Outcome, header_ms: usize) {
        let took_us = worker::ns(worker::ticks().saturating_sub(exchange.began)) / 1000;
        // nginx knows in ms when the header came; for short answers the whole time is nearer.
        let latency_us = match outcome {
            Outcome::Success => took_us.min((header_ms as u64).saturating_add(1).saturating_mul(1000)),
            _ => took_us,
        };
        let passive = self.upstream.spec().passive.as_ref();
        let until = exchange.member.state().finish(ffi::now_ms(), latency_us, outcome, passive);
        if let Some(until) = until {
            live::eject(&self.upstream.spec().id, &exchange.member.spec().id, until);
        }
    }
}

impl Drop for Peer {
    /// nginx always says how an exchange ended; should it not, the member's load is right all the same.
    fn drop(&mut self) {
        if let Some(exchange) = self.current.take() {
            self.book(&exchange, Outcome::Unknown, 0);
        }
    }
}

unsafe fn has_timed_out(connection: *const ngx_connection_t) -> bool {
    // SAFETY: null or live, then with both events.
    unsafe {
        !connection.is_null() && ((*(*connection).read).timedout() != 0 || (*(*connection).write).timedout() != 0)
    }
}

/// Whether another request may use the connection, as nginx's own keepalive module sees it.
unsafe fn is_reusable(connection: *const ngx_connection_t, u: *const ngx_http_upstream_t, requests: u32) -> bool {
    // SAFETY: null or live, then with both events; the flags are those of the process.
    unsafe {
        if connection.is_null() {
            return false;
        }
        let (read, write) = ((*connection).read, (*connection).write);
        (*u).keepalive() != 0
            && (*u).request_body_sent() != 0
            && (*connection).requests < requests as ngx_uint_t
            && ((*read).eof() | (*read).error() | (*read).timedout() | (*write).error() | (*write).timedout()) == 0
            && nginx_sys::ngx_terminate == 0
            && nginx_sys::ngx_exiting == 0
            && ngx_handle_read_event(read, 0) == ffi::code::OK
    }
}
