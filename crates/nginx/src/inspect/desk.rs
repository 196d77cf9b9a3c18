//! What one worker has asked: services, connections, and the questions that wait for an answer.
//!
//! All of it is one structure without references into requests: a question names its request by a pointer that is forgotten
//! when the request ends. Methods return what has come of an event; the requests go on only when nothing is borrowed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;
use weir_inspect::frame::{self, Frame, Writer, hello, kind};
use weir_inspect::{Advice, Answer, Failure, Inspector, adapter, breaker, endpoint, http, own};

use super::asked::Asked;
use super::link::{Link, State};
use super::service::{MAX_IDLE, MAX_LINKS, Service, authority};
use super::socket::{Handler, Socket};
use crate::{note, worker};

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;
/// Questions that wait for an answer, in one worker.
const MAX_WAITING: usize = 16_384;
/// How long after a question for which there was no room an inspector is called busy.
const BUSY_MS: u64 = 60_000;
/// Most bytes of an answer that are held while it is not complete.
const MAX_INPUT: usize = frame::MAX_FRAME_BYTES + 64 * 1024;
const _: () = assert!(http::MAX_HEAD_BYTES + 2 * http::MAX_BODY_BYTES <= MAX_INPUT);

/// What has come of a question.
pub type Answered = Result<Arc<Answer>, Failure>;
/// Questions with what has come of them.
pub type Done = Vec<(u32, Answered)>;

/// A question that waits.
pub struct Waiting {
    /// The question.
    pub asked: Asked,
    /// The endpoint that was asked.
    pub endpoint: usize,
    link: usize,
}

/// See the module.
pub struct Desk {
    services: HashMap<u64, Service, FixedState>,
    by_inspector: HashMap<*const Inspector, u64, FixedState>,
    links: HashMap<usize, Link, FixedState>,
    waiting: HashMap<u32, Waiting, FixedState>,
    deadlines: BinaryHeap<Reverse<(u64, u32)>>,
    /// Connections with bytes to be sent.
    dirty: Vec<usize>,
    handlers: (Handler, Handler),
    next: (u64, usize, u32),
    /// What connections read into; zeroed once and not for each answer.
    buffer: Box<[u8]>,
}

impl Desk {
    /// A desk whose sockets call these handlers when they can be read and written.
    pub fn new(handlers: (Handler, Handler)) -> Self {
        Self {
            services: HashMap::default(),
            by_inspector: HashMap::default(),
            links: HashMap::default(),
            waiting: HashMap::default(),
            deadlines: BinaryHeap::new(),
            dirty: Vec::new(),
            handlers,
            next: (0, 0, 0),
            buffer: vec![0; READ_BYTES].into(),
        }
    }

    /// The number of an inspector's service. A policy that was compiled anew has new inspectors; those that are as before
    /// keep their connections and health.
    pub fn service(&mut self, inspector: &Arc<Inspector>) -> u64 {
        let pointer = Arc::as_ptr(inspector);
        if let Some(number) = self.by_inspector.get(&pointer) {
            return *number;
        }
        self.sweep();
        let same = self.services.iter().find(|(_, service)| service.inspector == *inspector).map(|(number, _)| *number);
        let number = same.unwrap_or_else(|| {
            self.next.0 += 1;
            self.services.insert(self.next.0, Service::new(inspector));
            self.next.0
        });
        if let Some(service) = self.services.get_mut(&number).filter(|_| same.is_some()) {
            service.equals.push(Arc::clone(inspector)); // the pointer stays its own as long as it is held
        }
        self.by_inspector.insert(pointer, number);
        number
    }

