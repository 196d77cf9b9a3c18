//! What a match does besides deciding.

use std::sync::Arc;

use super::{Engine, Macro, Target};
use crate::seclang::pattern::Pattern;

/// What a match does besides deciding, in the order of the rule's actions.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// `setvar`.
    SetVariable {
        /// `TX`, or a persistent collection.
        collection: Collection,
        /// Member's name; lower case where it is text.
        name: Macro,
        /// What becomes of it.
        change: Change,
    },
    /// `expirevar`: seconds until it vanishes.
    ExpireVariable {
        /// Persistent collection.
        collection: Collection,
        /// Member's name.
        name: Macro,
        /// Seconds.
        seconds: Macro,
    },
    /// `initcol`, `setsid`, `setuid`, `setrsc`: which record of the collection this transaction uses.
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
    /// Of this transaction.
    Tx,
    /// By client address, usually.
    Ip,
    /// One for all.
    Global,
    /// By session.
    Session,
    /// By user.
    User,
    /// By resource.
    Resource,
}

/// What `ctl` changes for the rest of this transaction.
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
    /// `auditEngine`, `auditLogParts`, `debugLogLevel`: understood, without a meaning here.
    Ignored,
    /// `ruleRemoveById`: ids and ranges, both ends included.
    RemoveById(Vec<(u64, u64)>),
    /// `ruleRemoveByTag`: a text that occurs in one of the rule's tags, or a pattern; see
    /// [`TextMatch`].
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
    /// Forms.
    UrlEncoded,
    /// `multipart/form-data`.
    Multipart,
    /// XML.
    Xml,
    /// JSON.
    Json,
}

/// How tags and messages are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum TextMatch {
    /// Exactly this.
    Exact(String),
    /// What the pattern matches.
    Pattern(Arc<Pattern>),
}
