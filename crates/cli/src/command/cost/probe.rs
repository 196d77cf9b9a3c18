//! `weir cost --probe`: join points of probes in JVMs, ranked by what they cost, over all JVMs that are meant.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Failure;
use crate::arguments::{Arguments, By, Cost};
use crate::probe::{Probe, some};
use crate::style::{Stream, Style};
use crate::table::{Align, counted, duration, grouped, microseconds, percent, render};
use crate::terminal::shown;

/// Plugin, join point and traffic.
type Key = (String, String, String);

/// The traffic of a join point that is folded away.
const SILENT: &str = "silent";

/// What the ledgers of some JVMs have counted.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sums {
    /// The longest window of them.
    window_s: f64,
    cpu_ns: u64,
    /// By application: requests that its edges have seen.
    requests: BTreeMap<String, u64>,
    rows: BTreeMap<Key, Row>,
    jvms: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Row {
    calls: u64,
    sampled: u64,
    ns_total: u64,
    ns_p99: u64,
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.sampled += other.sampled;
        self.ns_total += other.ns_total;
        self.ns_p99 = self.ns_p99.max(other.ns_p99);
    }
}

pub(super) fn run(arguments: &Arguments, cost: &Cost) -> Result<(), Failure> {
    if matches!(cost.by, By::Policy | By::Lane) {
        return Err(Failure::new("a probe has no policies and lanes").hint("--by plugin, or without --by join points"));
    }
    let mut before = read(&some(arguments, &cost.which)?)?;
    show(&Sums::of(before.values()), cost);
    if !cost.watch {
        return Ok(());
    }
    loop {
        std::thread::sleep(Duration::from_secs(cost.interval));
        // JVMs end and start meanwhile.
        match some(arguments, &cost.which).and_then(|probes| read(&probes)) {
            Ok(next) => {
                let more = next.iter().map(|(name, sums)| before.get(name).map_or(sums.clone(), |old| sums.since(old)));
                show(&Sums::of(&more.collect::<Vec<_>>()), cost);
                before = next;
            }
            Err(failure) => eprintln!("{}", failure.render(Stream::Err)),
        }
    }
}

/// By the JVM's name. One that does not answer is told and left out; an error if none does.
fn read(probes: &[Probe]) -> Result<BTreeMap<String, Sums>, Failure> {
    let mut read = BTreeMap::new();
    let mut last = Ok(());
    for probe in probes {
        let name = probe.name();
        match probe.cost() {
            Ok(report) => {
                let mut sums = Sums::default();
                sums.add(&probe.app, &name, &report);
                read.insert(name, sums);
            }
            Err(failure) if probes.len() == 1 => last = Err(failure),
            Err(failure) => {
                let failure = failure.naming(&shown(&name, 80));
                eprintln!("{}", failure.render(Stream::Err));
                last = Err(failure);
            }
        }
    }
    if read.is_empty() { last.map(|()| read) } else { Ok(read) }
}

impl Sums {
    fn of<'a>(jvms: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for one in jvms {
            all.window_s = all.window_s.max(one.window_s);
            all.cpu_ns += one.cpu_ns;
            all.jvms.extend(one.jvms.iter().cloned());
            for (app, requests) in &one.requests {
                *all.requests.entry(app.clone()).or_default() += requests;
            }
            for (key, row) in &one.rows {
                all.rows.entry(key.clone()).or_default().add(row);
            }
        }
        all
    }

    fn add(&mut self, app: &str, jvm: &str, report: &Value) {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        self.window_s = self.window_s.max(report["window_s"].as_f64().unwrap_or_default());
        self.cpu_ns += number(&report["cpu_ns"]);
        *self.requests.entry(app.to_owned()).or_default() += number(&report["requests"]);
        self.jvms.push(jvm.to_owned());
        for point in report["points"].as_array().into_iter().flatten() {
            let text = |key: &str| point[key].as_str().unwrap_or_default().to_owned();
            let row = self.rows.entry((text("plugin"), text("join_point"), text("traffic"))).or_default();
            row.calls += number(&point["calls"]);
            row.sampled += number(&point["sampled"]);
            row.ns_total += number(&point["ns_total"]);
            row.ns_p99 = row.ns_p99.max(number(&point["ns_p99"]));
        }
    }

    /// Requests of the link: each passes one application after the other, so those of the busiest.
    fn requests(&self) -> u64 {
        self.requests.values().copied().max().unwrap_or_default()
    }

    fn since(&self, before: &Self) -> Self {
        let mut more = self.clone();
        more.window_s -= before.window_s;
        more.cpu_ns = more.cpu_ns.saturating_sub(before.cpu_ns);
        for (app, requests) in &mut more.requests {
            *requests = requests.saturating_sub(before.requests.get(app).copied().unwrap_or_default());
        }
        for (key, row) in &mut more.rows {
            let old = before.rows.get(key).copied().unwrap_or_default();
            row.calls = row.calls.saturating_sub(old.calls);
            row.sampled = row.sampled.saturating_sub(old.sampled);
            row.ns_total = row.ns_total.saturating_sub(old.ns_total);
        }
        more
    }

    /// The dearest first. By plugin, a row has all join points of one.
    fn rank(&self, by: By) -> Vec<(Key, Row)> {
        let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
        for ((plugin, point, traffic), row) in &self.rows {
            let point = if by == By::Plugin { String::new() } else { point.clone() };
            rows.entry((plugin.clone(), point, traffic.clone())).or_default().add(row);
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|(a, one), (b, other)| {
            (other.ns_total, other.calls).cmp(&(one.ns_total, one.calls)).then(a.cmp(b))
        });
        rows
    }

    fn ns_total(&self) -> u64 {
        self.rows.values().map(|row| row.ns_total).sum()
    }
}

