//! What `ctl` changes for the rest of a transaction.

use super::Row;

/// What the parser does with a `ctl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum Kind {
    RuleEngine,
    RequestBodyAccess,
    ResponseBodyAccess,
    RequestBodyProcessor,
    ForceRequestBodyVariable,
    RemoveById,
    RemoveByTag,
    RemoveByMsg,
    RemoveTargetById,
    RemoveTargetByTag,
    RemoveTargetByMsg,
    Ignored,
}

type Control = Row<Kind>;

const fn row(name: &'static str, kind: Kind, meaning: &'static str) -> Control {
    Row::new(name, kind, meaning)
}

const V2_ONLY: &str = "ModSecurity v3 does not have it either";
const NO_AUDIT_LOG: &str = "Weir has an attack log instead of an audit log";

/// All of them, by name.
#[rustfmt::skip]
pub(in crate::seclang) const CONTROLS: &[Control] = &[
    row("auditEngine", Kind::Ignored, "whether the transaction is in the audit log").no_effect(NO_AUDIT_LOG),
    row("auditLogParts", Kind::Ignored, "which parts are in the audit log").no_effect(NO_AUDIT_LOG),
    row("debugLogLevel", Kind::Ignored, "how much is logged for debugging").no_effect("nginx's log level decides"),
    row("forceRequestBodyVariable", Kind::ForceRequestBodyVariable, "`REQUEST_BODY` is there whatever the body's type"),
    row("hashEnforcement", Kind::Ignored, "whether hashes of links are enforced").unsupported(V2_ONLY).alias(&["hashEngine"]),
    row("requestBodyAccess", Kind::RequestBodyAccess, "whether the request's body is read"),
    row("requestBodyLimit", Kind::Ignored, "how long the request's body may be").unsupported(V2_ONLY),
    row("requestBodyProcessor", Kind::RequestBodyProcessor, "how the body is read: URLENCODED, MULTIPART, XML or JSON"),
    row("responseBodyAccess", Kind::ResponseBodyAccess, "whether the response's body is read"),
    row("responseBodyLimit", Kind::Ignored, "how long the response's body may be").unsupported(V2_ONLY),
    row("ruleEngine", Kind::RuleEngine, "On, Off or DetectionOnly"),
    row("ruleRemoveById", Kind::RemoveById, "leaves out rules by id or range of ids"),
    row("ruleRemoveByMsg", Kind::RemoveByMsg, "leaves out rules by message"),
    row("ruleRemoveByTag", Kind::RemoveByTag, "leaves out rules by tag"),
    row("ruleRemoveTargetById", Kind::RemoveTargetById, "`ID;VARIABLE`: that rule does not look at the variable"),
    row("ruleRemoveTargetByMsg", Kind::RemoveTargetByMsg, "`MESSAGE;VARIABLE`: those rules do not look at the variable"),
    row("ruleRemoveTargetByTag", Kind::RemoveTargetByTag, "`TAG;VARIABLE`: those rules do not look at the variable"),
];
