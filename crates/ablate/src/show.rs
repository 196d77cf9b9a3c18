//! An outcome as a table for the terminal.

use std::fmt::Write as _;

use super::interval::Interval;
use super::outcome::{AGREEMENT, Outcome};
use weir_policy::counted;

/// Widest name of a part that is shown whole.
const NAME: usize = 28;

/// The outcome as text.
#[must_use]
pub fn table(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} by {}: {}, {}\n{}\n\n",
        outcome.of,
        outcome.by,
        counted(outcome.rounds, "round"),
        counted(outcome.requests as usize, "request"),
        outcome.unit.title()
    );
    let figure = |interval: Interval| outcome.unit.figure(interval);
    let alone = outcome.total.is_some();
    let has_rules = outcome.has_rules();
    let heading = if has_rules { "rules" } else { "" };
    let _ = write!(text, "{:<NAME$} {heading:>5} {:>24} {:>24}", "part", "cost", "without it saves");
    if alone {
        let _ = write!(text, " {:>24}", "alone it costs");
    }
    text.push_str(if outcome.ledger.is_some() { "   ledger\n" } else { "\n" });
    for part in &outcome.parts {
        let name = shortened(&part.name);
        let rules = match part.rules {
            0 if has_rules => "-".into(),
            0 => String::new(),
            rules => rules.to_string(),
        };
        let _ = write!(text, "{name:<NAME$} {rules:>5} {:>24} {:>24}", figure(part.cost), figure(part.without));
        if let Some(alone) = part.alone {
            let _ = write!(text, " {:>24}", figure(alone));
        }
        if let Some(ledger) = part.ledger {
            let _ = write!(text, " {ledger:>8.2}");
        }
        text.push('\n');
    }
    text.push('\n');
    let mut line = |name: &str, value: Option<Interval>, says: &str| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<NAME$}       {:>24}  {says}", figure(value));
        }
    };
    line("shared", outcome.shared, "work that the parts share");
    line("sum", outcome.total.map(|_| outcome.sum), "costs of all parts and the shared cost");
    line("total", outcome.total, "all minus none");
    line("all", Some(outcome.all), "everything on");
    line("none", outcome.none, "everything off");
    text.push_str(&agreements(outcome));
    for pair in &outcome.interactions {
        let Interval { value, .. } = pair.interaction;
        let what = match pair.interaction.is_significant() {
            false => "no significant interaction",
            true if value < 0.0 => "cheaper together than separately",
            true => "more expensive together than separately",
        };
        let _ = writeln!(text, "{} and {}: {} us, {what}", pair.one, pair.other, figure(pair.interaction).trim_start());
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn agreements(outcome: &Outcome) -> String {
    let mut text = String::from("\n");
    if let Some(agreement) = outcome.agreement.filter(|agreement| agreement.is_finite()) {
        let within = if (agreement - 1.0).abs() <= AGREEMENT { "within" } else { "not within" };
        let limit = AGREEMENT * 100.0;
        let _ = writeln!(text, "the sum is {:.0} % of the total ({within} {limit:.0} %)", agreement * 100.0);
    }
    if let Some(ledger) = &outcome.ledger {
        let ranks = match ledger.rank_correlation {
            Some(rho) => format!("ranks agree with rho = {rho:.2}"),
            None => "too few parts to compare ranks".into(),
        };
        let _ = writeln!(
            text,
            "ledger: {ranks}; {} of {} significantly different pairs have the same order; its sum is {:.2} us",
            ledger.alike, ledger.told_apart, ledger.sum
        );
    }
    text
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME - 3).chain("...".chars()).collect(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::outcome::{Agreement, PairRow, PartRow, Unit};
    use weir_measure::host::Host;

    /// An outcome with a name that a page must not obey.
    pub fn outcome() -> Outcome {
        let interval = |value: f64| Interval { value, low: value - 0.25, high: value + 0.25 };
        let part = |name: &str, cost: f64| PartRow {
            name: name.into(),
            rules: 2,
            cost: interval(cost),
            without: interval(cost - 0.5),
            alone: Some(interval(cost + 0.5)),
            ledger: Some(cost * 0.9),
            refused: 0.0,
        };
        Outcome {
            of: "policy.yaml".into(),
            by: "group".into(),
            unit: Unit::CpuUs,
            host: Host::here("1.22.1", true, "3 rounds".into()),
            method: "method".into(),
            all: interval(35.0),
            none: Some(interval(25.0)),
            total: Some(interval(10.0)),
            shared: Some(interval(1.0)),
            sum: interval(10.5),
            agreement: Some(1.05),
            parts: vec![part("form", 7.0), part("<script>alert(1)</script> and a long name", 2.5), part("tiny", -0.1)],
            interactions: vec![PairRow { one: "form".into(), other: "tiny".into(), interaction: interval(-1.0) }],
            ledger: Some(Agreement { rank_correlation: Some(1.0), told_apart: 2, alike: 2, sum: 9.0 }),
            notes: vec!["odd".into()],
            requests: 1_000,
            rounds: 3,
            variants: vec![],
            measured: vec![],
        }
    }

    #[test]
    fn every_figure_has_its_place() {
        let text = table(&outcome());
        for part in [
            "policy.yaml by group: 3 rounds, 1000 requests",
            "form                             2      7.00 (6.75 to 7.25)      6.50 (6.25 to 6.75)      7.50 (7.25 to 7.75)     6.30",
            "<script>alert(1)</script>...",
            "the sum is 105 % of the total (within 15 %)",
            "ledger: ranks agree with rho = 1.00; 2 of 2 significantly different pairs have the same order; its sum is 9.00 us",
            "form and tiny: -1.00 (-1.25 to -0.75) us, cheaper together than separately",
            "note: odd",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn parts_without_rules_have_no_column_of_them() {
        let mut outcome = outcome();
        assert!(table(&outcome).contains("rules") && crate::chart::html(&outcome).contains("<th>rules</th>"));
        outcome.parts.iter_mut().for_each(|part| part.rules = 0);
        let (text, page) = (table(&outcome), crate::chart::html(&outcome));
        assert!(!text.contains("rules") && !page.contains("rules"), "{text}{page}");
        let columns = |row: &&str| row.matches("<td>").count();
        let rows: Vec<&str> = page.lines().filter(|line| line.contains("<tr><td>")).collect();
        assert!(rows.iter().all(|row| columns(row) == 5), "{rows:?}");
    }

    #[test]
    fn files_hold_three_digits_and_are_read_again() {
        let mut outcome = outcome();
        outcome.parts[0].cost.value = 1.234_567;
        let text = serde_json::to_string(&outcome.rounded()).unwrap();
        let read: Outcome = serde_json::from_str(&text).unwrap();
        assert_eq!(read.parts[0].cost.value, 1.235);
        assert_eq!(read.interactions[0].other, "tiny");
    }
}
