//! `weir cost --since`: what each revision has cost, and which change made what slower.
//!
//! A revision is compared with the one before it that saw traffic. What is told of it is what moved
//! by more than its noise; a rule that is new, or gone, is named as such.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::since::Since;
use crate::api::Api;
use crate::arguments::Cost;
use crate::style::{Stream, Style};
use crate::table::{Align, grouped, microseconds, render};
use crate::terminal::shown;
use crate::{Failure, moment};

/// A revision that saw fewer requests says nothing: the ledger times one of some sixty.
const LEAST_REQUESTS: u64 = 1_000;
/// A change of less than this share is noise.
const NOISE_SHARE: f64 = 0.1;
/// And so is one of less than this, in nanoseconds per request.
const NOISE_NS: f64 = 30.0;
/// Movers that are told of one revision.
const TOLD: usize = 4;

#[derive(Debug, Deserialize)]
struct Record {
    revision: u64,
    #[serde(default)]
    actor: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    changed: Vec<String>,
    from_ms: u64,
    to_ms: u64,
    requests: u64,
    cpu_ns: u64,
    weir_ns: f64,
    entries: Vec<CostEntry>,
}

#[derive(Debug, Deserialize)]
struct CostEntry {
    kind: String,
    #[serde(default)]
    policy: String,
    #[serde(default)]
    id: String,
    ns: f64,
}

/// All records of one revision together, per request.
#[derive(Debug)]
struct Revision {
    first: Record,
    requests: u64,
    weir_ns: f64,
    cpu_ns: f64,
    /// Nanoseconds per request by kind, policy and id.
    entries: BTreeMap<(String, String, String), f64>,
}

/// How the cost of a rule or plugin changed.
#[derive(Debug, PartialEq)]
struct Mover {
    name: String,
    before: Option<f64>,
    after: Option<f64>,
}

impl Mover {
    fn change(&self) -> f64 {
        self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)
    }

    fn text(&self) -> String {
        let us = |ns: Option<f64>| ns.map_or_else(|| "-".into(), microseconds);
        let sign = if self.change() < 0.0 { "-" } else { "+" };
        let what = match (self.before, self.after) {
            (None, _) => "new",
            (_, None) => "gone",
            _ if self.change() < 0.0 => "faster",
            _ => "slower",
        };
        let by = microseconds(self.change().abs());
        format!("{what:<6} {}: {} -> {} µs per request ({sign}{by})", self.name, us(self.before), us(self.after))
    }
}

pub(super) fn run(api: &Api, since: &str, cost: &Cost) -> Result<(), Failure> {
    let since = Since::parse(since, now_ms())?;
    let revisions = merged(records(api, &since)?);
    if revisions.is_empty() {
        return Err(Failure::new("nothing has been recorded since then").hint(
            "control records the cost of requests every five seconds while it runs; revisions must last longer than that",
        ));
    }
    if cost.json {
        println!("{:#}", as_value(&revisions));
    } else {
        print!("{}", as_text(&revisions, cost.top.unwrap_or(TOLD), Style::of(Stream::Out)));
    }
    Ok(())
}

