//! Weir's own messages in nginx's error log.
//!
//! The level is looked at before anything is formatted: `note!` costs two loads for a message
//! below the level. The level set at run time (`weir log-level`) wins over `weir_log_level`,
//! which wins over the level of `error_log`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use nginx_sys::{ngx_log_error_core, ngx_log_t, ngx_uint_t};

use crate::worker;

/// nginx's levels, as far as they are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Level {
    /// Something failed badly.
    Critical = 3,
    /// Something failed.
    Error = 4,
    /// Something is not as it should be.
    Warn = 5,
    /// Worth knowing.
    Notice = 6,
    /// For the curious.
    Info = 7,
    /// For developers.
    Debug = 8,
}

/// Levels by their names in `weir_log_level`.
pub const LEVELS: &[(&str, Level)] = &[
    ("debug", Level::Debug),
    ("info", Level::Info),
    ("notice", Level::Notice),
    ("warn", Level::Warn),
    ("error", Level::Error),
    ("crit", Level::Critical),
];

/// Longest message: nginx's own lines end at 2048 bytes.
const MAX_MESSAGE: usize = 1900;

/// `weir_log_level` of the cycle, or 0 for the level of the log itself.
static CONFIGURED: AtomicUsize = AtomicUsize::new(0);

/// Takes over the configured level.
pub fn configure(level: Option<Level>) {
    CONFIGURED.store(level.map_or(0, |level| level as usize), Ordering::Relaxed);
}

/// Whether a message of that level is to be written.
#[inline]
pub fn wanted(log: *const ngx_log_t, level: Level) -> bool {
    let at_run_time = worker::log_level() as usize;
    let configured = CONFIGURED.load(Ordering::Relaxed);
    let most = match (at_run_time, configured) {
        // SAFETY: logs live as long as what they belong to. Above 8 are the bits of debug_*.
        (0, 0) => unsafe { (*log).log_level },
        (0, configured) => configured,
        (at_run_time, _) => at_run_time,
    };
    level as usize <= most
}

/// Writes a message, whatever the level of the log; use [`crate::note!`] to ask first.
#[cold]
pub fn write(log: *mut ngx_log_t, level: Level, message: std::fmt::Arguments<'_>) {
    let mut text = String::with_capacity(160);
    let _ = text.write_fmt(message);
    let mut end = text.len().min(MAX_MESSAGE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // SAFETY: a live log; the message goes through `%*s`, never as the format itself. The log's
    // own level is raised for the call, because nginx asks it again; workers are single-threaded.
    unsafe {
        let before = (*log).log_level;
        (*log).log_level = before.max(level as ngx_uint_t);
        ngx_log_error_core(level as ngx_uint_t, log, 0, c"%*s".as_ptr(), end, text.as_ptr());
        (*log).log_level = before;
    }
}

/// Writes a message to a log if its level is wanted; formats it only then.
#[macro_export]
macro_rules! note {
    ($log:expr, $level:ident, $($argument:tt)+) => {{
        let log = $log;
        if $crate::diagnostic::wanted(log, $crate::diagnostic::Level::$level) {
            $crate::diagnostic::write(log, $crate::diagnostic::Level::$level, format_args!($($argument)+));
        }
    }};
}
