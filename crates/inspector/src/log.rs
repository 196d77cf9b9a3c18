//! Lines on standard error, for systemd or whatever has started the service.

use std::fmt;

/// Writes one line.
pub(crate) fn line(level: &str, message: fmt::Arguments<'_>) {
    let text = message.to_string().replace(['\n', '\r'], " ");
    eprintln!("weir inspector: {level}: {text}");
}

macro_rules! info {
    ($($argument:tt)*) => { $crate::log::line("info", format_args!($($argument)*)) };
}
macro_rules! warning {
    ($($argument:tt)*) => { $crate::log::line("warn", format_args!($($argument)*)) };
}
macro_rules! failure {
    ($($argument:tt)*) => { $crate::log::line("error", format_args!($($argument)*)) };
}

pub(crate) use {failure, info, warning};
