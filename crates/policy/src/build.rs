//! From checked resources to what the engine compiles: expressions parsed, names resolved, files read.
//!
//! A policy file is one source; the documents of a gateway are one each, and errors lead to them.

mod loader;
mod rule;

use std::collections::HashMap;
use std::path::Path;

use weir_auth::{Consumers, CredentialKind};
use weir_engine::{MAX_PLAN_POLICIES, Mode, PolicySpec, SelectorSpec, Specification};
use weir_gateway::resource::RESERVED_POLICY_ID;
use weir_http::{AddressSource, ClientAddressConfig};

pub(crate) use rule::Builder;
use rule::Names;

use crate::action::sec_lang;
use crate::check::{Fields, Value};
use crate::consumer::{self, Secrets};
use crate::document::Node;
use crate::error::Reporter;
use crate::files::FileSource;
use crate::geo;
use crate::inspector;
use crate::list::{self, Kinds};
use crate::rule_set::RuleSetNeeds;
use crate::source::Source;
use crate::table::form::MAX_SECRET_BYTES;
use crate::{MAX_POLICIES, RuleLabel};

/// A mapping to build, and the source that it stands in.
pub(crate) struct Input<'n> {
    /// Its name, unless it says that itself.
    pub name: &'n str,
    pub fields: &'n Fields<'n>,
    /// Position of the source.
    pub source: usize,
}

/// What is built together: a policy file, or the documents of a gateway.
#[derive(Default)]
pub(crate) struct Inputs<'n> {
    pub revision: Option<&'n str>,
    pub client_address: Option<Input<'n>>,
    pub geo: Option<Input<'n>>,
    pub lists: Vec<Input<'n>>,
    pub rule_sets: Vec<Input<'n>>,
    pub consumers: Vec<Input<'n>>,
    pub inspectors: Vec<Input<'n>>,
    pub policies: Vec<Input<'n>>,
}

impl<'n> Inputs<'n> {
    /// All of a policy file, the only source.
    pub fn of_file(root: &'n Fields<'n>) -> Self {
        let of = |name: &'n str, fields: &'n Fields<'n>| Input { name, fields, source: 0 };
        let map = |key: &str| -> Vec<Input<'n>> {
            root.map(key).iter().filter_map(|(_, name, item)| Some(of(name, item.as_fields()?))).collect()
        };
        Self {
            revision: root.text("revision"),
            client_address: root.fields("client_address").map(|fields| of("", fields)),
            geo: root.fields("geo").map(|fields| of("", fields)),
            lists: map("lists"),
            rule_sets: map("rule_sets"),
            consumers: map("consumers"),
            inspectors: map("inspectors"),
            policies: root.items("policies").iter().filter_map(|item| Some(of("", item.as_fields()?))).collect(),
        }
    }

    /// How many rules policies have: those of rule sets are numbered after them.
    fn count_rules(&self) -> u32 {
        let count = |fields: &Fields<'_>| fields.items("rules").len();
        let of_policy = |policy: &Fields<'_>| {
            let selectors = policy.items("selectors").iter().filter_map(|item| item.as_fields());
            count(policy) + selectors.map(count).sum::<usize>()
        };
        self.policies.iter().map(|policy| of_policy(policy.fields)).sum::<usize>() as u32
    }
}

/// What is built.
#[derive(Default)]
pub(crate) struct Built {
    pub specification: Specification,
    pub labels: Vec<RuleLabel>,
    /// Where each rule's condition is (position of the source, byte offset), for what only compiling finds.
    pub places: Vec<(usize, usize)>,
    pub client_address: ClientAddressConfig,
    pub revision: String,
    pub needs: RuleSetNeeds,
    pub consumers: Consumers,
}

/// Builds everything; what is wrong goes to the reporter. `sources` are all that the inputs stand in, and at least one.
/// Relative names of files begin at a folder.
pub(crate) fn build(
    inputs: &Inputs<'_>,
    sources: &[Source],
    (files, folder): (&dyn FileSource, &Path),
    reporter: &mut Reporter,
) -> Built {
    let mut kinds = Kinds::default();
    inputs.lists.iter().for_each(|list| kinds.learn(list.name, list.fields));
    let mut builder = Builder::new(sources, reporter, &kinds, (files, folder));
    for source in sources {
        if source.document.is_some() {
            builder.digest.add(source.file.as_bytes());
        }
        builder.digest.add(source.text.as_bytes());
    }
    builder.programs.own_rules = inputs.count_rules();
    let mut built = Built::default();
    if let Some(input) = &inputs.client_address {
        built.client_address = client_address(input.fields);
    }
    if let Some(input) = &inputs.geo {
        builder.enter(input.source);
        let named = |key: &&str| input.fields.key_node(key).is_some();
        builder.databases = geo::DATABASES.into_iter().filter(named).collect();
        built.specification.geo = geo::build(input.fields, &mut builder);
    }
    for input in &inputs.lists {
        builder.enter(input.source);
        let list = list::build(input.name, input.fields, &mut builder);
        built.specification.lists.extend(list.map(|list| (input.name.to_owned(), list)));
    }
    for input in &inputs.rule_sets {
        builder.enter(input.source);
        either_rules_or_files(input.fields, &mut builder);
        let roots = sec_lang::set(input.name, input.fields, &mut builder);
        builder.rule_sets.insert(input.name.to_owned(), (roots, input.source));
    }
    consumers(inputs, &mut builder, &mut built);
    for input in &inputs.inspectors {
        builder.enter(input.source);
        let inspector = inspector::build(input.name, input.fields, &mut builder);
        builder.inspectors.insert(input.name.to_owned(), inspector);
    }
    policies(inputs, &mut builder, &mut built);
    builder.check_unused_sets();
    built.specification.rate_limits = builder.limits();
    built.needs = builder.programs.needs;
    built.labels.append(&mut builder.programs.labels);
    built.revision = inputs.revision.map_or_else(|| builder.digest.finish(), str::to_owned);
    built
}

