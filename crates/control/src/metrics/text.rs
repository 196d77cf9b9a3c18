//! The text that Prometheus reads (exposition format 0.0.4).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_engine::Verdict;
use weir_inspect::Failure;
use weir_ledger::{InspectorReport, TopicsCount, TopicsCounts, WorkerReport};

use super::{HealthCounts, Histogram, MAX_UPSTREAMS, Metrics, Outcome};

/// The `Content-Type` of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The state of a worker in the bus.
#[derive(Clone, Copy, Debug)]
pub struct WorkerState {
    /// `running`, `draining` or `gone`.
    pub state: &'static str,
    /// Revisions that it has not applied yet.
    pub behind: u64,
}

/// Values that are not counted in [`Metrics`] but read for each scrape.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrapedState<'a> {
    /// Workers, from the bus.
    pub workers: &'a [WorkerState],
    /// Workers, from the ledger.
    pub ledger: &'a [WorkerReport],
    /// What living workers have counted of inspectors.
    pub inspectors: &'a [InspectorReport],
    /// What living workers have counted of topics.
    pub topics: Option<&'a BTreeMap<String, TopicsCounts>>,
}

impl Metrics {
    /// The text of all metrics.
    #[must_use]
    pub fn render(&self, outside: ScrapedState<'_>) -> String {
        let mut page = Page { text: String::with_capacity(8 << 10) };
        self.own(&mut page);
        self.changes_and_times(&mut page);
        self.upstreams(&mut page);
        workers(&mut page, outside.workers);
        ledger(&mut page, outside.ledger);
        inspectors(&mut page, outside.inspectors);
        outside.topics.into_iter().for_each(|counts| topics(&mut page, counts));
        page.text
    }

    fn own(&self, page: &mut Page) {
        let gauges = [
            ("weir_revision", "Revision that was published last.", &self.revision),
            ("weir_journal_bytes", "Bytes of the journal in use.", &self.journal_bytes),
            ("weir_watchers", "Clients that watch for changes.", &self.watchers),
            ("weir_api_connections", "Connections to the API.", &self.connections),
        ];
        for (name, help, gauge) in gauges {
            page.head(name, "gauge", help);
            page.line(name, "", gauge.get());
        }
        let counters = [
            ("weir_journal_rotations_total", "New generations of the journal.", &self.journal_rotations),
            ("weir_api_connections_refused_total", "Connections beyond the limit.", &self.connections_refused),
            ("weir_api_unauthenticated_total", "Requests without a good token.", &self.unauthenticated),
            ("weir_api_forbidden_total", "Requests whose role was not enough.", &self.forbidden),
            ("weir_sandbox_jobs_total", "Jobs of the sandbox.", &self.sandbox_jobs),
            ("weir_sandbox_kills_total", "Sandbox processes that died or were killed.", &self.sandbox_kills),
            ("weir_dns_lookups_total", "Names of members that were resolved.", &self.dns_lookups),
            ("weir_dns_failures_total", "Names of members that could not be resolved.", &self.dns_failures),
            ("weir_health_checks_total", "Active health checks.", &self.health_checks),
            ("weir_health_transitions_total", "Members that became well or unwell.", &self.health_transitions),
        ];
        for (name, help, counter) in counters {
            page.head(name, "counter", help);
            page.line(name, "", counter.get());
        }
    }

    fn changes_and_times(&self, page: &mut Page) {
        page.head("weir_changes_total", "counter", "Changes by how they ended.");
        for outcome in Outcome::ALL {
            page.line("weir_changes_total", &format!("result=\"{}\"", outcome.as_str()), self.changes(outcome));
        }
        page.histogram("weir_change_seconds", "Time of changes, request to answer.", &self.change_seconds);
        page.histogram("weir_sandbox_seconds", "Time of jobs of the sandbox.", &self.sandbox_seconds);
        page.histogram("weir_store_flush_seconds", "Time of flushes of the store.", &self.store_flush_seconds);
    }

    fn upstreams(&self, page: &mut Page) {
        const NAME: &str = "weir_upstream_members";
        page.head(NAME, "gauge", "Members of upstreams by health.");
        let mut rest = HealthCounts::default();
        let mut more = false;
        for (index, (upstream, counts)) in self.health_counts().into_iter().enumerate() {
            if index < MAX_UPSTREAMS {
                page.health(NAME, &escaped(&upstream), counts);
            } else {
                more = true;
                rest.healthy += counts.healthy;
                rest.unhealthy += counts.unhealthy;
                rest.unknown += counts.unknown;
            }
        }
        if more {
            page.health(NAME, "*", rest);
        }
    }
}

