//! What a replayed request came to, for people and for machines.

use serde_json::{Value, json};
use weir_directives::DEFAULT_BODY_LIMIT;
use weir_engine::{Finding, RuleIndex, Verdict};
use weir_rules::Phase;

use super::recorded::Recorded;
use super::run::{Line, Replayed, Replayer};
use super::stopwatch::Timed;
use crate::command::rules::said::{lossless, text};
use crate::style::{Stream, Style};
use crate::table::{Align, counted, microseconds, percent, render};
use crate::terminal::shown;

pub(super) fn as_text(replayer: &Replayer<'_>, number: u64, request: &Recorded, replayed: &Replayed) -> String {
    let style = Style::of(Stream::Out);
    let line = format!("{} {}", lossless(&request.method), lossless(&request.target));
    let mut out =
        format!("{}  {}\n", style.bold(&format!("{number}  {}", shown(&line, 160))), style.dim(&request.place));
    out.push_str(&format!("   {}\n", summary(replayer, replayed, style)));
    if let Some(policies) = replayed.policies.sentence() {
        out.push_str(&format!("   {}\n", shown(&policies, 300)));
    }
    for note in notes_of(replayer, request, replayed) {
        out.push_str(&format!("   {} {}\n", style.yellow("note:"), shown(&note, 300)));
    }
    if !replayed.findings.is_empty() {
        out.push_str(&format!("\n{}", indented(&findings(replayer, &replayed.findings))));
    }
    out.push_str(&format!("\n{}\n", indented(&costs(replayer, replayed))));
    out
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("   {line}\n")).collect()
}

fn summary(replayer: &Replayer<'_>, replayed: &Replayed, style: Style) -> String {
    let name = replayed.verdict.as_str();
    let verdict = match replayed.verdict {
        Verdict::Pass | Verdict::Allow => style.green(name),
        Verdict::Detect => style.yellow(name),
        _ => style.red(name),
    };
    let answer = match replayed.status {
        Some(status) => format!("answered with {status}"),
        None => "goes on to the origin".to_owned(),
    };
    let by = match replayed.decided_by.and_then(|rule| replayer.label(rule)) {
        Some(label) => format!(" by {}", shown(&label.id, 64)),
        None => String::new(),
    };
    format!(
        "{verdict}{by}, {answer}, score {}, {}, {} µs",
        replayed.score,
        counted(replayed.findings.len() as u64, "finding"),
        microseconds(replayed.total_ns as f64),
    )
}

fn notes_of(replayer: &Replayer<'_>, request: &Recorded, replayed: &Replayed) -> Vec<String> {
    let mut notes = request.missing.clone();
    notes.extend(replayed.policies.note.clone());
    if replayed.refused_by_nginx {
        notes.push("nginx answers 400 to this path or its escapes before any rule runs".to_owned());
    }
    if let Some(found) = replayed.unreadable {
        let refused =
            if replayed.verdict == Verdict::Fail { "refused by weir_bounds" } else { "passed by weir_bounds" };
        notes.push(format!("rules cannot read it completely, {refused}: {found}"));
    }
    if !replayed.anomalies.is_empty() {
        notes.push(format!("broken in the request: {}", replayed.anomalies.join(", ")));
    }
    let fired = |id: &&String| replayed.findings.iter().any(|finding| self::id(replayer, finding.rule) == id.as_str());
    let logged = request.logged.iter().flatten();
    let mut silent: Vec<&str> = logged.filter(|id| !fired(id)).map(String::as_str).collect();
    silent.dedup();
    if !silent.is_empty() {
        notes.push(format!("in the log, but not in this replay: {}", silent.join(", ")));
    }
    if request.body.len() > DEFAULT_BODY_LIMIT {
        let limit = counted(DEFAULT_BODY_LIMIT as u64, "byte");
        notes.push(format!(
            "the body is longer than {limit}: nginx gives rules all of it only if weir_body_limit says so"
        ));
    }
    notes
}

fn findings(replayer: &Replayer<'_>, findings: &[Finding]) -> String {
    let columns = [
        ("RULE", Align::Left),
        ("SCORE", Align::Right),
        ("VARIABLE", Align::Left),
        ("MATCHED", Align::Left),
        ("MESSAGE", Align::Left),
        ("WHERE", Align::Left),
    ];
    let row = |finding: &Finding| {
        let (file, line) = place(replayer, finding.rule);
        vec![
            shown(id(replayer, finding.rule), 48),
            if finding.score > 0 { finding.score.to_string() } else { "-".to_owned() },
            shown(&finding.variable, 40),
            text(&finding.matched, 48),
            shown(message(replayer, finding), 70),
            format!("{}:{line}", shown(file.rsplit('/').next().unwrap_or_default(), 60)),
        ]
    };
    render(&columns, &findings.iter().map(row).collect::<Vec<_>>())
}

