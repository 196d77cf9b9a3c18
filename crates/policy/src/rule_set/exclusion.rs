//! Exclusions: from the policy's words to the engine's choice of rules and targets, each checked
//! against the rule set that it is for. An exclusion that hits nothing is a slip: it would leave
//! people wondering why the false positives go on.

use weir_engine::seclang::{Exclusion, Program, RuleChoice, RuleInfo};
use weir_rules::Phase;
use weir_rules::ir::Expr;
use weir_rules::seclang::ir::{RuleSetEntry, Target, TextMatch};
use weir_rules::seclang::{Options, RuleSource};

use crate::build::Builder;
use crate::check::{Fields, Value};
use crate::document::quoted;

/// Longest target.
const MAX_TARGET_BYTES: usize = 1024;

/// The exclusions of an action, as far as they are right.
pub(crate) fn exclusions(fields: &Fields<'_>, program: &Program, builder: &mut Builder<'_>) -> Vec<Exclusion> {
    let items = fields.items("exclude").iter().filter_map(|item| item.as_fields());
    items.filter_map(|fields| exclusion(fields, program, builder)).collect()
}

fn exclusion(fields: &Fields<'_>, program: &Program, builder: &mut Builder<'_>) -> Option<Exclusion> {
    let rules = choice(fields, program, builder);
    let target = match fields.text("target") {
        Some(text) => Some(target(text, fields, builder)?),
        None => None,
    };
    let when = when(fields, builder);
    if fields.key_node("when").is_some() && when.is_none() {
        return None; // reported
    }
    Some(Exclusion { rules: rules?, target, when })
}

fn choice(fields: &Fields<'_>, program: &Program, builder: &mut Builder<'_>) -> Option<RuleChoice> {
    match (fields.key_node("rule"), fields.key_node("tag")) {
        (None, None) if fields.lacks(&["rule", "tag"]) => {
            let hint = "write `rule: 942100` or `tag: attack-sqli`".to_owned();
            builder.fault(fields.node, "an exclusion needs `rule` or `tag`", Some(hint));
            return None;
        }
        (Some(_), Some(node)) => {
            let hint = "write two exclusions".to_owned();
            builder.fault(node, "an exclusion has either `rule` or `tag`", Some(hint));
            return None;
        }
        _ => {}
    }
    if let Some(item) = fields.get("rule") {
        let Value::RuleIds(ranges) = &item.value else { return None };
        let rules = program.rules();
        for (first, last) in ranges {
            if !rules.iter().any(|rule| (*first..=*last).contains(&rule.id)) {
                let what = if first == last { format!("rule {first}") } else { format!("rule from {first} to {last}") };
                builder.fault(item.node, format!("the rule set has no {what}"), near_id(*first, rules));
                return None;
            }
        }
        return Some(RuleChoice::Ids(ranges.clone()));
    }
    let tag = fields.text("tag")?;
    let known = || program.rules().iter().flat_map(|rule| rule.tags.iter().map(String::as_str));
    if !known().any(|known| known == tag) {
        let hint = match weir_rules::nearest(tag, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "tags are compared whole".to_owned(),
        };
        builder.fault(fields.get("tag")?.node, format!("no rule of the set has the tag {}", quoted(tag)), Some(hint));
        return None;
    }
    Some(RuleChoice::Tag(TextMatch::Exact(tag.to_owned())))
}

/// The rules around an id that is not there.
fn near_id(wanted: u64, rules: &[RuleInfo]) -> Option<String> {
    let before = rules.iter().map(|rule| rule.id).filter(|id| *id < wanted).max();
    let after = rules.iter().map(|rule| rule.id).filter(|id| *id > wanted).min();
    match (before, after) {
        (Some(before), Some(after)) => Some(format!("its neighbours are {before} and {after}")),
        (Some(last), None) => Some(format!("the last one is {last}")),
        (None, Some(first)) => Some(format!("the first one is {first}")),
        (None, None) => Some("the rule set has no rules".to_owned()),
    }
}

/// A target as SecLang has it. The language's own parser reads it, as part of a rule.
fn target(text: &str, fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Target> {
    let node = fields.get("target")?.node;
    let breaks_out = |byte: u8| byte.is_ascii_control() || matches!(byte, b'"' | b' ' | b'|' | b'\\');
    let is_pattern = text.ends_with('/') && text.contains(":/");
    let odd = text.is_empty()
        || text.len() > MAX_TARGET_BYTES
        || text.starts_with(['!', '&'])
        || (!is_pattern && text.bytes().any(breaks_out))
        || text.bytes().any(|byte| byte.is_ascii_control() || byte == b'"');
    let expected = "expected one target of rules, such as ARGS:comment or REQUEST_COOKIES:/^id/";
    if odd {
        builder.fault(node, format!("{expected}, found {}", quoted(text)), None);
        return None;
    }
    let rule = format!("SecRule {text} \"@unconditionalMatch\" \"id:1,phase:2,pass,nolog\"\n");
    let root = RuleSource::Text { name: "target".to_owned(), text: rule };
    let loaded = match weir_rules::seclang::load(&[root], &Options::default()) {
        Ok(loaded) => loaded,
        Err(errors) => {
            let error = errors.into_iter().next()?;
            builder.fault(node, format!("{expected}: {}", error.message), error.hint);
            return None;
        }
    };
    let Some(RuleSetEntry::Rule(rule)) = loaded.set.entries.into_iter().next() else { return None };
    rule.links.into_iter().next()?.test?.targets.into_iter().next()
}

/// The condition, which has to be decidable when the rule set begins.
fn when(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Expr> {
    let item = fields.get("when")?;
    let when = builder.condition(item)?;
    if when.phase() != Phase::Request {
        let hint = "it is asked before the body is read; read only the request line, header fields and addresses";
        builder.fault(item.node, "the exclusion depends on more than the request's head", Some(hint.to_owned()));
        return None;
    }
    builder.programs.needs.see_condition(&when);
    Some(when)
}
