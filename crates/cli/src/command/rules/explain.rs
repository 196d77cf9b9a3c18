//! `weir rules explain`: one rule, from what it looks at to what would exclude it.

use serde_json::{Value, json};
use weir_engine::seclang::{ByteNeeds, Exclusion, Execution, Explanation, Needs, Program, RuleChoice, RuleInfo};
use weir_rules::seclang::ir::{Control, Effect, Phase, Rule, Selector, Target, TextMatch};

use super::said::{paranoia, phase, severity, text};
use super::{Chosen, Use, own, words, written};
use crate::Failure;
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::terminal::shown;

/// Characters of an operator's parameter that are shown; JSON has all of it.
const PARAMETER: usize = 160;
/// Uses of a rule set that are shown; a policy may have one for each of two hundred sites.
const USES: usize = 8;
/// Literals that are shown.
const LITERALS: usize = 12;

pub(super) fn run(id: &str, chosen: &Chosen, as_json: bool) -> Result<(), Failure> {
    let Ok(id) = id.parse::<u64>() else { return own::run(id, chosen, as_json) };
    let uses: Vec<(Use<'_>, Explanation)> =
        chosen.uses().filter_map(|one| one.profile.explain(id).map(|way| (one, way))).collect();
    let Some((first, _)) = uses.first() else { return Err(unknown(id, chosen)) };
    let program = first.profile.program();
    let info = program.rules().iter().find(|rule| rule.id == id).expect("it was explained");
    let rule = written::rule(program, id, &chosen.texts);
    let asked = Asked { program, info, rule: rule.as_ref(), uses: &uses };
    if as_json {
        println!("{}", asked.as_value());
    } else {
        print!("{}", asked.as_text(Style::of(Stream::Out)));
    }
    Ok(())
}

fn unknown(id: u64, chosen: &Chosen) -> Failure {
    let sets = chosen.sets();
    let ids = || sets.iter().flat_map(|one| one.profile.program().rules()).map(|rule| rule.id);
    let failure = Failure::new(format!("{} has no rule {id}", chosen.name));
    match (ids().filter(|known| *known < id).max(), ids().filter(|known| *known > id).min()) {
        (None, None) => failure.hint("it runs no rule set"),
        (before, after) => {
            let near: Vec<String> = before.iter().chain(&after).map(u64::to_string).collect();
            failure.hint(format!("its neighbours: {}; weir rules list shows all", near.join(", ")))
        }
    }
}

struct Asked<'s> {
    program: &'s Program,
    info: &'s RuleInfo,
    rule: Option<&'s Rule>,
    uses: &'s [(Use<'s>, Explanation)],
}

