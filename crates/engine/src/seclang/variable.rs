//! Where the values of variables come from.
//!
//! What the request and the response hold is an *origin*: a collection of the view, its values or
//! its names. The filter pass knows origins only. Everything else (`TX`, what has matched,
//! persistent collections, clocks) is asked for when a rule is evaluated.

use bumpalo::Bump;
use weir_http::Pair;
use weir_http::seclang::{BodyProcessor, MultipartFlags, View};
use weir_rules::seclang::ir::{Collection, Phase, Variable};

/// A collection of the view, by the variable that is its plain form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// Position in [`BASES`].
    pub(crate) base: u8,
    /// Whether its members' names are the values.
    pub(crate) names: bool,
}

/// The point from which a collection is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Availability {
    /// With the request's header.
    Head,
    /// With the request's body.
    Body,
    /// With the response's header.
    ResponseHead,
    /// With the response's body.
    ResponseBody,
}

impl Availability {
    /// All variants, in order.
    pub(crate) const ALL: [Self; 4] = [Self::Head, Self::Body, Self::ResponseHead, Self::ResponseBody];

    /// The first phase whose rules can look at it.
    pub(crate) fn phase(self) -> Phase {
        [Phase::RequestHeaders, Phase::RequestBody, Phase::ResponseHeaders, Phase::ResponseBody][self as usize]
    }
}

/// A collection of the view.
pub(crate) struct Base {
    pub(crate) variable: Variable,
    pub(crate) known: Availability,
    /// Approximate share of requests in which it has a value: guides the choice of gates only.
    pub(crate) presence: f64,
}

impl Base {
    /// Whether it is one value, empty before it is known, and no collection.
    pub(crate) fn is_scalar(&self) -> bool {
        use Variable as V;
        matches!(self.variable, V::RequestBody | V::FullRequest | V::ResponseBody)
    }
}

const fn base(variable: Variable, known: Availability, presence: f64) -> Base {
    Base { variable, known, presence }
}

/// All collections of the view.
pub(crate) const BASES: &[Base] = &{
    use Availability::{Body, Head, ResponseBody, ResponseHead};
    use Variable as V;
    [
        base(V::ArgsGet, Head, 1.0),
        // What the body adds to `ARGS`; `ARGS_POST` does not have JSON's leaves.
        base(V::Args, Body, 0.5),
        base(V::ArgsPost, Body, 0.5),
        base(V::RequestHeaders, Head, 1.0),
        base(V::RequestCookies, Head, 0.7),
        base(V::RequestLine, Head, 1.0),
        base(V::RequestUri, Head, 1.0),
        base(V::RequestUriRaw, Head, 1.0),
        base(V::RequestFilename, Head, 1.0),
        base(V::RequestBasename, Head, 1.0),
        base(V::QueryString, Head, 0.6),
        base(V::RequestBody, Body, 0.4),
        base(V::Xml, Body, 0.02),
        base(V::Files, Body, 0.05),
        base(V::FilesTmpContent, Body, 0.05),
        base(V::MultipartFilename, Body, 0.05),
        base(V::MultipartName, Body, 0.05),
        base(V::MultipartPartHeaders, Body, 0.05),
        base(V::FullRequest, Body, 1.0),
        base(V::ResponseHeaders, ResponseHead, 1.0),
        base(V::ResponseBody, ResponseBody, 0.5),
    ]
};

