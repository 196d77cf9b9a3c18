//! From the variable that a finding names to the target that an exclusion may name.

use weir_log::attack::FindingLine;

/// Bytes of a member's name that a finding keeps; a name of that length was cut.
const FINDING_CUTS_AT: usize = 128;

/// Variables with members: without a name it is the member whose name is empty.
const COLLECTIONS: [&str; 13] = [
    "ARGS",
    "ARGS_GET",
    "ARGS_GET_NAMES",
    "ARGS_NAMES",
    "ARGS_POST",
    "ARGS_POST_NAMES",
    "FILES",
    "FILES_NAMES",
    "REQUEST_COOKIES",
    "REQUEST_COOKIES_NAMES",
    "REQUEST_HEADERS",
    "REQUEST_HEADERS_NAMES",
    "RESPONSE_HEADERS",
];

/// The target that an exclusion removes from the rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Target {
    /// A variable, or a member of a collection.
    Named(String),
    /// The finding does not say what matched: only the whole rule can be left out.
    Whole,
}

/// What a finding is about; `None` for one that only sums up others.
pub(super) fn target_of(found: &FindingLine) -> Option<Target> {
    if found.variable.to_ascii_lowercase().contains("anomaly_score") {
        return None;
    }
    let variable = plain(&found.variable).or_else(|| within(&found.log_data)).unwrap_or(&found.variable);
    if variable.is_empty() {
        // Rules that look at nothing cannot be wrong about it: they set up or sum up.
        return (found.score > 0).then_some(Target::Whole);
    }
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let named = match variable.split_once(':') {
        // A number is a count (`&ARGS`), which has no name either.
        None if COLLECTIONS.contains(&variable) && !is_number(&found.matched) => member(variable, ""),
        None if is_name(variable) => variable.to_owned(),
        // XML's members are paths, which rules name as they are.
        Some(("XML", "/*" | "//@*")) => variable.to_owned(),
        Some((collection, name)) if is_name(collection) && collection != "XML" => member(collection, name),
        // No variable of rules: the line is not what Weir has written.
        _ => return None,
    };
    Some(Target::Named(named))
}

/// The variable itself, unless it stands for what an earlier link of a chain has matched.
fn plain(variable: &str) -> Option<&str> {
    for matched in ["MATCHED_VARS_NAMES:", "MATCHED_VARS:"] {
        if let Some(inner) = variable.strip_prefix(matched) {
            return Some(inner);
        }
    }
    let is_capture = variable.strip_prefix("TX:").is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    (!variable.is_empty() && !variable.starts_with("MATCHED_VAR") && !is_capture).then_some(variable)
}

/// What CRS writes of the place: `Matched Data: ... found within ARGS:x: ...`.
fn within(log_data: &str) -> Option<&str> {
    let (_, rest) = log_data.split_once("found within ")?;
    let (name, _) = rest.split_once(": ")?;
    plain(name)
}

/// A member by its name, or by a pattern if the name has characters that targets cannot have.
fn member(collection: &str, name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'|\\/,!&:".contains(&byte);
    let was_cut = name.len() >= FINDING_CUTS_AT;
    if !name.is_empty() && name.bytes().all(is_plain) && !was_cut {
        return format!("{collection}:{name}");
    }
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"_-".contains(&byte) => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    let pattern: String = name.bytes().map(byte).collect();
    format!("{collection}:/^{pattern}{}/", if was_cut { "" } else { "$" })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a target is one value of several, so that leaving it out keeps the others watched.
pub(super) fn is_member(target: &str) -> bool {
    target.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variable: &str, log_data: &str, score: u32) -> FindingLine {
        FindingLine {
            rule: "942100".into(),
            variable: variable.into(),
            score,
            log_data: log_data.into(),
            ..FindingLine::default()
        }
    }

    #[test]
    fn targets_are_as_narrow_as_the_finding() {
        let long = "n".repeat(FINDING_CUTS_AT);
        let pattern = format!("ARGS:/^{long}/");
        for (variable, log_data, score, want) in [
            ("ARGS:comment", "", 5, Some("ARGS:comment")),
            ("ARGS:a[0].b", "", 5, Some("ARGS:a[0].b")),
            ("ARGS:c d", "", 5, Some("ARGS:/^c\\x20d$/")),
            (&*format!("ARGS:{long}"), "", 5, Some(&*pattern)),
            ("REQUEST_URI", "", 5, Some("REQUEST_URI")),
            ("ARGS", "", 5, Some("ARGS:/^$/")),
            ("bad\nname", "", 5, None),
            ("XML:/*", "", 5, Some("XML:/*")),
            ("TX:anomaly_score", "", 0, None),
            ("MATCHED_VARS:ARGS:x", "", 5, Some("ARGS:x")),
            ("MATCHED_VAR", "Matched Data: y found within ARGS:x: y", 5, Some("ARGS:x")),
            ("TX:1", "Matched Data: y found within REQUEST_HEADERS:Range: y", 5, Some("REQUEST_HEADERS:Range")),
            ("TX:extension", "", 5, Some("TX:extension")),
        ] {
            let have = target_of(&found(variable, log_data, score));
            assert_eq!(have, want.map(|name| Target::Named(name.to_owned())), "{variable}");
        }
        let counted = FindingLine { matched: "300".into(), ..found("ARGS", "", 5) };
        assert_eq!(target_of(&counted), Some(Target::Named("ARGS".into())));
        assert_eq!(target_of(&found("", "", 5)), Some(Target::Whole));
        assert_eq!(target_of(&found("", "", 0)), None);
    }
}
