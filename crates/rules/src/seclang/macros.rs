//! Text with `%{VARIABLE.member}` macros.

use super::diagnostic::{Report, SourceLocation, shown};
use super::ir::{Macro, Piece};
use super::selector;
use super::table::variable::{VARIABLES, refusal};
use super::table::{find, guess};

/// Maximum number of macros in one text.
const MAX_VARIABLES: usize = 256;

/// Whether the text contains a macro.
pub(super) fn has_any(text: &[u8]) -> bool {
    text.windows(2).any(|pair| pair == b"%{")
}

/// Parses a text; wrong macros are reported and left out.
pub(super) fn parse(text: &[u8], spot: SourceLocation, report: &mut Report) -> Macro {
    let mut pieces = Vec::new();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !text[at..].starts_with(b"%{") {
            plain.push(text[at]);
            at += 1;
            continue;
        }
        let inside = &text[at + 2..];
        let Some(length) = inside.iter().position(|&byte| byte == b'}') else {
            let hint = "a macro is %{VARIABLE} or %{VARIABLE.member}";
            report.error(spot.plus(at), "%{", "`%{` without its `}`", Some(hint));
            break;
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.extend(variable(&inside[..length], spot.plus(at + 2), report));
        at += length + 3;
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    if pieces.len() > 2 * MAX_VARIABLES {
        report.error(spot, "", format!("more than {MAX_VARIABLES} macros in one text"), None);
        pieces.clear();
    }
    Macro(pieces)
}

/// Parses the text between the braces.
fn variable(inside: &[u8], spot: SourceLocation, report: &mut Report) -> Option<Piece> {
    let text = String::from_utf8_lossy(inside);
    let (name, member) = match text.find(['.', ':']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (&*text, None),
    };
    let Some(row) = find(VARIABLES, name) else {
        let message = format!("expected a variable in the macro, found `{}`", shown(name.as_bytes()));
        report.error(spot, name, message, guess(VARIABLES, name).as_deref());
        return None;
    };
    let Some(variable) = row.kind.variable else {
        report.unsupported(spot, row.name, refusal(row).unwrap_or_default());
        return None;
    };
    if member.is_some() && !row.kind.members {
        let hint = format!("write %{{{}}}", row.name);
        report.error(spot, &text, format!("`{}` has no members", row.name), Some(&hint));
        return None;
    }
    let member = member.map(|member| selector::name(variable, member.as_bytes()));
    Some(Piece::Variable(variable, member))
}

/// The text with its literal parts in lower case; macros are unchanged.
pub(super) fn lower(text: Macro) -> Macro {
    let lower = |piece| match piece {
        Piece::Text(text) => Piece::Text(text.to_ascii_lowercase()),
        variable @ Piece::Variable(..) => variable,
    };
    Macro(text.0.into_iter().map(lower).collect())
}
