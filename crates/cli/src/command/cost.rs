//! `weir cost`: what Weir does, ranked by what it costs.
//!
//! A rule's time is its own evaluations and its equal share of the lanes that it shares with
//! others; the two stand in columns of their own, because only the first goes away with the rule.

mod history;
mod probe;
mod ranking;
mod since;

use std::time::Duration;

use serde_json::{Value, json};
use weir_ledger::Report;
use weir_policy::RULE_SET_ACTIONS;

use self::ranking::{Line, rank};
use super::ablate;
use crate::Failure;
use crate::api::Api;
use crate::arguments::{Arguments, By, Cost};
use crate::style::{Stream, Style};
use crate::table::{Align, counted, duration, grouped, microseconds, percent, render};
use crate::terminal::shown;

pub(crate) fn run(
    arguments: &Arguments,
    api: impl FnOnce() -> Result<Api, Failure>,
    cost: &Cost,
) -> Result<(), Failure> {
    let runtime = arguments.runtime.as_path();
    match (cost.probe, cost.link) {
        (true, true) => return link(arguments, cost),
        (true, false) => return probe::run(arguments, cost),
        (false, _) if cost.which.is_given() => {
            return Err(Failure::new("--app, --pid and --probe-dir are for probes").hint("with --probe"));
        }
        (false, _) => {}
    }
    if let Some(since) = &cost.since {
        return history::run(&api()?, since, cost);
    }
    let mut report = Report::read(runtime)?;
    show(&report, cost);
    if !cost.watch {
        return Ok(());
    }
    loop {
        std::thread::sleep(Duration::from_secs(cost.interval));
        let next = Report::read(runtime)?;
        show(&next.since(&report), cost);
        report = next;
    }
}

/// A link with its probes, and without them.
fn link(arguments: &Arguments, cost: &Cost) -> Result<(), Failure> {
    let outcome = ablate::probe::link(arguments, cost)?;
    if cost.json {
        println!("{}", serde_json::to_string_pretty(&outcome.rounded()).map_err(Failure::new)?);
    } else {
        print!("{}", weir_ablate::table(&outcome));
    }
    Ok(())
}

fn show(report: &Report, cost: &Cost) {
    let mut lines = rank(report, cost.by);
    let idle = if cost.json { Idle::default() } else { Idle::take(&mut lines) };
    lines.truncate(cost.top.unwrap_or(usize::MAX));
    if cost.json {
        println!("{}", as_value(report, cost.by, &lines));
        return;
    }
    if cost.watch && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        // Home and clear to the end: no flicker, and the scroll-back keeps what was there before.
        print!("\x1b[H\x1b[J");
    }
    print!("{}", as_text(report, cost.by, &lines, Style::of(Stream::Out)));
    if idle.rules > 0 {
        let rules = counted(idle.rules, "rule");
        let shares = microseconds(idle.lane_ns / report.requests.max(1) as f64);
        println!("and {rules} of rule sets that no request reached; their share of lanes is {shares} µs per request");
    }
}

/// Rules of rule sets that were never evaluated: nearly all of a Core Rule Set, whose rows would
/// bury the others.
#[derive(Default)]
struct Idle {
    rules: u64,
    lane_ns: f64,
}

impl Idle {
    fn take(lines: &mut Vec<Line>) -> Self {
        let mut idle = Self::default();
        lines.retain(|line| {
            let hides = line.kind == "rule" && line.calls == 0 && RULE_SET_ACTIONS.contains(&line.plugin.as_str());
            if hides {
                idle.rules += 1;
                idle.lane_ns += line.lane_ns;
            }
            !hides
        });
        idle
    }
}

fn as_value(report: &Report, by: By, lines: &[Line]) -> Value {
    let share = |ns: f64, whole: f64| if whole > 0.0 { json!(ns / whole) } else { Value::Null };
    let rows: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!({
                "kind": line.kind, "id": line.id, "policy": line.policy, "plugin": line.plugin,
                "calls": line.calls, "hits": line.hits, "samples": line.samples, "preempted": line.preempted,
                "own_ns": line.own_ns, "lane_ns": line.lane_ns, "ns_total": line.total_ns(),
                "ns_per_request": line.total_ns() / report.requests.max(1) as f64,
                "share_of_cpu": share(line.total_ns(), report.cpu_ns as f64),
                "share_of_weir": share(line.total_ns(), report.total_ns),
            })
        })
        .collect();
    json!({
        "revision": report.revision, "generation": report.generation, "sample_every": report.sample_every,
        "uptime_ms": report.uptime_ms, "workers": report.workers, "requests": report.requests,
        "cpu_ns": report.cpu_ns, "total_ns": report.total_ns,
        "ns_per_request": report.total_ns / report.requests.max(1) as f64,
        "share_of_cpu": share(report.total_ns, report.cpu_ns as f64),
        "by": format!("{by:?}").to_lowercase(), "rows": rows,
    })
}