/// The consumers of a policy file; those of a gateway are no part of its policies.
fn consumers(inputs: &Inputs<'_>, builder: &mut Builder<'_>, built: &mut Built) {
    let mut taken: HashMap<(CredentialKind, Vec<u8>), &str> = HashMap::new();
    for input in &inputs.consumers {
        builder.enter(input.source);
        builder.reporter.hides = true;
        let consumer = consumer::consumer(input.name, input.fields, builder);
        builder.reporter.hides = false;
        let Some(consumer) = consumer else { continue };
        let Ok(consumer) = weir_gateway::consumer(&consumer) else { continue };
        for credential in &consumer.credentials {
            if let Some(first) = taken.insert((credential.kind, credential.id.clone()), input.name) {
                let message = format!("a credential of `{}` is already one of `{first}`", consumer.id);
                builder.fault(input.fields.node, message, Some("requests could not tell them apart".to_owned()));
            }
        }
        built.consumers.put(consumer);
    }
}

impl Secrets for Builder<'_> {
    fn secret(&mut self, fields: &Fields<'_>) -> Option<String> {
        let (found, hint) = match (fields.text("value"), fields.text("env"), fields.text("file")) {
            (Some(value), ..) => return Some(value.to_owned()),
            (None, Some(name), _) => {
                let value = std::env::var(name).ok().filter(|value| !value.is_empty());
                (value.ok_or(format!("there is no environment variable `{name}` here")), "nginx reads the policy")
            }
            (None, None, Some(file)) => (self.secret_file(file), "make it readable for the user that starts nginx"),
            (None, None, None) if fields.key_node("sha256").is_none() => return None, // reported
            (None, None, None) => {
                let why = "a policy file has no secrets for which a hash could stand";
                (Err(why.to_owned()), "give the secret by `value`, `env` or `file`")
            }
        };
        match found {
            Ok(secret) => Some(secret),
            Err(why) => {
                self.fault(fields.node, why, Some(hint.to_owned()));
                None
            }
        }
    }

    fn fault(&mut self, node: &Node, message: String, hint: Option<&'static str>) {
        Builder::fault(self, node, message, hint.map(str::to_owned));
    }
}

impl Builder<'_> {
    /// The first line of a file.
    fn secret_file(&self, file: &str) -> Result<String, String> {
        let path = self.folder.join(file);
        let content = self.files.content(&path, MAX_SECRET_BYTES as u64 + 2);
        let content = content.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let text = String::from_utf8(content.to_vec()).map_err(|_| format!("{} is not UTF-8", path.display()))?;
        let line = consumer::one_line(&text).map(str::to_owned);
        line.ok_or_else(|| format!("{} does not hold one line", path.display()))
    }
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

fn policies(inputs: &Inputs<'_>, builder: &mut Builder<'_>, built: &mut Built) {
    let (mut policies, mut rules) = (Names::default(), Names::default());
    for (n, Input { name, fields: policy, source }) in inputs.policies.iter().enumerate() {
        builder.enter(*source);
        let (most, hint) = match builder.source.document {
            Some(_) => (MAX_POLICIES, None),
            None => (MAX_PLAN_POLICIES, Some("use selectors within a policy".to_owned())),
        };
        if n == most {
            let message =
                format!("{} policies; at most {most} are possible in {}", inputs.policies.len(), builder.whole());
            builder.fault(policy.node, message, hint);
        }
        let id = match builder.source.document {
            Some(_) => name,
            None => policies.claim(policy, "policy", "the file", builder).unwrap_or_default(),
        };
        if id == RESERVED_POLICY_ID {
            let message = format!("`{RESERVED_POLICY_ID}` cannot be a policy's id");
            builder.fault(policy.node, message, Some("`weir_apply none` means no policy".to_owned()));
        }
        let mode = if policy.choice("mode") == Some("detect") { Mode::Detect } else { Mode::On };
        builder.detects = mode == Mode::Detect;
        let selectors = selectors(policy, id, &mut rules, builder, built);
        let inflate = policy.flag_or("inflate");
        built.specification.policies.push(PolicySpec { id: id.to_owned(), mode, inflate, selectors });
    }
}

/// Id of the selector that a policy's own `rules` get.
const DEFAULT_SELECTOR: &str = "default";

fn selectors<'b>(
    policy: &Fields<'_>,
    id: &str,
    rules: &mut Names<'b>,
    builder: &mut Builder<'b>,
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
