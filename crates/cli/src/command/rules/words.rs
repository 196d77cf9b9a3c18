//! Parts of a SecLang rule in the words of SecLang.

use weir_rules::seclang::ir::{
    AllowScope, Change, Collection, Comparison, Control, Disruption, Effect, Flow, Link, Macro, Operator, PatternText,
    Piece, Rule, Selector, Target, Verify,
};

use super::said::lossless;
use crate::table::counted;

/// What an operator is and what it takes.
pub(super) fn operator(operator: &Operator) -> (&'static str, String) {
    let pattern = |pattern: &PatternText| match pattern {
        PatternText::Ready(pattern) => pattern.source().to_owned(),
        PatternText::Macro(text) => self::text(text),
    };
    match operator {
        Operator::UnconditionalMatch => ("unconditionalMatch", String::new()),
        Operator::NoMatch => ("noMatch", String::new()),
        Operator::Rx { pattern: text, global: false } => ("rx", pattern(text)),
        Operator::Rx { pattern: text, global: true } => ("rxGlobal", pattern(text)),
        Operator::Pm(phrases) => ("pm", self::phrases(phrases)),
        Operator::Within(text) => ("within", self::text(text)),
        Operator::Contains(text) => ("contains", self::text(text)),
        Operator::ContainsWord(text) => ("containsWord", self::text(text)),
        Operator::StrMatch(text) => ("strmatch", self::text(text)),
        Operator::BeginsWith(text) => ("beginsWith", self::text(text)),
        Operator::EndsWith(text) => ("endsWith", self::text(text)),
        Operator::StrEq(text) => ("streq", self::text(text)),
        Operator::Compare(comparison, text) => (name(*comparison), self::text(text)),
        Operator::IpMatch(networks) => {
            ("ipMatch", networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        }
        Operator::DetectSqli => ("detectSQLi", String::new()),
        Operator::DetectXss => ("detectXSS", String::new()),
        Operator::ValidateByteRange(allowed) => ("validateByteRange", ranges(allowed)),
        Operator::ValidateUrlEncoding => ("validateUrlEncoding", String::new()),
        Operator::ValidateUtf8Encoding => ("validateUtf8Encoding", String::new()),
        Operator::Verify(kind, pattern) => (verify(*kind), pattern.source().to_owned()),
        Operator::GeoLookup => ("geoLookup", String::new()),
        Operator::Rbl(zone) => ("rbl", zone.clone()),
    }
}

fn name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "eq",
        Comparison::Ge => "ge",
        Comparison::Gt => "gt",
        Comparison::Le => "le",
        Comparison::Lt => "lt",
    }
}

fn verify(kind: Verify) -> &'static str {
    match kind {
        Verify::CreditCard => "verifyCC",
        Verify::Ssn => "verifySSN",
        Verify::Cpf => "verifyCPF",
        Verify::Svnr => "verifySVNR",
    }
}

fn phrases(phrases: &[Vec<u8>]) -> String {
    const SHOWN: usize = 12;
    let listed: Vec<String> = phrases.iter().take(SHOWN).map(|phrase| lossless(phrase)).collect();
    let more = phrases.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" … and {}", counted(more as u64, "more phrase")) } else { String::new() };
    format!("{}{more}", listed.join(" "))
}

/// Bytes of a set as `9,10,32-126`.
pub(super) fn ranges(words: &[u64; 4]) -> String {
    let has = |byte: usize| words[byte / 64] >> (byte % 64) & 1 == 1;
    let mut parts = Vec::new();
    let mut byte = 0;
    while byte < 256 {
        if has(byte) {
            let first = byte;
            while byte < 255 && has(byte + 1) {
                byte += 1;
            }
            parts.push(if first == byte { first.to_string() } else { format!("{first}-{byte}") });
        }
        byte += 1;
    }
    parts.join(",")
}

/// A text with its macros as they were written.
pub(super) fn text(text: &Macro) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => lossless(text),
        Piece::Variable(variable, None) => format!("%{{{}}}", variable.name()),
        Piece::Variable(variable, Some(name)) => format!("%{{{}.{}}}", variable.name(), lossless(name)),
    };
    text.0.iter().map(piece).collect()
}

/// A target, such as `ARGS:id`.
pub(crate) fn target(target: &Target) -> String {
    let count = if target.count { "&" } else { "" };
    let member = match &target.selector {
        Selector::All => String::new(),
        Selector::Name(name) => format!(":{}", lossless(name)),
        // The loader puts (?i) before it: names of members have no case.
        Selector::Pattern(pattern) => format!(":/{}/", pattern.source().trim_start_matches("(?i)")),
    };
    format!("{count}{}{member}", target.variable.name())
}

/// Everything that a link looks at, exclusions last.
pub(super) fn targets(link: &Link) -> Vec<String> {
    let Some(test) = &link.test else { return Vec::new() };
    let left_out = test.exclusions.iter().map(|one| format!("!{}", target(one)));
    test.targets.iter().map(target).chain(left_out).collect()
}

/// Names of a link's transformations.
pub(super) fn transformations(link: &Link) -> Vec<&'static str> {
    link.transformations.iter().map(|one| one.info().name).collect()
}

