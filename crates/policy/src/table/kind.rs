//! What values may be: each kind with what messages, schema and reference page say of it.

use weir_gateway::resource::{MAX_ID_BYTES, ResourceKind};

use super::{Form, Resource};

/// What a value is.
#[derive(Debug)]
pub enum Kind {
    /// Any text; numbers and booleans are taken as written.
    Text,
    /// Text of a bounded length that names something.
    Word(Word),
    /// A condition in the expression language.
    Condition,
    /// A value in the expression language.
    Value,
    /// An integer between two bounds, both included.
    Integer(i64, i64),
    /// One of these, each with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// One of these integers.
    OneOf(&'static [i64]),
    /// `true` or `false`.
    Flag,
    /// Ids of SecLang rules: one, a range, or a list of both.
    RuleIds,
    /// An address or a network.
    Network,
    /// A rate such as `100/s`.
    Rate,
    /// A name of an HTTP header field that may be set.
    HeaderName,
    /// A value of an HTTP header field.
    HeaderValue,
    /// A file, relative to the policy's.
    File,
    /// A list; with `true`, of at least one item.
    List(&'static Kind, bool),
    /// A mapping of names to values; the first kind is the names'.
    Map(&'static Kind, &'static Kind),
    /// A mapping with known keys.
    Resource(&'static Resource),
    /// One action: its name, or a mapping of its name to its parameters.
    Action,
    /// A text that looks like something.
    Form(&'static Form),
    /// The id of a resource.
    Id(ResourceKind),
    /// A time such as `5s`, between two bounds in ms, both included; `0` if the lower one is 0.
    Duration(u64, u64),
    /// A size such as `1m`, between two bounds in bytes, both included.
    Size(u64, u64),
    /// A share in percent, to two digits behind the point.
    Percent,
    /// A status code, or a range of them such as `200-399`.
    Statuses,
    /// A mapping with known keys, or `true` (its defaults) or `false` (none of it).
    Switch(&'static Resource),
    /// A list or mapping of at most so many entries.
    AtMost(&'static Kind, usize),
    /// Policies in a state file: by id, or a list with ids.
    Policies,
}

/// Names of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// An id of a policy, selector or rule, or a tag.
    Id,
    /// A list's name, which expressions write after `$`.
    List,
    /// A revision.
    Revision,
    /// A variable of a rule set.
    Variable,
}

/// Longest revision, in bytes: what a worker's slot of the ledger holds.
pub const MAX_REVISION_BYTES: usize = 32;

impl Word {
    /// Most bytes.
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Id | Self::List | Self::Variable => MAX_ID_BYTES,
            Self::Revision => MAX_REVISION_BYTES,
        }
    }

    /// As a regular expression, for the schema.
    pub const fn pattern(self) -> &'static str {
        match self {
            Self::Id | Self::Revision => "^[A-Za-z0-9][A-Za-z0-9_.:/-]*$",
            Self::List | Self::Variable => "^[A-Za-z_][A-Za-z0-9_.-]*$",
        }
    }

    /// In words, for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Id => "a name of letters, digits and _ . : / - that begins with a letter or digit",
            Self::List => "a list name of letters, digits and _ . - that begins with a letter or _",
            Self::Variable => "a variable's name of letters, digits and _ . - that begins with a letter or _",
            Self::Revision => {
                "a revision of at most 32 letters, digits and _ . : / - that begins with a letter or digit"
            }
        }
    }

    /// Whether `text` is one.
    pub fn fits(self, text: &str) -> bool {
        let mut bytes = text.bytes();
        let Some(first) = bytes.next() else { return false };
        let (begins, goes_on): (bool, fn(u8) -> bool) = match self {
            Self::Id | Self::Revision => {
                (first.is_ascii_alphanumeric(), |byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte))
            }
            Self::List | Self::Variable => (first.is_ascii_alphabetic() || first == b'_', |byte| {
                byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
            }),
        };
        begins && text.len() <= self.max_bytes() && bytes.all(goes_on)
    }
}

