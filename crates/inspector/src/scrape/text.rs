//! The text that Prometheus reads (exposition format 0.0.4).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::detector::Detector;
use crate::metrics::{ADVICES, BOUNDS_US, DetectorMetrics, Metrics};

/// The `Content-Type` of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text of all metrics, with the state of the detectors' servers.
pub(super) fn render(metrics: &Metrics, detectors: &[(String, Detector)]) -> String {
    let mut page = String::with_capacity(8 << 10);
    let own = [
        ("connections", "gauge", "Open connections.", &metrics.connections),
        ("queue", "gauge", "Questions that are being answered.", &metrics.queue),
        ("questions_total", "counter", "Questions.", &metrics.questions),
        ("unknown_detectors_total", "counter", "Questions for detectors that there are not.", &metrics.unknown),
        ("connections_refused_total", "counter", "Connections beyond the limit.", &metrics.refused),
        ("unauthenticated_total", "counter", "Connections without a valid token.", &metrics.unauthenticated),
        ("malformed_total", "counter", "Connections closed because of what came over them.", &metrics.malformed),
        ("slow_total", "counter", "Connections closed because answers were not read.", &metrics.slow),
        ("reloads_total", "counter", "Policies that were loaded again.", &metrics.reloads),
        ("failed_reloads_total", "counter", "Policies that could not be loaded again.", &metrics.failed_reloads),
    ];
    for (name, kind, help, value) in own {
        head(&mut page, name, kind, help);
        line(&mut page, name, "", value.load(Ordering::Relaxed));
    }
    head(&mut page, "answers_total", "counter", "Answers.");
    metrics.detectors.iter().for_each(|detector| answers(&mut page, &metrics.tenants, detector));
    head(&mut page, "answer_seconds", "histogram", "Times from a question to its answer.");
    metrics.detectors.iter().for_each(|detector| times(&mut page, detector));
    redis(&mut page, detectors);
    page
}

/// By tenant and advice.
fn answers(page: &mut String, tenants: &[String], detector: &DetectorMetrics) {
    let tenants = tenants.iter().map(String::as_str).chain([""]);
    for (tenant, counts) in tenants.zip(&detector.answers) {
        for (advice, count) in ADVICES.iter().zip(counts) {
            let labels = format!("{{detector=\"{}\",tenant=\"{tenant}\",advice=\"{advice}\"}}", detector.name);
            line(page, "answers_total", &labels, count.load(Ordering::Relaxed));
        }
    }
}

fn times(page: &mut String, detector: &DetectorMetrics) {
    let name = &detector.name;
    let mut sum = 0;
    let ends = BOUNDS_US.iter().map(|us| (*us as f64 / 1e6).to_string()).chain(["+Inf".to_owned()]);
    for (end, bucket) in ends.zip(&detector.buckets) {
        sum += bucket.load(Ordering::Relaxed);
        line(page, "answer_seconds_bucket", &format!("{{detector=\"{name}\",le=\"{end}\"}}"), sum);
    }
    let labels = format!("{{detector=\"{name}\"}}");
    line(page, "answer_seconds_sum", &labels, detector.sum_us.load(Ordering::Relaxed) as f64 / 1e6);
    line(page, "answer_seconds_count", &labels, sum);
}

/// Of detectors that count in Redis.
fn redis(page: &mut String, detectors: &[(String, Detector)]) {
    let all: Vec<_> = detectors.iter().filter_map(|(name, detector)| Some((name, detector.redis()?))).collect();
    if all.is_empty() {
        return;
    }
    head(page, "redis_up", "gauge", "Whether the server of counters is connected.");
    for (name, state) in &all {
        line(page, "redis_up", &format!("{{detector=\"{name}\"}}"), u8::from(state.is_up()));
    }
    head(page, "redis_fallbacks_total", "counter", "Questions that were counted in memory because it was not there.");
    for (name, state) in &all {
        let fallbacks: &AtomicU64 = &state.fallbacks;
        line(page, "redis_fallbacks_total", &format!("{{detector=\"{name}\"}}"), fallbacks.load(Ordering::Relaxed));
    }
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP weir_inspector_{name} {help}\n# TYPE weir_inspector_{name} {kind}");
}

fn line(page: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let _ = writeln!(page, "weir_inspector_{name}{labels} {value}");
}
