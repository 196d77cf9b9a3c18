//! An outcome as one HTML file: a bar for each part with its interval, drawn as SVG by hand, so that
//! nothing is fetched and nothing has to run to see it.

use std::fmt::Write as _;

use super::interval::Interval;
use super::outcome::{Outcome, Unit};
use weir_policy::counted;

/// Size of a row and the place of the bars in it, in pixels.
const ROW: f64 = 26.0;
const LEFT: f64 = 240.0;
const WIDTH: f64 = 560.0;
const RIGHT: f64 = 170.0;
/// Lines of the scale at most.
const LINES: f64 = 8.0;

const STYLE: &str = "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:62em;color:#1a1a1a;background:#fff}\
    table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\
    td:first-child,th:first-child{text-align:left}svg text{font:13px system-ui,sans-serif;fill:#1a1a1a}\
    .bar{fill:#3b7dd8}.shared{fill:#9aa5b1}.whisker{stroke:#102a43;stroke-width:1.5}.grid{stroke:#e3e8ee}\
    .ledger{fill:#d9822b}.note{color:#555}";

/// The page.
#[must_use]
pub fn html(outcome: &Outcome) -> String {
    let title = format!("Ablation of {} by {}", escaped(&outcome.of), escaped(&outcome.by));
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<p>{}{}.</p>\n{}\n{}\n",
        outcome.unit.title(),
        if outcome.ledger.is_some() { ", diamonds the ledger's cost" } else { "" },
        chart(outcome),
        rows(outcome)
    );
    text.push_str(&closing(outcome));
    text.push_str("</body></html>\n");
    text
}

struct Bar<'b> {
    name: &'b str,
    class: &'static str,
    cost: Interval,
    ledger: Option<f64>,
}

fn chart(outcome: &Outcome) -> String {
    let parts =
        outcome.parts.iter().map(|part| Bar { name: &part.name, class: "bar", cost: part.cost, ledger: part.ledger });
    let shared = outcome.shared.map(|cost| Bar { name: "shared", class: "shared", cost, ledger: None });
    let bars: Vec<Bar<'_>> = parts.chain(shared).collect();
    let ends = |bar: &Bar<'_>| [finite(bar.cost.low), finite(bar.cost.high), bar.cost.value, bar.ledger.unwrap_or(0.0)];
    let low = bars.iter().flat_map(ends).fold(0.0, f64::min);
    let high = bars.iter().flat_map(ends).fold(low + 1e-3, f64::max);
    let scale = Scale { low, step: WIDTH / (high - low), unit: outcome.unit };
    let height = ROW * bars.len() as f64 + ROW;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {} {height}\" width=\"100%\" role=\"img\" aria-label=\"Cost of each part\">\n",
        LEFT + WIDTH + RIGHT
    );
    scale.grid(&mut svg, high, height);
    for (row, bar) in bars.iter().enumerate() {
        scale.bar(&mut svg, row as f64 * ROW, bar);
    }
    svg.push_str("</svg>");
    svg
}

struct Scale {
    low: f64,
    /// Pixels of one of the unit.
    step: f64,
    unit: Unit,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.low) * self.step
    }

    /// Lines at round numbers.
    fn grid(&self, svg: &mut String, high: f64, height: f64) {
        let rough = (high - self.low) / LINES;
        let power = 10f64.powf(rough.log10().floor());
        let each = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|each| *each >= rough);
        let each = each.unwrap_or(power * 10.0);
        let mut line = (self.low / each).ceil() * each;
        while line <= high {
            let (x, bottom) = (self.x(line), height - ROW);
            let digits = usize::from(each < 1.0) + usize::from(each < 0.1);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{bottom}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{line:.digits$}</text>",
                bottom + 16.0
            );
            line += each;
        }
    }

    fn bar(&self, svg: &mut String, y: f64, bar: &Bar<'_>) {
        let (from, to) = (self.x(bar.cost.value.min(0.0)), self.x(bar.cost.value.max(0.0)));
        let (low, high) = (self.x(finite(bar.cost.low)), self.x(finite(bar.cost.high)));
        let (middle, class) = (y + ROW / 2.0, bar.class);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <line class=\"whisker\" x1=\"{low:.1}\" y1=\"{middle:.1}\" x2=\"{high:.1}\" y2=\"{middle:.1}\"/>",
            LEFT - 8.0,
            middle + 4.5,
            escaped(bar.name),
            y + 5.0,
            (to - from).max(0.5),
            ROW - 10.0
        );
        for end in [low, high] {
            let (top, bottom) = (middle - 4.0, middle + 4.0);
            let _ = write!(
                svg,
                "<line class=\"whisker\" x1=\"{end:.1}\" y1=\"{top:.1}\" x2=\"{end:.1}\" y2=\"{bottom:.1}\"/>"
            );
        }
        if let Some(ledger) = bar.ledger {
            let x = self.x(ledger);
            let _ = write!(
                svg,
                "<path class=\"ledger\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"><title>ledger {ledger:.2}</title></path>",
                middle - 5.0
            );
        }
        let x = LEFT + WIDTH + 12.0;
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\">{}</text>", middle + 4.5, self.unit.figure(bar.cost));
    }
}

