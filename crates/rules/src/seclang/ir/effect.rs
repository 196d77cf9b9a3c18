//! Side effects of a match.

use std::sync::Arc;

use super::{Engine, Macro, Target};
use crate::seclang::pattern::Pattern;

/// A side effect of a match, in the order of the rule's actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// `setvar`.
    SetVariable {
        /// `TX` or a persistent collection.
        collection: Collection,
        /// Member name; its literal parts are in lower case.
        name: Macro,
        /// The change.
        change: Change,
    },
    /// `expirevar`: seconds until the member is deleted.
    ExpireVariable {
        /// Persistent collection.
        collection: Collection,
        /// Member's name.
        name: Macro,
        /// Seconds.
        seconds: Macro,
    },
    /// `initcol`, `setsid`, `setuid`, `setrsc`: the record of the collection that this transaction uses.
    InitCollection(Collection, Macro),
    /// `setenv`.
    SetEnvironment(Macro, Macro),
    /// `ctl`.
    Control(Control),
}

/// How `setvar` changes a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `name=value`.
    Set(Macro),
    /// `name=+value`.
    Add(Macro),
    /// `name=-value`.
    Subtract(Macro),
    /// `!name`.
    Unset,
}

/// Collections that rules can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// Variables of this transaction.
    Tx,
    /// Usually keyed by client address.
    Ip,
    /// One record for all transactions.
    Global,
    /// Keyed by session.
    Session,
    /// Keyed by user.
    User,
    /// Keyed by resource.
    Resource,
}

/// A setting that `ctl` changes for the rest of the transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// `ruleEngine`.
    RuleEngine(Engine),
    /// `requestBodyAccess`.
    RequestBodyAccess(bool),
    /// `responseBodyAccess`.
    ResponseBodyAccess(bool),
    /// `requestBodyProcessor`.
    RequestBodyProcessor(BodyProcessor),
    /// `forceRequestBodyVariable`.
    ForceRequestBodyVariable(bool),
    /// `auditEngine`, `auditLogParts`, `debugLogLevel`: parsed, but without effect.
    Ignored,
    /// `ruleRemoveById`: ids and ranges, both ends included.
    RemoveById(Vec<(u64, u64)>),
    /// `ruleRemoveByTag`: a text that equals one of the rule's tags, or a pattern; see [`TextMatch`].
    RemoveByTag(TextMatch),
    /// `ruleRemoveByMsg`.
    RemoveByMessage(TextMatch),
    /// `ruleRemoveTargetById`.
    RemoveTargetById(Vec<(u64, u64)>, Target),
    /// `ruleRemoveTargetByTag`.
    RemoveTargetByTag(TextMatch, Target),
    /// `ruleRemoveTargetByMsg`.
    RemoveTargetByMessage(TextMatch, Target),
}

/// `ctl:requestBodyProcessor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyProcessor {
    /// URL-encoded forms.
    UrlEncoded,
    /// `multipart/form-data`.
    Multipart,
    /// XML.
    Xml,
    /// JSON.
    Json,
}

/// How tags and messages are selected.
#[derive(Clone, Debug, PartialEq)]
pub enum TextMatch {
    /// Equal to this text.
    Exact(String),
    /// Matched by this pattern.
    Pattern(Arc<Pattern>),
}
