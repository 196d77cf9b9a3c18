//! Directives: what stands at the beginning of a line.

use super::Row;
use crate::seclang::ir::{Engine, Settings};

/// What the parser does with a directive.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum Kind {
    Rule,
    Action,
    DefaultAction,
    Marker,
    /// Whether it is no error if nothing is found.
    Include(bool),
    RemoveById,
    RemoveByTag,
    RemoveByMsg,
    UpdateTargetById,
    UpdateTargetByTag,
    UpdateTargetByMsg,
    UpdateActionById,
    /// One of several words.
    Choice(&'static [Word]),
    /// A number.
    Number(fn(&mut Settings, u64)),
    /// A text.
    Text(fn(&mut Settings, String)),
    /// Words to the end of the line.
    Words(fn(&mut Settings, Vec<String>)),
    /// Nothing follows.
    Bare(fn(&mut Settings)),
    ArgumentSeparator,
    UnicodeMap,
    /// Anything may follow.
    Ignored,
    /// Only `Off` (or 0), which says nothing.
    OffOnly,
}

/// A word that may follow, and what it sets.
type Word = (&'static str, fn(&mut Settings));

type Directive = Row<Kind>;

const BODY_LIMIT: &str =
    "`weir_body_limit` says how much of a body rules see, `weir_fail` what becomes of a longer one";
const fn row(name: &'static str, kind: Kind, meaning: &'static str) -> Directive {
    Row::new(name, kind, meaning)
}

const fn ignored(name: &'static str, meaning: &'static str, why: &'static str) -> Directive {
    Row::new(name, Kind::Ignored, meaning).no_effect(why)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Directive {
    Row::new(name, Kind::Ignored, meaning).unsupported(why)
}

const AUDIT: &str = "Weir has an attack log instead of an audit log";
const DEBUG: &str = "nginx's error log and its level are used";
const UPLOADS: &str = "uploads are inspected in nginx's buffers and not kept";
const PCRE: &str = "patterns run in linear time";
const V2_ONLY: &str = "ModSecurity v3 does not have it either";
const PLACE: &str = "nginx decides where data is kept";

macro_rules! switch {
    ($field:ident) => {
        Kind::Choice(&[
            ("On", |settings| settings.$field = Some(true)),
            ("Off", |settings| settings.$field = Some(false)),
        ])
    };
}

macro_rules! limit_action {
    ($field:ident) => {
        Kind::Choice(&[
            ("Reject", |settings| settings.$field = Some(true)),
            ("ProcessPartial", |settings| settings.$field = Some(false)),
        ])
    };
}

macro_rules! number {
    ($field:ident) => {
        Kind::Number(|settings, number| settings.$field = Some(number))
    };
}

const ENGINE: Kind = Kind::Choice(&[
    ("On", |settings| settings.engine = Some(Engine::On)),
    ("Off", |settings| settings.engine = Some(Engine::Off)),
    ("DetectionOnly", |settings| settings.engine = Some(Engine::DetectionOnly)),
]);

fn add_types(settings: &mut Settings, words: Vec<String>) {
    let types = settings.response_body_mime_types.get_or_insert_default();
    types.extend(words.into_iter().map(|word| word.to_ascii_lowercase()));
}

/// All directives, by name.
#[rustfmt::skip]
pub(in crate::seclang) const DIRECTIVES: &[Directive] = &[
    row("Include", Kind::Include(false), "reads other files; `*`, `?` and `[...]` stand for names, read in their order"),
    row("IncludeOptional", Kind::Include(true), "the same, and no error if there are none"),
    row("SecAction", Kind::Action, "a rule that matches always"),
    row("SecArgumentSeparator", Kind::ArgumentSeparator, "byte between arguments of a form, `&` if none is given"),
    row("SecArgumentsLimit", number!(arguments_limit), "how many arguments are read"),
    ignored("SecAuditEngine", "what is in the audit log", AUDIT),
    ignored("SecAuditLog", "file of the audit log", AUDIT).alias(&["SecAuditLog2"]),
    ignored("SecAuditLogDirMode", "mode of the audit log's directories", AUDIT),
    ignored("SecAuditLogFileMode", "mode of the audit log's files", AUDIT),
    ignored("SecAuditLogFormat", "format of the audit log", AUDIT),
    ignored("SecAuditLogParts", "parts of the audit log", AUDIT),
    ignored("SecAuditLogRelevantStatus", "which responses are in the audit log", AUDIT),
    ignored("SecAuditLogStorageDir", "directory of the audit log", AUDIT),
    ignored("SecAuditLogType", "kind of the audit log", AUDIT),
    lacking("SecCacheTransformations", "whether transformed values are kept", V2_ONLY),
    lacking("SecChrootDir", "directory that becomes the root", V2_ONLY),
    row("SecCollectionTimeout", number!(collection_timeout), "seconds until an unused record of a persistent collection vanishes"),
    row("SecComponentSignature", Kind::Text(|settings, text| settings.components.push(text)), "names a set of rules"),
    row("SecConnEngine", Kind::OffOnly, "limits on connections").no_effect("only `Off` is accepted"),
    lacking("SecConnReadStateLimit", "limit on connections that are read", V2_ONLY),
    lacking("SecConnWriteStateLimit", "limit on connections that are written", V2_ONLY),
    row("SecContentInjection", Kind::OffOnly, "whether rules may add to responses").no_effect("only `Off` is accepted"),
    row("SecCookieFormat", Kind::OffOnly, "version of cookies").no_effect("only 0, Netscape's cookies, is accepted"),
    lacking("SecCookieV0Separator", "byte between cookies", V2_ONLY),
    ignored("SecDataDir", "directory of persistent collections", "they are in shared memory"),
    ignored("SecDebugLog", "file of the log for debugging", DEBUG),
    ignored("SecDebugLogLevel", "how much is in it", DEBUG),
    row("SecDefaultAction", Kind::DefaultAction, "actions of a phase's rules: the disruptive one for `block`, the others for all"),
    row("SecDisableBackendCompression", Kind::OffOnly, "whether responses are asked for uncompressed").no_effect("only `Off` is accepted"),
    ignored("SecGeoLookupDb", "file for `@geoLookup`", "the policy names the geographic database"),
    lacking("SecGsbLookupDb", "file for `@gsbLookup`", V2_ONLY),
    lacking("SecGuardianLog", "program that reads the access log", V2_ONLY),
    row("SecHashEngine", Kind::OffOnly, "hashes in links").no_effect("only `Off` is accepted"),
    lacking("SecHashKey", "key of hashes in links", V2_ONLY),
    lacking("SecHashMethodPm", "which links have hashes", V2_ONLY),
    lacking("SecHashMethodRx", "which links have hashes", V2_ONLY),
    lacking("SecHashParam", "parameter that holds the hash", V2_ONLY),
    ignored("SecHttpBlKey", "key for `@rbl` with httpbl.org", "`@rbl` never matches: a request does not wait for DNS"),
    row("SecInterceptOnError", Kind::OffOnly, "whether errors of rules disrupt").no_effect("only `Off` is accepted"),
    row("SecMarker", Kind::Marker, "a place for `skipAfter`"),
    ignored("SecPcreMatchLimit", "limit on a pattern's steps", PCRE),
    ignored("SecPcreMatchLimitRecursion", "limit on a pattern's recursion", PCRE),
    lacking("SecRemoteRules", "reads rules from another server", "rules are read from files only"),
    ignored("SecRemoteRulesFailAction", "what happens if that fails", "rules are read from files only"),
    row("SecRequestBodyAccess", switch!(request_body_access), "whether the request's body is read"),
    ignored("SecRequestBodyInMemoryLimit", "bytes of a body in memory", "nginx's client_body_buffer_size decides"),
    row("SecRequestBodyJsonDepthLimit", number!(json_depth_limit), "how deep JSON may be nested"),
    row("SecRequestBodyLimit", number!(request_body_limit), "how many bytes of the request's body are read")
        .no_effect(BODY_LIMIT),
    row("SecRequestBodyLimitAction", limit_action!(request_body_limit_rejects), "whether a longer one is refused (`Reject`) or cut (`ProcessPartial`)")
        .no_effect(BODY_LIMIT),
    row("SecRequestBodyNoFilesLimit", number!(request_body_no_files_limit), "how many bytes of it may be no upload"),
    row("SecResponseBodyAccess", switch!(response_body_access), "whether the response's body is read"),
    row("SecResponseBodyLimit", number!(response_body_limit), "how many bytes of the response's body are read"),
    row("SecResponseBodyLimitAction", limit_action!(response_body_limit_rejects), "whether a longer one is refused (`Reject`) or cut (`ProcessPartial`)")
        .no_effect("a response past the limit is inspected as far as it goes, and sent"),
    row("SecResponseBodyMimeType", Kind::Words(add_types), "types of responses whose body is read"),
    row("SecResponseBodyMimeTypesClear", Kind::Bare(|settings| settings.response_body_mime_types = Some(Vec::new())), "forgets those types"),
    row("SecRule", Kind::Rule, "variables, an operator, and what follows a match"),
    row("SecRuleEngine", ENGINE, "whether rules run and disrupt (`On`), run (`DetectionOnly`) or do not (`Off`)"),
    row("SecRuleInheritance", Kind::OffOnly, "whether a place has the rules of those around it").no_effect("only `Off` is accepted"),
    lacking("SecRulePerfTime", "logs rules that take longer", "`weir cost` shows what rules take"),
    row("SecRuleRemoveById", Kind::RemoveById, "leaves out rules by id or range of ids"),
    row("SecRuleRemoveByMsg", Kind::RemoveByMsg, "leaves out rules by message"),
    row("SecRuleRemoveByTag", Kind::RemoveByTag, "leaves out rules by tag"),
    lacking("SecRuleScript", "a rule in Lua", "rules run no programs"),
    row("SecRuleUpdateActionById", Kind::UpdateActionById, "changes a rule's actions"),
    row("SecRuleUpdateTargetById", Kind::UpdateTargetById, "adds variables to rules, or takes them away (`!`)"),
    row("SecRuleUpdateTargetByMsg", Kind::UpdateTargetByMsg, "the same by message"),
    row("SecRuleUpdateTargetByTag", Kind::UpdateTargetByTag, "the same by tag"),
    lacking("SecSensorId", "names this server in the audit log", V2_ONLY),
    ignored("SecServerSignature", "what the `Server` header says", "nginx writes that header"),
    ignored("SecStatusEngine", "reports the version to the project", "Weir reports nothing to anybody"),
    lacking("SecStreamInBodyInspection", "whether `STREAM_INPUT_BODY` is there", V2_ONLY),
    lacking("SecStreamOutBodyInspection", "whether `STREAM_OUTPUT_BODY` is there", V2_ONLY),
    ignored("SecTmpDir", "directory of temporary files", PLACE),
    ignored("SecTmpSaveUploadedFiles", "whether uploads are written to files", UPLOADS),
    row("SecUnicodeMapFile", Kind::UnicodeMap, "file and code page of `t:urlDecodeUni`'s best fits"),
    ignored("SecUploadDir", "directory of uploads", UPLOADS),
    ignored("SecUploadFileLimit", "how many uploads are kept", UPLOADS),
    ignored("SecUploadFileMode", "mode of kept uploads", UPLOADS),
    ignored("SecUploadKeepFiles", "whether uploads are kept", UPLOADS),
    row("SecWebAppId", Kind::Text(|settings, text| settings.web_app_id = Some(text)), "names the application"),
    row("SecXmlExternalEntity", Kind::OffOnly, "whether XML may refer to other files").no_effect("only `Off` is accepted"),
];
