//! Missing and redundant transformations.

use weir_transform::Transformation as T;

use crate::seclang::actions::Actions;
use crate::seclang::diagnostic::{Report, Severity};
use crate::seclang::draft::Link;
use crate::seclang::ir::Variable as V;

/// Idempotent transformations.
const ONCE: &[T] = &[
    T::CompressWhitespace,
    T::Lowercase,
    T::NormalisePath,
    T::NormalisePathWin,
    T::RemoveNulls,
    T::RemoveWhitespace,
    T::ReplaceNulls,
    T::Trim,
    T::TrimLeft,
    T::TrimRight,
    T::Uppercase,
];

/// Pairs in which the first changes nothing that the second would not change.
const COVERED: &[(T, T)] = &[
    (T::Lowercase, T::CmdLine),
    (T::Lowercase, T::Uppercase),
    (T::Uppercase, T::Lowercase),
    (T::TrimLeft, T::Trim),
    (T::TrimRight, T::Trim),
    (T::Trim, T::RemoveWhitespace),
    (T::CompressWhitespace, T::RemoveWhitespace),
    (T::ReplaceNulls, T::RemoveNulls),
];

/// Variables whose values are already decoded.
const DECODED: &[V] = &[V::Args, V::ArgsGet, V::ArgsPost, V::ArgsNames, V::ArgsGetNames, V::ArgsPostNames];

pub(super) fn check(link: &Link, default: Option<&Actions>, report: &mut Report) {
    let Some(test) = &link.test else { return };
    let actions = &link.actions;
    if default.is_some_and(|default| !default.transformations.is_empty()) && !actions.cleared {
        let hint = "write t:none first if they are not wanted";
        report.warn(link.spot, "", "the transformations of `SecDefaultAction` also apply here", Some(hint));
    }
    for pair in actions.transformations.windows(2) {
        let ((first, at), (second, spot)) = (pair[0], pair[1]);
        let (first_name, second_name) = (first.info().name, second.info().name);
        if first == second && ONCE.contains(&first) {
            report.warn(spot, second_name, format!("`t:{second_name}` again changes nothing"), Some("remove one"));
        } else if COVERED.contains(&(first, second)) {
            let message = format!("`t:{first_name}` before `t:{second_name}` has no effect");
            report.warn(at, first_name, message, Some("remove the first"));
        }
    }
    let decodes = actions.transformations.iter().find(|(one, _)| *one == T::UrlDecode);
    let arguments = test.targets.targets.iter().any(|target| DECODED.contains(&target.variable));
    if let (Some((_, spot)), true) = (decodes, arguments) {
        let hint = "remove it unless it is meant for values that are encoded twice";
        report.add(Severity::Note, *spot, "t:urlDecode", "arguments are decoded already".into(), Some(hint.into()));
    }
}
