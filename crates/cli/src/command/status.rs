//! `weir status`: what is running, read from outside without asking it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_engine::Verdict;
use weir_inspect::Failure as NoAnswer;
use weir_ledger::{Control, InspectorReport, OUTCOMES, TopicsCount, TopicsCounts, WorkerReport};

use super::log_level;
use crate::Failure;
use crate::api::Api;
use crate::style::{Stream, Style};
use crate::table::{Align, duration, grouped, microseconds, render};

/// Verdicts in the order of a worker's counters of outcomes.
const ORDER: [Verdict; OUTCOMES] = Verdict::ALL;

/// Between the two readings that give the rates of now.
const MEASURED: Duration = Duration::from_millis(500);

pub(crate) fn run(api: &Api, runtime: &Path, as_json: bool) -> Result<(), Failure> {
    let control = Control::open(runtime)?;
    // Without control the rest is still true.
    let gateway = api.get("/api/v1/workers").ok();
    let (before, start) = (living(&control), Instant::now());
    if !before.is_empty() {
        std::thread::sleep(MEASURED);
    }
    let seconds = start.elapsed().as_secs_f64();
    let workers: Vec<(WorkerReport, f64)> = living(&control)
        .into_iter()
        .map(|worker| {
            let then = before.iter().find(|before| before.pid == worker.pid);
            let more = then.map_or(0, |then| worker.requests.saturating_sub(then.requests));
            (worker, more as f64 / seconds)
        })
        .collect();
    if as_json {
        let mut value = as_value(&control, &workers);
        value["gateway"] = gateway.unwrap_or_default();
        value["inspectors"] = inspector_values(&control.inspectors());
        value["topics"] = topics_values(&control.topics());
        println!("{value}");
    } else {
        print!("{}", as_text(runtime, &control, &workers));
        print!("{}", inspectors_text(&control.inspectors()));
        print!("{}", topics_text(&control.topics()));
        if let Some(gateway) = gateway {
            print!("{}", gateway_text(&gateway));
        }
    }
    Ok(())
}

fn living(control: &Control) -> Vec<WorkerReport> {
    control.workers().into_iter().filter(|worker| worker.alive).collect()
}

fn as_value(control: &Control, workers: &[(WorkerReport, f64)]) -> Value {
    let workers: Vec<Value> = workers
        .iter()
        .map(|(worker, rate)| {
            let mut value = serde_json::to_value(worker).expect("a report is plain data");
            value["requests_per_second"] = json!(rate);
            value["verdicts"] = ORDER
                .iter()
                .zip(worker.outcomes)
                .map(|(name, count)| (name.as_str().to_owned(), json!(count)))
                .collect();
            value
        })
        .collect();
    json!({
        "silenced": control.silenced(),
        "log_level": log_level::name(control.log_level()),
        "generation": control.generation(),
        "workers": workers,
    })
}

fn as_text(runtime: &Path, control: &Control, workers: &[(WorkerReport, f64)]) -> String {
    let style = Style::of(Stream::Out);
    let state = match (workers.is_empty(), control.silenced()) {
        (true, _) => style.red("no worker is running"),
        (false, true) => style.yellow("silenced: every request passes uninspected"),
        (false, false) => style.green("policies apply"),
    };
    let mut text = format!("{} at {}\n", style.bold(&state), runtime.display());
    text.push_str(&format!(
        "log level {}, generation {}\n",
        log_level::name(control.log_level()),
        control.generation()
    ));
    if workers.is_empty() {
        return text;
    }
    let columns = [
        ("WORKER", Align::Right),
        ("UP", Align::Right),
        ("REVISION", Align::Left),
        ("REQUESTS", Align::Right),
        ("PER SECOND", Align::Right),
        ("µs IN WEIR", Align::Right),
        ("STOPPED", Align::Right),
        ("FAULTS", Align::Right),
        ("LOST LINES", Align::Right),
        ("MiB", Align::Right),
    ];
    let rows: Vec<Vec<String>> = workers.iter().map(|(worker, rate)| row(worker, *rate)).collect();
    text.push_str(&render(&columns, &rows));
    let totals = ORDER.iter().enumerate().filter_map(|(index, verdict)| {
        let count: u64 = workers.iter().map(|(worker, _)| worker.outcomes[index]).sum();
        (count > 0).then(|| format!("{} {}", verdict.as_str(), grouped(count)))
    });
    let totals: Vec<String> = totals.collect();
    if !totals.is_empty() {
        text.push_str(&format!("verdicts: {}\n", totals.join(", ")));
    }
    text
}

