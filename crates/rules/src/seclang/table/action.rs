//! Actions: what a rule says besides what it looks for.

use super::Row;
use crate::seclang::ir::Collection;

/// What the parser does with an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum Kind {
    Allow,
    AuditLog(bool),
    Block,
    Capture,
    Chain,
    Ctl,
    Deny,
    Drop,
    ExpireVar,
    Id,
    InitCol,
    /// `setsid` and the like.
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
    /// Its value is not looked at.
    Nothing,
}

/// Whether something follows an action's colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum Value {
    None,
    Optional,
    Required,
}

type Action = Row<(Kind, Value)>;

const fn plain(name: &'static str, kind: Kind, meaning: &'static str) -> Action {
    Row::new(name, (kind, Value::None), meaning)
}

const fn with(name: &'static str, kind: Kind, meaning: &'static str) -> Action {
    Row::new(name, (kind, Value::Required), meaning)
}

const fn maybe(name: &'static str, kind: Kind, meaning: &'static str) -> Action {
    Row::new(name, (kind, Value::Optional), meaning)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Action {
    maybe(name, Kind::Nothing, meaning).unsupported(why)
}

const V2_ONLY: &str = "ModSecurity v3 does not have it either";

/// All actions, by name.
#[rustfmt::skip]
pub(in crate::seclang) const ACTIONS: &[Action] = &[
    with("accuracy", Kind::Nothing, "how few false positives the rule has, 1 to 9").no_effect("nothing reads it"),
    maybe("allow", Kind::Allow, "no more rules: in the transaction, in this `phase`, or of the `request`"),
    lacking("append", "adds text to the response", V2_ONLY),
    plain("auditlog", Kind::AuditLog(true), "logs a match, as `log`"),
    plain("block", Kind::Block, "does what the phase's `SecDefaultAction` says"),
    plain("capture", Kind::Capture, "keeps groups of the pattern in `TX:0` to `TX:9`"),
    plain("chain", Kind::Chain, "the next rule has to match, too"),
    with("ctl", Kind::Ctl, "changes something for the rest of the transaction"),
    plain("deny", Kind::Deny, "answers with `status`, 403 if none is given"),
    lacking("deprecatevar", "lowers a variable over time", V2_ONLY),
    plain("drop", Kind::Drop, "closes the connection"),
    lacking("exec", "runs a script", "rules run no programs"),
    with("expirevar", Kind::ExpireVar, "a variable of a persistent collection vanishes after so many seconds"),
    with("id", Kind::Id, "number of the rule, unique"),
    with("initcol", Kind::InitCol, "which record of a persistent collection the transaction uses"),
    plain("log", Kind::Log(true), "logs a match"),
    with("logdata", Kind::LogData, "what is logged of a match"),
    with("maturity", Kind::Nothing, "how long the rule has been tested, 1 to 9").no_effect("nothing reads it"),
    with("msg", Kind::Msg, "message of the rule"),
    plain("multiMatch", Kind::MultiMatch, "tests the value after every transformation that changes it"),
    plain("noauditlog", Kind::AuditLog(false), "does not log a match, as `nolog`"),
    plain("nolog", Kind::Log(false), "does not log a match"),
    plain("pass", Kind::Pass, "goes on"),
    lacking("pause", "waits", V2_ONLY),
    with("phase", Kind::Phase, "when the rule runs: 1 to 5, `request` (2), `response` (4) or `logging` (5)"),
    lacking("prepend", "adds text to the response", V2_ONLY),
    lacking("proxy", "forwards to another server", V2_ONLY),
    with("redirect", Kind::Redirect, "sends the client elsewhere, with `status`, 302 if none is given"),
    with("rev", Kind::Rev, "revision of the rule"),
    lacking("sanitiseArg", "hides an argument in the audit log", V2_ONLY)
        .alias(&["sanitiseMatched", "sanitiseMatchedBytes", "sanitiseRequestHeader", "sanitiseResponseHeader",
            "sanitizeArg", "sanitizeMatched", "sanitizeMatchedBytes", "sanitizeRequestHeader", "sanitizeResponseHeader"]),
    with("setenv", Kind::SetEnv, "sets a variable of `ENV` for this transaction"),
    with("setrsc", Kind::UseRecord(Collection::Resource), "which record of `RESOURCE` the transaction uses"),
    with("setsid", Kind::UseRecord(Collection::Session), "which record of `SESSION` the transaction uses"),
    with("setuid", Kind::UseRecord(Collection::User), "which record of `USER` the transaction uses"),
    with("setvar", Kind::SetVar, "sets, adds to, subtracts from or removes a variable"),
    with("severity", Kind::Severity, "0 to 7, or EMERGENCY, ALERT, CRITICAL, ERROR, WARNING, NOTICE, INFO, DEBUG"),
    with("skip", Kind::Skip, "leaves out so many rules after a match"),
    with("skipAfter", Kind::SkipAfter, "goes on after the marker after a match"),
    with("status", Kind::Status, "status of `deny` and `redirect`"),
    with("t", Kind::Transformation, "transforms values before they are tested; `none` forgets those before it"),
    with("tag", Kind::Tag, "a word by which rules are chosen"),
    with("ver", Kind::Ver, "version of the set of rules"),
    with("xmlns", Kind::Nothing, "names an XML namespace").no_effect("XML is read for its texts and attributes, whatever their namespace"),
];
