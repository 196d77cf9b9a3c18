//! Whether a case holds.

use serde::Serialize;

use super::case::{Case, Expected};
use super::engine::EngineReport;
use super::send::Answer;

/// Bytes of the request that a report quotes.
const QUOTED_BYTES: usize = 300;

/// A case that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The case.
    pub title: String,
    /// The file of rules that it is about.
    pub group: String,
    /// The expected outcome.
    pub expected: String,
    /// The actual outcome.
    pub seen: String,
    /// If nginx refused the request before any module saw it: its words.
    pub refused_by_nginx: Option<String>,
    /// What the case says about itself.
    pub description: String,
    /// The beginning of the request.
    pub request: String,
}

/// Judges a case by what came back for each of its stages; the first stage that fails tells why.
pub fn case(case: &Case, results: &[(&Answer, &EngineReport)]) -> Result<(), Box<Failure>> {
    for (stage, (answer, said)) in case.stages.iter().zip(results) {
        let Some(expected) = unmet(&stage.expected, answer, said) else { continue };
        return Err(Box::new(Failure {
            title: case.title.clone(),
            group: case.group.clone(),
            expected,
            seen: seen(answer, said),
            refused_by_nginx: said.refused.clone().filter(|_| answer.status.is_some_and(|status| status >= 400)),
            description: case.description.clone(),
            request: String::from_utf8_lossy(&stage.request[..stage.request.len().min(QUOTED_BYTES)]).into_owned(),
        }));
    }
    Ok(())
}

/// The first expectation that does not hold, in words.
fn unmet(expected: &Expected, answer: &Answer, said: &EngineReport) -> Option<String> {
    if expected.error {
        // The driver's test is over when it gets no answer that it can read.
        return answer.status.map(|_| "no answer".into());
    }
    let Some(status) = answer.status else { return Some("an answer".into()) };
    if !expected.statuses.is_empty() && !expected.statuses.contains(&status) {
        let statuses: Vec<String> = expected.statuses.iter().map(ToString::to_string).collect();
        return Some(format!("status {}", statuses.join(" or ")));
    }
    if let Some(rule) = expected.logged.iter().find(|rule| !said.rules.contains(rule)) {
        return Some(format!("rule {rule}"));
    }
    if let Some(rule) = expected.not_logged.iter().find(|rule| said.rules.contains(rule)) {
        return Some(format!("no rule {rule}"));
    }
    let text = expected.answer.as_ref()?;
    let found = answer.bytes.windows(text.len().max(1)).any(|window| window == text.as_bytes());
    (!found && !text.is_empty()).then(|| format!("an answer with {text:?}"))
}

fn seen(answer: &Answer, said: &EngineReport) -> String {
    let status = match answer.status {
        Some(status) => format!("status {status}"),
        None if answer.bytes.is_empty() => "no answer".into(),
        None => "an answer without a status line".into(),
    };
    let rules: Vec<String> = said.rules.iter().map(ToString::to_string).collect();
    format!("{status}, {}", if rules.is_empty() { "no rules".into() } else { format!("rules {}", rules.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expectation_is_held_against_what_was_seen() {
        let usual = Expected::default();
        let logged = Expected { logged: vec![1], ..usual.clone() };
        let absent = Expected { not_logged: vec![1], ..usual.clone() };
        let status = Expected { statuses: vec![400, 403], ..usual.clone() };
        let error = Expected { error: true, ..usual.clone() };
        let words = Expected { answer: Some("ok".into()), ..usual };
        for (expected, answered, rules, unmet_words) in [
            (&logged, Some(200), &[1u64][..], None),
            (&logged, Some(200), &[2], Some("rule 1")),
            (&logged, None, &[1], Some("an answer")),
            (&absent, Some(200), &[2], None),
            (&absent, Some(200), &[1, 2], Some("no rule 1")),
            (&status, Some(403), &[], None),
            (&status, Some(200), &[], Some("status 400 or 403")),
            (&error, None, &[], None),
            (&error, Some(200), &[], Some("no answer")),
            (&words, Some(200), &[], None),
        ] {
            let answer = Answer { port: 1, status: answered, bytes: b"it is ok".to_vec() };
            let said = EngineReport { rules: rules.to_vec(), refused: None };
            assert_eq!(unmet(expected, &answer, &said).as_deref(), unmet_words, "{expected:?} {answered:?} {rules:?}");
        }
    }
}