impl Asked<'_> {
    fn place(&self) -> (&str, u32) {
        let file = self.program.files().get(self.info.place.file as usize);
        (file.map_or("", String::as_str), self.info.place.line)
    }

    fn as_text(&self, style: Style) -> String {
        let (file, line) = self.place();
        let info = self.info;
        let mut out = format!("{}  {}\n", style.bold(&info.id.to_string()), shown(&info.message, 300));
        out.push_str(&format!("  {}\n", style.dim(&format!("{file}:{line}"))));
        let mut facts = vec![format!("phase {}", phase(info.phase))];
        facts.extend(severity(info.severity).map(|name| format!("severity {name}")));
        facts.extend(paranoia(&info.tags).map(|level| format!("paranoia level {level}")));
        out.push_str(&format!("  {}\n", facts.join(", ")));
        if !info.tags.is_empty() {
            out.push_str(&format!("  tags: {}\n", shown(&info.tags.join(", "), 600)));
        }
        match self.rule {
            Some(rule) => out.push_str(&rule_text(rule, style)),
            None => out.push_str("  its files have changed or cannot be read: its inputs are unknown\n"),
        }
        out.push_str(&format!("\n{}\n", style.bold("Evaluation")));
        for (way, places) in self.ways() {
            let more = counted(places.len().saturating_sub(USES) as u64, "more place");
            let more = if places.len() > USES { format!(" and {more}") } else { String::new() };
            let listed = places[..places.len().min(USES)].join(", ");
            out.push_str(&format!("  {way}\n  {}\n", style.dim(&format!("in {listed}{more}"))));
        }
        out.push_str(&format!("\n{}\n", style.bold("Exclusion")));
        out.push_str(&format!("  exclude:\n    - {}\n", self.snippet()));
        let touching = self.uses.iter().flat_map(|(one, explanation)| {
            explanation
                .exclusions
                .iter()
                .map(move |exclusion| format!("{}: {}", one.policy, shown_exclusion(exclusion)))
        });
        let touching: Vec<String> = touching.collect();
        if !touching.is_empty() {
            out.push_str(&format!("\n{}\n", style.bold("Exclusions in effect")));
            touching.iter().take(4 * USES).for_each(|line| out.push_str(&format!("  {}\n", shown(line, 300))));
        }
        out
    }

    /// The ways to run it, each with the policies and rules that run it so.
    fn ways(&self) -> Vec<(String, Vec<String>)> {
        let mut ways: Vec<(String, Vec<String>)> = Vec::new();
        for (one, explanation) in self.uses {
            let (way, place) = (way(explanation), format!("{} / {}", shown(one.policy, 64), shown(one.rule, 64)));
            match ways.iter_mut().find(|(known, _)| *known == way) {
                Some((_, places)) => places.push(place),
                None => ways.push((way, vec![place])),
            }
        }
        ways
    }

    /// An exclusion to fill in: of one target if the rule has one that can be named.
    fn snippet(&self) -> String {
        let links = self.rule.iter().flat_map(|rule| &rule.links);
        let targets = links.filter_map(|link| link.test.as_ref()).flat_map(|test| &test.targets);
        let target = targets.filter(|target| !target.count).find_map(example);
        let target = target.map_or_else(String::new, |target| format!(", target: \"{target}\""));
        format!("{{rule: {}{target}, when: 'http.request.uri.path eq \"/PATH\"'}}", self.info.id)
    }

    fn as_value(&self) -> Value {
        let (file, line) = self.place();
        let links: Vec<Value> = self.rule.iter().flat_map(|rule| &rule.links).map(link_value).collect();
        let uses = self.uses.iter().map(|(one, explanation)| {
            let exclusions: Vec<String> = explanation.exclusions.iter().map(shown_exclusion).collect();
            json!({
                "policy": one.policy, "rule": one.rule, "way": execution_name(&explanation.execution),
                "explained": way(explanation), "exclusions": exclusions,
            })
        });
        json!({
            "id": self.info.id, "message": self.info.message, "file": file, "line": line,
            "phase": self.info.phase as u8, "severity": severity(self.info.severity), "tags": self.info.tags,
            "paranoia": paranoia(&self.info.tags), "links": links,
            "decision": self.rule.map(words::decision), "runs": uses.collect::<Vec<_>>(),
            "exclusion": self.snippet(),
        })
    }
}

/// A target as an exclusion would name it, with a word to replace where members have names.
fn example(target: &Target) -> Option<String> {
    let name = target.variable.name();
    let of_members = ["ARGS", "ARGS_GET", "ARGS_POST", "REQUEST_COOKIES", "REQUEST_HEADERS", "FILES"];
    match &target.selector {
        Selector::All if of_members.contains(&name) => Some(format!("{name}:NAME")),
        Selector::All if name != "TX" => Some(name.to_owned()),
        Selector::Name(_) if name != "TX" => Some(words::target(target)),
        _ => None,
    }
}

fn link_value(link: &weir_rules::seclang::ir::Link) -> Value {
    let (operator, parameter) = link.test.as_ref().map_or(("", String::new()), |test| words::operator(&test.operator));
    json!({
        "line": link.place.line, "targets": words::targets(link), "transformations": words::transformations(link),
        "operator": operator, "parameter": parameter, "negated": link.test.as_ref().is_some_and(|test| test.negated),
        "multi_match": link.multi_match, "effects": link.effects.iter().map(words::effect).collect::<Vec<_>>(),
    })
}

fn rule_text(rule: &Rule, style: Style) -> String {
    let mut out = String::new();
    for (number, link) in rule.links.iter().enumerate() {
        let title = match number {
            0 => "Inputs".to_owned(),
            _ => format!("Chained rule (link {}, line {})", number + 1, link.place.line),
        };
        out.push_str(&format!("\n{}\n", style.bold(&title)));
        let Some(test) = &link.test else {
            out.push_str("  nothing: it always matches\n");
            continue;
        };
        out.push_str(&format!("  targets          {}\n", shown(&words::targets(link).join(" | "), 800)));
        let through = words::transformations(link);
        let through = if through.is_empty() { "none".to_owned() } else { through.join(", ") };
        let each = if link.multi_match { " (tested after each)" } else { "" };
        out.push_str(&format!("  transformations  {through}{each}\n"));
        let (name, parameter) = words::operator(&test.operator);
        let not = if test.negated { "!" } else { "" };
        out.push_str(&format!(
            "  operator         {}\n",
            format!("{not}@{name} {}", shown(&parameter, PARAMETER)).trim_end()
        ));
    }
    out.push_str(&format!("\n{}\n", style.bold("On a match")));
    let effects = rule.links.iter().flat_map(|link| &link.effects);
    for effect in effects.filter(|effect| !matches!(effect, Effect::Control(Control::Ignored))) {
        out.push_str(&format!("  {}\n", shown(&words::effect(effect), 200)));
    }
    let log = if rule.log { "" } else { "; not logged" };
    out.push_str(&format!("  {}{log}\n", words::decision(rule)));
    if rule.phase >= Phase::ResponseHeaders {
        out.push_str("  It looks at the response: weir replay does not run it.\n");
    }
    out
}