/// The pairs of a collection; of a scalar one pair without a name.
pub(crate) fn pairs<'a>(view: &View<'a>, arena: &'a Bump, base: u8) -> &'a [Pair<'a>] {
    use Variable as V;
    let one = |value: &'a [u8]| -> &'a [Pair<'a>] { arena.alloc_slice_copy(&[Pair { name: b"", value }]) };
    match BASES[usize::from(base)].variable {
        V::ArgsGet => view.args_get(),
        V::Args => view.args_body(),
        V::ArgsPost => view.args_post(),
        V::RequestHeaders => view.request_headers(),
        V::RequestCookies => view.request_cookies(),
        V::Files => view.files(),
        V::FilesTmpContent => view.files_contents(),
        V::MultipartFilename => view.multipart_filename(),
        V::MultipartName => view.multipart_name(),
        V::MultipartPartHeaders => view.multipart_part_headers(),
        V::ResponseHeaders => view.response_headers(),
        V::RequestLine => one(view.request_line()),
        V::RequestUri => one(view.request_uri()),
        V::RequestUriRaw => one(view.request_uri_raw()),
        V::RequestFilename => one(view.request_filename()),
        V::RequestBasename => one(view.request_basename()),
        V::QueryString => one(view.query_string()),
        V::RequestBody => one(request_body(view)),
        V::FullRequest => one(view.full_request()),
        V::ResponseBody => one(view.response_body()),
        V::Xml => xml(view, arena),
        other => unreachable!("{other:?} is not a base"),
    }
}

/// `REQUEST_BODY`: as ModSecurity's manual has it and CRS expects it, not of XML, whose texts and
/// attributes are variables. (v3.0.9 fills it there too, and rules find words in names of tags.) Of
/// XML that does not parse it is the only sight of what has not been read.
fn request_body<'a>(view: &View<'a>) -> &'a [u8] {
    match view.processor() {
        Some(BodyProcessor::Xml) if !view.body_is_forced() && view.reqbody_error() == b"0" => b"",
        _ => view.request_body(),
    }
}

/// XML's texts and attributes, by the two paths that are supported.
fn xml<'a>(view: &View<'a>, arena: &'a Bump) -> &'a [Pair<'a>] {
    let texts = view.xml_text().iter().map(|value| Pair { name: b"/*", value });
    let attributes = view.xml_attributes().iter().map(|value| Pair { name: b"//@*", value });
    let mut pairs = bumpalo::collections::Vec::new_in(arena);
    pairs.extend(texts.chain(attributes));
    pairs.into_bump_slice()
}

/// The pairs of a collection that no filter looks at. No file is stored, so none has a temporary
/// name.
pub(crate) fn listed<'a>(view: &View<'a>, variable: Variable) -> &'a [Pair<'a>] {
    match variable {
        Variable::FilesSizes => view.files_sizes(),
        _ => &[],
    }
}

/// The value of a scalar; `None` if it is not set.
pub(crate) fn scalar<'a>(view: &View<'a>, variable: Variable, arena: &'a Bump) -> Option<&'a [u8]> {
    use Variable as V;
    Some(match variable {
        V::RequestMethod => view.request_method(),
        V::RequestProtocol => view.request_protocol(),
        V::RequestBodyLength => view.request_body_length(),
        V::PathInfo => view.path_info(),
        V::ArgsCombinedSize => view.args_combined_size(),
        V::FilesCombinedSize => view.files_combined_size(),
        V::FullRequestLength => view.full_request_length(),
        V::ReqbodyProcessor => view.reqbody_processor(),
        V::ReqbodyError => view.reqbody_error(),
        V::ReqbodyErrorMsg => view.reqbody_error_msg(),
        V::ReqbodyProcessorError => view.reqbody_processor_error(),
        V::ReqbodyProcessorErrorMsg => view.reqbody_processor_error_msg(),
        V::UrlencodedError => view.urlencoded_error(),
        V::InboundDataError => view.inbound_data_error(),
        V::OutboundDataError => view.outbound_data_error(),
        V::RemoteAddr | V::RemoteHost => view.remote_addr(),
        V::RemotePort => view.remote_port(),
        V::RemoteUser => return view.remote_user(),
        V::ServerAddr => view.server_addr(),
        V::ServerPort => view.server_port(),
        V::ServerName => view.server_name(),
        V::AuthType => view.auth_type(),
        V::ResponseStatus => view.response_status(),
        V::ResponseProtocol => view.response_protocol(),
        V::ResponseContentType => view.response_content_type(),
        V::ResponseContentLength => view.response_content_length(),
        V::StatusLine => status_line(view, arena),
        V::MultipartUnmatchedBoundary => view.multipart_unmatched_boundary(),
        other => return multipart_flag(view, other),
    })
}

fn status_line<'a>(view: &View<'a>, arena: &'a Bump) -> &'a [u8] {
    arena.alloc_slice_copy(&[view.response_protocol(), b" ", view.response_status()].concat())
}

