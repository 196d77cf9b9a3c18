//! Variables by name.

macro_rules! variables {
    ($($name:ident,)*) => {
        /// Variables of SecLang; `table/variable.rs` describes each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the table documents them")]
        pub enum Variable { $($name,)* }

        impl Variable {
            /// All variables, in the order of the enumeration.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in rules and logs.
            #[must_use]
            pub fn name(self) -> &'static str {
                crate::seclang::table::variable::row(self).name
            }
        }
    };
}

variables! {
    Args, ArgsCombinedSize, ArgsGet, ArgsGetNames, ArgsNames, ArgsPost, ArgsPostNames, AuthType, Duration, Env, Files,
    FilesCombinedSize, FilesNames, FilesSizes, FilesTmpContent, FilesTmpNames, FullRequest, FullRequestLength, Geo,
    Global, HighestSeverity, InboundDataError, Ip, MatchedVar, MatchedVarName, MatchedVars, MatchedVarsNames,
    ModsecBuild, MultipartBoundaryQuoted, MultipartBoundaryWhitespace, MultipartCrlfLfLines, MultipartDataAfter,
    MultipartDataBefore, MultipartFileLimitExceeded, MultipartFilename, MultipartHeaderFolding,
    MultipartInvalidHeaderFolding, MultipartInvalidPart, MultipartInvalidQuoting, MultipartLfLine,
    MultipartMissingSemicolon, MultipartName, MultipartPartHeaders, MultipartStrictError, MultipartUnmatchedBoundary,
    OutboundDataError, PathInfo, QueryString, RemoteAddr, RemoteHost, RemotePort, RemoteUser, ReqbodyError,
    ReqbodyErrorMsg, ReqbodyProcessor, ReqbodyProcessorError, ReqbodyProcessorErrorMsg, RequestBasename, RequestBody,
    RequestBodyLength, RequestCookies, RequestCookiesNames, RequestFilename, RequestHeaders, RequestHeadersNames,
    RequestLine, RequestMethod, RequestProtocol, RequestUri, RequestUriRaw, Resource, ResponseBody,
    ResponseContentLength, ResponseContentType, ResponseHeaders, ResponseHeadersNames, ResponseProtocol,
    ResponseStatus, Rule, ServerAddr, ServerName, ServerPort, Session, SessionId, StatusLine, Time, TimeDay, TimeEpoch,
    TimeHour, TimeMin, TimeMon, TimeSec, TimeWday, TimeYear, Tx, UniqueId, UrlencodedError, User, UserId, WebAppId, Xml,
}
