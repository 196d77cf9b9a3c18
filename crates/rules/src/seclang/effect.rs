//! Actions that change variables: `setvar`, `expirevar`, `initcol`, `setenv`.

use super::action::RawAction;
use super::diagnostic::{Report, SourceLocation, shown};
use super::ir::{Change, Collection, Effect, Macro};
use super::macros;

/// Writable collections by name.
const COLLECTIONS: &[(&str, Collection)] = &[
    ("tx", Collection::Tx),
    ("ip", Collection::Ip),
    ("global", Collection::Global),
    ("session", Collection::Session),
    ("user", Collection::User),
    ("resource", Collection::Resource),
];

/// Parses `tx.name=value` and its variants.
pub(super) fn set_variable(written: &RawAction, report: &mut Report) -> Option<Effect> {
    let (unset, text, spot) = match written.value.as_slice() {
        [b'!', rest @ ..] => (true, rest, written.value_spot.plus(1)),
        text => (false, text, written.value_spot),
    };
    let (target, value) = assignment(text);
    let (collection, name) = member(target, spot, report)?;
    let at = spot.plus(target.len() + 1);
    let change = match value {
        _ if unset => Change::Unset,
        None => Change::Set(Macro::text(b"1")),
        Some([b'+', number @ ..]) => Change::Add(macros::parse(number, at.plus(1), report)),
        Some([b'-', number @ ..]) => Change::Subtract(macros::parse(number, at.plus(1), report)),
        Some(value) => Change::Set(macros::parse(value, at, report)),
    };
    if unset && value.is_some() {
        report.error(at, &written.text(), "removing a variable takes no value", Some("write setvar:!tx.name"));
        return None;
    }
    Some(Effect::SetVariable { collection, name, change })
}

/// Parses `ip.name=seconds`.
pub(super) fn expire_variable(written: &RawAction, report: &mut Report) -> Option<Effect> {
    let (target, seconds) = assignment(&written.value);
    let (collection, name) = member(target, written.value_spot, report)?;
    let Some(seconds) = seconds else {
        let hint = "such as expirevar:ip.name=60";
        report.error(written.value_spot, &written.text(), "expected `=` and a number of seconds", Some(hint));
        return None;
    };
    let seconds = macros::parse(seconds, written.value_spot.plus(target.len() + 1), report);
    Some(Effect::ExpireVariable { collection, name, seconds })
}

/// Parses `ip=record`.
pub(super) fn init_collection(written: &RawAction, report: &mut Report) -> Option<Effect> {
    let (name, record) = assignment(&written.value);
    let name = String::from_utf8_lossy(name);
    let known = collection(&name).filter(|known| *known != Collection::Tx);
    let Some((collection, record)) = known.zip(record) else {
        let message = format!("expected a persistent collection and `=`, found `{}`", shown(&written.value));
        report.error(written.value_spot, &name, message, Some("such as initcol:ip=%{REMOTE_ADDR}"));
        return None;
    };
    let at = written.value_spot.plus(name.len() + 1);
    Some(Effect::InitCollection(collection, macros::parse(unquoted(record), at, report)))
}

/// Parses `name=value`.
pub(super) fn set_environment(written: &RawAction, report: &mut Report) -> Effect {
    let (name, value) = assignment(&written.value);
    let at = written.value_spot.plus(name.len() + 1);
    let name = macros::parse(name, written.value_spot, report);
    Effect::SetEnvironment(name, value.map_or_else(|| Macro::text(b"1"), |value| macros::parse(value, at, report)))
}

/// Splits at the first `=`.
fn assignment(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == b'=') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'\'', inside @ .., b'\''] => inside,
        other => other,
    }
}

/// Parses `collection.name`.
fn member(text: &[u8], spot: SourceLocation, report: &mut Report) -> Option<(Collection, Macro)> {
    let dot = text.iter().position(|byte| matches!(byte, b'.' | b':'));
    let (name, member) = dot.map_or((text, &text[..0]), |at| (&text[..at], &text[at + 1..]));
    let name = String::from_utf8_lossy(name);
    let Some(collection) = collection(&name) else {
        let message = format!("expected a collection that rules can write, found `{}`", shown(name.as_bytes()));
        report.error(spot, &name, message, Some("TX, IP, GLOBAL, SESSION, USER or RESOURCE"));
        return None;
    };
    if member.is_empty() {
        report.error(spot, &name, format!("expected a name in `{name}`"), Some("such as tx.name"));
        return None;
    }
    let member = macros::parse(member, spot.plus(name.len() + 1), report);
    Some((collection, macros::lower(member)))
}

fn collection(name: &str) -> Option<Collection> {
    COLLECTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, collection)| *collection)
}
