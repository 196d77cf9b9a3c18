//! `PATH|off` and the `name=value` parameters of the log directives.

use std::rc::Rc;

use nginx_sys::{ngx_conf_open_file, ngx_conf_t};
use weir_log::access::{LOG_FIELDS, LogField};

use super::access::AccessLog;
use super::heartbeat::Heartbeat;
use super::writer::{DEFAULT_BUFFER, DEFAULT_FLUSH_MS, LogFile, LogKind};
use crate::configuration::Main;
use crate::{directive, ffi};

/// Bounds of `buffer=`: below, a line would hardly fit; above, a worker's memory is wasted.
const BUFFER_BYTES: std::ops::RangeInclusive<usize> = 4 * 1024..=16 * 1024 * 1024;

/// The arguments of a log directive after its path.
struct Parameters<'a> {
    fields: Option<&'a str>,
    buffer: usize,
    flush_ms: usize,
    interval_ms: usize,
}

fn parse<'a>(given: &[&'a str], allowed: &[&str]) -> Result<Parameters<'a>, String> {
    let mut parameters =
        Parameters { fields: None, buffer: DEFAULT_BUFFER, flush_ms: DEFAULT_FLUSH_MS, interval_ms: 10_000 };
    for text in given {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        if !allowed.contains(&name) {
            return Err(format!("knows no parameter \"{text}\", only {}", allowed.join(", ")));
        }
        match name {
            "fields" => parameters.fields = Some(value),
            "buffer" => parameters.buffer = directive::size(value)?,
            "flush" => parameters.flush_ms = directive::time_ms(value)?,
            _ => parameters.interval_ms = directive::time_ms(value)?,
        }
    }
    if !BUFFER_BYTES.contains(&parameters.buffer) {
        return Err("needs a buffer from 4k to 16m".into());
    }
    Ok(parameters)
}

/// Opens a log file, or finds the one that another directive has opened.
fn open(
    cf: *mut ngx_conf_t,
    path: &str,
    kind: LogKind,
    buffer: usize,
    flush_ms: usize,
) -> Result<*mut LogFile, String> {
    if path.starts_with("syslog:") {
        return Err("writes to files only, not to syslog".into());
    }
    // SAFETY: `cf` is within http; the path is copied to the cycle's pool.
    unsafe {
        let mut name = ffi::copy((*cf).pool, path.as_bytes()).ok_or("has no memory left")?;
        let file = ngx_conf_open_file((*cf).cycle, &raw mut name);
        if file.is_null() {
            return Err(format!("cannot use \"{path}\""));
        }
        if let Some(ours) = LogFile::registered(file) {
            return if (*ours).parameters() == (kind, buffer, flush_ms) {
                Ok(ours)
            } else {
                Err(format!("uses \"{path}\", which is in use with other parameters or as another log"))
            };
        }
        if (*file).flush.is_some() || !(*file).data.is_null() {
            return Err(format!("cannot use \"{path}\", which another module writes to"));
        }
        let log = ffi::keep((*cf).pool, LogFile::new(file, kind, buffer, flush_ms)).ok_or("has no memory left")?;
        LogFile::register(log);
        (*ffi::main_of::<Main>(cf)).files.push(log);
        Ok(log)
    }
}

/// `weir_access_log`
pub fn access_from(cf: *mut ngx_conf_t, arguments: &[&str]) -> Result<Option<Rc<AccessLog>>, String> {
    if arguments == ["off"] {
        return Ok(None);
    }
    let parameters = parse(&arguments[1..], &["fields", "buffer", "flush"])?;
    let fields: Vec<LogField> = match parameters.fields {
        None => LOG_FIELDS.iter().map(|info| info.field).collect(),
        Some(names) => names.split(',').map(named).collect::<Result<_, _>>()?,
    };
    if fields.contains(&LogField::ServerAddr) {
        // SAFETY: `cf` is within http.
        unsafe { (*ffi::main_of::<Main>(cf)).reads_server_address = true };
    }
    let file = open(cf, arguments[0], LogKind::Access, parameters.buffer, parameters.flush_ms)?;
    Ok(Some(Rc::new(AccessLog::new(file, &fields))))
}

fn named(name: &str) -> Result<LogField, String> {
    LogField::named(name).ok_or_else(|| match weir_rules::nearest(name, LOG_FIELDS.iter().map(|info| info.name)) {
        Some(near) => format!("knows no field \"{name}\"; did you mean \"{near}\"?"),
        None => {
            let names: Vec<&str> = LOG_FIELDS.iter().map(|info| info.name).collect();
            format!("knows no field \"{name}\"; the fields are {}", names.join(", "))
        }
    })
}

/// `weir_attack_log`
pub fn file_from(cf: *mut ngx_conf_t, arguments: &[&str], kind: LogKind) -> Result<Option<*mut LogFile>, String> {
    if arguments == ["off"] {
        return Ok(None);
    }
    let parameters = parse(&arguments[1..], &["buffer", "flush"])?;
    open(cf, arguments[0], kind, parameters.buffer, parameters.flush_ms).map(Some)
}

/// `weir_heartbeat_log`
pub fn heartbeat_from(cf: *mut ngx_conf_t, arguments: &[&str]) -> Result<Option<Heartbeat>, String> {
    if arguments == ["off"] {
        return Ok(None);
    }
    let parameters = parse(&arguments[1..], &["interval"])?;
    let file = open(cf, arguments[0], LogKind::Heartbeat, DEFAULT_BUFFER, DEFAULT_FLUSH_MS)?;
    Ok(Some(Heartbeat::new(file, parameters.interval_ms as u64)))
}
