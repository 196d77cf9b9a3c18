//! Variables that rules can test and macros can show.

use super::{Row, Status};
use crate::seclang::ir::{Phase, Variable as V};

/// Properties of a variable for the parser and lint.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// `None` if Weir lacks the variable.
    pub variable: Option<V>,
    /// Whether `VARIABLE:member` is meaningful.
    pub members: bool,
    /// The first phase in which it is fully known.
    pub since: Phase,
}

type Variable = Row<Meaning>;

const fn make(name: &'static str, variable: Option<V>, members: bool, since: Phase, meaning: &'static str) -> Variable {
    Row::new(name, Meaning { variable, members, since }, meaning)
}

/// Known from the request header on, without members.
const fn head(name: &'static str, variable: V, meaning: &'static str) -> Variable {
    make(name, Some(variable), false, Phase::RequestHeaders, meaning)
}

/// Known from the request header on, with members.
const fn heads(name: &'static str, variable: V, meaning: &'static str) -> Variable {
    make(name, Some(variable), true, Phase::RequestHeaders, meaning)
}

/// Known with the request body.
const fn body(name: &'static str, variable: V, meaning: &'static str) -> Variable {
    make(name, Some(variable), false, Phase::RequestBody, meaning)
}

/// Known with the request body, with members.
const fn bodies(name: &'static str, variable: V, meaning: &'static str) -> Variable {
    make(name, Some(variable), true, Phase::RequestBody, meaning)
}

/// Known with the response header.
const fn reply(name: &'static str, variable: V, meaning: &'static str) -> Variable {
    make(name, Some(variable), false, Phase::ResponseHeaders, meaning)
}

/// Only in ModSecurity 2 or after 3.0.9; not supported.
const fn lacking(name: &'static str, meaning: &'static str, why: &'static str) -> Variable {
    make(name, None, true, Phase::RequestHeaders, meaning).unsupported(why)
}

const V2_ONLY: &str = "not in ModSecurity v3 either";
const NO_SCRIPT: &str = "nginx does not run script files";

