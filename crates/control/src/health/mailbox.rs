//! Commands that the supervisor has not read yet: the last one for each member.
//!
//! A channel was the alternative: it has to be bounded, and then the publisher waits for the checker or
//! loses a command. This is bounded by the number of members, and nothing waits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::targets::{Command, Key};

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    inside: Mutex<Inside>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    commands: HashMap<Key, Command>,
    closed: bool,
}

impl Mailbox {
    /// Adds commands.
    pub fn put(&self, commands: Vec<(Key, Command)>) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).commands.extend(commands);
        self.bell.notify_one();
    }

    /// Ends the supervisor.
    pub fn close(&self) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.bell.notify_one();
    }

    /// Waits for commands; `None` at the end.
    pub async fn take(&self) -> Option<HashMap<Key, Command>> {
        loop {
            {
                let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
                if inside.closed {
                    return None;
                }
                if !inside.commands.is_empty() {
                    return Some(std::mem::take(&mut inside.commands));
                }
            }
            self.bell.notified().await;
        }
    }
}
