//! What rules and lanes cost: the rows of `weir cost --json`, the dearest first.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use serde_json::{Value, json};
use weir_ledger::{EntryKind, LedgerError, Report};

use super::context::Context;
use super::query::Arguments;
use super::{Problem, resource, revisions};
use crate::shared::Shared;

pub(super) async fn cost(State(context): State<Arc<Context>>) -> Result<Response<Body>, Problem> {
    let report = Report::read(&context.runtime).map_err(|error| {
        // nginx makes it; before it has, there is nothing at this path, and nothing wrong with control.
        let missing = matches!(error, LedgerError::Missing { .. });
        let status = if missing { StatusCode::NOT_FOUND } else { StatusCode::SERVICE_UNAVAILABLE };
        Problem::new(status, format!("there is no ledger: {error}"))
    })?;
    let revision = context.shared.state().revision();
    Ok(resource::json(as_value(&report).to_string(), revision))
}

/// Records of a page, unless `?limit` says otherwise, and at most: each has some hundred rules.
const PAGE: (u64, u64) = (100, 500);

/// What revisions have cost, and who made them and why.
pub(super) async fn history(State(shared): State<Shared>, uri: Uri) -> Result<Response<Body>, Problem> {
    let arguments = Arguments::parse(uri.query(), &["since", "since_ms", "after_ms", "limit"])?;
    let (since, since_ms) = (arguments.number("since")?.unwrap_or(0), arguments.number("since_ms")?.unwrap_or(0));
    let (after_ms, limit) = (arguments.number("after_ms")?, arguments.limit(PAGE.0, PAGE.1)?);
    let records = shared.store().costs(since, since_ms, after_ms, limit).map_err(Problem::failed)?;
    let next_ms = records.last().filter(|_| records.len() as u64 == limit).map(|last| last.from_ms);
    let mut rows = Vec::new();
    for record in records {
        // The lock is taken for each, so that changes come in between.
        let made = shared.store().revision(record.revision).map_err(Problem::failed)?;
        let mut row = made.as_ref().map_or_else(|| Ok(json!({"revision": record.revision})), revisions::summary)?;
        row["from_ms"] = record.from_ms.into();
        row["to_ms"] = record.to_ms.into();
        row["requests"] = record.requests.into();
        row["cpu_ns"] = record.cpu_ns.into();
        row["weir_ns"] = record.weir_ns.into();
        row["entries"] = json!(record.entries);
        rows.push(row);
    }
    let mut page = json!({"records": rows});
    if let Some(next_ms) = next_ms {
        page["next_ms"] = next_ms.into();
    }
    Ok(resource::json(page.to_string(), shared.state().revision()))
}

fn as_value(report: &Report) -> Value {
    let share = |ns: f64, whole: f64| if whole > 0.0 { json!(ns / whole) } else { Value::Null };
    let requests = report.requests.max(1) as f64;
    let mut entries: Vec<_> = report.entries.iter().filter(|entry| entry.entry.kind != EntryKind::Lane).collect();
    entries.sort_by(|a, b| (b.own_ns + b.lane_ns).total_cmp(&(a.own_ns + a.lane_ns)));
    let rows: Vec<Value> = (entries.iter())
        .map(|entry| {
            let total = entry.own_ns + entry.lane_ns;
            json!({
                "kind": if entry.entry.kind == EntryKind::Plugin { "plugin" } else { "rule" },
                "id": entry.entry.id, "policy": entry.entry.policy, "plugin": entry.entry.plugin,
                "calls": entry.calls, "hits": entry.hits, "samples": entry.samples, "preempted": entry.preempted,
                "own_ns": entry.own_ns, "lane_ns": entry.lane_ns, "ns_total": total,
                "ns_per_request": total / requests, "share_of_cpu": share(total, report.cpu_ns as f64),
                "share_of_weir": share(total, report.total_ns),
            })
        })
        .collect();
    json!({
        "revision": report.revision, "generation": report.generation, "sample_every": report.sample_every,
        "uptime_ms": report.uptime_ms, "workers": report.workers, "requests": report.requests,
        "cpu_ns": report.cpu_ns, "total_ns": report.total_ns, "ns_per_request": report.total_ns / requests,
        "share_of_cpu": share(report.total_ns, report.cpu_ns as f64), "by": "rule", "rows": rows,
    })
}
