//! Helpers for rules that use nginx's configuration.

use crate::facts::nginx::{Directive, DirectivePosition};
use crate::facts::{Configuration, Facts};
use crate::finding::Evidence;

/// The configuration, if it is known.
pub(super) fn configuration(facts: &Facts) -> Option<&Configuration> {
    let configuration = &facts.nginx.as_ref()?.configuration;
    (!configuration.directives.is_empty()).then_some(configuration)
}

/// Whether nginx has at least this version; `None` if its version is not known.
pub(super) fn is_at_least(facts: &Facts, want: (u32, u32, u32)) -> Option<bool> {
    let version = &facts.nginx.as_ref()?.version;
    let mut parts = version.split('.').map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)) >= want)
}

/// A directive as evidence: position and text.
pub(super) fn place(directive: &Directive) -> Evidence {
    let mut text =
        std::iter::once(&directive.name).chain(&directive.arguments).map(String::as_str).collect::<Vec<_>>().join(" ");
    text.push_str(if directive.block.is_none() { ";" } else { " { ... }" });
    at(&directive.place, text)
}

/// A position as evidence, with a given text.
pub(super) fn at(place: &DirectivePosition, text: impl Into<String>) -> Evidence {
    Evidence::Place { file: place.file.to_string(), line: place.line, text: text.into() }
}

/// The command that verifies a finding about a running process.
pub(super) fn again(facts: &Facts, rule: &str) -> String {
    let who = facts.process.as_ref().map_or_else(|| "PID".to_owned(), |process| process.pid.to_string());
    format!("weir diagnose {who} --rule {rule}")
}
