//! Every directive: the one table that the module's commands and the reference page come from.

/// Where a directive may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// In `http` only.
    Main,
    /// In `server` only.
    Server,
    /// In `http`, `server` and `location`; inner ones win.
    Everywhere,
}

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

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct DirectiveInfo {
    /// The directive.
    pub directive: Directive,
    /// Its name.
    pub name: &'static str,
    /// Its name as a C string.
    pub c_name: &'static str,
    /// Where it may stand.
    pub context: Context,
    /// How many arguments it takes.
    pub arguments: Arguments,
    /// The arguments, for people.
    pub syntax: &'static str,
    /// What holds without it, for people.
    pub default: &'static str,
    /// What it does, in Markdown.
    pub doc: &'static str,
}

macro_rules! directives {
    ($($id:ident $name:literal $context:ident $arguments:ident $syntax:literal $default:literal $doc:literal;)*) => {
        /// A directive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Directive { $(#[doc = $doc] $id,)* }

        /// The table, in the order of [`Directive`].
        pub const DIRECTIVES: &[DirectiveInfo] = &[$(DirectiveInfo {
            directive: Directive::$id, name: $name, c_name: concat!($name, "\0"), context: Context::$context,
            arguments: Arguments::$arguments, syntax: $syntax, default: $default, doc: $doc,
        },)*];
    };
}

directives! {
    Weir "weir" Everywhere One "on | off | detect" "off"
        "Whether Weir looks at requests and logs them. With `detect` nothing is stopped or changed; findings say what would have been done.";
    Policy "weir_policy" Main One "FILE" "none"
        "The policy, in YAML or JSON. A relative path counts from nginx's configuration directory. Errors in it fail `nginx -t`, and a reload keeps the policy that is serving.";
    Gateway "weir_gateway" Server One "on | off" "off"
        "Serves in this server whatever the live configuration says: sites, routes, upstreams and certificates that `weir control` keeps, changed without a reload. It brings a `location /` of its own; locations written beside it go on working and win by nginx's usual rules. An `ssl_certificate` of one's own, shown where no certificate of the live configuration fits, has to stand before it.";
    Apply "weir_apply" Everywhere AtLeastOne "NAME... | none" "all policies of the file"
        "Which policies apply, by id. `none` applies none; access logs are still written.";
    Fail "weir_fail" Everywhere One "open | closed" "open"
        "What happens after a fault in Weir, and to a body longer than `weir_body_limit`: `open` lets the request pass (rules see the body's beginning), `closed` answers 500 or 413.";
    BodyLimit "weir_body_limit" Everywhere One "SIZE" "128k"
        "How much of a request body rules can see. A body is read at all only if a rule needs it for this request; `client_max_body_size` still bounds what nginx takes.";
    AccessLog "weir_access_log" Everywhere AtLeastOne "PATH | off [fields=NAME,...] [buffer=SIZE] [flush=TIME]" "off"
        "Writes one JSON object per request. Buffered (64k) and flushed every second unless said otherwise; reopened on `USR1`. A disk that is full or a reader that is slow loses whole lines, which are counted, and never blocks a worker.";
    AttackLog "weir_attack_log" Everywhere AtLeastOne "PATH | off [buffer=SIZE] [flush=TIME]" "off"
        "Writes one JSON object per request that has findings.";
    HeartbeatLog "weir_heartbeat_log" Main AtLeastOne "PATH | off [interval=TIME]" "off"
        "Writes one JSON object per worker and interval (10s): revision, requests, verdicts, totals of the ledger, resident memory, dropped lines.";
    LogLevel "weir_log_level" Main One "debug | info | notice | warn | error | crit" "the level of error_log"
        "Which of Weir's own messages go to the error log, whatever the level of `error_log`. `weir log-level` changes it at run time. A message below the level is never formatted.";
    Runtime "weir_runtime" Main One "DIR" "/run/weir"
        "Where counters and switches are, for `weir cost`, `weir status` and `weir silence`.";
    RateLimitZone "weir_rate_limit_zone" Main One "SIZE" "8m"
        "Shared memory for rate limits. Kept over reloads as long as the size stays the same.";
    CollectionsZone "weir_collections_zone" Main One "SIZE" "8m"
        "Shared memory for what SecLang rules remember from request to request (`IP`, `GLOBAL`, `SESSION` and other persistent collections). Kept over reloads as long as the size stays the same; when it is full, what would expire first is given up, which the error log says.";
    RequestIdHeader "weir_request_id_header" Main OneOrTwo "NAME [trusted | any]" "none"
        "Takes the request id from this request header, if the value is 1 to 64 of `A-Za-z0-9._-`: with `trusted` (the default) only from peers that `client_address.trusted` of the policy names, with `any` from everyone.";
    Sample "weir_sample" Main One "N" "64"
        "Times every rule in every N-th request. Calls and hits are always exact, as is the time of Weir as a whole.";
    InjectPanic "weir_inject_panic" Everywhere One "request | body | response | log | off" "off"
        "For tests of the fail mode: a fault in that phase. Ignored, with a warning, unless the environment of nginx has `WEIR_TESTING`.";
}

impl Directive {
    /// The directive's row in the table.
    #[must_use]
    pub fn info(self) -> &'static DirectiveInfo {
        &DIRECTIVES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_enum_and_names_are_unique() {
        for (row, info) in DIRECTIVES.iter().enumerate() {
            assert_eq!(info.directive as usize, row);
            assert!(info.name.starts_with("weir"));
            assert_eq!(DIRECTIVES.iter().filter(|other| other.name == info.name).count(), 1);
        }
    }
}
