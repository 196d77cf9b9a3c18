//! `weir revisions`, `diff` and `watch`: what has changed, when and by whom.

use serde_json::Value;

use crate::api::Api;
use crate::arguments::{Diff, Revisions, Watch};
use crate::style::{Stream, Style};
use crate::table::{Align, counted, render};
use crate::terminal::shown;
use crate::{Failure, difference, moment};

/// Lines shown of those that came to or went from a file; `--json` has up to 1,000.
const LINES: usize = 20;
/// Resources named in a line of the list.
const NAMED: usize = 3;

pub(crate) fn list(api: &Api, revisions: &Revisions) -> Result<(), Failure> {
    let answer = api.get(&format!("/api/v1/revisions?limit={}", revisions.limit))?;
    if revisions.json {
        println!("{answer:#}");
        return Ok(());
    }
    let columns = [
        ("REVISION", Align::Right),
        ("WHEN", Align::Left),
        ("WHO", Align::Left),
        ("WHAT", Align::Left),
        ("WHY", Align::Left),
    ];
    let rows: Vec<Vec<String>> = answer["revisions"].as_array().into_iter().flatten().map(row).collect();
    print!("{}", render(&columns, &rows));
    Ok(())
}

fn row(revision: &Value) -> Vec<String> {
    let text = |key: &str| shown(revision[key].as_str().unwrap_or_default(), 40);
    let when = moment::utc(revision["time_ms"].as_u64().unwrap_or_default());
    vec![revision["revision"].to_string(), when, text("actor"), resources(revision), text("message")]
}

/// The changed resources in short.
fn resources(revision: &Value) -> String {
    let changed: Vec<&str> = revision["changed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = changed.iter().take(NAMED).map(|name| shown(name, 48)).collect::<Vec<_>>().join(", ");
    match changed.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

pub(crate) fn diff(api: &Api, diff: &Diff) -> Result<(), Failure> {
    let revision = match diff.revision {
        Some(revision) => revision,
        None => newest(api)?,
    };
    let answer = api.get(&format!("/api/v1/revisions/{revision}/diff"))?;
    if diff.json {
        println!("{answer:#}");
        return Ok(());
    }
    let style = Style::of(Stream::Out);
    println!("{}", style.bold(&format!("revision {revision}, {}", about(&answer))));
    for change in answer["changes"].as_array().into_iter().flatten() {
        let side = |key: &str| change.get(key).filter(|value| !value.is_null());
        let path = shown(change["path"].as_str().unwrap_or_default().trim_start_matches('/'), 200);
        print!("{}", difference::render(&path, side("old"), side("new"), style));
        print!("{}", lines(&change["lines"], style));
    }
    Ok(())
}

/// Lines that came to and went from the file of a list.
fn lines(change: &Value, style: Style) -> String {
    let mut text = String::new();
    for (side, mark) in [("removed", '-'), ("added", '+')] {
        let listed = change[side]["lines"].as_array().map_or(&[][..], Vec::as_slice);
        for line in listed.iter().take(LINES).filter_map(Value::as_str) {
            let line = format!("{mark} {}", shown(line, 120));
            text.push_str(&format!("      {}\n", if mark == '+' { style.green(&line) } else { style.red(&line) }));
        }
        let more = change[side]["count"].as_u64().unwrap_or_default().saturating_sub(listed.len().min(LINES) as u64);
        if more > 0 {
            text.push_str(&format!("      {}\n", style.dim(&format!("and {} more {side}", counted(more, "line")))));
        }
    }
    text
}

/// The time, author and message of a revision.
pub(super) fn about(revision: &Value) -> String {
    let text = |key: &str| revision[key].as_str().map(|text| shown(text, 120)).unwrap_or_default();
    let message = text("message");
    let why = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("{} by {}{why}", moment::utc(revision["time_ms"].as_u64().unwrap_or_default()), text("actor"))
}

fn newest(api: &Api) -> Result<u64, Failure> {
    let answer = api.get("/api/v1/revisions?limit=1")?;
    answer["revisions"][0]["revision"].as_u64().ok_or_else(|| Failure::new("there is no revision yet"))
}

pub(crate) fn watch(api: &Api, watch: &Watch) -> Result<(), Failure> {
    let since = watch.since.map_or_else(String::new, |since| format!("?since={since}"));
    let style = Style::of(Stream::Out);
    api.events(&format!("/api/v1/watch{since}"), &mut |event| {
        if watch.json {
            println!("{event}");
            return;
        }
        let line = format!("revision {}, {}: {}", event["revision"], about(event), resources(event));
        println!("{}", style.bold(&line));
    })
}
