//! Lines on standard error, for systemd or whoever started us.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

/// The verbosity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Failures that need attention.
    Error,
    /// Warnings.
    Warn,
    /// Start, stop, and what is rare.
    #[default]
    Info,
    /// Every change.
    Debug,
}

const NAMES: [(&str, Level); 4] =
    [("error", Level::Error), ("warn", Level::Warn), ("info", Level::Info), ("debug", Level::Debug)];

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, level)| *level).ok_or_else(|| format!("`{text}` is none of error, warn, info, debug"))
    }
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Sets how much is said, for the whole process.
pub(crate) fn set(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Says something, in one line.
pub(crate) fn line(level: Level, message: fmt::Arguments<'_>) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        let name = NAMES[level as usize].0;
        let text = message.to_string().replace(['\n', '\r'], " ");
        eprintln!("weir control: {name}: {text}");
    }
}

macro_rules! info {
    ($($argument:tt)*) => { $crate::log::line($crate::log::Level::Info, format_args!($($argument)*)) };
}
macro_rules! warning {
    ($($argument:tt)*) => { $crate::log::line($crate::log::Level::Warn, format_args!($($argument)*)) };
}
macro_rules! failure {
    ($($argument:tt)*) => { $crate::log::line($crate::log::Level::Error, format_args!($($argument)*)) };
}

pub(crate) use {failure, info, warning};
