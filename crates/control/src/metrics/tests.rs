use std::time::Duration;

use super::*;

fn text(metrics: &Metrics) -> String {
    metrics.render(ScrapedState::default())
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|other| other == line), "no line `{line}` in\n{text}");
}

#[test]
fn counts_are_in_the_text() {
    let metrics = Metrics::new();
    metrics.revision.set(42);
    metrics.watchers.add(2);
    metrics.watchers.sub(3);
    metrics.change(Outcome::Applied, Duration::from_micros(80));
    metrics.change(Outcome::RolledBack, Duration::from_secs(30));
    let workers = [WorkerState { state: "running", behind: 3 }, WorkerState { state: "draining", behind: 9 }];
    let text = metrics.render(ScrapedState { workers: &workers, ..ScrapedState::default() });
    for line in [
        "weir_revision 42",
        "weir_watchers 0",
        "weir_changes_total{result=\"applied\"} 1",
        "weir_changes_total{result=\"rolled_back\"} 1",
        "weir_change_seconds_bucket{le=\"0.00005\"} 0",
        "weir_change_seconds_bucket{le=\"0.0001\"} 1",
        "weir_change_seconds_bucket{le=\"20\"} 1",
        "weir_change_seconds_bucket{le=\"+Inf\"} 2",
        "weir_change_seconds_sum 30.00008",
        "weir_change_seconds_count 2",
        "weir_workers{state=\"running\"} 1",
        "weir_workers_behind 1",
        "weir_worker_behind_revisions 3",
        "weir_requests_total 0",
    ] {
        has(&text, line);
    }
}

#[test]
fn every_series_has_its_type_before_it_and_once() {
    let text = text(&Metrics::new());
    let mut seen = std::collections::HashSet::new();
    let mut family = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
            assert!(seen.insert(family), "{family} is there twice");
        } else if !line.starts_with('#') {
            assert!(line.starts_with(family), "{line} stands below {family}");
        }
    }
}

#[test]
fn members_move_between_states_and_an_upstream_without_members_has_no_series() {
    let metrics = Metrics::new();
    metrics.health("a\"b", None, Some(Health::Unknown));
    metrics.health("a\"b", Some(Health::Unknown), Some(Health::Unhealthy));
    has(&text(&metrics), "weir_upstream_members{upstream=\"a\\\"b\",state=\"unhealthy\"} 1");
    metrics.health("a\"b", Some(Health::Unhealthy), None);
    assert!(metrics.health_counts().is_empty());
}

#[test]
fn upstreams_beyond_the_bound_share_one_series() {
    let metrics = Metrics::new();
    for number in 0..MAX_UPSTREAMS + 2 {
        metrics.health(&format!("u{number:05}"), None, Some(Health::Healthy));
    }
    has(&text(&metrics), "weir_upstream_members{upstream=\"*\",state=\"healthy\"} 2");
}