    /// Drops services that no policy has any more.
    fn sweep(&mut self) {
        let is_held = |inspector: &Arc<Inspector>| Arc::strong_count(inspector) > 1;
        for service in self.services.values_mut() {
            let (held, gone) = std::mem::take(&mut service.equals).into_iter().partition(is_held);
            service.equals = held;
            let gone: Vec<Arc<Inspector>> = gone;
            gone.iter().for_each(|one| _ = self.by_inspector.remove(&Arc::as_ptr(one)));
            if !is_held(&service.inspector)
                && let Some(other) = service.equals.pop()
            {
                self.by_inspector.remove(&Arc::as_ptr(&service.inspector));
                service.inspector = other;
            }
        }
        let asked: Vec<u64> = self.waiting.values().map(|waiting| waiting.asked.service).collect();
        let gone = |number: &u64, service: &Service| !is_held(&service.inspector) && !asked.contains(number);
        let gone: Vec<u64> = self.services.iter().filter(|(number, one)| gone(number, one)).map(|(n, _)| *n).collect();
        for number in gone {
            self.links.retain(|_, link| link.of.0 != number);
            self.by_inspector.retain(|_, of| *of != number);
            self.services.remove(&number);
        }
    }

    /// The service of that number.
    pub fn of(&mut self, number: u64) -> Option<&mut Service> {
        self.services.get_mut(&number)
    }

