//! Every directive: the one table that the module's commands and the reference page come from.
//!
//! Rows are grouped by where a directive may stand, and each group is an enum of its own: the module
//! sets the configuration of `http` by one match and that of a location by another, and neither has to
//! mention what cannot come there. Defaults that are numbers are stated here, once, for the page and
//! for the module.

use std::fmt;

/// `weir_body_limit` unless configured, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 128 << 10;
/// Bytes of a zone of shared memory unless configured: 450,000 keys of rate limits, or 80,000 records of
/// collections.
pub const DEFAULT_ZONE_BYTES: usize = 8 << 20;
/// `weir_sample` unless configured: the two clock readings per rule then cost less than 1 %.
pub const DEFAULT_SAMPLE: u32 = 64;
/// `weir_runtime` unless configured.
pub const DEFAULT_RUNTIME: &str = "/run/weir";

/// How many arguments a directive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// Exactly one.
    One,
    /// One or two.
    OneOrTwo,
    /// At least one.
    AtLeastOne,
}

/// What holds without a directive, displayed as it would be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// A word, or a description.
    Text(&'static str),
    /// A size in bytes: a multiple of 1024.
    Bytes(usize),
    /// A number.
    Number(u32),
}

impl fmt::Display for Default {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Text(text) => out.write_str(text),
            Self::Bytes(bytes) if bytes.is_multiple_of(1 << 20) => write!(out, "{}m", bytes >> 20),
            Self::Bytes(bytes) => write!(out, "{}k", bytes >> 10),
            Self::Number(number) => write!(out, "{number}"),
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct DirectiveInfo {
    /// The directive.
    pub directive: Directive,
    /// Its name.
    pub name: &'static str,
    /// Its name as a C string.
    pub c_name: &'static str,
    /// How many arguments it takes.
    pub arguments: Arguments,
    /// The arguments, for people.
    pub syntax: &'static str,
    /// What holds without it.
    pub default: Default,
    /// What it does, in Markdown.
    pub doc: &'static str,
}

macro_rules! directives {
    ($($(#[$where:meta])* $context:ident($group:ident) {
        $($id:ident $name:literal $arguments:ident $syntax:literal $default:ident($value:expr) $doc:literal;)*
    })*) => {
        $(
            $(#[$where])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $group { $(#[doc = $doc] $id,)* }
        )*

        /// A directive, by where it may stand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Directive { $($(#[$where])* $context($group),)* }

        /// The table.
        pub const DIRECTIVES: &[DirectiveInfo] = &[$($(DirectiveInfo {
            directive: Directive::$context($group::$id), name: $name, c_name: concat!($name, "\0"),
            arguments: Arguments::$arguments, syntax: $syntax, default: Default::$default($value), doc: $doc,
        },)*)*];
    };
}

directives! {
    /// In `http` only.
    Http(HttpDirective) {
        Policy "weir_policy" One "FILE" Text("none")
            "The policy, in YAML or JSON. A relative path counts from nginx's configuration directory. Errors in it fail `nginx -t`, and a reload keeps the policy that is serving.";
        HeartbeatLog "weir_heartbeat_log" AtLeastOne "PATH | off [interval=TIME]" Text("off")
            "Writes one JSON object per worker and interval (10s): revision, requests, verdicts, totals of the ledger, resident memory, dropped lines.";
        LogLevel "weir_log_level" One "debug | info | notice | warn | error | crit" Text("the level of error_log")
            "Which of Weir's own messages go to the error log, whatever the level of `error_log`. `weir log-level` changes it at run time. A message below the level is never formatted.";
        Runtime "weir_runtime" One "DIR" Text(DEFAULT_RUNTIME)
            "Where counters and switches are, for `weir cost`, `weir status` and `weir silence`.";
        RateLimitZone "weir_rate_limit_zone" One "SIZE" Bytes(DEFAULT_ZONE_BYTES)
            "Shared memory for rate limits. Kept over reloads as long as the size stays the same.";
        CollectionsZone "weir_collections_zone" One "SIZE" Bytes(DEFAULT_ZONE_BYTES)
            "Shared memory for what SecLang rules remember from request to request (`IP`, `GLOBAL`, `SESSION` and other persistent collections). Kept over reloads as long as the size stays the same; when it is full, what would expire first is given up, which the error log says.";
        RequestIdHeader "weir_request_id_header" OneOrTwo "NAME [trusted | any]" Text("none")
            "Takes the request id from this request header, if the value is 1 to 64 of `A-Za-z0-9._-`: with `trusted` (the default) only from peers that `client_address.trusted` of the policy names, with `any` from everyone.";
        Sample "weir_sample" One "N" Number(DEFAULT_SAMPLE)
            "Times every rule in every N-th request. Calls and hits are always exact, as is the time of Weir as a whole.";
    }

    /// In `server` only.
    Server(ServerDirective) {
        Gateway "weir_gateway" One "on | off" Text("off")
            "Serves in this server whatever the live configuration says: sites, routes, upstreams and certificates that `weir control` keeps, changed without a reload. It brings a `location /` of its own; locations written beside it go on working and win by nginx's usual rules. An `ssl_certificate` of one's own, shown where no certificate of the live configuration fits, has to stand before it.";
    }

    /// In `http`, `server` and `location`; inner ones win.
    Location(LocationDirective) {
        Weir "weir" One "on | off | detect" Text("off")
            "Whether Weir looks at requests and logs them. With `detect` nothing is stopped or changed; findings say what would have been done.";
        Apply "weir_apply" AtLeastOne "NAME... | none" Text("all policies of the file")
            "Which policies apply, by id. `none` applies none; access logs are still written.";
        Fail "weir_fail" One "open | closed" Text("open")
            "What happens after a fault in Weir, and to a body longer than `weir_body_limit`: `open` lets the request pass (rules see the body's beginning), `closed` answers 500 or 413.";
        BodyLimit "weir_body_limit" One "SIZE" Bytes(DEFAULT_BODY_LIMIT)
            "How much of a request body rules can see. A body is read at all only if a rule needs it for this request; `client_max_body_size` still bounds what nginx takes.";
        AccessLog "weir_access_log" AtLeastOne "PATH | off [fields=NAME,...] [buffer=SIZE] [flush=TIME]" Text("off")
            "Writes one JSON object per request. Buffered (64k) and flushed every second unless said otherwise; reopened on `USR1`. A disk that is full or a reader that is slow loses whole lines, which are counted, and never blocks a worker.";
        AttackLog "weir_attack_log" AtLeastOne "PATH | off [buffer=SIZE] [flush=TIME]" Text("off")
            "Writes one JSON object per request that has findings.";
        InjectPanic "weir_inject_panic" One "request | body | response | log | off" Text("off")
            "For tests of the fail mode: a fault in that phase. Ignored, with a warning, unless the environment of nginx has `WEIR_TESTING`.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for info in DIRECTIVES {
            assert!(info.name.starts_with("weir"));
            assert_eq!(DIRECTIVES.iter().filter(|other| other.name == info.name).count(), 1);
        }
    }
}