/// An end of an interval that nothing bounds is drawn at zero.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

fn rows(outcome: &Outcome) -> String {
    let figure = |interval: Interval| outcome.unit.figure(interval);
    let has_rules = outcome.has_rules();
    let (heading, blank) = if has_rules { ("<th>rules</th>", "<td></td>") } else { ("", "") };
    let mut text = format!(
        "<table><tr><th>part</th>{heading}<th>cost</th><th>without it saves</th><th>alone it costs</th><th>ledger</th></tr>\n"
    );
    for part in &outcome.parts {
        let optional = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let _ = writeln!(
            text,
            "<tr><td>{}</td>{}<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&part.name),
            if has_rules { format!("<td>{}</td>", part.rules) } else { String::new() },
            figure(part.cost),
            figure(part.without),
            optional(part.alone.map(figure)),
            optional(part.ledger.map(|ledger| format!("{ledger:.2}")))
        );
    }
    let lines = [
        ("shared", outcome.shared),
        ("sum", outcome.total.map(|_| outcome.sum)),
        ("total", outcome.total),
        ("all on", Some(outcome.all)),
        ("all off", outcome.none),
    ];
    for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let _ = writeln!(text, "<tr><td>{name}</td>{blank}<td>{}</td><td></td><td></td><td></td></tr>", figure(value));
    }
    text + "</table>"
}

fn closing(outcome: &Outcome) -> String {
    let mut text = String::new();
    if let Some(agreement) = outcome.agreement {
        let _ = writeln!(text, "<p>The sum is {:.0} % of the total.</p>", agreement * 100.0);
    }
    if let Some(ledger) = &outcome.ledger {
        let (apart, alike) = (ledger.told_apart, ledger.alike);
        let rho = ledger.rank_correlation.map_or_else(String::new, |rho| format!(", rho = {rho:.2}"));
        let _ = writeln!(
            text,
            "<p>In the ledger, {alike} of {apart} significantly different pairs have the same order{rho}.</p>"
        );
    }
    for pair in &outcome.interactions {
        let (one, other) = (escaped(&pair.one), escaped(&pair.other));
        let _ = writeln!(text, "<p>{one} and {other} interact: {}.</p>", outcome.unit.figure(pair.interaction));
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", escaped(note));
    }
    let host = &outcome.host;
    let _ = writeln!(
        text,
        "<p class=\"note\">{} ({}), Linux {}, nginx {}; {}; {}. {}.</p>",
        escaped(&host.cpu),
        counted(host.cores, "core"),
        escaped(&host.kernel),
        escaped(&host.nginx),
        escaped(&host.schedule),
        counted(outcome.requests as usize, "request"),
        escaped(&outcome.method)
    );
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_obeys_no_name() {
        let page = html(&crate::show::tests::outcome());
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert_eq!(page.matches("<rect").count(), 4, "three parts and what they share");
        assert_eq!(page.matches("class=\"ledger\"").count(), 3);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        assert!(!page.contains("http"), "nothing is fetched");
    }

    #[test]
    fn an_interval_without_ends_can_be_drawn() {
        let mut outcome = crate::show::tests::outcome();
        outcome.parts[0].cost = Interval { value: 1.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
        let page = html(&outcome);
        assert!(page.contains("width=\"") && !page.contains("x1=\"inf\"") && !page.contains("x2=\"inf\""));
    }
}