/// What a match does besides deciding.
pub(super) fn effect(effect: &Effect) -> String {
    match effect {
        Effect::SetVariable { collection, name, change } => {
            let name = format!("{}.{}", self::collection(*collection), text(name));
            match change {
                Change::Set(value) => format!("sets {name} to {}", quoted(value)),
                Change::Add(value) => format!("adds {}{} to {name}", text(value), points(value)),
                Change::Subtract(value) => format!("takes {} from {name}", text(value)),
                Change::Unset => format!("removes {name}"),
            }
        }
        Effect::ExpireVariable { collection, name, seconds } => {
            format!("lets {}.{} vanish after {} s", self::collection(*collection), text(name), text(seconds))
        }
        Effect::InitCollection(collection, key) => {
            format!("uses the record {} of {}", quoted(key), self::collection(*collection))
        }
        Effect::SetEnvironment(name, _) => format!("sets the environment's {}", text(name)),
        Effect::Control(control) => self::control(control),
    }
}

fn quoted(value: &Macro) -> String {
    format!("\"{}\"", text(value))
}

/// What CRS's macros for scores come to unless its setup says otherwise.
fn points(value: &Macro) -> &'static str {
    const POINTS: [(&str, &str); 4] = [
        ("critical_anomaly_score", " (5 unless the setup differs)"),
        ("error_anomaly_score", " (4 unless the setup differs)"),
        ("warning_anomaly_score", " (3 unless the setup differs)"),
        ("notice_anomaly_score", " (2 unless the setup differs)"),
    ];
    let text = text(value);
    POINTS.iter().find(|(name, _)| text.contains(name)).map_or("", |(_, points)| points)
}

fn collection(collection: Collection) -> &'static str {
    match collection {
        Collection::Tx => "tx",
        Collection::Ip => "ip",
        Collection::Global => "global",
        Collection::Session => "session",
        Collection::User => "user",
        Collection::Resource => "resource",
    }
}

fn control(control: &Control) -> String {
    let ids = |ids: &[(u64, u64)]| id_list(ids);
    match control {
        Control::RuleEngine(engine) => format!("switches the engine: {engine:?}"),
        Control::RequestBodyAccess(on) => format!("looks at the request's body: {on}"),
        Control::ResponseBodyAccess(on) => format!("looks at the response's body: {on}"),
        Control::RequestBodyProcessor(processor) => format!("reads the body as {processor:?}"),
        Control::ForceRequestBodyVariable(on) => format!("keeps the body as REQUEST_BODY: {on}"),
        Control::Ignored => "a control without a meaning in Weir".to_owned(),
        Control::RemoveById(rules) => format!("takes out rules {}", ids(rules)),
        Control::RemoveByTag(_) => "takes out rules by tag".to_owned(),
        Control::RemoveByMessage(_) => "takes out rules by message".to_owned(),
        Control::RemoveTargetById(rules, what) => format!("takes {} out of rules {}", target(what), ids(rules)),
        Control::RemoveTargetByTag(_, what) => format!("takes {} out of rules by tag", target(what)),
        Control::RemoveTargetByMessage(_, what) => format!("takes {} out of rules by message", target(what)),
    }
}

/// Ids and ranges.
pub(super) fn id_list(ids: &[(u64, u64)]) -> String {
    let one = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ids.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The effect of a match on the request.
pub(super) fn decision(rule: &Rule) -> String {
    let decision = match &rule.disruption {
        Disruption::Pass => "the request goes on".to_owned(),
        Disruption::Deny { status } => format!("the request is answered with {status}"),
        Disruption::Drop => "the connection is closed".to_owned(),
        Disruption::Redirect { status, to } => format!("the request is redirected ({status}) to {}", text(to)),
        Disruption::Allow(AllowScope::All) => "no more rules are run".to_owned(),
        Disruption::Allow(AllowScope::Phase) => "no more rules of this phase are run".to_owned(),
        Disruption::Allow(AllowScope::Request) => "no more rules of phases 1 and 2 are run".to_owned(),
    };
    match &rule.flow {
        Flow::Next => decision,
        Flow::Skip(count) => format!("{decision}, past the next {}", counted(u64::from(*count), "rule")),
        Flow::SkipAfter(marker) => format!("{decision} after the marker {marker}"),
    }
}

#[cfg(test)]
mod tests {
    use weir_rules::seclang::ir::RuleSetEntry;
    use weir_rules::seclang::{Options, RuleSource, load};

    use super::*;

    fn rule(text: &str) -> Rule {
        let root = RuleSource::Text { name: "t".into(), text: text.into() };
        let entries = load(&[root], &Options::default()).expect("loads").set.entries;
        let found = entries.into_iter().find_map(|entry| match entry {
            RuleSetEntry::Rule(rule) => Some(*rule),
            RuleSetEntry::Marker(_) => None,
        });
        found.expect("a rule")
    }

    #[test]
    fn a_rule_reads_as_it_was_written() {
        let rule = rule(
            "SecRule ARGS|!ARGS:/^x/|&REQUEST_HEADERS:Host \"!@validateByteRange 9,32-126\" \
             \"id:1,phase:2,deny,status:404,t:none,t:lowercase,t:urlDecode,\
             setvar:'tx.score=+%{tx.critical_anomaly_score}',ctl:ruleRemoveById=5-7\"\n",
        );
        let link = &rule.links[0];
        assert_eq!(targets(link), ["ARGS", "&REQUEST_HEADERS:host", "!ARGS:/^x/"]);
        assert_eq!(transformations(link), ["lowercase", "urlDecode"]);
        let test = link.test.as_ref().expect("a test");
        assert_eq!(operator(&test.operator), ("validateByteRange", "9,32-126".to_owned()));
        let effects: Vec<String> = link.effects.iter().map(effect).collect();
        let adds = "adds %{TX.critical_anomaly_score} (5 unless the setup differs) to tx.score";
        assert_eq!(effects, [adds, "takes out rules 5-7"]);
        assert_eq!(decision(&rule), "the request is answered with 404");
    }
}