/// All records, a page at a time.
fn records(api: &Api, since: &Since) -> Result<Vec<Record>, Failure> {
    let odd = |error| Failure::new(format!("control's answer is not a cost history: {error}"));
    let (mut records, mut next) = (Vec::new(), String::new());
    loop {
        let mut answer = api.get(&format!("/api/v1/cost/history?{}{next}", since.query()))?;
        records.extend(serde_json::from_value::<Vec<Record>>(answer["records"].take()).map_err(odd)?);
        match answer["next_ms"].as_u64() {
            Some(after_ms) => next = format!("&after_ms={after_ms}"),
            None => return Ok(records),
        }
    }
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// One for each revision, the oldest first.
fn merged(records: Vec<Record>) -> Vec<Revision> {
    let mut revisions: Vec<Revision> = Vec::new();
    let mut totals: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    for record in records {
        if revisions.last().is_none_or(|last| last.first.revision != record.revision) {
            if let Some(last) = revisions.last_mut() {
                last.entries = std::mem::take(&mut totals);
            }
            revisions.push(Revision {
                requests: 0,
                weir_ns: 0.0,
                cpu_ns: 0.0,
                entries: BTreeMap::new(),
                first: Record { entries: Vec::new(), ..clone_head(&record) },
            });
        }
        let last = revisions.last_mut().expect("one was pushed if there was none");
        last.first.to_ms = record.to_ms;
        last.requests += record.requests;
        last.weir_ns += record.weir_ns;
        last.cpu_ns += record.cpu_ns as f64;
        for entry in record.entries {
            *totals.entry((entry.kind, entry.policy, entry.id)).or_default() += entry.ns;
        }
    }
    if let Some(last) = revisions.last_mut() {
        last.entries = totals;
    }
    for revision in &mut revisions {
        let requests = revision.requests.max(1) as f64;
        revision.weir_ns /= requests;
        revision.cpu_ns /= requests;
        revision.entries.values_mut().for_each(|ns| *ns /= requests);
    }
    revisions
}

fn clone_head(record: &Record) -> Record {
    Record {
        actor: record.actor.clone(),
        message: record.message.clone(),
        changed: record.changed.clone(),
        entries: Vec::new(),
        ..*record
    }
}

/// The last one before `at` that saw enough requests to be compared with.
fn before(revisions: &[Revision], at: usize) -> Option<&Revision> {
    revisions[..at].iter().rev().find(|revision| revision.requests >= LEAST_REQUESTS)
}

/// What moved, the largest change first.
fn movers(old: &Revision, new: &Revision) -> Vec<Mover> {
    let mut names: Vec<_> = old.entries.keys().chain(new.entries.keys()).collect();
    names.sort();
    names.dedup();
    let mut movers: Vec<Mover> = names
        .into_iter()
        .map(|key| Mover {
            name: name(key),
            before: old.entries.get(key).copied(),
            after: new.entries.get(key).copied(),
        })
        .filter(|mover| {
            let largest = mover.before.unwrap_or(0.0).max(mover.after.unwrap_or(0.0));
            mover.change().abs() >= (largest * NOISE_SHARE).max(NOISE_NS)
        })
        .collect();
    movers.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    movers
}

fn name((kind, policy, id): &(String, String, String)) -> String {
    match (policy.is_empty(), kind.as_str()) {
        (_, "others") => "the other rules".into(),
        (true, kind) => format!("{kind} {}", shown(id, 48)),
        (false, kind) => format!("{kind} {}/{}", shown(policy, 24), shown(id, 48)),
    }
}

fn as_text(revisions: &[Revision], told: usize, style: Style) -> String {
    let columns = [
        ("REVISION", Align::Right),
        ("FROM", Align::Left),
        ("REQUESTS", Align::Right),
        ("WEIR µs/REQUEST", Align::Right),
        ("CHANGE", Align::Right),
        ("ALL CPU µs/REQUEST", Align::Right),
        ("WHO", Align::Left),
        ("WHY", Align::Left),
    ];
    let row = |(at, revision): (usize, &Revision)| {
        let change = match before(revisions, at) {
            Some(old) if revision.requests >= LEAST_REQUESTS => {
                let change = revision.weir_ns - old.weir_ns;
                let sign = if change < 0.0 { "-" } else { "+" };
                format!("{sign}{}", microseconds(change.abs()))
            }
            _ => "-".into(),
        };
        let why = revision.first.message.as_deref().map_or_else(|| revision.first.changed.join(", "), str::to_owned);
        vec![
            revision.first.revision.to_string(),
            moment::utc(revision.first.from_ms),
            grouped(revision.requests),
            microseconds(revision.weir_ns),
            change,
            microseconds(revision.cpu_ns),
            shown(&revision.first.actor, 24),
            shown(&why, 48),
        ]
    };
    let mut text = render(&columns, &revisions.iter().enumerate().map(row).collect::<Vec<_>>());
    for (at, revision) in revisions.iter().enumerate() {
        let Some(old) = before(revisions, at) else { continue };
        if revision.requests < LEAST_REQUESTS {
            continue;
        }
        let movers = movers(old, revision);
        if movers.is_empty() {
            continue;
        }
        let heading = format!("revision {} against {}", revision.first.revision, old.first.revision);
        text.push_str(&format!("\n{}\n", style.bold(&heading)));
        movers.iter().take(told).for_each(|mover| text.push_str(&format!("  {}\n", mover.text())));
        if movers.len() > told {
            text.push_str(&format!("  and {} more\n", movers.len() - told));
        }
    }
    text
}

fn as_value(revisions: &[Revision]) -> Value {
    let row = |(at, revision): (usize, &Revision)| {
        let compared = before(revisions, at).filter(|_| revision.requests >= LEAST_REQUESTS);
        let movers: Vec<Value> = compared.map_or_else(Vec::new, |old| movers(old, revision)).iter()
            .map(|mover| json!({"name": mover.name, "ns_per_request_before": mover.before, "ns_per_request": mover.after}))
            .collect();
        json!({
            "revision": revision.first.revision, "from_ms": revision.first.from_ms, "to_ms": revision.first.to_ms,
            "requests": revision.requests, "ns_per_request": revision.weir_ns, "cpu_ns_per_request": revision.cpu_ns,
            "actor": revision.first.actor, "message": revision.first.message, "changed": revision.first.changed,
            "compared_with": compared.map(|old| old.first.revision), "movers": movers,
        })
    };
    json!({"revisions": revisions.iter().enumerate().map(row).collect::<Vec<Value>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(revision: u64, requests: u64, costs: &[(&str, f64)]) -> Record {
        let entries = costs.iter().map(|(id, ns)| CostEntry {
            kind: "rule".into(),
            policy: "shop".into(),
            id: (*id).into(),
            ns: ns * requests as f64,
        });
        Record {
            revision,
            actor: "cli".into(),
            message: Some(format!("change {revision}")),
            changed: vec!["/policies/shop".into()],
            from_ms: revision * 1_000,
            to_ms: revision * 1_000 + 500,
            requests,
            cpu_ns: requests * 20_000,
            weir_ns: costs.iter().map(|(_, ns)| ns * requests as f64).sum(),
            entries: entries.collect(),
        }
    }

    fn history() -> Vec<Revision> {
        merged(vec![
            record(4, 6_000, &[("fast", 200.0), ("steady", 1_000.0), ("gone", 80.0)]),
            record(4, 4_000, &[("fast", 200.0), ("steady", 1_000.0), ("gone", 80.0)]),
            record(5, 10, &[("fast", 90_000.0)]),
            record(6, 9_000, &[("fast", 2_200.0), ("steady", 1_050.0), ("new", 40.0)]),
        ])
    }

    #[test]
    fn the_change_that_made_something_slower_is_named() {
        let revisions = history();
        let numbers: Vec<_> = revisions.iter().map(|revision| (revision.first.revision, revision.requests)).collect();
        assert_eq!(numbers, [(4, 10_000), (5, 10), (6, 9_000)]);
        let text = as_text(&revisions, 4, Style::plain());
        assert!(text.contains("revision 6 against 4\n"), "ten requests say nothing:\n{text}");
        assert!(text.contains("  slower rule shop/fast: 0.200 -> 2.20 µs per request (+2.00)\n"), "{text}");
        assert!(text.contains("  gone   rule shop/gone") && text.contains("  new    rule shop/new"), "{text}");
        assert!(!text.contains("shop/steady"), "5 % is noise:\n{text}");
        assert!(text.contains("+2.01"), "{text}");
    }

    #[test]
    fn json_has_the_same() {
        let value = as_value(&history());
        assert_eq!(value["revisions"][2]["compared_with"], 4);
        assert_eq!(value["revisions"][2]["movers"][0]["name"], "rule shop/fast");
        assert_eq!(value["revisions"][1]["compared_with"], Value::Null);
    }
}