fn execution_name(execution: &Execution) -> &'static str {
    match execution {
        Execution::Folded => "folded",
        Execution::Skipped => "skipped",
        Execution::Removed => "removed",
        Execution::Always => "always",
        Execution::Gated { .. } => "gated",
    }
}

fn way(explanation: &Explanation) -> String {
    match &explanation.execution {
        Execution::Folded => {
            "worked out at load; run only in requests that change a variable which it reads".to_owned()
        }
        Execution::Skipped => {
            "never, unless a request changes a variable that decides so: a rule worked out at load, such \
                         as a check of the paranoia level, jumps over it"
                .to_owned()
        }
        Execution::Removed => "never: an exclusion takes it out".to_owned(),
        Execution::Always => "in every request".to_owned(),
        Execution::Gated { link, needs, lanes, through } => {
            let of_link = if *link > 0 { format!(" (link {})", link + 1) } else { String::new() };
            let after = match through.as_str() {
                "none" => String::new(),
                names => format!(" after {}", names.replace(',', ", ")),
            };
            format!("only if a value {}{of_link}; looked for in {}{after}", self::needs(needs), lanes.join(", "))
        }
    }
}

fn needs(needs: &Needs) -> String {
    match needs {
        Needs::Value => "is there at all".to_owned(),
        Needs::Impossible => "could match, which none can".to_owned(),
        Needs::Literals(literals, bytes) => {
            // Folding maps some punctuation too; what is shown reads as the letters do.
            let listed: Vec<String> =
                literals.iter().take(LITERALS).map(|one| format!("`{}`", text(one, 40))).collect();
            let more = literals.len().saturating_sub(LITERALS);
            let more = if more > 0 { format!(" or one of {more} more") } else { String::new() };
            let one_of = if literals.len() > 1 { "one of " } else { "" };
            format!("has {one_of}{}{more}{}", listed.join(" "), byte_needs(bytes, " and "))
        }
        Needs::Bytes(bytes) => format!("has {}", byte_needs(bytes, "")),
        Needs::Sql => "begins as SQL injection could".to_owned(),
        Needs::Xss => "has what cross-site scripting needs".to_owned(),
    }
}

fn byte_needs(needs: &ByteNeeds, before: &str) -> String {
    let class = |set: &Vec<u8>| {
        let mut words = [0u64; 4];
        set.iter().for_each(|byte| words[usize::from(*byte) / 64] |= 1 << (byte % 64));
        match set.as_slice() {
            bytes if bytes.len() <= 16 && bytes.iter().all(|byte| byte.is_ascii_graphic()) => {
                format!("a byte of `{}`", text(bytes, 40))
            }
            _ => format!("a byte of {}", words::ranges(&words)),
        }
    };
    let mut parts: Vec<String> = needs.one_of.iter().map(class).collect();
    if needs.at_least > 1 {
        parts.push(format!("at least {} bytes", needs.at_least));
    }
    if parts.is_empty() { String::new() } else { format!("{before}{}", parts.join(" and ")) }
}

fn shown_exclusion(exclusion: &Exclusion) -> String {
    let rules = match &exclusion.rules {
        RuleChoice::Ids(ids) => format!("rule {}", words::id_list(ids)),
        RuleChoice::Tag(TextMatch::Exact(tag)) => format!("tag {tag}"),
        RuleChoice::Tag(TextMatch::Pattern(pattern)) => format!("tag /{}/", pattern.source()),
    };
    let target = exclusion.target.as_ref().map_or_else(|| "whole".to_owned(), words::target);
    let when = exclusion.when.as_ref().map_or_else(|| "in all requests".to_owned(), |when| format!("when {when}"));
    format!("{rules}, {target}, {when}")
}