/// All variables, by name.
#[rustfmt::skip]
pub const VARIABLES: &[Variable] = &[
    bodies("ARGS", V::Args, "values of all arguments: of the query and, from phase 2 on, of the body"),
    body("ARGS_COMBINED_SIZE", V::ArgsCombinedSize, "bytes of all arguments' names and values"),
    heads("ARGS_GET", V::ArgsGet, "values of the query's arguments"),
    heads("ARGS_GET_NAMES", V::ArgsGetNames, "names of the query's arguments"),
    bodies("ARGS_NAMES", V::ArgsNames, "names of all arguments"),
    bodies("ARGS_POST", V::ArgsPost, "values of the body's arguments"),
    bodies("ARGS_POST_NAMES", V::ArgsPostNames, "names of the body's arguments"),
    head("AUTH_TYPE", V::AuthType, "first word of the `Authorization` header"),
    head("DURATION", V::Duration, "microseconds since the transaction began"),
    heads("ENV", V::Env, "environment of the process, and variables set by `setenv`")
        .no_effect("always empty, because rules see nothing of the environment"),
    bodies("FILES", V::Files, "file names of uploads, as sent by the client"),
    body("FILES_COMBINED_SIZE", V::FilesCombinedSize, "bytes of all uploads"),
    bodies("FILES_NAMES", V::FilesNames, "names of form fields with uploads"),
    bodies("FILES_SIZES", V::FilesSizes, "bytes of each upload"),
    bodies("FILES_TMPNAMES", V::FilesTmpNames, "names of the temporary files of uploads")
        .no_effect("always empty, because uploads are not stored"),
    bodies("FILES_TMP_CONTENT", V::FilesTmpContent, "contents of uploads"),
    body("FULL_REQUEST", V::FullRequest, "the request: its line, headers and body"),
    body("FULL_REQUEST_LENGTH", V::FullRequestLength, "bytes of the request"),
    heads("GEO", V::Geo, "result of the last `@geoLookup`: `COUNTRY_CODE` and `COUNTRY_CONTINENT`"),
    heads("GLOBAL", V::Global, "persistent collection shared by all clients"),
    head("HIGHEST_SEVERITY", V::HighestSeverity, "highest severity of the rules that matched, 0 to 7; 255 if none"),
    body("INBOUND_DATA_ERROR", V::InboundDataError, "1 if the request's body is over its limit"),
    heads("IP", V::Ip, "persistent collection per client, selected by `initcol`"),
    head("MATCHED_VAR", V::MatchedVar, "value that matched last"),
    heads("MATCHED_VARS", V::MatchedVars, "all values that matched in this rule"),
    heads("MATCHED_VARS_NAMES", V::MatchedVarsNames, "names of all variables that matched in this rule"),
    head("MATCHED_VAR_NAME", V::MatchedVarName, "name of the variable that matched last"),
    head("MODSEC_BUILD", V::ModsecBuild, "emulated version, as a number"),
    lacking("MSC_PCRE_LIMITS_EXCEEDED", "1 if a pattern hit its limits", "patterns run in linear time and have no such limit"),
    body("MULTIPART_BOUNDARY_QUOTED", V::MultipartBoundaryQuoted, "1 if the boundary is quoted"),
    body("MULTIPART_BOUNDARY_WHITESPACE", V::MultipartBoundaryWhitespace, "1 if there is white space in the boundary"),
    body("MULTIPART_CRLF_LF_LINES", V::MultipartCrlfLfLines, "1 if lines end in different ways"),
    body("MULTIPART_DATA_AFTER", V::MultipartDataAfter, "1 if data follows the last boundary"),
    body("MULTIPART_DATA_BEFORE", V::MultipartDataBefore, "1 if data precedes the first boundary"),
    bodies("MULTIPART_FILENAME", V::MultipartFilename, "`filename` of the parts"),
    body("MULTIPART_FILE_LIMIT_EXCEEDED", V::MultipartFileLimitExceeded, "1 if there are too many uploads")
        .no_effect("always empty, as `SecUploadFileLimit` has no effect"),
    body("MULTIPART_HEADER_FOLDING", V::MultipartHeaderFolding, "1 if a part's header is folded"),
    body("MULTIPART_INVALID_HEADER_FOLDING", V::MultipartInvalidHeaderFolding, "1 if a part's header is folded wrongly"),
    body("MULTIPART_INVALID_PART", V::MultipartInvalidPart, "1 if a part is malformed"),
    body("MULTIPART_INVALID_QUOTING", V::MultipartInvalidQuoting, "1 if a name is quoted wrongly"),
    body("MULTIPART_LF_LINE", V::MultipartLfLine, "1 if a line ends without CR"),
    body("MULTIPART_MISSING_SEMICOLON", V::MultipartMissingSemicolon, "1 if parameters lack a semicolon")
        .alias(&["MULTIPART_SEMICOLON_MISSING"]),
    bodies("MULTIPART_NAME", V::MultipartName, "`name` of the parts"),
    bodies("MULTIPART_PART_HEADERS", V::MultipartPartHeaders, "header lines of the parts, by the part's name"),
    body("MULTIPART_STRICT_ERROR", V::MultipartStrictError, "1 if any of these is 1"),
    body("MULTIPART_UNMATCHED_BOUNDARY", V::MultipartUnmatchedBoundary, "1 if a line looks like another boundary"),
    make("OUTBOUND_DATA_ERROR", Some(V::OutboundDataError), false, Phase::ResponseBody,
        "1 if the response's body is over its limit"),
    head("PATH_INFO", V::PathInfo, "path of the request"),
    lacking("PERF_ALL", "times of a transaction in one text", V2_ONLY)
        .alias(&["PERF_COMBINED", "PERF_GC", "PERF_LOGGING", "PERF_PHASE1", "PERF_PHASE2", "PERF_PHASE3",
            "PERF_PHASE4", "PERF_PHASE5", "PERF_RULES", "PERF_SREAD", "PERF_SWRITE"]),
    head("QUERY_STRING", V::QueryString, "query as sent"),
    head("REMOTE_ADDR", V::RemoteAddr, "address of the client"),
    head("REMOTE_HOST", V::RemoteHost, "address of the client; names are not looked up"),
    head("REMOTE_PORT", V::RemotePort, "port of the client"),
    head("REMOTE_USER", V::RemoteUser, "user of basic authentication"),
    body("REQBODY_ERROR", V::ReqbodyError, "1 if the body could not be parsed according to its type"),
    body("REQBODY_ERROR_MSG", V::ReqbodyErrorMsg, "why"),
    head("REQBODY_PROCESSOR", V::ReqbodyProcessor, "how the body is read: URLENCODED, MULTIPART, XML, JSON"),
    body("REQBODY_PROCESSOR_ERROR", V::ReqbodyProcessorError, "1 if the body processor failed"),
    body("REQBODY_PROCESSOR_ERROR_MSG", V::ReqbodyProcessorErrorMsg, "why"),
    head("REQUEST_BASENAME", V::RequestBasename, "what follows the last slash of the path"),
    body("REQUEST_BODY", V::RequestBody, "body as sent; filled for forms, or with `ctl:forceRequestBodyVariable`"),
    body("REQUEST_BODY_LENGTH", V::RequestBodyLength, "bytes of the body"),
    heads("REQUEST_COOKIES", V::RequestCookies, "values of cookies"),
    heads("REQUEST_COOKIES_NAMES", V::RequestCookiesNames, "names of cookies"),
    head("REQUEST_FILENAME", V::RequestFilename, "path of the request, decoded"),
    heads("REQUEST_HEADERS", V::RequestHeaders, "values of headers"),
    heads("REQUEST_HEADERS_NAMES", V::RequestHeadersNames, "names of headers"),
    head("REQUEST_LINE", V::RequestLine, "first line of the request"),
    head("REQUEST_METHOD", V::RequestMethod, "method"),
    head("REQUEST_PROTOCOL", V::RequestProtocol, "protocol and version"),
    head("REQUEST_URI", V::RequestUri, "path and query, without the host"),
    head("REQUEST_URI_RAW", V::RequestUriRaw, "request target as sent"),
    heads("RESOURCE", V::Resource, "persistent collection per resource"),
    make("RESPONSE_BODY", Some(V::ResponseBody), false, Phase::ResponseBody, "body of the response"),
    reply("RESPONSE_CONTENT_LENGTH", V::ResponseContentLength, "bytes of the response's body"),
    reply("RESPONSE_CONTENT_TYPE", V::ResponseContentType, "content type of the response"),
    make("RESPONSE_HEADERS", Some(V::ResponseHeaders), true, Phase::ResponseHeaders, "values of the response's headers"),
    make("RESPONSE_HEADERS_NAMES", Some(V::ResponseHeadersNames), true, Phase::ResponseHeaders, "names of the response's headers"),
    reply("RESPONSE_PROTOCOL", V::ResponseProtocol, "protocol of the response"),
    reply("RESPONSE_STATUS", V::ResponseStatus, "status of the response").alias(&["STATUS"]),
    heads("RULE", V::Rule, "the rule itself: `id`, `rev`, `severity`, `logdata`, `msg`"),
    lacking("SCRIPT_BASENAME", "script that serves the request", NO_SCRIPT)
        .alias(&["SCRIPT_FILENAME", "SCRIPT_GID", "SCRIPT_GROUPNAME", "SCRIPT_MODE", "SCRIPT_UID", "SCRIPT_USERNAME"]),
    lacking("SDBM_DELETE_ERROR", "1 if a collection could not be cleaned", V2_ONLY),
    head("SERVER_ADDR", V::ServerAddr, "address of the server"),
    head("SERVER_NAME", V::ServerName, "host name of the server"),
    head("SERVER_PORT", V::ServerPort, "port of the server"),
    heads("SESSION", V::Session, "persistent collection per session, selected by `setsid`"),
    head("SESSIONID", V::SessionId, "value of `setsid`"),
    reply("STATUS_LINE", V::StatusLine, "first line of the response"),
    lacking("STREAM_INPUT_BODY", "request's body before it is forwarded", V2_ONLY),
    lacking("STREAM_OUTPUT_BODY", "response's body before it is sent", V2_ONLY),
    head("TIME", V::Time, "time of day: hh:mm:ss"),
    head("TIME_DAY", V::TimeDay, "day of the month"),
    head("TIME_EPOCH", V::TimeEpoch, "seconds since 1970"),
    head("TIME_HOUR", V::TimeHour, "hour"),
    head("TIME_MIN", V::TimeMin, "minute"),
    head("TIME_MON", V::TimeMon, "month, from 0"),
    head("TIME_SEC", V::TimeSec, "second"),
    head("TIME_WDAY", V::TimeWday, "day of the week, from 0 (Sunday)"),
    head("TIME_YEAR", V::TimeYear, "year"),
    heads("TX", V::Tx, "collection of this transaction; `TX:0` to `TX:9` are captures"),
    head("UNIQUE_ID", V::UniqueId, "id of this transaction"),
    head("URLENCODED_ERROR", V::UrlencodedError, "1 if the query or a form contains a malformed escape"),
    heads("USER", V::User, "persistent collection per user, selected by `setuid`"),
    lacking("USERAGENT_IP", "address that mod_remoteip found", V2_ONLY),
    head("USERID", V::UserId, "value of `setuid`"),
    head("WEBAPPID", V::WebAppId, "value of `SecWebAppId`"),
    lacking("WEBSERVER_ERROR_LOG", "lines of the server's error log", V2_ONLY),
    bodies("XML", V::Xml, "texts (`/*`) or attributes (`//@*`) of an XML body"),
];

/// The row of a variable.
pub(in crate::seclang) fn row(variable: V) -> &'static Variable {
    let is = |row: &&Variable| row.kind.variable == Some(variable);
    VARIABLES.iter().find(is).expect("every variable has a row: a test says so")
}

/// The reason why a row cannot be used, if there is one.
pub(in crate::seclang) fn refusal<K: Copy>(row: &Row<K>) -> Option<&'static str> {
    match row.status {
        Status::Unsupported(why) => Some(why),
        _ => None,
    }
}
