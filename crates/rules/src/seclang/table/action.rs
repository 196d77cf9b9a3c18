//! Actions of rules.

use super::Row;
use crate::seclang::ir::Collection;

/// Actions as the parser distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum ActionKind {
    Allow,
    Block,
    Capture,
    Chain,
    Ctl,
    Deny,
    Drop,
    ExpireVar,
    Id,
    InitCol,
    /// `setsid`, `setuid` and `setrsc`.
    UseRecord(Collection),
    Log(bool),
    LogData,
    Msg,
    MultiMatch,
    Pass,
    Phase,
    Redirect,
    Rev,
    SetEnv,
    SetVar,
    Severity,
    Skip,
    SkipAfter,
    Status,
    Tag,
    Transformation,
    Ver,
    /// Its value is ignored.
    Nothing,
}

/// Whether an action takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum ActionValue {
    None,
    Optional,
    Required,
}

type Action = Row<(ActionKind, ActionValue)>;

const fn plain(name: &'static str, kind: ActionKind, meaning: &'static str) -> Action {
    Row::new(name, (kind, ActionValue::None), meaning)
}

const fn with(name: &'static str, kind: ActionKind, meaning: &'static str) -> Action {
    Row::new(name, (kind, ActionValue::Required), meaning)
}

const fn maybe(name: &'static str, kind: ActionKind, meaning: &'static str) -> Action {
    Row::new(name, (kind, ActionValue::Optional), meaning)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Action {
    maybe(name, ActionKind::Nothing, meaning).unsupported(why)
}

const V2_ONLY: &str = "not in ModSecurity v3 either";

/// All actions, by name.
#[rustfmt::skip]
pub(in crate::seclang) const ACTIONS: &[Action] = &[
    with("accuracy", ActionKind::Nothing, "how few false positives the rule has, 1 to 9").no_effect("nothing reads it"),
    maybe("allow", ActionKind::Allow, "skips all further rules of the transaction, of this `phase`, or of the `request`"),
    lacking("append", "adds text to the response", V2_ONLY),
    plain("auditlog", ActionKind::Log(true), "logs a match, like `log`"),
    plain("block", ActionKind::Block, "applies the `SecDefaultAction` of the phase"),
    plain("capture", ActionKind::Capture, "stores capture groups in `TX:0` to `TX:9`"),
    plain("chain", ActionKind::Chain, "the next rule must match too"),
    with("ctl", ActionKind::Ctl, "changes a setting for the rest of the transaction"),
    plain("deny", ActionKind::Deny, "answers with `status`, 403 by default"),
    lacking("deprecatevar", "lowers a variable over time", V2_ONLY),
    plain("drop", ActionKind::Drop, "closes the connection"),
    lacking("exec", "runs a script", "rules cannot run programs"),
    with("expirevar", ActionKind::ExpireVar, "deletes a variable of a persistent collection after a number of seconds"),
    with("id", ActionKind::Id, "unique number of the rule"),
    with("initcol", ActionKind::InitCol, "selects the record of a persistent collection for the transaction"),
    plain("log", ActionKind::Log(true), "logs a match"),
    with("logdata", ActionKind::LogData, "additional text to log with a match"),
    with("maturity", ActionKind::Nothing, "how long the rule has been tested, 1 to 9").no_effect("nothing reads it"),
    with("msg", ActionKind::Msg, "message of the rule"),
    plain("multiMatch", ActionKind::MultiMatch, "tests the value after every transformation that changes it"),
    plain("noauditlog", ActionKind::Nothing, "does not write a match to the audit log")
        .no_effect("there is no audit log; `nolog` keeps a match out of the attack log"),
    plain("nolog", ActionKind::Log(false), "does not log a match"),
    plain("pass", ActionKind::Pass, "continues with the next rule"),
    lacking("pause", "waits", V2_ONLY),
    with("phase", ActionKind::Phase, "when the rule runs: 1 to 5, `request` (2), `response` (4) or `logging` (5)"),
    lacking("prepend", "adds text to the response", V2_ONLY),
    lacking("proxy", "forwards to another server", V2_ONLY),
    with("redirect", ActionKind::Redirect, "redirects the client with `status`, 302 by default"),
    with("rev", ActionKind::Rev, "revision of the rule"),
    lacking("sanitiseArg", "hides an argument in the audit log", V2_ONLY)
        .alias(&["sanitiseMatched", "sanitiseMatchedBytes", "sanitiseRequestHeader", "sanitiseResponseHeader",
            "sanitizeArg", "sanitizeMatched", "sanitizeMatchedBytes", "sanitizeRequestHeader", "sanitizeResponseHeader"]),
    with("setenv", ActionKind::SetEnv, "sets a variable of `ENV` for this transaction").no_effect("`ENV` is always empty"),
    with("setrsc", ActionKind::UseRecord(Collection::Resource), "selects the record of `RESOURCE` for the transaction"),
    with("setsid", ActionKind::UseRecord(Collection::Session), "selects the record of `SESSION` for the transaction"),
    with("setuid", ActionKind::UseRecord(Collection::User), "selects the record of `USER` for the transaction"),
    with("setvar", ActionKind::SetVar, "sets, adds to, subtracts from or removes a variable"),
    with("severity", ActionKind::Severity, "0 to 7, or EMERGENCY, ALERT, CRITICAL, ERROR, WARNING, NOTICE, INFO, DEBUG"),
    with("skip", ActionKind::Skip, "skips this many rules after a match"),
    with("skipAfter", ActionKind::SkipAfter, "continues after the marker if the rule matches"),
    with("status", ActionKind::Status, "status of `deny` and `redirect`"),
    with("t", ActionKind::Transformation, "transforms values before they are tested; `none` discards those before it"),
    with("tag", ActionKind::Tag, "a label by which rules can be selected"),
    with("ver", ActionKind::Ver, "version of the set of rules"),
    with("xmlns", ActionKind::Nothing, "names an XML namespace").no_effect("XML is read for its texts and attributes, whatever their namespace"),
];