    /// Sends a question, which `write` appends to the connection's bytes, with its id and the endpoint's authority. Returns
    /// the id.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub fn send(
        &mut self,
        asked: Asked,
        write: impl FnOnce(&mut Vec<u8>, u32, &str) -> Result<(), Failure>,
    ) -> Result<u32, Failure> {
        let found = self.find_link(&asked);
        self.book_room(asked.service, found != Err(Failure::Busy), asked.now_ms);
        let (endpoint, key) = found?;
        let service = self.services.get_mut(&asked.service).ok_or(Failure::Unreachable)?;
        service.healths[endpoint].ask(asked.now_ms);
        let inspector = Arc::clone(&service.inspector);
        let id = self.next.2;
        self.next.2 = id.wrapping_add(1);
        let link = self.links.get_mut(&key).ok_or(Failure::Unreachable)?;
        let begin = link.out.len();
        // Only a frame can be too long; then nothing was appended. An HTTP request is always written.
        write(&mut link.out, id, authority(&inspector.endpoints[endpoint]))?;
        if !inspector.protocol.is_pipelined() {
            link.current = Some(id);
            link.is_head = http::is_head(&link.out[begin..]);
        }
        if !link.is_dirty {
            link.is_dirty = true;
            self.dirty.push(key);
        }
        self.deadlines.push(Reverse((asked.deadline_ms, id)));
        self.waiting.insert(id, Waiting { asked, endpoint, link: key });
        Ok(id)
    }

    /// An endpoint that takes a question, and the connection: the first in turn to which there is a way and room.
    fn find_link(&mut self, asked: &Asked) -> Result<(usize, usize), Failure> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(Failure::Busy);
        }
        let mut failure = Failure::Unreachable; // all are left out
        let count = self.services.get(&asked.service).map_or(0, |service| service.endpoints.len());
        for _ in 0..count {
            let service = self.services.get_mut(&asked.service).ok_or(Failure::Unreachable)?;
            let Some(endpoint) = service.next(asked.except, asked.now_ms) else { continue };
            match self.link(asked.service, endpoint) {
                Ok(key) => return Ok((endpoint, key)),
                Err(Failure::Busy) => failure = Failure::Busy,
                Err(other) => {
                    self.book_endpoint(asked.service, endpoint, true, asked.now_ms);
                    failure = if failure == Failure::Busy { failure } else { other };
                }
            }
        }
        Err(failure)
    }

    /// A connection for a question to an endpoint.
    fn link(&mut self, number: u64, endpoint: usize) -> Result<usize, Failure> {
        let Some(service) = self.services.get_mut(&number) else { return Err(Failure::Unreachable) };
        let is_pipelined = service.inspector.protocol.is_pipelined();
        let place = &mut service.endpoints[endpoint];
        let known = if is_pipelined { place.shared } else { place.idle.pop() };
        if let Some(key) = known {
            let has_room = self.links.get(&key).is_some_and(Link::has_room);
            return if has_room { Ok(key) } else { Err(Failure::Busy) };
        }
        if place.links >= MAX_LINKS {
            return Err(Failure::Busy);
        }
        self.next.1 += 1;
        let key = self.next.1;
        let mut link = match connect(service, (number, endpoint), key, self.handlers) {
            Ok(link) => link,
            Err(why) => {
                service.why = why;
                return Err(Failure::Unreachable);
            }
        };
        let place = &mut service.endpoints[endpoint];
        place.links += 1;
        if is_pipelined {
            place.shared = Some(key);
            let mut greeting = Writer::begin(&mut link.out, kind::HELLO, 0);
            greeting.item(hello::VERSION, &[frame::VERSION]);
            greeting.some(hello::TOKEN, service.inspector.token.0.as_bytes());
            greeting.end().map_err(|_| Failure::Unreachable)?;
        }
        self.links.insert(key, link);
        Ok(key)
    }

    /// Sends what is to be sent.
    pub fn flush(&mut self) -> Done {
        let mut done = Vec::new();
        for key in std::mem::take(&mut self.dirty) {
            if self.links.get_mut(&key).is_some_and(|link| link.flush() == State::Ended) {
                self.end(key, Failure::Unreachable, &mut done);
            }
        }
        done
    }

    /// A connection can be written.
    pub fn writable(&mut self, key: usize) -> Done {
        let mut done = Vec::new();
        if self.links.get_mut(&key).is_some_and(|link| link.writable() == State::Ended) {
            self.end(key, Failure::Unreachable, &mut done);
        }
        done
    }

    /// A connection can be read.
    pub fn readable(&mut self, key: usize) -> Done {
        let mut done = Vec::new();
        let Some(link) = self.links.get_mut(&key) else { return done };
        let state = link.readable(&mut self.buffer, MAX_INPUT);
        let Some(service) = self.services.get(&link.of.0) else { return done };
        let inspector = Arc::clone(&service.inspector);
        if inspector.protocol.is_pipelined() {
            match self.frames(key, &mut done) {
                Ok(()) if state == State::Open => {}
                Ok(()) => self.end(key, Failure::Unreachable, &mut done),
                Err(failure) => self.end(key, failure, &mut done),
            }
        } else {
            self.response(key, &inspector, state, &mut done);
        }
        done
    }

    /// Understands the frames that have come.
    fn frames(&mut self, key: usize, done: &mut Done) -> Result<(), Failure> {
        let Some(link) = self.links.get_mut(&key) else { return Ok(()) };
        let mut at = 0;
        let mut pongs = Vec::new();
        while let Some((frame, length)) = Frame::first(&link.input[at..]).map_err(|_| Failure::Unreadable)? {
            match frame.kind {
                // An id that this connection was not asked is an answer to nobody.
                kind::ANSWER if self.waiting.get(&frame.id).is_some_and(|waiting| waiting.link == key) => {
                    let answer = match own::read_answer(frame) {
                        Ok(answer) if answer.advice == Advice::Unable => Err(Failure::Unable),
                        Ok(answer) => Ok(Arc::new(answer)),
                        Err(_) => Err(Failure::Unreadable),
                    };
                    done.push((frame.id, answer));
                }
                kind::HELLO => {
                    let version = frame.items().flatten().find(|(tag, _)| *tag == hello::VERSION);
                    if version.is_none_or(|(_, version)| version != frame::VERSION) {
                        return Err(Failure::Unreadable);
                    }
                }
                kind::PING => pongs.push(frame.id),
                kind::GOODBYE => link.is_leaving = true,
                _ => {} // of a newer service
            }
            at += length;
        }
        link.consume(at);
        pongs.into_iter().for_each(|id| frame::bare(&mut link.out, kind::PONG, id));
        let of = link.of;
        if link.is_leaving
            && let Some(service) = self.services.get_mut(&of.0)
            && service.endpoints[of.1].shared == Some(key)
        {
            service.endpoints[of.1].shared = None; // the next question opens another one
        }
        match self.links.get_mut(&key).map(Link::flush) {
            Some(State::Ended) => Err(Failure::Unreachable),
            Some(State::Open) | None => Ok(()),
        }
    }

    /// Understands an HTTP response.
    fn response(&mut self, key: usize, inspector: &Inspector, state: State, done: &mut Done) {
        let Some(link) = self.links.get_mut(&key) else { return };
        let Some(id) = link.current else {
            // Nothing was asked: the service has closed an idle connection, or says what nobody wants to know.
            if state == State::Ended || !link.input.is_empty() {
                self.end(key, Failure::Unreachable, done);
            }
            return;
        };
        match http::read(&link.input, link.is_head, state == State::Ended) {
            Ok(None) => {}
            Ok(Some(response)) => {
                let keeps_alive = response.keeps_alive;
                done.push((id, adapter::understand(inspector, response).map(Arc::new)));
                link.current = None;
                link.consume(link.input.len());
                let of = link.of;
                let place = self.services.get_mut(&of.0).map(|service| &mut service.endpoints[of.1]);
                match place.filter(|place| keeps_alive && place.idle.len() < MAX_IDLE) {
                    Some(place) => place.idle.push(key),
                    None => self.end(key, Failure::Unreachable, done),
                }
            }
            Err(failure) => self.end(key, failure, done),
        }
    }

    /// Closes a connection; questions on it have failed.
    fn end(&mut self, key: usize, failure: Failure, done: &mut Done) {
        let Some(link) = self.links.remove(&key) else { return };
        if let Some(service) = self.services.get_mut(&link.of.0) {
            if !link.why.is_empty() {
                service.why = link.why;
            }
            let place = &mut service.endpoints[link.of.1];
            place.links = place.links.saturating_sub(1);
            place.shared = place.shared.filter(|shared| *shared != key);
            place.idle.retain(|idle| *idle != key);
        }
        let lost =
            self.waiting.iter().filter(|(id, one)| one.link == key && done.iter().all(|(known, _)| known != *id));
        let lost: Vec<u32> = lost.map(|(id, _)| *id).collect();
        done.extend(lost.into_iter().map(|id| (id, Err(failure))));
    }

    /// The questions whose time is over.
    pub fn expired(&mut self, now_ms: u64) -> Done {
        let mut done = Vec::new();
        while let Some(Reverse((at, id))) = self.deadlines.peek().copied().filter(|Reverse((at, _))| *at <= now_ms) {
            self.deadlines.pop();
            let Some(waiting) = self.waiting.get(&id).filter(|waiting| waiting.asked.deadline_ms == at) else {
                continue;
            };
            done.push((id, Err(Failure::Deadline)));
            let key = waiting.link;
            // Where answers have no number, one that comes later would be taken for the next one's.
            if self.links.get(&key).is_some_and(|link| link.current == Some(id)) {
                self.end(key, Failure::Deadline, &mut done);
            }
        }
        done
    }

    /// When the next question's time is over.
    pub fn next_deadline(&mut self) -> Option<u64> {
        while let Some(Reverse((at, id))) = self.deadlines.peek() {
            if self.waiting.get(id).is_some_and(|waiting| waiting.asked.deadline_ms == *at) {
                return Some(*at);
            }
            self.deadlines.pop();
        }
        None
    }

    /// Takes a question that is over, if its request is still there, and books the outcome at its endpoint.
    pub fn take(&mut self, id: u32, result: &Answered, now_ms: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        let is_away = result.as_ref().is_err_and(|failure| failure.is_absence());
        self.book_endpoint(waiting.asked.service, waiting.endpoint, is_away, now_ms);
        Some(waiting)
    }

    fn book_endpoint(&mut self, number: u64, endpoint: usize, is_failure: bool, now_ms: u64) {
        let Some(service) = self.services.get_mut(&number) else { return };
        let Some(change) = service.healths[endpoint].book(is_failure, now_ms) else { return };
        let out = service.healths.iter().filter(|health| health.is_failing()).count();
        service.counters.set_out(out);
        let id = &service.inspector.id;
        let address = service.inspector.endpoints[endpoint].clone();
        let log = log();
        match change {
            endpoint::Change::Back => note!(log, Notice, "weir: inspector {id}: {address} answers again"),
            endpoint::Change::Out => {
                let why = if service.why.is_empty() { "no answer" } else { service.why.as_str() };
                note!(log, Warn, "weir: inspector {id}: {address} fails and is left out for now: {why}");
                // What hangs is not used again.
                let shared = service.endpoints[endpoint].shared.take();
                if let Some(link) = shared.and_then(|key| self.links.get_mut(&key)) {
                    link.is_leaving = true;
                }
            }
        }
    }

    /// Books whether there was room for a question. That there is again is told when it has been so for a while.
    fn book_room(&mut self, number: u64, has_room: bool, now_ms: u64) {
        let Some(service) = self.services.get_mut(&number) else { return };
        let id = &service.inspector.id;
        let log = log();
        match (has_room, service.busy_ms.replace(now_ms)) {
            (true, None) => service.busy_ms = None,
            (true, Some(busy_ms)) if now_ms - busy_ms < BUSY_MS => service.busy_ms = Some(busy_ms),
            (true, Some(_)) => {
                service.busy_ms = None;
                service.counters.set_busy(false);
                note!(log, Notice, "weir: inspector {id} is no longer busy");
            }
            (false, None) => {
                service.counters.set_busy(true);
                note!(log, Error, "weir: inspector {id} is busy: more questions wait than are kept, and some fail");
            }
            (false, Some(_)) => {}
        }
    }

    /// Books the final outcome of a question at its inspector.
    pub fn book(&mut self, number: u64, result: &Answered, took: Option<u64>, now_ms: u64) {
        let Some(service) = self.services.get_mut(&number) else { return };
        service.counters.book(result, took);
        // A try that found all endpoints left out says nothing new, and must not keep the breaker open for longer.
        if matches!(result, Err(Failure::Open | Failure::Busy)) || (took.is_none() && service.breaker.is_open()) {
            return;
        }
        let is_away = result.as_ref().is_err_and(|failure| failure.is_absence());
        let change = service.breaker.book(&service.inspector.breaker, is_away, now_ms);
        service.counters.set_open(service.breaker.is_open());
        let id = &service.inspector.id;
        let log = log();
        match change {
            Some(breaker::Change::Opened) => {
                let fails =
                    if service.inspector.fail == weir_inspect::inspector::Fail::Open { "pass" } else { "are refused" };
                note!(log, Error, "weir: inspector {id} fails too often: it is not asked for now, requests {fails}");
            }
            Some(breaker::Change::Closed) => note!(log, Notice, "weir: inspector {id} answers again"),
            None => {}
        }
    }

    /// A request has ended: nobody waits for these answers. A connection that would bring them one at a time is closed.
    pub fn forget(&mut self, ids: &[u32]) {
        for id in ids {
            let Some(waiting) = self.waiting.remove(id) else { continue };
            if self.links.get(&waiting.link).is_some_and(|link| link.current == Some(*id)) {
                self.end(waiting.link, Failure::Unreachable, &mut Vec::new());
            }
        }
    }

    /// Closes connections on which nothing is waited for, and which are not used again.
    pub fn tidy(&mut self) {
        let is_asked = |key: usize| self.waiting.values().any(|waiting| waiting.link == key);
        let leaving: Vec<usize> = self.links.iter().filter(|(_, link)| link.is_leaving).map(|(key, _)| *key).collect();
        let over: Vec<usize> = leaving.into_iter().filter(|key| !is_asked(*key)).collect();
        over.into_iter().for_each(|key| self.end(key, Failure::Unreachable, &mut Vec::new()));
    }
}

/// Begins a connection to an endpoint, or says why there can be none.
fn connect(service: &mut Service, of: (u64, usize), key: usize, handlers: (Handler, Handler)) -> Result<Link, String> {
    let address = service.address(of.1).ok_or("its name has no address yet")?;
    let socket = Socket::connect(&address, key, handlers.0, handlers.1).map_err(|error| error.to_string())?;
    let tls = service.tls(of.1)?;
    Link::new(of, socket, tls).map_err(|error| error.to_string())
}

/// The log of the worker.
fn log() -> *mut nginx_sys::ngx_log_t {
    // SAFETY: a worker has a cycle, and a cycle has a log.
    unsafe { (*worker::cycle()).log }
}