fn workers(page: &mut Page, workers: &[WorkerState]) {
    page.head("weir_workers", "gauge", "Workers by state.");
    for state in ["running", "draining", "gone"] {
        let count = workers.iter().filter(|worker| worker.state == state).count();
        page.line("weir_workers", &format!("state=\"{state}\""), count as u64);
    }
    let behind = workers.iter().filter(|worker| worker.state == "running" && worker.behind > 0);
    page.head("weir_workers_behind", "gauge", "Running workers that lack a revision.");
    page.line("weir_workers_behind", "", behind.clone().count() as u64);
    page.head("weir_worker_behind_revisions", "gauge", "Revisions that the slowest running worker lacks.");
    page.line("weir_worker_behind_revisions", "", behind.map(|worker| worker.behind).max().unwrap_or(0));
}

/// Sums over the workers that live: the ledger keeps no totals of the dead, so these may fall when a worker ends,
/// which Prometheus takes for a restart of the counter.
fn ledger(page: &mut Page, workers: &[WorkerReport]) {
    let living = || workers.iter().filter(|worker| worker.alive);
    page.head("weir_requests_total", "counter", "Client requests seen by the workers that live.");
    page.line("weir_requests_total", "", living().map(|worker| worker.requests).sum());
    page.head("weir_verdicts_total", "counter", "Requests by verdict.");
    for (index, verdict) in Verdict::ALL.into_iter().enumerate() {
        let sum = living().filter_map(|worker| worker.outcomes.get(index)).sum();
        page.line("weir_verdicts_total", &format!("verdict=\"{}\"", verdict.as_str()), sum);
    }
}

/// Sums over the workers that live, as above.
fn inspectors(page: &mut Page, reports: &[InspectorReport]) {
    if reports.is_empty() {
        return;
    }
    page.head("weir_inspector_questions_total", "counter", "Questions to inspectors by what came of them.");
    for report in reports {
        let name = escaped(&report.name);
        let answers = [("pass", report.passed), ("refuse", report.refused), ("detect", report.detected)];
        let failures = Failure::ALL.iter().map(|failure| failure.as_str()).zip(report.failures);
        for (result, count) in answers.into_iter().chain([("remembered", report.remembered)]).chain(failures) {
            let labels = format!("inspector=\"{name}\",result=\"{result}\"");
            page.line("weir_inspector_questions_total", &labels, count);
        }
    }
    type Value = fn(&InspectorReport) -> u64;
    let gauges: [(&str, &str, Value); 4] = [
        ("weir_inspector_breakers_open", "Workers whose circuit breaker of the inspector is open.", |one| one.open),
        ("weir_inspector_endpoints_out", "Endpoints that are left out, in all workers.", |one| one.endpoints_out),
        ("weir_inspector_busy", "Workers that had no room for questions within the last minute.", |one| one.busy),
        ("weir_inspector_p99_microseconds", "99th percentile of answers, to a power of two.", |one| {
            one.p99_us.unwrap_or(0)
        }),
    ];
    for (name, help, value) in gauges {
        page.head(name, "gauge", help);
        for report in reports {
            page.line(name, &format!("inspector=\"{}\"", escaped(&report.name)), value(report));
        }
    }
}

/// Likewise.
fn topics(page: &mut Page, all: &BTreeMap<String, TopicsCounts>) {
    for (count, name, help) in TopicsCount::ALL.into_iter().filter(|_| !all.is_empty()) {
        let is_gauge = count == TopicsCount::Subscribers;
        let (kind, end) = if is_gauge { ("gauge", "") } else { ("counter", "_total") };
        let name = format!("weir_topics_{name}{end}");
        page.head(&name, kind, help);
        for (set, counts) in all {
            page.line(&name, &format!("topics=\"{}\"", escaped(set)), counts[count as usize]);
        }
    }
}

struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: u64) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    fn health(&mut self, name: &str, upstream: &str, counts: HealthCounts) {
        let states = [("healthy", counts.healthy), ("unhealthy", counts.unhealthy), ("unknown", counts.unknown)];
        for (state, count) in states {
            self.line(name, &format!("upstream=\"{upstream}\",state=\"{state}\""), count);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (end, sum) in histogram.cumulative() {
            let end = end.map_or("+Inf".to_owned(), |seconds| seconds.to_string());
            self.line(&bucket, &format!("le=\"{end}\""), sum);
            count = sum;
        }
        let _ = writeln!(self.text, "{name}_sum {}", histogram.sum_seconds());
        self.line(&format!("{name}_count"), "", count);
    }
}

/// A label's value: backslash, quote and line feed escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
