//! Every directive: the one table that the module's commands and the reference page come from.
//!
//! Rows are grouped by where a directive may stand, and each group is an enum of its own: the module
//! sets the configuration of `http` by one match and that of a location by another, and neither has to
//! mention what cannot come there. Defaults that are numbers are stated here, once, for the page and
//! for the module.

use std::fmt;

/// `weir_body_limit` unless configured, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 1 << 20;
/// Bytes of a zone of shared memory unless configured: 450,000 keys of rate limits, or 80,000 records of
/// collections.
pub const DEFAULT_ZONE_BYTES: usize = 8 << 20;
/// Size of the zone of nonces without `weir_nonce_zone`: 1.3 million of them.
pub const DEFAULT_NONCE_ZONE_BYTES: usize = 24 << 20;
/// Size of the memory for messages without `weir_messages_zone`: 1 MiB for each set of topics.
pub const DEFAULT_MESSAGES_ZONE_BYTES: usize = 16 << 20;
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
            "The policy file, in YAML or JSON. A relative path refers to nginx's configuration directory. Errors in the file make `nginx -t` fail, and a reload keeps the current policy.";
        HeartbeatLog "weir_heartbeat_log" AtLeastOne "PATH | off [interval=TIME]" Text("off")
            "Writes one JSON object per worker and interval (10s): revision, requests, verdicts, totals of the ledger, resident memory, dropped lines.";
        LogLevel "weir_log_level" One "debug | info | notice | warn | error | crit" Text("the level of error_log")
            "The level of Weir's own messages in the error log, independent of the level of `error_log`. `weir log-level` changes it at run time. Messages below the level are not even formatted.";
        Runtime "weir_runtime" One "DIR" Text(DEFAULT_RUNTIME)
            "The directory of counters and switches, for `weir cost`, `weir status` and `weir silence`.";
        RateLimitZone "weir_rate_limit_zone" One "SIZE" Bytes(DEFAULT_ZONE_BYTES)
            "Shared memory for rate limits. It is kept across reloads as long as the size stays the same.";
        CollectionsZone "weir_collections_zone" One "SIZE" Bytes(DEFAULT_ZONE_BYTES)
            "Shared memory for the persistent collections of SecLang rules (`IP`, `GLOBAL`, `SESSION` and others). It is kept across reloads as long as the size stays the same. When it is full, the entries that would expire first are dropped, with a line in the error log.";
        NonceZone "weir_nonce_zone" One "SIZE" Bytes(DEFAULT_NONCE_ZONE_BYTES)
            "Shared memory for nonces of signed requests, where an action has `replay: refuse`. 18.6 bytes for each request of one window: `24m` holds 1.3 million. It is kept across reloads as long as the size stays the same. A nonce is never forgotten before it expires; when the memory is full, `replay` of the action decides.";
        MessagesZone "weir_messages_zone" One "SIZE | off" Bytes(DEFAULT_MESSAGES_ZONE_BYTES)
            "Memory for messages to clients, in a file of the runtime directory; it is divided into 16 equal parts, one for each `topics` resource, and a message may take an eighth of a part. `2m` is the least, `16g` the most. With `off` or `0` there is none, and routes with `messages` answer 503.";
        RequestIdHeader "weir_request_id_header" OneOrTwo "NAME [trusted | any]" Text("none")
            "Takes the request id from this request header if the value has 1 to 64 characters of `A-Za-z0-9._-`: with `trusted` (the default) only from peers in `client_address.trusted` of the policy, with `any` from every peer.";
        Sample "weir_sample" One "N" Number(DEFAULT_SAMPLE)
            "Measures the time of every rule in every N-th request. Calls, hits and the total time of Weir are always exact.";
    }

    /// In `server` only.
    Server(ServerDirective) {
        Gateway "weir_gateway" One "on | off" Text("off")
            "Serves the live configuration in this server: sites, routes, upstreams and certificates that `weir control` holds, changed without a reload. The directive adds a `location /`; other locations of the server keep working and take precedence by nginx's usual rules. Requests to them are not routed; they get the policies of the site that their host belongs to, otherwise those of the settings, unless `weir off`, `weir detect` or `weir_apply` says otherwise. An `ssl_certificate` for names without a certificate in the live configuration must precede the directive.";
    }

    /// In `http`, `server` and `location`; inner ones win.
    Location(LocationDirective) {
        Weir "weir" One "on | off | detect" Text("off")
            "Whether Weir inspects requests and logs them; in servers with `weir_gateway on` the default is on. With `detect`, nothing is blocked or changed; findings state what would have been done.";
        Apply "weir_apply" AtLeastOne "NAME... | none" Text("all policies of the file")
            "The policies that apply, by id, evaluated in this order. With `none`, no policy applies; access logs are still written.";
        Fail "weir_fail" One "open | closed" Text("open")
            "The handling of a fault in Weir: `open` lets the request pass, `closed` answers 500.";
        Bounds "weir_bounds" One "open | closed" Text("closed")
            "The handling of a request that rules cannot read completely: a body longer than `weir_body_limit`, input past a bound (10,000 arguments, cookies, parts or JSON scalars, nesting of 128), and a body that does not follow its format, as far as rules read it. `closed` answers 413 or 400, `open` lets the request pass: rules see what could be read, `crs` adds to the score, and the error log and attack log note it. Policies that only detect refuse nothing.";
        BodyLimit "weir_body_limit" One "SIZE" Bytes(DEFAULT_BODY_LIMIT)
            "The part of a request body that rules can see, by default as much as nginx accepts (`client_max_body_size`). A body is read only if a rule needs it for this request. Where larger uploads are allowed, `weir_bounds` decides about them: raise the limit there, or set `weir_bounds open`, with which attacks behind the limit are not seen.";
        AccessLog "weir_access_log" AtLeastOne "PATH | off [fields=NAME,...] [buffer=SIZE] [flush=TIME]" Text("off")
            "Writes one JSON object per request. The log is buffered (64k) and flushed every second by default, and reopened on `USR1`. A full disk or a slow reader never blocks a worker: complete lines are dropped and counted.";
        AttackLog "weir_attack_log" AtLeastOne "PATH | off [buffer=SIZE] [flush=TIME]" Text("off")
            "Writes one JSON object per request with findings.";
        InjectPanic "weir_inject_panic" One "request | body | response | log | off" Text("off")
            "Causes a fault in this phase, to test the fail mode. Ignored with a warning unless nginx's environment contains `WEIR_TESTING`.";
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
