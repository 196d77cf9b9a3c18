//! Options of `ctl`, which apply to the rest of a transaction.

use super::Row;

/// `ctl` options as the parser distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seclang) enum ControlKind {
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

type Control = Row<ControlKind>;

const fn row(name: &'static str, kind: ControlKind, meaning: &'static str) -> Control {
    Row::new(name, kind, meaning)
}

const V2_ONLY: &str = "not in ModSecurity v3 either";
const NO_AUDIT_LOG: &str = "Weir has an attack log instead of an audit log";

/// All options, by name.
#[rustfmt::skip]
pub(in crate::seclang) const CONTROLS: &[Control] = &[
    row("auditEngine", ControlKind::Ignored, "whether the transaction is written to the audit log").no_effect(NO_AUDIT_LOG),
    row("auditLogParts", ControlKind::Ignored, "the parts written to the audit log").no_effect(NO_AUDIT_LOG),
    row("debugLogLevel", ControlKind::Ignored, "level of the debug log").no_effect("nginx's log level decides"),
    row("forceRequestBodyVariable", ControlKind::ForceRequestBodyVariable, "fills `REQUEST_BODY` whatever the body's type"),
    row("hashEnforcement", ControlKind::Ignored, "whether hashes of links are enforced").unsupported(V2_ONLY).alias(&["hashEngine"]),
    row("requestBodyAccess", ControlKind::RequestBodyAccess, "whether the request's body is read"),
    row("requestBodyLimit", ControlKind::Ignored, "how long the request's body may be").unsupported(V2_ONLY),
    row("requestBodyProcessor", ControlKind::RequestBodyProcessor, "how the body is read: URLENCODED, MULTIPART, XML or JSON"),
    row("responseBodyAccess", ControlKind::ResponseBodyAccess, "whether the response's body is read"),
    row("responseBodyLimit", ControlKind::Ignored, "how long the response's body may be").unsupported(V2_ONLY),
    row("ruleEngine", ControlKind::RuleEngine, "On, Off or DetectionOnly"),
    row("ruleRemoveById", ControlKind::RemoveById, "skips rules by id or range of ids"),
    row("ruleRemoveByMsg", ControlKind::RemoveByMsg, "skips rules by message"),
    row("ruleRemoveByTag", ControlKind::RemoveByTag, "skips rules by tag"),
    row("ruleRemoveTargetById", ControlKind::RemoveTargetById, "`ID;VARIABLE`: that rule ignores the variable"),
    row("ruleRemoveTargetByMsg", ControlKind::RemoveTargetByMsg, "`MESSAGE;VARIABLE`: those rules ignore the variable"),
    row("ruleRemoveTargetByTag", ControlKind::RemoveTargetByTag, "`TAG;VARIABLE`: those rules ignore the variable"),
];