/// The failures of an inspector by their names.
fn failures(report: &InspectorReport) -> impl Iterator<Item = (&'static str, u64)> {
    NoAnswer::ALL.iter().map(|failure| failure.as_str()).zip(report.failures)
}

fn inspector_values(reports: &[InspectorReport]) -> Value {
    let value = |report: &InspectorReport| {
        let mut value = serde_json::to_value(report).expect("a report is plain data");
        value["failures"] = failures(report).map(|(name, count)| (name.to_owned(), json!(count))).collect();
        value
    };
    reports.iter().map(value).collect()
}

fn topics_values(all: &BTreeMap<String, TopicsCounts>) -> Value {
    let value = |counts: &TopicsCounts| -> Value {
        TopicsCount::ALL.iter().map(|(count, name, _)| ((*name).to_owned(), json!(counts[*count as usize]))).collect()
    };
    all.iter().map(|(set, counts)| (set.clone(), value(counts))).collect()
}

/// What workers have counted of topics.
fn topics_text(all: &BTreeMap<String, TopicsCounts>) -> String {
    if all.is_empty() {
        return String::new();
    }
    let heads = ["SUBSCRIBERS", "PUBLISHED", "DELIVERED", "GAPS", "TOO SLOW", "REFUSED", "µs EACH"];
    let columns: Vec<_> = [("TOPICS", Align::Left)].into_iter().chain(heads.map(|head| (head, Align::Right))).collect();
    let row = |(set, counts): (&String, &TopicsCounts)| {
        let [delivered, spent] = [TopicsCount::Delivered, TopicsCount::Nanoseconds].map(|n| counts[n as usize]);
        let mut cells = vec![crate::terminal::shown(set, 64)];
        cells.extend(counts[..TopicsCount::Nanoseconds as usize].iter().copied().map(grouped));
        cells.push(if delivered > 0 {
            format!("{:.1}", spent as f64 / delivered as f64 / 1e3)
        } else {
            "-".to_owned()
        });
        cells
    };
    format!("\n{}", render(&columns, &all.iter().map(row).collect::<Vec<_>>()))
}

/// What workers have counted of inspectors.
fn inspectors_text(reports: &[InspectorReport]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let style = Style::of(Stream::Out);
    let columns = [
        ("INSPECTOR", Align::Left),
        ("STATE", Align::Left),
        ("ASKED", Align::Right),
        ("PASSED", Align::Right),
        ("REFUSED", Align::Right),
        ("DETECTED", Align::Right),
        ("REMEMBERED", Align::Right),
        ("FAILED", Align::Right),
        ("p50 µs", Align::Right),
        ("p99 µs", Align::Right),
    ];
    let row = |report: &InspectorReport| {
        let state = match (report.open, report.endpoints_out) {
            (0, _) if report.busy > 0 => "BUSY".to_owned(),
            (0, 0) if report.asked == 0 => "not asked yet".to_owned(),
            (0, 0) => "answers".to_owned(),
            (0, out) => format!("{out} endpoints out"),
            (open, _) if open == report.workers => "BREAKER OPEN".to_owned(),
            (open, _) => format!("BREAKER OPEN in {open} of {} workers", report.workers),
        };
        let counts = [report.asked, report.passed, report.refused, report.detected, report.remembered];
        let failed: u64 = report.failures.iter().sum();
        let at_most = |us: Option<u64>| us.map_or_else(|| "-".to_owned(), |us| format!("≤ {}", grouped(us)));
        let mut cells = vec![crate::terminal::shown(&report.name, 64), state];
        cells.extend(counts.into_iter().chain([failed]).map(grouped));
        cells.extend([at_most(report.p50_us), at_most(report.p99_us)]);
        cells
    };
    let mut text = render(&columns, &reports.iter().map(row).collect::<Vec<_>>());
    for report in reports.iter().filter(|report| report.failures.iter().any(|count| *count > 0)) {
        let kinds =
            failures(report).filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {}", grouped(count)));
        let kinds: Vec<String> = kinds.collect();
        let name = crate::terminal::shown(&report.name, 64);
        text.push_str(&format!("{} {name}: {}\n", style.yellow("failures of"), kinds.join(", ")));
    }
    text
}