fn show(sums: &Sums, cost: &Cost) {
    let mut rows = sums.rank(cost.by);
    rows.truncate(cost.top.unwrap_or(usize::MAX));
    if cost.json {
        println!("{}", as_value(sums, &rows));
        return;
    }
    if cost.watch && std::io::stdout().is_terminal() {
        print!("\x1b[H\x1b[J");
    }
    print!("{}", as_text(sums, &brief(rows), Style::of(Stream::Out)));
}

/// Without rows that have no calls, and with one row for the silent join points of a plugin: some have fifty.
fn brief(mut rows: Vec<(Key, Row)>) -> Vec<(Key, Row)> {
    let mut silent: BTreeMap<String, usize> = BTreeMap::new();
    for ((plugin, ..), _) in rows.iter().filter(|((.., traffic), _)| traffic == SILENT) {
        *silent.entry(plugin.clone()).or_default() += 1;
    }
    rows.retain(|(_, row)| row.calls > 0);
    rows.extend(silent.into_iter().map(|(plugin, points)| {
        let points = if points == 1 { String::new() } else { format!("({points})") };
        ((plugin, points, SILENT.to_owned()), Row::default())
    }));
    rows
}

fn per(ns: u64, count: u64) -> f64 {
    ns as f64 / count.max(1) as f64
}

fn as_value(sums: &Sums, rows: &[(Key, Row)]) -> Value {
    let share = |ns: u64| if sums.cpu_ns > 0 { json!(ns as f64 / sums.cpu_ns as f64) } else { Value::Null };
    let rows: Vec<Value> = (rows.iter())
        .map(|((plugin, point, traffic), row)| {
            json!({
                "plugin": plugin, "join_point": point, "traffic": traffic, "calls": row.calls, "sampled": row.sampled,
                "ns_total": row.ns_total, "ns_per_call": per(row.ns_total, row.calls), "ns_p99": row.ns_p99,
                "ns_per_request": per(row.ns_total, sums.requests()), "share_of_cpu": share(row.ns_total),
            })
        })
        .collect();
    json!({
        "jvms": sums.jvms, "window_s": sums.window_s, "requests": sums.requests(), "cpu_ns": sums.cpu_ns,
        "ns_total": sums.ns_total(), "share_of_cpu": share(sums.ns_total()), "rows": rows,
    })
}