fn as_text(report: &Report, by: By, lines: &[Line], style: Style) -> String {
    let per_request = |ns: f64| microseconds(ns / report.requests.max(1) as f64);
    let summary = format!(
        "{} in {}: Weir took {} µs of CPU per request, {} % of its workers' CPU",
        counted(report.requests, "request"),
        duration(report.uptime_ms),
        per_request(report.total_ns),
        percent(report.total_ns, report.cpu_ns as f64),
    );
    let detail = format!(
        "revision {}, {}, timed in 1 of {}",
        shown(&report.revision, 32),
        counted(report.workers as u64, "worker"),
        counted(u64::from(report.sample_every), "request")
    );
    let name = if by == By::Lane { "LANE" } else { "NAME" };
    let columns = [
        ("KIND", Align::Left),
        (name, Align::Left),
        (if by == By::Lane { "RULES" } else { "POLICY" }, Align::Left),
        ("µs/REQUEST", Align::Right),
        ("OWN", Align::Right),
        ("LANE SHARE", Align::Right),
        ("CALLS", Align::Right),
        ("HITS", Align::Right),
        ("% OF CPU", Align::Right),
        ("% OF WEIR", Align::Right),
    ];
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            vec![
                line.kind.to_owned(),
                shown(&line.id, 48),
                shown(&line.policy, 24),
                per_request(line.total_ns()),
                per_request(line.own_ns),
                per_request(line.lane_ns),
                grouped(line.calls),
                grouped(line.hits),
                percent(line.total_ns(), report.cpu_ns as f64),
                percent(line.total_ns(), report.total_ns),
            ]
        })
        .collect();
    format!("{}\n{}\n\n{}", style.bold(&summary), style.dim(&detail), render(&columns, &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_ledger::{Clock, Control, Entry, EntryKind, Ledger};

    fn entry(kind: EntryKind, policy: &str, id: &str, plugin: &str, rules: &[u32]) -> Entry {
        Entry { kind, policy: policy.into(), id: id.into(), plugin: plugin.into(), rules: rules.to_vec() }
    }

    fn report() -> Report {
        let dir = tempfile::tempdir().expect("temp dir");
        let entries = [
            entry(EntryKind::Plugin, "", "transaction", "transaction", &[]),
            entry(EntryKind::Rule, "shop", "sqli", "block", &[]),
            entry(EntryKind::Rule, "shop", "bots", "log", &[]),
            entry(EntryKind::Lane, "", "uri | lower", "", &[0, 1]),
        ];
        let control = Control::open_or_create(dir.path()).expect("creates");
        let ledger =
            Ledger::create(dir.path(), 1, "abc", &entries, 1, 64, weir_ledger::Reserve::Nothing).expect("creates");
        control.set_generation(1);
        let (row, clock) = (ledger.row(0), Clock::calibrate());
        for (number, us) in [(0, 1), (1, 2), (2, 6), (3, 10)] {
            row.add(number, number == 1);
            row.time(number, clock.ticks_of(us * 1000) + clock.overhead_ticks());
        }
        row.request();
        let mut report = Report::read(dir.path()).expect("reads");
        (report.cpu_ns, report.uptime_ms, report.workers) = (38_000, 5000, 1);
        report
    }

    fn names(by: By) -> Vec<(String, f64)> {
        rank(&report(), by).iter().map(|line| (line.id.clone(), (line.total_ns() / 1000.0).round())).collect()
    }

    fn named(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
        pairs.iter().map(|&(name, us)| (name.to_owned(), us)).collect()
    }

    #[test]
    fn the_dearest_comes_first_whatever_makes_a_row() {
        assert_eq!(names(By::Rule), named(&[("bots", 11.0), ("sqli", 7.0), ("transaction", 1.0)]));
        assert_eq!(names(By::Plugin), named(&[("log", 11.0), ("block", 7.0), ("transaction", 1.0)]));
        assert_eq!(names(By::Policy), named(&[("shop", 18.0), ("(weir)", 1.0)]));
        assert_eq!(names(By::Lane), named(&[("uri | lower", 10.0)]));
    }

    #[test]
    fn the_table_reads_well() {
        let report = report();
        let text = as_text(&report, By::Rule, &rank(&report, By::Rule), Style::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("1 request in 5.0s: Weir took 19.0"), "{text}");
        assert!(lines[0].ends_with("50.0 % of its workers' CPU"), "{text}");
        assert_eq!(lines[3].split_whitespace().next(), Some("KIND"));
        let bots: Vec<&str> = lines[4].split_whitespace().collect();
        assert_eq!(bots[..3], ["rule", "bots", "shop"], "{text}");
        assert_eq!(bots[6..8], ["1", "0"], "{text}");
        assert_eq!(bots[9], "57.9", "{text}");
    }

    #[test]
    fn json_has_every_figure_and_shares_add_up() {
        let report = report();
        let value = as_value(&report, By::Rule, &rank(&report, By::Rule));
        let shares: f64 =
            value["rows"].as_array().expect("rows").iter().filter_map(|row| row["share_of_weir"].as_f64()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{value}");
        assert_eq!(value["by"], "rule");
        assert_eq!(value["rows"][1]["hits"], 1);
    }
}
