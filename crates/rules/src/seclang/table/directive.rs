//! Directives, which begin a line.

use super::Row;
use crate::seclang::ir::{Engine, Settings};

/// Directives as the parser distinguishes them.
#[derive(Clone, Copy, Debug)]
pub(in crate::seclang) enum DirectiveKind {
    Rule,
    Action,
    DefaultAction,
    Marker,
    /// Whether it is not an error if no file is found.
    Include(bool),
    RemoveById,
    RemoveByTag,
    RemoveByMsg,
    UpdateTargetById,
    UpdateTargetByTag,
    UpdateTargetByMsg,
    UpdateActionById,
    /// One of several keywords.
    Choice(&'static [Keyword]),
    /// A number.
    Number(fn(&mut Settings, u64)),
    /// A text.
    Text(fn(&mut Settings, String)),
    /// Words up to the end of the line.
    Words(fn(&mut Settings, Vec<String>)),
    /// No parameter.
    Bare(fn(&mut Settings)),
    ArgumentSeparator,
    UnicodeMap,
    /// Parameters are ignored.
    Ignored,
    /// Only `Off` (or 0), which has no effect.
    OffOnly,
}

/// A keyword and its effect.
type Keyword = (&'static str, fn(&mut Settings));

type Directive = Row<DirectiveKind>;

const BODY_LIMIT: &str =
    "`weir_body_limit` says how much of a body rules see, `weir_bounds` what becomes of a longer one";
const fn row(name: &'static str, kind: DirectiveKind, meaning: &'static str) -> Directive {
    Row::new(name, kind, meaning)
}

const fn ignored(name: &'static str, meaning: &'static str, why: &'static str) -> Directive {
    Row::new(name, DirectiveKind::Ignored, meaning).no_effect(why)
}

const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Directive {
    Row::new(name, DirectiveKind::Ignored, meaning).unsupported(why)
}

const AUDIT: &str = "Weir has an attack log instead of an audit log";
const DEBUG: &str = "nginx's error log and its level are used";
const UPLOADS: &str = "uploads are inspected in nginx's buffers and not stored";
const PCRE: &str = "patterns run in linear time";
const V2_ONLY: &str = "not in ModSecurity v3 either";
const PLACE: &str = "nginx decides where data is stored";

macro_rules! switch {
    ($field:ident) => {
        DirectiveKind::Choice(&[
            ("On", |settings| settings.$field = Some(true)),
            ("Off", |settings| settings.$field = Some(false)),
        ])
    };
}

macro_rules! limit_action {
    ($field:ident) => {
        DirectiveKind::Choice(&[
            ("Reject", |settings| settings.$field = Some(true)),
            ("ProcessPartial", |settings| settings.$field = Some(false)),
        ])
    };
}

macro_rules! number {
    ($field:ident) => {
        DirectiveKind::Number(|settings, number| settings.$field = Some(number))
    };
}

const ENGINE: DirectiveKind = DirectiveKind::Choice(&[
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
    row("Include", DirectiveKind::Include(false), "reads other files; names with `*`, `?` and `[...]` are expanded and read in order"),
    row("IncludeOptional", DirectiveKind::Include(true), "the same, without an error if there are none"),
    row("SecAction", DirectiveKind::Action, "a rule that always matches"),
    row("SecArgumentSeparator", DirectiveKind::ArgumentSeparator, "byte between arguments of a form, `&` by default"),
    row("SecArgumentsLimit", number!(arguments_limit), "how many arguments are read"),
    ignored("SecAuditEngine", "what is written to the audit log", AUDIT),
    ignored("SecAuditLog", "file of the audit log", AUDIT).alias(&["SecAuditLog2"]),
    ignored("SecAuditLogDirMode", "mode of the audit log's directories", AUDIT),
    ignored("SecAuditLogFileMode", "mode of the audit log's files", AUDIT),
    ignored("SecAuditLogFormat", "format of the audit log", AUDIT),
    ignored("SecAuditLogParts", "parts of the audit log", AUDIT),
    ignored("SecAuditLogRelevantStatus", "status codes of transactions written to the audit log", AUDIT),
    ignored("SecAuditLogStorageDir", "directory of the audit log", AUDIT),
    ignored("SecAuditLogType", "kind of the audit log", AUDIT),
    lacking("SecCacheTransformations", "whether transformed values are cached", V2_ONLY),
    lacking("SecChrootDir", "directory that becomes the root", V2_ONLY),
    row("SecCollectionTimeout", number!(collection_timeout), "seconds until an unused record of a persistent collection is deleted"),
    row("SecComponentSignature", DirectiveKind::Text(|settings, text| settings.components.push(text)), "names a set of rules"),
    row("SecConnEngine", DirectiveKind::OffOnly, "limits on connections").no_effect("only `Off` is accepted"),
    lacking("SecConnReadStateLimit", "limit on connections that are read", V2_ONLY),
    lacking("SecConnWriteStateLimit", "limit on connections that are written", V2_ONLY),
    row("SecContentInjection", DirectiveKind::OffOnly, "whether rules may add content to responses").no_effect("only `Off` is accepted"),
    row("SecCookieFormat", DirectiveKind::OffOnly, "version of cookies").no_effect("only 0, Netscape's cookies, is accepted"),
    lacking("SecCookieV0Separator", "byte between cookies", V2_ONLY),
    ignored("SecDataDir", "directory of persistent collections", "they are in shared memory"),
    ignored("SecDebugLog", "file of the debug log", DEBUG),
    ignored("SecDebugLogLevel", "level of the debug log", DEBUG),
    row("SecDefaultAction", DirectiveKind::DefaultAction, "actions of a phase's rules: the disruptive one for `block`, the others for all"),
    row("SecDisableBackendCompression", DirectiveKind::OffOnly, "whether responses are asked for uncompressed").no_effect("only `Off` is accepted"),
    ignored("SecGeoLookupDb", "file for `@geoLookup`", "the policy names the geographic database"),
    lacking("SecGsbLookupDb", "file for `@gsbLookup`", V2_ONLY),
    lacking("SecGuardianLog", "program that reads the access log", V2_ONLY),
    row("SecHashEngine", DirectiveKind::OffOnly, "hashes in links").no_effect("only `Off` is accepted"),
    lacking("SecHashKey", "key of hashes in links", V2_ONLY),
    lacking("SecHashMethodPm", "which links have hashes", V2_ONLY),
    lacking("SecHashMethodRx", "which links have hashes", V2_ONLY),
    lacking("SecHashParam", "parameter that holds the hash", V2_ONLY),
    ignored("SecHttpBlKey", "key for `@rbl` with httpbl.org", "`@rbl` never matches: a request does not wait for DNS"),
    row("SecInterceptOnError", DirectiveKind::OffOnly, "whether errors of rules disrupt").no_effect("only `Off` is accepted"),
    row("SecMarker", DirectiveKind::Marker, "a target for `skipAfter`"),
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
    row("SecRequestBodyNoFilesLimit", number!(request_body_no_files_limit), "how many bytes of it may be other than uploads"),
    row("SecResponseBodyAccess", switch!(response_body_access), "whether the response's body is read"),
    row("SecResponseBodyLimit", number!(response_body_limit), "how many bytes of the response's body are read"),
    row("SecResponseBodyLimitAction", limit_action!(response_body_limit_rejects), "whether a longer one is refused (`Reject`) or cut (`ProcessPartial`)")
        .no_effect("a response past the limit is inspected as far as it goes, and sent"),
    row("SecResponseBodyMimeType", DirectiveKind::Words(add_types), "types of responses whose body is read"),
    row("SecResponseBodyMimeTypesClear", DirectiveKind::Bare(|settings| settings.response_body_mime_types = Some(Vec::new())), "clears these types"),
    row("SecRule", DirectiveKind::Rule, "variables, an operator, and actions for a match"),
    row("SecRuleEngine", ENGINE, "whether rules run and disrupt (`On`), run (`DetectionOnly`) or do not (`Off`)"),
    row("SecRuleInheritance", DirectiveKind::OffOnly, "whether a location inherits rules").no_effect("only `Off` is accepted"),
    lacking("SecRulePerfTime", "logs rules that take longer", "`weir cost` shows the time that rules take"),
    row("SecRuleRemoveById", DirectiveKind::RemoveById, "removes rules by id or range of ids"),
    row("SecRuleRemoveByMsg", DirectiveKind::RemoveByMsg, "removes rules by message"),
    row("SecRuleRemoveByTag", DirectiveKind::RemoveByTag, "removes rules by tag"),
    lacking("SecRuleScript", "a rule in Lua", "rules cannot run programs"),
    row("SecRuleUpdateActionById", DirectiveKind::UpdateActionById, "changes a rule's actions"),
    row("SecRuleUpdateTargetById", DirectiveKind::UpdateTargetById, "adds variables to rules or removes them (`!`)"),
    row("SecRuleUpdateTargetByMsg", DirectiveKind::UpdateTargetByMsg, "the same by message"),
    row("SecRuleUpdateTargetByTag", DirectiveKind::UpdateTargetByTag, "the same by tag"),
    lacking("SecSensorId", "names this server in the audit log", V2_ONLY),
    ignored("SecServerSignature", "value of the `Server` header", "nginx writes that header"),
    ignored("SecStatusEngine", "reports the version to the project", "Weir sends no reports"),
    lacking("SecStreamInBodyInspection", "whether `STREAM_INPUT_BODY` is available", V2_ONLY),
    lacking("SecStreamOutBodyInspection", "whether `STREAM_OUTPUT_BODY` is available", V2_ONLY),
    ignored("SecTmpDir", "directory of temporary files", PLACE),
    ignored("SecTmpSaveUploadedFiles", "whether uploads are written to files", UPLOADS),
    row("SecUnicodeMapFile", DirectiveKind::UnicodeMap, "file and code page for the best-fit mapping of `t:urlDecodeUni`"),
    ignored("SecUploadDir", "directory of uploads", UPLOADS),
    ignored("SecUploadFileLimit", "how many uploads are stored", UPLOADS),
    ignored("SecUploadFileMode", "mode of stored uploads", UPLOADS),
    ignored("SecUploadKeepFiles", "whether uploads are stored", UPLOADS),
    row("SecWebAppId", DirectiveKind::Text(|settings, text| settings.web_app_id = Some(text)), "names the application"),
    row("SecXmlExternalEntity", DirectiveKind::OffOnly, "whether XML may refer to other files").no_effect("only `Off` is accepted"),
];