fn as_text(sums: &Sums, rows: &[(Key, Row)], style: Style) -> String {
    let summary = format!(
        "{} in {}: handlers of probes took {} ms, {} % of the CPU of {}",
        counted(sums.requests(), "request"),
        duration((sums.window_s * 1e3) as u64),
        microseconds(sums.ns_total() as f64 / 1e3),
        percent(sums.ns_total() as f64, sums.cpu_ns as f64),
        counted(sums.jvms.len() as u64, "JVM"),
    );
    let columns = [
        ("PLUGIN", Align::Left),
        ("JOIN POINT", Align::Left),
        ("TRAFFIC", Align::Left),
        ("CALLS", Align::Right),
        ("ns/CALL", Align::Right),
        ("99 %", Align::Right),
        ("TOTAL ms", Align::Right),
        ("% OF CPU", Align::Right),
    ];
    let cells = |((plugin, point, traffic), row): &(Key, Row)| {
        let is_silent = traffic == SILENT;
        let unless_silent = |text: String| if is_silent { "-".to_owned() } else { text };
        vec![
            shown(plugin, 32),
            if point.is_empty() { "(all)".to_owned() } else { shown(point, 40) },
            shown(traffic, 16),
            unless_silent(grouped(row.calls)),
            unless_silent(format!("{:.1}", per(row.ns_total, row.calls))),
            unless_silent(grouped(row.ns_p99)),
            unless_silent(microseconds(row.ns_total as f64 / 1e3)),
            unless_silent(percent(row.ns_total as f64, sums.cpu_ns as f64)),
        ]
    };
    let names = style.dim(&shown(&sums.jvms.join(", "), 200));
    format!("{}\n{names}\n\n{}", style.bold(&summary), render(&columns, &rows.iter().map(cells).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Sums {
        let point = |plugin: &str, id: &str, traffic: &str, calls: u64, ns: u64| json!({"plugin": plugin, "join_point": id, "traffic": traffic, "calls": calls, "sampled": 1, "ns_total": ns, "ns_p99": 9});
        let mut sums = Sums::default();
        let points = [point("logback", "append", "shadow", 10, 4_000), point("jdbc", "a", "business", 100, 300)];
        sums.add("shop", "shop-1", &json!({"window_s": 2.0, "cpu_ns": 10_000, "requests": 30, "points": points}));
        let points = [
            point("logback", "append", "shadow", 10, 2_000),
            point("jdbc", "b", "business", 1, 50),
            point("jdbc", "b", "silent", 0, 0),
        ];
        sums.add("stock", "stock-2", &json!({"window_s": 3.0, "cpu_ns": 10_000, "requests": 50, "points": points}));
        sums
    }

    #[test]
    fn jvms_add_up_and_the_dearest_comes_first() {
        let sums = sums();
        assert_eq!((sums.requests(), sums.cpu_ns, sums.ns_total(), sums.window_s), (50, 20_000, 6_350, 3.0));
        let names = |by| -> Vec<String> {
            sums.rank(by)
                .into_iter()
                .map(|((plugin, point, traffic), row)| format!("{plugin} {point} {traffic} {}", row.ns_total))
                .collect()
        };
        assert_eq!(
            names(By::Rule),
            ["logback append shadow 6000", "jdbc a business 300", "jdbc b business 50", "jdbc b silent 0"]
        );
        assert_eq!(names(By::Plugin), ["logback  shadow 6000", "jdbc  business 350", "jdbc  silent 0"]);
    }

    #[test]
    fn the_table_and_json_have_every_figure() {
        let sums = sums();
        let text = as_text(&sums, &sums.rank(By::Rule), Style::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "50 requests in 3.0s: handlers of probes took 0.006 ms, 31.8 % of the CPU of 2 JVMs");
        let cells: Vec<Vec<&str>> = lines[4..].iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(cells[0], ["logback", "append", "shadow", "20", "300.0", "9", "0.006", "30.0"], "{text}");
        assert_eq!(cells[3], ["jdbc", "b", "silent", "-", "-", "-", "-", "-"], "{text}");
        let row = |point: &str, traffic: &str, calls| {
            (("p".to_owned(), point.to_owned(), traffic.to_owned()), Row { calls, ..Row::default() })
        };
        let rows = vec![row("a", "business", 1), row("a", "shadow", 0), row("b", SILENT, 0), row("c", SILENT, 0)];
        assert_eq!(brief(rows), [row("a", "business", 1), row("(2)", SILENT, 0)]);
        let value = as_value(&sums, &sums.rank(By::Rule));
        assert_eq!(value["rows"][0]["ns_per_call"], 300.0);
        assert_eq!(value["rows"][0]["share_of_cpu"], 0.3);
    }

    #[test]
    fn a_watch_shows_what_came_since() {
        let (before, mut now) = (sums(), sums());
        now.add(
            "shop",
            "shop-1",
            &json!({"window_s": 4.0, "cpu_ns": 5, "requests": 7, "points": [
            {"plugin": "jdbc", "join_point": "a", "traffic": "business", "calls": 3, "ns_total": 30}]}),
        );
        let more = now.since(&before);
        assert_eq!((more.window_s, more.cpu_ns, more.requests()), (1.0, 5, 7));
        assert_eq!(more.rank(By::Rule)[0].1.calls, 3);
    }
}
