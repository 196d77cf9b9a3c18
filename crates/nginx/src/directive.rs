//! nginx's command array from the table of directives, and the one setter behind all of them.

use std::ffi::{c_char, c_void};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::ptr;

use nginx_sys::{
    NGX_CONF_1MORE, NGX_CONF_TAKE1, NGX_CONF_TAKE12, NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET, NGX_HTTP_MAIN_CONF,
    NGX_HTTP_MAIN_CONF_OFFSET, NGX_HTTP_SRV_CONF, NGX_HTTP_SRV_CONF_OFFSET, NGX_LOG_EMERG, NGX_LOG_WARN, ngx_command_t,
    ngx_conf_log_error, ngx_conf_t, ngx_str_t,
};
use weir_directives::{Arguments, DIRECTIVES, Directive, HttpDirective, LocationDirective, ServerDirective};

use crate::configuration::{FailMode, InboundId, InjectedFault, Location, Main, Mode};
use crate::diagnostic::LEVELS;
use crate::gateway::{self, Server};
use crate::log::{self, LogKind};
use crate::{fault, ffi, shared};

/// The commands, ended by an empty one.
pub static mut COMMANDS: [ngx_command_t; DIRECTIVES.len() + 1] = {
    let mut commands = [const { ngx_command_t::empty() }; DIRECTIVES.len() + 1];
    let mut row = 0;
    while row < DIRECTIVES.len() {
        let info = &DIRECTIVES[row];
        let (places, offset) = match info.directive {
            Directive::Http(_) => (NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET),
            // The locations that `weir_gateway` makes are marked by the same directive.
            Directive::Server(_) => (NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF, NGX_HTTP_SRV_CONF_OFFSET),
            Directive::Location(_) => {
                (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET)
            }
        };
        let arguments = match info.arguments {
            Arguments::One => NGX_CONF_TAKE1,
            Arguments::OneOrTwo => NGX_CONF_TAKE12,
            Arguments::AtLeastOne => NGX_CONF_1MORE,
        };
        commands[row] = ngx_command_t {
            name: ngx_str_t { len: info.name.len(), data: info.c_name.as_ptr().cast_mut() },
            type_: (places | arguments) as usize,
            set: Some(set),
            conf: offset,
            offset: 0,
            post: ptr::null_mut(),
        };
        row += 1;
    }
    commands
};

/// Says in nginx's way what is wrong, with file and line, and fails the configuration.
pub fn refuse(cf: *mut ngx_conf_t, message: &str) -> *mut c_char {
    for line in message.lines() {
        // SAFETY: `cf` is being parsed; the text goes through `%*s`.
        unsafe { ngx_conf_log_error(NGX_LOG_EMERG as usize, cf, 0, c"%*s".as_ptr(), line.len(), line.as_ptr()) };
    }
    usize::MAX as *mut c_char
}

/// Says that something is odd, with file and line.
pub fn warn(cf: *mut ngx_conf_t, message: &str) {
    // SAFETY: as for `refuse`.
    unsafe { ngx_conf_log_error(NGX_LOG_WARN as usize, cf, 0, c"%*s".as_ptr(), message.len(), message.as_ptr()) };
}

unsafe extern "C" fn set(cf: *mut ngx_conf_t, command: *mut ngx_command_t, conf: *mut c_void) -> *mut c_char {
    fault::install_hook();
    let result = fault::contain("configuration", || {
        // SAFETY: `command` is one of ours.
        let row = unsafe { command.offset_from((&raw const COMMANDS).cast::<ngx_command_t>()) } as usize;
        let info = &DIRECTIVES[row];
        let arguments = arguments_of(cf).map_err(|text| format!("\"{}\": \"{text}\" is not UTF-8", info.name))?;
        // SAFETY: nginx passes the configuration that the command's offset says.
        let set = unsafe {
            match info.directive {
                Directive::Http(directive) => set_main(cf, directive, &arguments, conf.cast::<Main>()),
                Directive::Server(ServerDirective::Gateway) => {
                    let on = choose(arguments[0], &[("on", true), ("off", false)]);
                    on.and_then(|on| gateway::configure(cf, on, conf.cast::<Server>()))
                }
                Directive::Location(directive) => {
                    set_location(cf, directive, &arguments, &mut *conf.cast::<Location>())
                }
            }
        };
        set.map_err(|message| format!("\"{}\" {message}", info.name))
    });
    match result {
        Some(Ok(())) => ptr::null_mut(),
        Some(Err(message)) => refuse(cf, &message),
        None => usize::MAX as *mut c_char,
    }
}

