//! Component identifiers (RFC 9421, section 2): which part of a message a line of the signature base shows, and which
//! parts of a message a set of them leaves open.

use super::structured::parser::is_token_byte;
use super::structured::{Bare, Item};
use crate::{Failure, Reason};

/// The most bytes of a request's text that a message for people repeats.
const MAX_ECHO_BYTES: usize = 64;

/// What a component shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `@method`
    Method,
    /// `@target-uri`
    TargetUri,
    /// `@authority`
    Authority,
    /// `@scheme`
    Scheme,
    /// `@request-target`
    RequestTarget,
    /// `@path`
    Path,
    /// `@query`
    Query,
    /// `@query-param`
    QueryParam,
    /// `@status`
    Status,
    /// A header field.
    Field,
}

/// The derived components (RFC 9421, section 2.2).
const DERIVED: [(&str, Part); 9] = [
    ("@method", Part::Method),
    ("@target-uri", Part::TargetUri),
    ("@authority", Part::Authority),
    ("@scheme", Part::Scheme),
    ("@request-target", Part::RequestTarget),
    ("@path", Part::Path),
    ("@query", Part::Query),
    ("@query-param", Part::QueryParam),
    ("@status", Part::Status),
];

/// What the components that show several parts at once consist of.
const CONSISTS_OF: [(&str, &[&str]); 3] = [
    ("@target-uri", &["@scheme", "@authority", "@path", "@query"]),
    ("@request-target", &["@path", "@query"]),
    ("host", &["@authority"]),
];

/// The part that a name stands for; `None` if it is neither a derived component nor the lower-case name of a field.
#[must_use]
pub fn part(name: &str) -> Option<Part> {
    if name.starts_with('@') {
        return DERIVED.iter().find(|row| row.0 == name).map(|row| row.1);
    }
    let is_name_byte = |byte: u8| is_token_byte(byte) && !byte.is_ascii_uppercase();
    (!name.is_empty() && name.bytes().all(is_name_byte)).then_some(Part::Field)
}

/// A component as a signature names it.
#[derive(Clone, Debug)]
pub struct Component<'a> {
    /// Its identifier.
    pub item: Item<'a>,
    /// Its name.
    pub name: &'a str,
    /// What it shows.
    pub part: Part,
    /// `sf`: the field is written anew as a structured field.
    pub structured: bool,
    /// `bs`: each line of the field is wrapped in a byte sequence.
    pub wrapped: bool,
    /// `req`: it is taken from the request to which a response belongs.
    pub of_request: bool,
    /// `key`: the member of a dictionary field.
    pub key: Option<&'a str>,
    /// `name`: the query parameter, percent-encoded.
    pub parameter: Option<&'a str>,
}

impl<'a> Component<'a> {
    /// The component that an identifier names.
    ///
    /// # Errors
    /// Identifiers that RFC 9421 does not define or that are not supported here.
    pub fn of(item: Item<'a>) -> Result<Self, Failure> {
        let Bare::Text(name) = item.value else {
            return Err(Failure::new(Reason::Malformed, "a covered component is not a string"));
        };
        let refuse = |reason, what| Err(Failure::new(reason, format!("component `{}`: {what}", echo(name))));
        let Some(part) = part(name) else {
            return if name.starts_with('@') {
                refuse(Reason::Unsupported, "not a derived component that is known here")
            } else {
                refuse(Reason::Malformed, "not the lower-case name of a field")
            };
        };
        let (mut structured, mut wrapped, mut of_request, mut key, mut parameter) = (false, false, false, None, None);
        for (name, value) in &item.parameters {
            let is_field = part == Part::Field;
            match (*name, value) {
                ("sf", Bare::Boolean(true)) if is_field => structured = true,
                ("bs", Bare::Boolean(true)) if is_field => wrapped = true,
                ("req", Bare::Boolean(true)) => of_request = true,
                ("key", Bare::Text(text)) if is_field => key = Some(*text),
                ("name", Bare::Text(text)) if part == Part::QueryParam => parameter = Some(*text),
                ("tr", _) => return refuse(Reason::Unsupported, "trailers cannot be signed here"),
                _ => return refuse(Reason::Unsupported, "a parameter that is unknown or out of place"),
            }
        }
        if wrapped && (structured || key.is_some()) {
            return refuse(Reason::Malformed, "`bs` excludes `sf` and `key`");
        }
        if part == Part::QueryParam && parameter.is_none() {
            return refuse(Reason::Malformed, "it lacks `name`");
        }
        Ok(Self { name, part, structured, wrapped, of_request, key, parameter, item })
    }

    /// Whether two identifiers are equivalent: the order of their parameters does not count (RFC 9421, section 2).
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.structured, of.wrapped, of.of_request);
        self.name == other.name
            && facts(self) == facts(other)
            && self.key == other.key
            && self.parameter == other.parameter
    }

    /// Whether it shows this part of the same message, all of it.
    #[must_use]
    pub fn covers(&self, name: &str, of_request: bool) -> bool {
        let whole = self.key.is_none() && self.part != Part::QueryParam;
        whole && self.of_request == of_request && (self.name == name || consists_of(self.name).contains(&name))
    }
}

