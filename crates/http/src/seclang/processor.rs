//! The processor of a request body and its choice by `Content-Type`.

/// A request body processor: `REQBODY_PROCESSOR`, `ctl:requestBodyProcessor=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyProcessor {
    /// `application/x-www-form-urlencoded`
    UrlEncoded,
    /// `multipart/form-data`
    Multipart,
    /// XML; libxml2 in ModSecurity.
    Xml,
    /// JSON; yajl in ModSecurity.
    Json,
}

impl BodyProcessor {
    /// The value of `REQBODY_PROCESSOR`.
    #[must_use]
    pub const fn name(self) -> &'static [u8] {
        match self {
            Self::UrlEncoded => b"URLENCODED",
            Self::Multipart => b"MULTIPART",
            Self::Xml => b"XML",
            Self::Json => b"JSON",
        }
    }
}

/// The processor for a `Content-Type`: only the beginning of the value counts, in any case.
pub(super) fn processor_of(value: &[u8], xml_json: bool) -> Option<BodyProcessor> {
    let starts = |prefix: &[u8]| value.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if starts(b"multipart/form-data") {
        return Some(BodyProcessor::Multipart);
    }
    if starts(b"application/x-www-form-urlencoded") {
        return Some(BodyProcessor::UrlEncoded);
    }
    if !xml_json {
        return None;
    }
    if [&b"application/xml"[..], b"application/soap+xml", b"text/xml"].into_iter().any(starts) {
        return Some(BodyProcessor::Xml);
    }
    (starts(b"application/json") || has_json_suffix(value)).then_some(BodyProcessor::Json)
}

/// `^application/[a-z0-9.-]+[+]json` of rule 200006.
fn has_json_suffix(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"application/";
    let Some((kind, name)) = value.split_at_checked(TYPE.len()) else { return false };
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte)).count();
    let suffix = &name[length..];
    kind.eq_ignore_ascii_case(TYPE)
        && length > 0
        && suffix.get(..5).is_some_and(|text| text.eq_ignore_ascii_case(b"+json"))
}
