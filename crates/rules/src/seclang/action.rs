//! The syntax of action lists: name, value and position of each action.

use super::cursor::{Cursor, is_blank, joined};
use super::diagnostic::{Report, SourceLocation, shown};
use super::table::action::{ACTIONS, ActionKind, ActionValue};
use super::table::variable::refusal;
use super::table::{Row, find, guess};

/// One action, parsed but not interpreted.
#[derive(Clone, Debug)]
pub(super) struct RawAction {
    pub(super) row: &'static Row<(ActionKind, ActionValue)>,
    /// The text after the colon, without its quotes; may be empty.
    pub(super) value: Vec<u8>,
    /// Start of the action, and start of its value.
    pub(super) spot: SourceLocation,
    pub(super) value_spot: SourceLocation,
}

impl RawAction {
    pub(super) fn kind(&self) -> ActionKind {
        self.row.kind.0
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }
}

/// An action list, parsed but not interpreted.
#[derive(Clone, Debug, Default)]
pub(super) struct RawActions {
    pub(super) actions: Vec<RawAction>,
    /// Whether the list was read without errors.
    pub(super) whole: bool,
}

/// Reads a quoted list, or one word up to a blank.
pub(super) fn list(cursor: &mut Cursor<'_>, report: &mut Report) -> RawActions {
    let mut list = RawActions { actions: Vec::new(), whole: true };
    let open = cursor.spot();
    let quoted = cursor.eat(b'"');
    let mut comma = true;
    loop {
        if quoted {
            cursor.blanks();
        }
        if quoted && cursor.eat(b'"') {
            return list;
        }
        if cursor.at_line_end() {
            break;
        }
        match action(cursor, quoted, report) {
            Ok(Some(action)) => list.actions.push(action),
            Ok(None) => list.whole = false,
            Err(Unclosed) => {
                list.whole = false;
                cursor.next_line();
                return list;
            }
        }
        if list.actions.len() > report.limits.actions {
            report.error(open, "", format!("more than {} actions", report.limits.actions), None);
            list.whole = false;
            cursor.next_line();
            return list;
        }
        if quoted {
            cursor.blanks();
        }
        comma = cursor.eat(b',');
        if comma || (quoted && cursor.peek() == Some(b'"')) {
            continue;
        }
        if !quoted || cursor.at_line_end() {
            break;
        }
        let found = cursor.rest()[..1].to_vec();
        let message = format!("expected `,` or `\"` after an action, found `{}`", shown(&found));
        report.error(cursor.spot(), &shown(&found), message, Some("put values with blanks or commas in '...'"));
        list.whole = false;
        recover(cursor);
        cursor.eat(b',');
    }
    if quoted && comma {
        let hint = "end the line with a backslash if the actions go on, or close the quote";
        report.error(open, "\"", "the list of actions is not closed", Some(hint));
        list.whole = false;
    } else if quoted {
        // ModSecurity accepts it, and there is only one possible meaning.
        report.warn(open, "\"", "the list of actions is not closed", Some("close the quote"));
    }
    list
}

/// Skips to where the next action may begin.
fn recover(cursor: &mut Cursor<'_>) {
    cursor.take_while(|byte| !matches!(byte, b',' | b'"' | b'\n'));
}

/// A quote without its end: nothing after it can be read.
struct Unclosed;

/// Reads one action; `None` after reporting an error.
fn action(cursor: &mut Cursor<'_>, quoted: bool, report: &mut Report) -> Result<Option<RawAction>, Unclosed> {
    let (start, spot) = (cursor.at, cursor.spot());
    let name = cursor.name();
    if name.is_empty() {
        recover(cursor);
        let end = cursor.at.max(start + usize::from(cursor.peek().is_some()));
        let found = shown(&cursor.bytes[start..end]);
        report.error(spot, &found, format!("expected an action, found `{found}`"), None);
        return Ok(None);
    }
    let colon = cursor.eat(b':');
    let mut value_spot = cursor.spot();
    let value = if colon { value(cursor, quoted, &mut value_spot, report)? } else { Vec::new() };
    let Some(row) = find(ACTIONS, name) else {
        let hint = guess(ACTIONS, name);
        report.error(spot, name, format!("expected an action, found `{name}`"), hint.as_deref());
        return Ok(None);
    };
    if let Some(why) = refusal(row) {
        report.unsupported(spot, name, why);
        return Ok(None);
    }
    if value.len() > report.limits.value_bytes {
        report.error(spot, name, format!("`{name}` is longer than {} bytes", report.limits.value_bytes), None);
        return Ok(None);
    }
    match row.kind.1 {
        ActionValue::None if colon => {
            report.error(spot, name, format!("`{}` takes no value", row.name), None);
            Ok(None)
        }
        ActionValue::Required if value.is_empty() => {
            let hint = format!("write {}:...", row.name);
            report.error(spot, name, format!("`{}` needs a value", row.name), Some(&hint));
            Ok(None)
        }
        _ => Ok(Some(RawAction { row, value, spot, value_spot })),
    }
}

/// Reads the text after a colon: in single quotes, in double quotes, or up to a comma or the list's end.
fn value(
    cursor: &mut Cursor<'_>,
    quoted: bool,
    spot: &mut SourceLocation,
    report: &mut Report,
) -> Result<Vec<u8>, Unclosed> {
    if let Some(quote @ (b'\'' | b'"')) = cursor.peek()
        && (quote == b'\'' || !quoted)
    {
        cursor.at += 1;
        *spot = cursor.spot();
        let Some(text) = cursor.closed(quote) else {
            report.error(*spot, "'", "the quote is not closed", None);
            return Err(Unclosed);
        };
        return Ok(joined(text));
    }
    let start = cursor.at;
    let mut before = b':';
    while let Some(byte) = cursor.peek() {
        let ends = match byte {
            b',' => true,
            b'"' => before != b'\\',
            b'\n' => {
                before != b'\\' && !(before == b'\r' && cursor.at > start + 1 && cursor.bytes[cursor.at - 2] == b'\\')
            }
            _ => !quoted && is_blank(byte),
        };
        if ends {
            break;
        }
        cursor.at += 1;
        // A quote within a value, as in `ip='...'` or `ARGS:'/a,b/'`.
        if byte == b'\'' && matches!(before, b':' | b'=') {
            let mut ahead = *cursor;
            if ahead.quoted(b'\'').is_some_and(|text| !text.contains(&b'\n')) {
                cursor.at = ahead.at;
            }
        }
        before = byte;
    }
    Ok(joined(cursor.bytes[start..cursor.at].trim_ascii_end()))
}
