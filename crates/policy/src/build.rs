//! From checked resources to what the engine compiles: expressions parsed, names resolved, files
//! read.

mod loader;
mod rule;

use std::path::Path;

use weir_engine::{Mode, PolicySpec, SelectorSpec, Specification};
use weir_gateway::resource::RESERVED_POLICY_ID;
use weir_http::{AddressSource, ClientAddressConfig};

pub(crate) use loader::read;
pub(crate) use rule::Builder;
use rule::Names;

use crate::action::sec_lang;
use crate::check::{Fields, Value};
use crate::error::Reporter;
use crate::geo;
use crate::list::{self, Kinds};
use crate::rule_set::RuleSetNeeds;
use crate::source::Source;
use crate::{MAX_POLICIES, RuleLabel};

/// All that a policy file makes.
#[derive(Default)]
pub(crate) struct Built {
    pub specification: Specification,
    pub labels: Vec<RuleLabel>,
    /// Where each rule's condition is, for what only compiling finds.
    pub places: Vec<usize>,
    pub client_address: ClientAddressConfig,
    pub revision: String,
    pub needs: RuleSetNeeds,
}

/// Builds everything; what is wrong goes to the reporter.
pub(crate) fn build(root: &Fields<'_>, source: &Source, folder: &Path, reporter: &mut Reporter) -> Built {
    let mut kinds = Kinds::default();
    for (_, name, item) in root.map("lists") {
        if let Some(fields) = item.as_fields() {
            kinds.learn(name, fields);
        }
    }
    let mut builder = Builder::new(source, reporter, &kinds, folder);
    builder.programs.own_rules = count_rules(root);
    let mut built = Built::default();
    if let Some(fields) = root.fields("client_address") {
        built.client_address = client_address(fields);
    }
    if let Some(fields) = root.fields("geo") {
        builder.has_geo = true;
        built.specification.geo = geo::build(fields, &mut builder);
    }
    for (_, name, item) in root.map("lists") {
        let list = item.as_fields().and_then(|fields| list::build(name, fields, &mut builder));
        built.specification.lists.extend(list.map(|list| ((*name).to_owned(), list)));
    }
    for (_, name, item) in root.map("rule_sets") {
        let Some(fields) = item.as_fields() else { continue };
        either_rules_or_files(fields, &mut builder);
        let roots = sec_lang::set(name, fields, &mut builder);
        builder.rule_sets.insert((*name).to_owned(), roots);
    }
    policies(root, &mut builder, &mut built);
    builder.check_unused_sets();
    built.specification.rate_limits = builder.limits();
    built.needs = builder.programs.needs;
    built.labels.append(&mut builder.programs.labels);
    built.revision = root.text("revision").map_or_else(|| builder.digest.finish(), str::to_owned);
    built
}

/// A named rule set is a text or files.
fn either_rules_or_files(fields: &Fields<'_>, builder: &mut Builder<'_>) {
    match (fields.key_node("rules"), fields.key_node("files")) {
        (None, None) if fields.lacks(&["rules", "files"]) => {
            builder.fault(fields.node, "a rule set needs `rules` or `files`", None);
        }
        (Some(_), Some(node)) => {
            builder.fault(node, "a rule set has either `rules` or `files`", Some("make two of it".to_owned()));
        }
        _ => {}
    }
}

/// Rules of the file itself: those of rule sets are numbered after them.
fn count_rules(root: &Fields<'_>) -> u32 {
    let policies = root.items("policies").iter().filter_map(|item| item.as_fields());
    let count = |fields: &Fields<'_>| fields.items("rules").len();
    let of_policy = |policy: &Fields<'_>| {
        count(policy) + policy.items("selectors").iter().filter_map(|item| item.as_fields()).map(count).sum::<usize>()
    };
    policies.map(of_policy).sum::<usize>() as u32
}

fn client_address(fields: &Fields<'_>) -> ClientAddressConfig {
    let network = |value: &Value<'_>| if let Value::Network(network) = value { Some(*network) } else { None };
    let source = match fields.choice("from") {
        Some("forwarded") => AddressSource::Forwarded,
        Some("proxy_protocol") => AddressSource::ProxyProtocol,
        _ => AddressSource::XForwardedFor,
    };
    ClientAddressConfig {
        trusted: fields.items("trusted").iter().filter_map(|item| network(&item.value)).collect(),
        source,
    }
}

fn policies(root: &Fields<'_>, builder: &mut Builder<'_>, built: &mut Built) {
    let items = root.items("policies");
    if let Some(item) = items.get(MAX_POLICIES) {
        let message = format!("{} policies; at most {MAX_POLICIES} are possible in a file", items.len());
        builder.fault(item.node, message, Some("use selectors within a policy".to_owned()));
    }
    let (mut policies, mut rules) = (Names::default(), Names::default());
    for policy in items.iter().filter_map(|item| item.as_fields()) {
        let id = policies.claim(policy, "policy", "the file", builder).unwrap_or_default();
        if id == RESERVED_POLICY_ID {
            let message = format!("`{RESERVED_POLICY_ID}` cannot be a policy's id");
            builder.fault(policy.node, message, Some("`weir_apply none` means no policy".to_owned()));
        }
        let mode = if policy.choice("mode") == Some("detect") { Mode::Detect } else { Mode::On };
        builder.detects = mode == Mode::Detect;
        let selectors = selectors(policy, id, &mut rules, builder, built);
        built.specification.policies.push(PolicySpec { id: id.to_owned(), mode, selectors });
    }
}

/// Id of the selector that a policy's own `rules` get.
const DEFAULT_SELECTOR: &str = "default";

fn selectors(
    policy: &Fields<'_>,
    id: &str,
    rules: &mut Names,
    builder: &mut Builder<'_>,
    built: &mut Built,
) -> Vec<SelectorSpec> {
    match (policy.key_node("selectors"), policy.key_node("rules")) {
        (None, None) if policy.lacks(&["rules", "selectors"]) => {
            let hint = "write `rules:` for all traffic, or `selectors:` to pick some".to_owned();
            builder.fault(policy.node, "a policy needs `rules` or `selectors`", Some(hint));
        }
        (Some(_), Some(node)) => {
            let hint = "move the rules into a selector without `when`".to_owned();
            builder.fault(node, "a policy has either `rules` or `selectors`", Some(hint));
        }
        _ => {}
    }
    let mut names = Names::default();
    let mut all = Vec::new();
    if policy.key_node("rules").is_some() {
        all.push(builder.selector(policy, (id, DEFAULT_SELECTOR), None, rules, built));
    }
    for fields in policy.items("selectors").iter().filter_map(|item| item.as_fields()) {
        let name = names.claim(fields, "selector", "its policy", builder).unwrap_or_default();
        let when = fields.get("when").and_then(|item| builder.condition(item));
        all.push(builder.selector(fields, (id, name), when, rules, built));
    }
    all
}
