//! Capital letters in parameters that are compared with lower-case values.

use weir_transform::Transformation as T;

use crate::seclang::diagnostic::{Report, shown};
use crate::seclang::draft::Link;
use crate::seclang::ir::{Macro, Operator, Piece};

/// Transformations that introduce no capital letters.
const KEEP: &[T] = &[
    T::CmdLine,
    T::CompressWhitespace,
    T::HexEncode,
    T::Lowercase,
    T::NormalisePath,
    T::NormalisePathWin,
    T::RemoveComments,
    T::RemoveCommentsChar,
    T::RemoveNulls,
    T::RemoveWhitespace,
    T::ReplaceComments,
    T::ReplaceNulls,
    T::Trim,
    T::TrimLeft,
    T::TrimRight,
];

pub(super) fn check(link: &Link, report: &mut Report) {
    let Some(written) = link.test.as_ref().and_then(|test| test.operator.as_ref()) else { return };
    let all = &link.actions.transformations;
    let kept = all.iter().rev().take_while(|(one, _)| KEEP.contains(one));
    if !kept.into_iter().any(|(one, _)| matches!(one, T::Lowercase | T::CmdLine)) {
        return;
    }
    let (Operator::Contains(text)
    | Operator::ContainsWord(text)
    | Operator::StrMatch(text)
    | Operator::BeginsWith(text)
    | Operator::EndsWith(text)
    | Operator::StrEq(text)
    | Operator::Within(text)) = &written.operator
    else {
        return;
    };
    if has_capitals(text) {
        let parameter = shown(&written.parameter);
        let message = format!("the value is in lower case and never contains the capitals of `{parameter}`");
        report.warn(written.spot, &parameter, message, Some("write the parameter in lower case"));
    }
}

fn has_capitals(text: &Macro) -> bool {
    let capital = |piece: &Piece| match piece {
        Piece::Text(text) => text.iter().any(u8::is_ascii_uppercase),
        Piece::Variable(..) => false,
    };
    text.0.iter().any(capital)
}
