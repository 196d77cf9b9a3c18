//! One subscriber: what it wants, and what waits to be written to it.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::topic::{TopicFilter, TopicName};

/// How messages look on the way to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Server-sent events; `is_json` if each is an object with its topic, `is_chunked` if each is also a chunk of HTTP/1.1.
    Events {
        /// An object with topic and data, rather than the data alone.
        is_json: bool,
        /// A chunk of HTTP/1.1.
        is_chunked: bool,
    },
    /// Text frames of a WebSocket.
    WebSocket,
    /// Objects in the list of an answer.
    Poll,
}

impl Form {
    /// The number of forms.
    pub(crate) const COUNT: usize = 6;

    /// Its number, below [`Form::COUNT`].
    pub(crate) fn number(self) -> usize {
        match self {
            Self::Events { is_json, is_chunked } => usize::from(is_json) + 2 * usize::from(is_chunked),
            Self::WebSocket => 4,
            Self::Poll => 5,
        }
    }
}

/// Why a subscriber has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It does not read as fast as messages come, and there is no history to come back to.
    Slow,
    /// The topics are not configured any more.
    Removed,
    /// What its client may do has changed: it has to come back and be checked again.
    Changed,
}

/// A subscriber of one feed, with what its owner keeps about it.
#[derive(Debug)]
pub struct Subscriber<T> {
    /// The owner's.
    pub owner: T,
    pub(crate) feed: u64,
    pub(crate) generation: u32,
    pub(crate) form: Form,
    /// The most bytes that may wait.
    pub(crate) limit: usize,
    pub(crate) filters: Vec<Box<str>>,
    /// Who it is, for those that ask who is there.
    pub(crate) name: Box<str>,
    /// The next position of which it has not seen the message.
    pub(crate) cursor: u64,
    /// Whether it has named all topics that it begins with.
    pub(crate) has_begun: bool,
    /// Whether it reads from the history.
    pub(crate) is_behind: bool,
    /// Whether it begins with the oldest message that is kept: that older ones are not is no gap.
    pub(crate) is_beginning: bool,
    /// Where a gap began that it has not been told of.
    pub(crate) gap_from: Option<u64>,
    /// Whether it is among those to be written to.
    pub(crate) is_due: bool,
    pub(crate) leaving: Option<Leaving>,
    /// Topics that it has joined where presence is known, less one for each second since the time beside it.
    pub(crate) joins: (u32, u64),
    frames: VecDeque<Rc<[u8]>>,
    /// Bytes of the first frame that are written.
    written: usize,
    waiting: usize,
}

impl<T> Subscriber<T> {
    pub(crate) fn new(owner: T, feed: u64, generation: u32, form: Form, limit: usize, cursor: u64) -> Self {
        Self {
            owner,
            feed,
            generation,
            form,
            limit,
            filters: Vec::new(),
            name: Box::default(),
            cursor,
            has_begun: false,
            is_behind: false,
            is_beginning: false,
            gap_from: None,
            is_due: false,
            leaving: None,
            joins: (0, 0),
            frames: VecDeque::new(),
            written: 0,
            waiting: 0,
        }
    }

    /// The form of its messages.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Changes the form, before there are messages.
    pub fn set_form(&mut self, form: Form) {
        self.form = form;
    }

    /// Why it has to go, if it has to.
    pub fn leaving(&self) -> Option<Leaving> {
        self.leaving
    }

    /// The most bytes of messages that may wait.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that wait to be written.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether messages of the past are still to come.
    pub fn is_behind(&self) -> bool {
        self.is_behind && self.has_begun
    }

    /// The topic filters it has.
    pub fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|filter| &**filter)
    }

    /// Appends a frame if there is room; the first one always has.
    pub(crate) fn push(&mut self, frame: &Rc<[u8]>) -> bool {
        if self.waiting > 0 && self.waiting + frame.len() > self.limit {
            return false;
        }
        self.force(Rc::clone(frame));
        true
    }

    /// Appends a frame in any case: for what is said once.
    pub fn force(&mut self, frame: Rc<[u8]>) {
        self.waiting += frame.len();
        self.frames.push_back(frame);
    }

    /// Whether all that waits is one piece.
    pub fn has_one_piece(&self) -> bool {
        self.frames.len() == 1
    }

    /// The pieces to be written, in order, at most `most`.
    pub fn pieces(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().take(most).enumerate().map(|(n, frame)| if n == 0 { &frame[self.written..] } else { frame })
    }

    /// Takes away what was written.
    pub fn advance(&mut self, mut bytes: usize) {
        self.waiting = self.waiting.saturating_sub(bytes);
        while let Some(first) = self.frames.front() {
            let rest = first.len() - self.written;
            if bytes < rest {
                self.written += bytes;
                break;
            }
            bytes -= rest;
            self.written = 0;
            self.frames.pop_front();
        }
        // An idle subscriber holds no memory for what it does not have.
        if self.frames.is_empty() && self.frames.capacity() > 16 {
            self.frames = VecDeque::new();
        }
    }

    pub(crate) fn wants(&self, name: TopicName<'_>) -> bool {
        let filters = self.filters.iter().filter_map(|filter| TopicFilter::new(filter.as_bytes()).ok());
        filters.into_iter().any(|filter| filter.matches(name))
    }
}
