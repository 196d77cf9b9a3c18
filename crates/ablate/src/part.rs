//! NginxParts: what is switched off together, found in a policy by rule, plugin, group, policy or tag.
//!
//! A rule is switched off by the condition `false`, not by taking it out: the engine folds such a
//! rule away when it compiles, so it costs nothing per request, and the rest of the document stays
//! as it is, ids, order and lists included. An action's mode was the alternative; it still evaluates.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use weir_measure::error::MeasureError;

/// Most parts of one run: each is measured twice in every round.
pub const MAX_PARTS: usize = 128;
/// The condition of a rule that is off.
const OFF: &str = "false";
/// Name of the part that has what no tag is on.
const UNTAGGED: &str = "(untagged)";

/// The unit of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Each rule
    Rule,
    /// Rules with the same first action
    Plugin,
    /// Rules whose ids begin with the same word (`path-...`, `args-...`), or with a --group
    Group,
    /// Rules of the same policy
    Policy,
    /// Rules with the same first tag
    Tag,
}

/// A rule of a policy, as far as parts are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Id of its policy.
    pub policy: String,
    /// Its own id.
    pub id: String,
    /// Name of its first action.
    pub plugin: String,
    /// Its first tag.
    pub tag: Option<String>,
}

/// Rules that are switched off together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in the results.
    pub name: String,
    /// Policy and id of each rule.
    pub rules: Vec<(String, String)>,
}

impl Part {
    /// A part that is not made of rules: a configuration of its own.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), rules: Vec::new() }
    }
}

/// The policies of a policy file or of a state: id and body of each.
#[must_use]
pub fn policies(document: &Value) -> Vec<(String, &Value)> {
    match &document["policies"] {
        Value::Array(all) => {
            all.iter().map(|body| (body["id"].as_str().unwrap_or_default().to_owned(), body)).collect()
        }
        Value::Object(all) => all.iter().map(|(id, body)| (id.clone(), body)).collect(),
        _ => Vec::new(),
    }
}

/// The rules of a policy's body, in its order.
#[must_use]
pub fn rules_of(policy: &str, body: &Value) -> Vec<Rule> {
    let nested = body["selectors"].as_array().into_iter().flatten().flat_map(|selector| list(&selector["rules"]));
    list(&body["rules"]).chain(nested).map(|rule| rule_of(policy, rule)).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn rule_of(policy: &str, rule: &Value) -> Rule {
    let actions: Vec<&Value> = list(&rule["actions"]).chain(rule.get("action")).collect();
    let tag = actions.iter().find_map(|action| {
        let tag = action.get("tag")?;
        Some(tag.as_str().or_else(|| tag["name"].as_str())?.to_owned())
    });
    let name = |action: &Value| match action {
        Value::String(name) => name.clone(),
        Value::Object(keys) => keys.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    Rule {
        policy: policy.to_owned(),
        id: rule["id"].as_str().unwrap_or_default().to_owned(),
        plugin: actions.first().map(|action| name(action)).unwrap_or_default(),
        tag,
    }
}

/// Switches rules of a policy's body off; how many.
pub fn switch_off(policy: &str, body: &mut Value, off: &HashSet<(&str, &str)>) -> usize {
    let mut count = 0;
    let mut each = |rules: &mut Value| {
        for rule in rules.as_array_mut().into_iter().flatten() {
            let id = rule["id"].as_str().unwrap_or_default();
            if off.contains(&(policy, id)) {
                rule["when"] = json!(OFF);
                count += 1;
            }
        }
    };
    if let Some(rules) = body.get_mut("rules") {
        each(rules);
    }
    for selector in body.get_mut("selectors").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(rules) = selector.get_mut("rules") {
            each(rules);
        }
    }
    count
}

/// The rules of the parts that are off.
#[must_use]
pub fn off<'p>(parts: &'p [Part], on: &[bool]) -> HashSet<(&'p str, &'p str)> {
    let switched = parts.iter().zip(on).filter(|(_, on)| !**on);
    switched.flat_map(|(part, _)| part.rules.iter().map(|(policy, id)| (policy.as_str(), id.as_str()))).collect()
}