/// The directive's arguments, without its name.
fn arguments_of<'a>(cf: *mut ngx_conf_t) -> Result<Vec<&'a str>, String> {
    // SAFETY: nginx has put all words of the directive there; they live as long as the cycle.
    let words = unsafe { (*(*cf).args).as_slice::<ngx_str_t>() };
    let texts = words.iter().skip(1).map(|word| {
        // SAFETY: as above.
        let bytes = unsafe { ffi::bytes(word) };
        std::str::from_utf8(bytes).map_err(|_| String::from_utf8_lossy(bytes).into_owned())
    });
    texts.collect()
}

/// Puts a value where none may be yet.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    if place.is_some() {
        return Err("is duplicate".into());
    }
    *place = Some(value);
    Ok(())
}

/// Looks a word up in a table of the words that fit.
fn choose<T: Copy>(given: &str, table: &[(&str, T)]) -> Result<T, String> {
    table.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
        let hint = weir_rules::nearest(given, words.iter().copied())
            .map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        format!("must be one of {}, not \"{given}\"{hint}", words.join(", "))
    })
}

/// `main` is borrowed once the value is there: what makes it may change other parts of the configuration.
///
/// # Safety
/// `main` is our main configuration, which `cf` reads, and no reference to it lives.
unsafe fn set_main(
    cf: *mut ngx_conf_t,
    directive: HttpDirective,
    arguments: &[&str],
    main: *mut Main,
) -> Result<(), String> {
    let first = arguments[0];
    // SAFETY: as the caller promises; nothing that is called meanwhile refers to it.
    let main = || unsafe { &mut *main };
    match directive {
        HttpDirective::Policy => full_path(cf, first, true).and_then(|path| once(&mut main().policy_path, path)),
        HttpDirective::Runtime => full_path(cf, first, false).and_then(|path| once(&mut main().runtime, path)),
        HttpDirective::LogLevel => once(&mut main().log_level, choose(first, LEVELS)?),
        HttpDirective::RateLimitZone => once(&mut main().zone_bytes, zone_size(first)?),
        HttpDirective::NonceZone => once(&mut main().nonce_bytes, zone_size(first)?),
        HttpDirective::MessagesZone => once(&mut main().messages_zone, messages_size(first)?),
        HttpDirective::CollectionsZone => once(&mut main().collections_bytes, zone_size(first)?),
        HttpDirective::Sample => match first.parse() {
            Ok(every @ 1..=1_000_000) => once(&mut main().sample, every),
            _ => Err(format!("must be a number from 1 to 1000000, not \"{first}\"")),
        },
        HttpDirective::RequestIdHeader => {
            let from_any = match arguments.get(1) {
                None => false,
                Some(word) => choose(word, &[("trusted", false), ("any", true)])?,
            };
            once(&mut main().inbound_id, InboundId::new(first, from_any))
        }
        HttpDirective::HeartbeatLog => {
            let heartbeat = log::heartbeat_from(cf, arguments)?;
            once(&mut main().heartbeat, heartbeat)
        }
    }
}

fn set_location(
    cf: *mut ngx_conf_t,
    directive: LocationDirective,
    arguments: &[&str],
    conf: &mut Location,
) -> Result<(), String> {
    let first = arguments[0];
    let settings = &mut conf.settings;
    match directive {
        LocationDirective::Weir => once(&mut settings.mode, choose(first, MODES)?),
        LocationDirective::Apply => {
            let none = arguments.contains(&"none");
            if none && arguments.len() > 1 {
                return Err("takes \"none\" alone or names of policies".into());
            }
            let names = if none { Vec::new() } else { arguments.iter().map(|name| (*name).to_owned()).collect() };
            once(&mut settings.apply, names)
        }
        LocationDirective::Fail => once(&mut settings.fail, choose(first, FAIL_MODES)?),
        LocationDirective::Bounds => once(&mut settings.bounds, choose(first, FAIL_MODES)?),
        LocationDirective::BodyLimit => once(&mut settings.body_limit, size(first)?),
        LocationDirective::AccessLog => once(&mut settings.access_log, log::access_from(cf, arguments)?),
        LocationDirective::AttackLog => once(&mut settings.attack_log, log::file_from(cf, arguments, LogKind::Attack)?),
        LocationDirective::InjectPanic => {
            // SAFETY: `cf` is within http.
            if !unsafe { (*ffi::main_of::<Main>(cf)).testing } {
                warn(cf, "\"weir_inject_panic\" is ignored: nginx was not started for tests");
            }
            once(&mut settings.inject, choose(first, INJECTED)?)
        }
    }
}

