//! One document against the table, and into what workers get.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::convert::Converter;
use crate::kind::descriptor;
use crate::{Checked, Fault, ResourceKind};
use weir_policy::check::Checker;
use weir_policy::document;
use weir_policy::error::Reporter;
use weir_policy::pointer;
use weir_policy::source::Source;

/// Checks a document (JSON). `id` is the resource's: empty for settings, `UPSTREAM/MEMBER` for members.
///
/// # Errors
/// Everything that is wrong with it, at most [`weir_policy::MAX_ERRORS`].
pub fn check(kind: ResourceKind, id: &str, json: &[u8]) -> Result<Checked, Vec<Fault>> {
    check_at(kind, id, json, now())
}

/// As [`check`], for a document that was accepted once: what was right then and has become wrong only by the clock, such
/// as a certificate that has expired, is no fault. Of what a store holds.
///
/// # Errors
/// As [`check`].
pub fn check_stored(kind: ResourceKind, id: &str, json: &[u8]) -> Result<Checked, Vec<Fault>> {
    check_at(kind, id, json, i64::MIN)
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Checks a document at a time.
fn check_at(kind: ResourceKind, id: &str, json: &[u8], now: i64) -> Result<Checked, Vec<Fault>> {
    let text = std::str::from_utf8(json).map_err(|error| {
        let message = format!("expected UTF-8, found other bytes at {}", error.valid_up_to());
        vec![Fault { message, ..Fault::default() }]
    })?;
    // The name says that it is JSON.
    let source = Source::new(".json".to_owned(), text);
    let root = document::parse(&source).map_err(|error| {
        let position = source.position(error.at);
        let message = format!("line {}, column {}: {}", position.line, position.column, error.message);
        vec![Fault { message, hint: error.hint, ..Fault::default() }]
    })?;
    let mut reporter = Reporter::of_document();
    let (parent, own) = kind.parent().and_then(|_| id.split_once('/')).unwrap_or(("", id));
    let good = kind.takes_id(own) && kind.parent().is_none_or(|kind| kind.takes_id(parent));
    let fields = Checker { source: &source, reporter: &mut reporter, alternatives: true }
        .resource(&root, descriptor(kind).table);
    let mut converter = Converter {
        id: own,
        parent,
        source: &source,
        reporter: &mut reporter,
        root: &root,
        now,
        checked: Checked::default(),
    };
    if let Some(fields) = &fields {
        (descriptor(kind).convert)(&mut converter, fields);
    }
    let checked = converter.checked;
    if good && !reporter.has_faults() {
        return Ok(checked);
    }
    let own = (!good).then(|| bad_id(kind, id));
    let located = |(at, fault)| Fault { pointer: pointer::of(&root, at), ..fault };
    Err(own.into_iter().chain(reporter.into_faults().into_iter().map(located)).collect())
}

fn bad_id(kind: ResourceKind, id: &str) -> Fault {
    let mut expected = format!("an id of at most 128 letters, digits and _ . - that fits {}", kind.id_pattern());
    if kind == ResourceKind::Policies {
        expected.push_str(" and is not `none`");
    }
    let found = document::quoted(id);
    Fault {
        message: format!("expected {expected}, found {found}"),
        expected: Some(expected),
        found: Some(found),
        ..Fault::default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