/// Divides rules into parts, in the order of their first rules. With `groups`, only rules whose ids
/// begin with one of them are in a part; the others stay on in every variant. With `only`, only the
/// parts of these names.
pub fn parts(rules: &[Rule], by: By, groups: &[String], only: &[String]) -> Result<Vec<Part>, MeasureError> {
    if let Some(unknown) = groups.iter().find(|group| !rules.iter().any(|rule| rule.id.starts_with(group.as_str()))) {
        return Err(MeasureError::Usage(format!("no rule's id begins with {unknown}; {}", known(rules))));
    }
    let mut found: Vec<Part> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for rule in rules {
        let Some(name) = name(rule, by, groups) else { continue };
        let place = *places.entry(name.clone()).or_insert_with(|| {
            found.push(Part::named(name));
            found.len() - 1
        });
        found[place].rules.push((rule.policy.clone(), rule.id.clone()));
    }
    if let Some(unknown) = only.iter().find(|name| !found.iter().any(|part| part.name == **name)) {
        let names: Vec<&str> = found.iter().map(|part| part.name.as_str()).collect();
        return Err(MeasureError::Usage(
            format!("there is no {by:?} {unknown}; there are {}", names.join(", ")).to_lowercase(),
        ));
    }
    found.retain(|part| only.is_empty() || only.contains(&part.name));
    match found.len() {
        0 => Err(MeasureError::Usage("the policy has no rules that could be switched off".into())),
        count if count > MAX_PARTS => Err(MeasureError::Usage(format!(
            "{count} parts are more than the {MAX_PARTS} of one run; take --by group, --group PREFIX or --only NAME"
        ))),
        _ => Ok(found),
    }
}

fn name(rule: &Rule, by: By, groups: &[String]) -> Option<String> {
    if !groups.is_empty() {
        // Of several that fit the longest is meant: `args-` and `args-sql-` may be given together.
        return groups
            .iter()
            .filter(|group| rule.id.starts_with(group.as_str()))
            .max_by_key(|group| group.len())
            .cloned();
    }
    Some(match by {
        By::Rule => rule.id.clone(),
        By::Plugin => rule.plugin.clone(),
        By::Group => rule.id.split(['-', '_', '.', ':', '/']).next().unwrap_or_default().to_owned(),
        By::Policy => rule.policy.clone(),
        By::Tag => rule.tag.clone().unwrap_or_else(|| UNTAGGED.to_owned()),
    })
}

fn known(rules: &[Rule]) -> String {
    /// Ids that an error names.
    const NAMED: usize = 12;
    let ids: Vec<&str> = rules.iter().take(NAMED).map(|rule| rule.id.as_str()).collect();
    format!("there are {}{}", ids.join(", "), if rules.len() > NAMED { ", ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({"policies": [
            {"id": "a", "rules": [
                {"id": "path-x", "when": "ssl", "action": "block"},
                {"id": "path-y", "when": "ssl", "actions": [{"tag": "t"}, "block"]},
            ]},
            {"id": "b", "selectors": [{"id": "s", "when": "ssl", "rules": [
                {"id": "args", "when": "ssl", "actions": [{"log": {}}, {"tag": {"name": "u"}}]},
            ]}]},
        ]})
    }

    fn rules() -> Vec<Rule> {
        policies(&document()).iter().flat_map(|(id, body)| rules_of(id, body)).collect()
    }

    fn names(by: By, groups: &[&str], only: &[&str]) -> Result<Vec<String>, String> {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let parts = parts(&rules(), by, &owned(groups), &owned(only)).map_err(|error| error.to_string())?;
        Ok(parts.iter().map(|part| format!("{} {}", part.name, part.rules.len())).collect())
    }

    #[test]
    fn every_way_to_divide_them() {
        for (by, groups, only, want) in [
            (By::Rule, &[][..], &[][..], &["path-x 1", "path-y 1", "args 1"][..]),
            (By::Plugin, &[], &[], &["block 1", "tag 1", "log 1"]),
            (By::Group, &[], &[], &["path 2", "args 1"]),
            (By::Policy, &[], &[], &["a 2", "b 1"]),
            (By::Tag, &[], &[], &["(untagged) 1", "t 1", "u 1"]),
            (By::Group, &["path-", "path-y"], &[], &["path- 1", "path-y 1"]),
            (By::Rule, &[], &["args"], &["args 1"]),
        ] {
            assert_eq!(names(by, groups, only).unwrap(), want, "{by:?}");
        }
        assert!(names(By::Group, &["pth"], &[]).unwrap_err().contains("there are path-x, path-y, args"));
        assert!(names(By::Rule, &[], &["arg"]).unwrap_err().contains("no rule arg;"));
    }

    #[test]
    fn a_rule_that_is_off_has_the_condition_false_and_nothing_else_changes() {
        let parts = parts(&rules(), By::Group, &[], &[]).unwrap();
        let off = off(&parts, &[true, false]);
        let mut document = document();
        let before = document.clone();
        let switched: usize = ["a", "b"]
            .iter()
            .enumerate()
            .map(|(n, policy)| switch_off(policy, &mut document["policies"][n], &off))
            .sum();
        assert_eq!(switched, 1);
        assert_eq!(document["policies"][1]["selectors"][0]["rules"][0]["when"], "false");
        document["policies"][1]["selectors"][0]["rules"][0]["when"] = json!("ssl");
        assert_eq!(document, before);
    }
}