/// What control says of the gateway's workers.
fn gateway_text(gateway: &Value) -> String {
    let workers = gateway["workers"].as_array().map_or(&[][..], Vec::as_slice);
    if workers.is_empty() {
        return format!("gateway: revision {}, no worker\n", gateway["revision"]);
    }
    let columns = [
        ("GATEWAY", Align::Right),
        ("PID", Align::Right),
        ("STATE", Align::Left),
        ("REVISION", Align::Right),
        ("BEHIND", Align::Right),
        ("LONGEST HOLD µs", Align::Right),
        ("SAME AS CONTROL", Align::Left),
    ];
    let row = |worker: &Value| {
        let same = match (&worker["journal_format"], &worker["agrees"]) {
            (Value::Number(_), _) => "NO: another version of Weir",
            (_, Value::Bool(true)) => "yes",
            (_, Value::Bool(false)) => "NO",
            _ => "not yet",
        };
        let text = |key: &str| match &worker[key] {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let name = format!("{}.{}", worker["generation"], worker["worker"]);
        vec![name, text("pid"), text("state"), text("applied"), text("behind"), text("held_us"), same.to_owned()]
    };
    let rows: Vec<Vec<String>> = workers.iter().map(row).collect();
    let mut text = format!("gateway: revision {}\n{}", gateway["revision"], render(&columns, &rows));
    let style = Style::of(Stream::Out);
    for worker in workers {
        for left_out in worker["left_out"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let line = crate::terminal::shown(left_out, 400);
            text.push_str(&format!("{} worker {}: {line}\n", style.red("left out:"), worker["pid"]));
        }
    }
    if workers.iter().any(|worker| worker["bus"] == false) {
        let line = "generation 0 has no shared memory with control, for want of room at nginx's start; changes arrive";
        text.push_str(&format!("{} {line}\n", style.yellow("no bus:")));
    }
    for (what, reason) in gateway["stale"].as_object().into_iter().flatten() {
        let reason = crate::terminal::shown(reason.as_str().unwrap_or_default(), 400);
        text.push_str(&format!("{} {what}: {reason}\n", style.yellow("not refreshed:")));
    }
    text
}

fn row(worker: &WorkerReport, rate: f64) -> Vec<String> {
    let stopped: u64 =
        ORDER.iter().zip(worker.outcomes).filter(|(verdict, _)| **verdict >= Verdict::Redirect).map(|(_, n)| n).sum();
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
    vec![
        worker.pid.to_string(),
        duration(now_ms.saturating_sub(worker.started_ms)),
        crate::terminal::shown(&worker.revision, 32),
        grouped(worker.requests),
        format!("{rate:.0}"),
        microseconds(worker.weir_ns as f64 / worker.requests.max(1) as f64),
        grouped(stopped),
        grouped(worker.faults),
        grouped(worker.dropped_lines),
        format!("{:.1}", worker.rss_bytes as f64 / f64::from(1 << 20)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_stand_in_the_order_of_their_type() {
        assert!(ORDER.is_sorted());
        assert_eq!(ORDER[Verdict::Block as usize], Verdict::Block);
    }
}