impl Kind {
    /// What is expected, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Word(word) => word.describe().into(),
            Self::Condition => "a condition, such as 'http.host eq \"example.com\"'".into(),
            Self::Value => "a value in the expression language, such as 'ip.src.country' or '\"text\"'".into(),
            Self::Integer(i64::MIN, i64::MAX) => "an integer".into(),
            Self::Integer(low, high) => format!("an integer from {low} to {high}"),
            Self::Choice(choices) => one_of(&choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>()),
            Self::OneOf(numbers) => one_of(&numbers.iter().map(i64::to_string).collect::<Vec<_>>()),
            Self::Flag => "`true` or `false`".into(),
            Self::RuleIds => "a rule id, a range such as 942100-942199, or a list of them".into(),
            Self::Network => "an address or a network, such as 192.0.2.1 or 2001:db8::/32".into(),
            Self::Rate => "a rate, such as 100/s, 600/m, 1000/h or 10/30s".into(),
            Self::HeaderName => "a header name, such as X-Country".into(),
            Self::HeaderValue => "a header value: one line of text".into(),
            Self::File => "the path of a file".into(),
            Self::List(_, _) => "a list".into(),
            Self::Map(_, _) | Self::Resource(_) => "a mapping".into(),
            Self::Action => "an action: its name or a mapping `name: {parameters}`".into(),
            Self::Form(form) => form.describe.into(),
            Self::Id(kind) => format!("a valid {} id", kind.singular()),
            Self::Duration(low, high) => {
                format!("a time from {} to {}, such as 250ms, 5s, 1m", time(*low), time(*high))
            }
            Self::Size(0, high) => format!("a size of at most {}, such as 128k, 1m or a number of bytes", size(*high)),
            Self::Size(low, high) => {
                format!("a size from {} to {}, such as 128k, 1m or a number of bytes", size(*low), size(*high))
            }
            Self::Percent => "a number of percent from 0.01 to 100".into(),
            Self::Statuses => "a status code or a range such as 200-399".into(),
            Self::Switch(resource) => format!("{} (a mapping), `true` or `false`", resource.article),
            Self::AtMost(inner, _) => inner.describe(),
            Self::Policies => "policies: a mapping of ids to policies, or a list of policies with ids".into(),
        }
    }

    /// For the reference page's column *type*; resources are linked.
    pub fn summary(&self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Word(Word::Id) => "id".into(),
            Self::Word(Word::List) => "list name".into(),
            Self::Word(Word::Variable) => "variable".into(),
            Self::Word(Word::Revision) => "id of at most 32 bytes".into(),
            Self::Condition => "condition (an expression)".into(),
            Self::Value => "value (an expression)".into(),
            Self::Integer(i64::MIN, i64::MAX) => "integer".into(),
            Self::Integer(low, high) => format!("integer, {low} to {high}"),
            Self::Choice(choices) => choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            Self::OneOf(numbers) => numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
            Self::Flag => "`true`, `false`".into(),
            Self::RuleIds => "rule id, range, or list of them".into(),
            Self::Network => "address or network".into(),
            Self::Rate => "rate".into(),
            Self::HeaderName => "header name".into(),
            Self::HeaderValue => "header value".into(),
            Self::File => "file".into(),
            Self::List(inner, _) => format!("list of: {}", inner.summary()),
            Self::Map(names, inner) => format!("mapping of {} to {}", names.summary(), inner.summary()),
            Self::Resource(resource) => format!("[{0}](#{0})", resource.name),
            Self::Action => "[action](#actions)".into(),
            Self::Form(form) => form.name.into(),
            Self::Id(kind) => format!("{} id", kind.singular()),
            Self::Duration(low, high) => format!("time, {} to {}", time(*low), time(*high)),
            Self::Size(0, high) => format!("size, at most {}", size(*high)),
            Self::Size(low, high) => format!("size, {} to {}", size(*low), size(*high)),
            Self::Percent => "percent, 0.01 to 100".into(),
            Self::Statuses => "status or range".into(),
            Self::Switch(resource) => format!("[{0}](#{0}), `true`, `false`", resource.name),
            Self::AtMost(inner, most) => format!("{}; at most {most}", inner.summary()),
            Self::Policies => "mapping of id to [policy](#policy), or list of policies".into(),
        }
    }
}

/// Units of time, the largest first, in ms.
const TIMES: [(u64, &str); 5] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
/// Units of size, the largest first.
const SIZES: [(u64, &str); 4] = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k"), (1, "")];

/// As it would be written.
fn time(ms: u64) -> String {
    let (unit, name) = TIMES.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit)).unwrap_or((1, ""));
    format!("{}{name}", ms / unit)
}

/// As it would be written.
fn size(bytes: u64) -> String {
    let (unit, name) = SIZES.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)).unwrap_or((1, ""));
    format!("{}{name}", bytes / unit)
}

fn one_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [start @ .., last] => format!("{} or {last}", start.join(", ")),
    }
}