fn costs(replayer: &Replayer<'_>, replayed: &Replayed) -> String {
    let columns = [
        ("COST", Align::Left),
        ("NAME", Align::Left),
        ("µs", Align::Right),
        ("% OF ALL", Align::Right),
        ("CALLS", Align::Right),
        ("HITS", Align::Right),
    ];
    let row = |line: &Line| {
        let (kind, name) = named(replayer, replayed, line.what);
        vec![
            kind.to_owned(),
            shown(&name, 70),
            microseconds(line.ns as f64),
            percent(line.ns as f64, replayed.total_ns as f64),
            line.calls.to_string(),
            line.hits.to_string(),
        ]
    };
    let mut table = render(&columns, &replayed.costs.iter().take(replayer.top).map(row).collect::<Vec<_>>());
    if replayed.costs.len() > replayer.top {
        let rest = &replayed.costs[replayer.top..];
        let sum: u64 = rest.iter().map(|line| line.ns).sum();
        let all = counted(rest.len() as u64, "more lane or rule").replace("lane or rules", "lanes and rules");
        table.push_str(&format!("and {all}, {} µs together\n", microseconds(sum as f64)));
    }
    table
}

fn named(replayer: &Replayer<'_>, replayed: &Replayed, what: Timed) -> (&'static str, String) {
    match what {
        Timed::Lane(lane) => {
            let name = replayed.policies.plan.lanes().get(lane as usize).map_or("", |info| info.name.as_str());
            ("lane", name.to_owned())
        }
        Timed::Rule(rule) => ("rule", id(replayer, RuleIndex(rule)).to_owned()),
    }
}

fn id<'r>(replayer: &'r Replayer<'_>, rule: RuleIndex) -> &'r str {
    replayer.label(rule).map_or("", |label| label.id.as_str())
}

fn message<'f>(replayer: &'f Replayer<'_>, finding: &'f Finding) -> &'f str {
    let own = replayer.label(finding.rule).map_or("", |label| label.message.as_str());
    finding.message.as_deref().unwrap_or(own)
}

fn place(replayer: &Replayer<'_>, rule: RuleIndex) -> (String, u32) {
    replayer.label(rule).map(|label| replayer.chosen.place(label)).unwrap_or_default()
}

/// The notes that hold for all requests.
pub(super) fn notes(replayer: &Replayer<'_>, count: u64, reads_response: bool) -> String {
    let style = Style::of(Stream::Out);
    let policy = shown(&replayer.chosen.name, 200);
    let mut out = format!("{}\n", style.dim(&format!("{} against {policy}", counted(count, "request"))));
    if replayer.chosen.is_built_in {
        out.push_str(&format!("{}\n", style.dim("this is a default policy; --policy FILE uses yours")));
    }
    for note in standing(replayer, reads_response) {
        out.push_str(&format!("{} {note}\n", style.yellow("note:")));
    }
    out
}

/// What a replay leaves out of these policies.
fn standing(replayer: &Replayer<'_>, reads_response: bool) -> Vec<&'static str> {
    let specification = replayer.snapshot().specification();
    let needs = replayer.snapshot().rule_set_needs();
    let sets = replayer.chosen.sets();
    let of_response = sets.iter().any(|one| {
        [weir_rules::seclang::ir::Phase::ResponseHeaders, weir_rules::seclang::ir::Phase::ResponseBody]
            .into_iter()
            .any(|phase| one.profile.has(phase))
    });
    let all = [
        (of_response || reads_response, "rules of the response are not run: there is no response"),
        (needs.collections, "persistent collections are empty in every request"),
        (specification.rate_limits > 0, "rate limits let everything pass"),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
}

pub(super) fn as_value(replayer: &Replayer<'_>, number: u64, request: &Recorded, replayed: &Replayed) -> Value {
    let finding = |finding: &Finding| {
        let (file, line) = place(replayer, finding.rule);
        json!({
            "rule": id(replayer, finding.rule), "via": finding.via.map(|rule| id(replayer, rule)),
            "message": message(replayer, finding), "action": finding.action, "detected_only": finding.detected_only,
            "variable": finding.variable, "matched": lossless(&finding.matched), "score": finding.score,
            "log_data": lossless(&finding.log_data), "file": file, "line": line,
        })
    };
    let cost = |line: &Line| {
        let (kind, name) = named(replayer, replayed, line.what);
        json!({ "kind": kind, "name": name, "ns": line.ns, "calls": line.calls, "hits": line.hits })
    };
    json!({
        "number": number, "place": request.place, "method": lossless(&request.method),
        "target": lossless(&request.target), "host": lossless(&request.host), "body_bytes": request.body.len(),
        "verdict": replayed.verdict.as_str(), "status": replayed.status, "score": replayed.score,
        "policies": replayed.policies.names, "site": replayed.policies.site, "route": replayed.policies.route,
        "decided_by": replayed.decided_by.map(|rule| id(replayer, rule)), "tags": replayed.tags,
        "findings": replayed.findings.iter().map(finding).collect::<Vec<_>>(),
        "unreadable": replayed.unreadable.map(|found| found.to_string()),
        "logged_rule_ids": request.logged, "total_ns": replayed.total_ns,
        "costs": replayed.costs.iter().map(cost).collect::<Vec<_>>(),
        "notes": notes_of(replayer, request, replayed).into_iter().chain(standing(replayer, replayed.policies.plan.has(Phase::Response)).into_iter().map(str::to_owned))
            .collect::<Vec<_>>(),
    })
}
