//! A comparison as text: context, flame graph, cost, in this order.

use std::fmt::Write as _;

use weir_profile::diff::Unit;

use crate::report::safe;

use super::{Change, Comparison, CostChange, FunctionChange, Functions};

/// Maximum number of shown changes of the context; JSON contains all.
const MAX_SHOWN: usize = 60;

pub(super) fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = context(&mut text, comparison);
    let titles = [("CPU time", &comparison.on_cpu), ("Waiting time", &comparison.off_cpu)];
    for (title, functions) in titles {
        if let Some(functions) = functions {
            let _ = graph(&mut text, title, functions);
        }
    }
    let _ = cost(&mut text, &comparison.cost);
    text
}

fn context(text: &mut String, comparison: &Comparison) -> std::fmt::Result {
    if comparison.same_context() {
        writeln!(text, "Context: no changes.")?;
    } else {
        let count = comparison.context.len();
        writeln!(text, "Context: {count} {} changed", if count == 1 { "item has" } else { "items have" })?;
    }
    let mut area = None;
    for change in comparison.context.iter().take(MAX_SHOWN) {
        if area != Some(change.area) {
            writeln!(text, "  {}", change.area)?;
            area = Some(change.area);
        }
        one(text, change)?;
    }
    if comparison.context.len() > MAX_SHOWN {
        writeln!(text, "  ... and {} more (--json lists all)", comparison.context.len() - MAX_SHOWN)?;
    }
    for what in &comparison.unknown {
        writeln!(text, "  not compared: {}", safe(what))?;
    }
    Ok(())
}

fn one(text: &mut String, change: &Change) -> std::fmt::Result {
    writeln!(text, "    {}", safe(&change.what))?;
    for (sign, value, place) in [('-', &change.before, &change.place_before), ('+', &change.after, &change.place)] {
        if let Some(value) = value {
            let place = if place.is_empty() { String::new() } else { format!("    ({place})") };
            writeln!(text, "      {sign} {}", safe(&format!("{value}{place}")))?;
        }
    }
    Ok(())
}

fn graph(text: &mut String, title: &str, functions: &Functions) -> std::fmt::Result {
    let unit = match functions.unit {
        Unit::PerRequest => "self time per request",
        Unit::Share => "self time as a share of the total",
    };
    writeln!(text, "\n{title}, {unit}:")?;
    if functions.is_empty() {
        writeln!(text, "  no function changed by more than the noise")?;
    }
    let lists = [("changed", &functions.changed), ("new", &functions.appeared), ("gone", &functions.vanished)];
    for (name, list) in lists {
        for (at, function) in list.iter().enumerate() {
            writeln!(text, "  {:8}{}", if at == 0 { name } else { "" }, row(function, functions.unit))?;
        }
    }
    if !functions.tail_calls.is_empty() {
        writeln!(text, "  on the stack in only one build (tail calls): {}", safe(&functions.tail_calls.join(", ")))?;
    }
    for remark in &functions.remarks {
        writeln!(text, "  {}", safe(remark))?;
    }
    Ok(())
}

fn row(function: &FunctionChange, unit: Unit) -> String {
    let amount = |value: f64| match unit {
        Unit::PerRequest => format!("{:.2} us", value / 1000.0),
        Unit::Share => format!("{:.1} %", value * 100.0),
    };
    format!("{:>10} -> {:>10}  {}", amount(function.before), amount(function.after), safe(&function.name))
}

fn cost(text: &mut String, change: &CostChange) -> std::fmt::Result {
    let (before, after) = (&change.before, &change.after);
    writeln!(text, "\nCost:")?;
    match (before.cpu_us_per_request, after.cpu_us_per_request) {
        (Some(then), Some(now)) => {
            let percent = change.ratio.map_or(String::new(), |ratio| format!(" ({:+.1} %)", (ratio - 1.0) * 100.0));
            writeln!(text, "  CPU per request   {then:>9.1} us -> {now:>9.1} us{percent}")?;
            let parts = [
                ("  in user mode    ", before.user_us_per_request, after.user_us_per_request),
                ("  in the kernel   ", before.system_us_per_request, after.system_us_per_request),
            ];
            for (name, then, now) in parts {
                writeln!(text, "  {name}{:>9.1} us -> {:>9.1} us", then.unwrap_or(0.0), now.unwrap_or(0.0))?;
            }
        }
        _ => writeln!(
            text,
            "  per request: unknown; count requests with --requests-from URL (stub_status) or --requests N in both recordings"
        )?,
    }
    if let (Some(then), Some(now)) = (before.requests_per_second, after.requests_per_second) {
        writeln!(text, "  requests/s        {then:>9.0}    -> {now:>9.0}")?;
    }
    writeln!(text, "  CPUs used         {:>9.2}    -> {:>9.2}", before.cores, after.cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Area;
    use crate::facts::Facts;

    #[test]
    fn names_cannot_write_to_the_terminal() {
        let mut comparison = Comparison::of(&Facts::default(), &Facts::default());
        comparison.unknown.push("\x1b[1munknown".into());
        comparison.context.push(Change {
            area: Area::Configuration,
            what: "\x1b[2mwhat".into(),
            before: Some("\x1b[3mbefore".into()),
            after: None,
            place_before: "\x1b[4mplace".into(),
            place: String::new(),
        });
        let shown = text(&comparison);
        assert!(["unknown", "what", "before", "place"].iter().all(|word| shown.contains(word)), "{shown:?}");
        assert!(!shown.contains('\x1b'), "{shown:?}");
    }
}
