//! The attack log: one JSON object per request with findings.
//!
//! Each table has a row per field. From a row come the field's place in the line, its name for writer
//! and readers, and its entry on the reference page. The nginx module matches on every variant of
//! [`AttackField`] and [`FindingField`], and readers use the members of [`AttackLine`], so a field that
//! is renamed or forgotten somewhere does not compile.

use serde::Deserialize;

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo<F> {
    /// The field.
    pub field: F,
    /// Its name in the log.
    pub name: &'static str,
    /// What precedes its value in a line: `"name":`.
    pub fragment: &'static str,
    /// The JSON type of its value, for people.
    pub shape: &'static str,
    /// What it holds.
    pub doc: &'static str,
}

/// The JSON type that a value of this type is read from.
trait Shaped {
    const SHAPE: &'static str;
}

macro_rules! shapes {
    ($($ty:ty: $shape:literal;)*) => { $(impl Shaped for $ty { const SHAPE: &'static str = $shape; })* };
}

shapes! {
    String: "string";
    Option<String>: "string";
    u32: "integer";
    Vec<String>: "array of strings";
    Vec<FindingLine>: "array of findings";
}

macro_rules! fields {
    ($(#[$of_line:meta])* $line:ident, $(#[$of_field:meta])* $field:ident, $table:ident;
     $($id:ident $name:ident: $ty:ty, $doc:literal;)*) => {
        $(#[$of_field])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $field { $(#[doc = $doc] $id,)* }

        #[doc = concat!("The table, in the order of [`", stringify!($field), "`] and of a line.")]
        pub const $table: &[FieldInfo<$field>] = &[$(FieldInfo {
            field: $field::$id, name: stringify!($name), fragment: concat!("\"", stringify!($name), "\":"),
            shape: <$ty as Shaped>::SHAPE, doc: $doc,
        },)*];

        $(#[$of_line])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct $line { $(#[doc = $doc] pub $name: $ty,)* }
    };
}

fields! {
    /// A line as readers see it. What the line lacks is empty or zero.
    AttackLine,
    /// A field of a line.
    AttackField, ATTACK_FIELDS;

    RequestId request_id: String, "Request id.";
    Time time: String, "When the request ended, ISO 8601 in UTC with milliseconds.";
    Client client: String, "Address of the client, as determined by the policy's `client_address`.";
    Host host: String, "Host name of the request.";
    Method method: String, "Method.";
    Uri uri: String, "Request target as sent.";
    Status status: u32, "Status of the response.";
    Action action: String, "Weir's verdict; if the request passed, the action of the first finding. `fail` with `unreadable` means refused by `weir_bounds`, without it by `weir_fail`.";
    Policy policy: String, "Policy of the rule that decided, else of the first finding.";
    Revision revision: String, "Revision of the policy.";
    RuleIds rule_ids: Vec<String>, "Ids of the rules that matched, in the order of the findings.";
    Findings findings: Vec<FindingLine>, "The findings: one object per match, see below.";
    Score score: u32, "Sum of the scores of the rules that matched.";
    Tags tags: Vec<String>, "Tags set by rules.";
    Consumer consumer: String, "Id of the authenticated consumer; absent if there is none.";
    Unreadable unreadable: String, "What rules could not read completely, with the parser's first error: `invalid_json: no value at byte 12`. `weir_bounds` decides about such requests. Absent if there is nothing.";
}

fields! {
    /// A finding as readers see it. What the line lacks is empty or zero.
    FindingLine,
    /// A field of a finding.
    FindingField, FINDING_FIELDS;

    Rule rule: String, "Id of the rule.";
    Message message: String, "The rule's message; empty if it has none.";
    Variable variable: String, "The part of the request or response that matched, as the rule's language names it.";
    Matched matched: String, "The bytes that matched.";
    Score score: u32, "What the finding added to the score; absent if nothing.";
    Via via: Option<String>, "Of a rule in a rule set: id of the policy's rule that ran the set.";
    Policy policy: String, "Of a rule in a rule set: policy of that rule.";
    LogData log_data: String, "Of a rule in a rule set: its `logdata`; absent if empty.";
    Severity severity: String, "Of a rule in a rule set: its severity, such as `CRITICAL`; absent if it has none.";
    Tags tags: Vec<String>, "Of a rule in a rule set: its tags; absent if it has none.";
    Reason reason: String, "Of a failed authentication: the step that failed (`missing`, `unknown_key`, `expired`, `body_changed`, `mismatch` and others), a colon, and what was found. Absent for other findings.";
    Key key: String, "Of an exceeded [rate limit](../policy.md#rate-limits): the key that was over it. `ip:` and an address, of IPv6 with the prefix that is counted together; `text:` and the value's first 128 bytes; `hash:` and 16 hexadecimal digits for a value that may be a credential; `none:` and the client's address if the request has no key.";
}

impl AttackLine {
    /// Reads a line; `None` if it does not tell of a request.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line: Self = serde_json::from_slice(line).ok()?;
        let tells = !(line.request_id.is_empty() || line.method.is_empty() || line.uri.is_empty());
        tells.then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_by_the_names_of_the_tables() {
        let value = |shape: &str, name: &str| match shape {
            "string" => format!("\"{name}\""),
            "integer" => "7".to_owned(),
            "array of strings" => format!("[\"{name}\"]"),
            _ => format!(
                "[{{{}}}]",
                FINDING_FIELDS
                    .iter()
                    .map(|info| format!("{}\"{}\"", info.fragment, info.name))
                    .take(3)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        };
        let members: Vec<String> =
            ATTACK_FIELDS.iter().map(|info| info.fragment.to_owned() + &value(info.shape, info.name)).collect();
        let line = AttackLine::parse(format!("{{{}}}", members.join(",")).as_bytes()).expect("is a line");
        assert_eq!((line.uri.as_str(), line.status, &line.rule_ids[..]), ("uri", 7, &["rule_ids".to_owned()][..]));
        assert_eq!((line.findings[0].rule.as_str(), line.findings[0].score), ("rule", 0));
        assert_eq!(AttackLine::parse(br#"{"level":"info"}"#), None);
        assert_eq!(AttackLine::parse(b"not json"), None);
    }
}