/// Words of `weir`.
const MODES: &[(&str, Mode)] = &[("on", Mode::On), ("off", Mode::Off), ("detect", Mode::Detect)];
/// Words of `weir_fail` and `weir_bounds`.
const FAIL_MODES: &[(&str, FailMode)] = &[("open", FailMode::Open), ("closed", FailMode::Closed)];
/// Words of `weir_inject_panic`.
const INJECTED: &[(&str, InjectedFault)] = &[
    ("request", InjectedFault::Request),
    ("body", InjectedFault::Body),
    ("response", InjectedFault::Response),
    ("log", InjectedFault::Log),
    #[cfg(weir_asan)]
    ("pool", InjectedFault::UseAfterEnd(crate::planted::Memory::Pool)),
    #[cfg(weir_asan)]
    ("arena", InjectedFault::UseAfterEnd(crate::planted::Memory::Arena)),
    ("off", InjectedFault::Never),
];

/// The size of a zone of shared memory.
fn zone_size(text: &str) -> Result<usize, String> {
    match size(text)? {
        bytes if bytes < shared::MIN_BYTES => Err(format!("must be at least {}k", shared::MIN_BYTES / 1024)),
        bytes => Ok(bytes),
    }
}

/// Bounds of the memory for messages: with the least, a part has 128 KiB and a message 16 KiB; the most is against slips.
const MESSAGES_BYTES: RangeInclusive<usize> = 2 << 20..=16 << 30;

/// The size of the memory for messages, or `None` for none.
fn messages_size(text: &str) -> Result<Option<usize>, String> {
    match text {
        "off" | "0" => Ok(None),
        _ if MESSAGES_BYTES.contains(&size(text)?) => size(text).map(Some),
        _ => Err(format!("must be \"off\" or a size from 2m to 16g, not \"{text}\"")),
    }
}

/// A path, relative ones from nginx's configuration directory or its prefix.
pub fn full_path(cf: *mut ngx_conf_t, path: &str, from_configuration: bool) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStrExt;
    if path.is_empty() {
        return Err("needs a path".into());
    }
    // SAFETY: a live cycle; the word lives as long as it.
    let full = unsafe {
        let mut name = ffi::copy((*cf).pool, path.as_bytes()).ok_or("has no memory left")?;
        if nginx_sys::ngx_conf_full_name((*cf).cycle, &raw mut name, usize::from(from_configuration)) != ffi::code::OK {
            return Err(format!("cannot resolve \"{path}\""));
        }
        ffi::bytes(&name)
    };
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(full)))
}

/// A size such as `128k` or `1g` in bytes.
pub fn size(text: &str) -> Result<usize, String> {
    let mut word = ffi::static_str(&[]);
    word.len = text.len();
    word.data = text.as_ptr().cast_mut();
    // SAFETY: nginx only reads the word.
    let bytes = unsafe { nginx_sys::ngx_parse_offset(&raw mut word) };
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0).ok_or_else(|| format!("has an invalid size \"{text}\""))
}

/// A time such as `500ms` or `10s` in milliseconds.
pub fn time_ms(text: &str) -> Result<usize, String> {
    let mut word = ffi::static_str(&[]);
    word.len = text.len();
    word.data = text.as_ptr().cast_mut();
    // SAFETY: nginx only reads the word.
    let ms = unsafe { nginx_sys::ngx_parse_time(&raw mut word, 0) };
    usize::try_from(ms).ok().filter(|ms| *ms > 0).ok_or_else(|| format!("has an invalid time \"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_hold_by_default_are_those_of_the_table() {
        fn check<T: Copy + Default + PartialEq + std::fmt::Debug>(directive: LocationDirective, words: &[(&str, T)]) {
            let row = DIRECTIVES.iter().find(|info| info.directive == Directive::Location(directive)).unwrap();
            assert_eq!(choose(&row.default.to_string(), words), Ok(T::default()), "{}", row.name);
        }
        check(LocationDirective::Weir, MODES);
        check(LocationDirective::Fail, FAIL_MODES);
        check(LocationDirective::InjectPanic, INJECTED);
    }
}