/// A variable that is 0 or 1 of multipart bodies, and not set of others.
fn multipart_flag(view: &View<'_>, variable: Variable) -> Option<&'static [u8]> {
    use Variable as V;
    let flag = match variable {
        V::MultipartStrictError => MultipartFlags::STRICT_ERROR,
        V::MultipartBoundaryQuoted => MultipartFlags::BOUNDARY_QUOTED,
        V::MultipartBoundaryWhitespace => MultipartFlags::BOUNDARY_WHITESPACE,
        V::MultipartCrlfLfLines => MultipartFlags::CRLF_LF_LINES,
        V::MultipartDataAfter => MultipartFlags::DATA_AFTER,
        V::MultipartDataBefore => MultipartFlags::DATA_BEFORE,
        V::MultipartHeaderFolding => MultipartFlags::HEADER_FOLDING,
        V::MultipartInvalidHeaderFolding => MultipartFlags::INVALID_HEADER_FOLDING,
        V::MultipartInvalidPart => MultipartFlags::INVALID_PART,
        V::MultipartInvalidQuoting => MultipartFlags::INVALID_QUOTING,
        V::MultipartLfLine => MultipartFlags::LF_LINE,
        V::MultipartMissingSemicolon => MultipartFlags::MISSING_SEMICOLON,
        _ => return None,
    };
    let flags = view.multipart_flags()?;
    Some(if flags.contains(flag) { b"1" } else { b"0" })
}

/// What a rule's target reads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// Members of collections of the view, in this order.
    Origins(Vec<Origin>),
    /// A collection of the view that no filter looks at.
    Listed(Variable),
    /// A scalar of the view that is not worth a lane: a number or a flag.
    Scalar(Variable),
    /// `TX`.
    Tx,
    /// A persistent collection.
    Stored(Collection),
    /// State of the evaluation: matches, the rule, clocks, ids.
    State(Variable),
}

/// The origins of one collection's values or names.
fn of(variables: &[Variable], names: bool) -> Source {
    let origin = |variable: &Variable| {
        let base = BASES.iter().position(|base| base.variable == *variable);
        Origin { base: base.expect("every origin is a base") as u8, names }
    };
    Source::Origins(variables.iter().map(origin).collect())
}

impl Source {
    pub(crate) fn new(variable: Variable) -> Self {
        use Variable as V;
        match variable {
            V::Args => of(&[V::ArgsGet, V::Args], false),
            V::ArgsNames => of(&[V::ArgsGet, V::Args], true),
            V::ArgsGetNames => of(&[V::ArgsGet], true),
            V::ArgsPostNames => of(&[V::ArgsPost], true),
            V::RequestHeadersNames => of(&[V::RequestHeaders], true),
            V::RequestCookiesNames => of(&[V::RequestCookies], true),
            V::FilesNames => of(&[V::Files], true),
            V::ResponseHeadersNames => of(&[V::ResponseHeaders], true),
            V::Tx => Self::Tx,
            V::Ip => Self::Stored(Collection::Ip),
            V::Global => Self::Stored(Collection::Global),
            V::Session => Self::Stored(Collection::Session),
            V::User => Self::Stored(Collection::User),
            V::Resource => Self::Stored(Collection::Resource),
            V::Duration
            | V::Env
            | V::Geo
            | V::HighestSeverity
            | V::MatchedVar
            | V::MatchedVarName
            | V::MatchedVars
            | V::MatchedVarsNames
            | V::ModsecBuild
            | V::Rule
            | V::SessionId
            | V::Time
            | V::TimeDay
            | V::TimeEpoch
            | V::TimeHour
            | V::TimeMin
            | V::TimeMon
            | V::TimeSec
            | V::TimeWday
            | V::TimeYear
            | V::UniqueId
            | V::UserId
            | V::WebAppId => Self::State(variable),
            V::FilesSizes | V::FilesTmpNames => Self::Listed(variable),
            _ if BASES.iter().any(|base| base.variable == variable) => of(&[variable], false),
            _ => Self::Scalar(variable),
        }
    }
}