/// What has to be covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    name: String,
    of_request: bool,
}

impl Required {
    /// What a text names: a component, with `;req` at its end if it is one of the request to a response.
    ///
    /// # Errors
    /// Why it is not one that can be required.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, of_request) = text.strip_suffix(";req").map_or((text, false), |name| (name, true));
        match part(name) {
            Some(Part::QueryParam) | None => Err(format!(
                "`{text}` cannot be required: expected a derived component such as `@method`, or a field in lower case"
            )),
            Some(_) => Ok(Self { name: name.to_owned(), of_request }),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is one of the request to which a response belongs.
    #[must_use]
    pub fn is_of_request(&self) -> bool {
        self.of_request
    }

    /// The part of it that no component covers; `has` says whether the message has a part at all.
    #[must_use]
    pub fn uncovered<'s>(&'s self, components: &[Component<'_>], has: impl Fn(&str) -> bool) -> Option<&'s str> {
        let parts = consists_of(&self.name);
        let own = Some(self.name.as_str()).filter(|_| parts.is_empty());
        // `@target-uri` binds the scheme, but a client that signs the three others has bound all that is routed by.
        let mut parts = own.into_iter().chain(parts.iter().copied().filter(|part| *part != "@scheme"));
        let covered = |part: &str| components.iter().any(|component| component.covers(part, self.of_request));
        parts.find(|part| has(part) && !covered(part))
    }
}

fn consists_of(name: &str) -> &'static [&'static str] {
    CONSISTS_OF.iter().find(|row| row.0 == name).map_or(&[], |row| row.1)
}

/// The beginning of a text of the request, for a message.
#[must_use]
pub fn echo(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_ECHO_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::super::structured::parser::item;
    use super::*;

    fn failure(text: &str) -> Reason {
        Component::of(item(text.as_bytes()).unwrap()).unwrap_err().reason
    }

    #[test]
    fn identifiers_out_of_the_standard_are_refused() {
        for (text, reason) in [
            ("1", Reason::Malformed),
            ("method", Reason::Malformed),
            ("\"Content-Type\"", Reason::Malformed),
            ("\"\"", Reason::Malformed),
            ("\"a b\"", Reason::Malformed),
            ("\"a\\\"b\"", Reason::Malformed),
            ("\"@signature-params\"", Reason::Unsupported),
            ("\"@nothing\"", Reason::Unsupported),
            ("\"@method\";sf", Reason::Unsupported),
            ("\"@query-param\"", Reason::Malformed),
            ("\"date\";tr", Reason::Unsupported),
            ("\"date\";new", Reason::Unsupported),
            ("\"date\";sf=?0", Reason::Unsupported),
            ("\"date\";key=token", Reason::Unsupported),
            ("\"date\";bs;sf", Reason::Malformed),
            ("\"date\";bs;key=\"a\"", Reason::Malformed),
        ] {
            assert_eq!(failure(text), reason, "{text}");
        }
        let long = format!("\"{}\"", "X".repeat(500));
        assert!(Component::of(item(long.as_bytes()).unwrap()).unwrap_err().detail.len() < 150);
    }

    #[test]
    fn the_order_of_parameters_does_not_make_a_component_another_one() {
        let of = |text: &'static str| Component::of(item(text.as_bytes()).unwrap()).unwrap();
        assert!(of("\"a\";req;sf").is_equivalent(&of("\"a\";sf;req")));
        for other in ["\"a\"", "\"a\";sf", "\"a\";req", "\"a\";req;bs", "\"a\";key=\"x\"", "\"b\";sf;req"] {
            assert!(!of("\"a\";req;sf").is_equivalent(&of(other)), "{other}");
        }
    }

    #[test]
    fn a_requirement_is_met_by_any_components_that_leave_nothing_open() {
        let uncovered = |required: &str, covered: &[&'static str]| {
            let components: Vec<_> =
                covered.iter().map(|text| Component::of(item(text.as_bytes()).unwrap()).unwrap()).collect();
            Required::parse(required).unwrap().uncovered(&components, |_| true).map(str::to_owned)
        };
        let open = |part: &str| Some(part.to_owned());
        assert_eq!(uncovered("@target-uri", &["\"@target-uri\""]), None);
        assert_eq!(uncovered("@target-uri", &["\"@request-target\"", "\"host\""]), None);
        assert_eq!(uncovered("@target-uri", &["\"@authority\"", "\"@path\""]), open("@query"));
        assert_eq!(uncovered("@path", &["\"@target-uri\""]), None);
        assert_eq!(uncovered("@query", &["\"@query-param\";name=\"a\""]), open("@query"));
        assert_eq!(uncovered("@method", &["\"@method\";req"]), open("@method"));
        assert_eq!(uncovered("@method;req", &["\"@method\";req"]), None);
        assert_eq!(uncovered("date", &["\"date\";key=\"a\""]), open("date"));
        assert_eq!(uncovered("@scheme", &["\"@authority\""]), open("@scheme"));
        assert_eq!(uncovered("@scheme", &["\"@target-uri\""]), None);
        for text in ["@query-param", "Date", "", "@nothing", ";req"] {
            Required::parse(text).unwrap_err();
        }
    }
}
