//! Rules: ids claimed, expressions parsed, actions made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_engine::{Action, RuleIndex, RuleSpec, SelectorSpec};
use weir_rules::ir::{Expr, Literal, ValueExpr};
use weir_rules::seclang::RuleSource;
use weir_rules::{ExpressionError, Field, Phase};

use super::Built;
use crate::RuleLabel;
use crate::check::{Fields, Item, Value};
use crate::digest::Digest;
use crate::document::{Node, place, quoted};
use crate::error::Reporter;
use crate::files::FileSource;
use crate::inspector;
use crate::leaf;
use crate::list::Kinds;
use crate::rule_set::Programs;
use crate::source::Source;

/// Ids that are taken, with the place where.
#[derive(Default)]
pub(crate) struct Names<'b>(HashMap<String, (&'b Source, usize)>);

impl<'b> Names<'b> {
    /// The resource's id, reported if it is taken.
    pub fn claim<'n>(
        &mut self,
        fields: &Fields<'n>,
        what: &str,
        within: &str,
        builder: &mut Builder<'b>,
    ) -> Option<&'n str> {
        let id = fields.text("id")?;
        let node = fields.get("id")?.node;
        if let Some((source, at)) = self.0.get(id) {
            let first = match &source.document {
                Some((_, policy)) => format!("the first is in the policy `{policy}`"),
                None => format!("the first is on line {}", source.position(*at).line),
            };
            let message = format!("the {what} id {} is already taken", quoted(id));
            builder.fault(node, message, Some(format!("it is unique in {within}; {first}")));
        } else {
            self.0.insert(id.to_owned(), (builder.source, node.at));
        }
        Some(id)
    }
}

/// Fields that need a geographic database: the key of `geo` that names it, and their value without it.
const GEO_FIELDS: [(Field, &str, &str); 3] = [
    (Field::IpSrcCountry, "country", "empty"),
    (Field::IpSrcContinent, "country", "empty"),
    (Field::IpSrcAsnum, "asn", "0"),
];

/// Makes rules and actions.
pub(crate) struct Builder<'b> {
    /// What is being built stands in it: one of `sources`, at `number`.
    pub source: &'b Source,
    number: usize,
    sources: &'b [Source],
    pub reporter: &'b mut Reporter,
    kinds: &'b Kinds,
    limits: u32,
    /// Everything read goes in here.
    pub digest: Digest,
    /// Where relative paths begin: the policy's folder.
    pub folder: &'b Path,
    /// Where files come from.
    pub files: &'b dyn FileSource,
    /// Position of the source of the rule set that is being compiled for a policy.
    pub set: Option<usize>,
    /// Named rule sets, each with the position of its source.
    pub rule_sets: HashMap<String, (Vec<RuleSource>, usize)>,
    /// Names of those that an action runs.
    pub used_sets: HashSet<String>,
    /// Inspectors; `None` for those with faults, which have been reported.
    pub inspectors: HashMap<String, Option<inspector::Built>>,
    /// Rule sets in use.
    pub programs: Programs,
    /// Keys of `geo` that name databases.
    pub databases: Vec<&'static str>,
    /// Whether the policy whose rules are being made only detects.
    pub detects: bool,
    /// Ids of the policy and selector whose rules are being made.
    pub site: (String, String),
}

impl<'b> Builder<'b> {
    pub fn new(
        sources: &'b [Source],
        reporter: &'b mut Reporter,
        kinds: &'b Kinds,
        (files, folder): (&'b dyn FileSource, &'b Path),
    ) -> Self {
        Self {
            source: &sources[0],
            number: 0,
            sources,
            reporter,
            kinds,
            limits: 0,
            digest: Digest::new(),
            folder,
            files,
            set: None,
            rule_sets: HashMap::new(),
            used_sets: HashSet::new(),
            inspectors: HashMap::new(),
            programs: Programs::default(),
            databases: Vec::new(),
            detects: false,
            site: Default::default(),
        }
    }

    /// Goes on with what stands in this source.
    pub fn enter(&mut self, number: usize) {
        (self.source, self.number) = (&self.sources[number], number);
        self.reporter.context = self.source.document_position(0);
    }

    /// Notes files that the source depends on.
    pub fn uses(&self, paths: &Arc<[PathBuf]>) {
        self.files.note(self.number, paths);
        let _ = self.set.map(|number| self.files.note(number, paths));
    }

    /// Faults of files and texts are those of this node from now on.
    pub fn point_at(&mut self, node: &Node) {
        self.reporter.context = self.source.document_position(node.at);
    }

    /// What ids of rules are unique in.
    pub fn whole(&self) -> &'static str {
        if self.source.document.is_some() { "the gateway" } else { "the file" }
    }

    /// Reports what is wrong with a node.
    pub fn fault(&mut self, node: &Node, message: impl Into<String>, hint: Option<String>) {
        self.reporter.at(self.source, node.at, message, hint);
    }

    /// Reports what is odd about a node, which refuses nothing.
    pub fn warn(&mut self, node: &Node, message: impl Into<String>, hint: Option<String>) {
        self.reporter.warn_at(self.source, node.at, message, hint);
    }

    /// A number for the next rate limit.
    pub fn next_limit(&mut self) -> u32 {
        self.limits += 1;
        self.limits - 1
    }

    /// How many rate limits there are.
    pub fn limits(&self) -> u32 {
        self.limits
    }

    /// A condition parsed, or `None` after reporting its faults at their places.
    pub fn condition(&mut self, item: &Item<'_>) -> Option<Expr> {
        let Value::Text(text) = item.value else { return None };
        let parsed = weir_rules::parse(text, self.kinds);
        let parsed = self.expression(item.node, parsed, None)?;
        let mut fields = Vec::new();
        parsed.tests(&mut |test| test.value.fields(&mut |access| fields.push(access.field)));
        self.have_data(item.node, &fields);
        Some(parsed)
    }

    /// A value expression parsed, or `None` after reporting its faults at their places.
    pub fn value(&mut self, fields: &Fields<'_>, key: &str) -> Option<ValueExpr> {
        let item = fields.get(key)?;
        let Value::Text(text) = item.value else { return None };
        let parsed = weir_rules::parse_value(text);
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_/.,:".contains(&byte));
        let hint = is_word.then(|| format!("a constant text needs quotes inside the quotes: '\"{text}\"'"));
        let parsed = self.expression(item.node, parsed, hint)?;
        let mut fields = Vec::new();
        parsed.fields(&mut |access| fields.push(access.field));
        self.have_data(item.node, &fields);
        Some(parsed)
    }

    /// Warns of fields of an expression that are always empty, because no database is configured for them.
    fn have_data(&mut self, node: &Node, fields: &[Field]) {
        for (field, key, value) in GEO_FIELDS {
            if !fields.contains(&field) || self.databases.contains(&key) {
                continue;
            }
            let name = field.info().name;
            let within = node.as_scalar().and_then(|scalar| scalar.text.find(name)).unwrap_or_default();
            let message = format!("`{name}` is always {value}: no database is configured for it");
            let hint = Some(self.geo_hint(key));
            self.reporter.warn_at(self.source, place(self.source, node, within), message, hint);
        }
    }

    /// How to configure a geographic database.
    pub fn geo_hint(&self, key: &str) -> String {
        let place = if self.source.document.is_some() { "in the gateway's settings" } else { "in the policy file" };
        format!("name an MMDB file {place}: `geo: {{{key}: /path/to/file.mmdb}}`")
    }

    /// A value for a header field: a constant must not break out of it.
    pub fn header_value(&mut self, fields: &Fields<'_>, key: &str) -> Option<ValueExpr> {
        let value = self.value(fields, key)?;
        let mut wrong = None;
        literals(&value, &mut |bytes| wrong = wrong.or(leaf::header_value(&String::from_utf8_lossy(bytes)).err()));
        let Some(hint) = wrong else { return Some(value) };
        let node = fields.get(key)?.node;
        self.fault(node, "expected a value that fits into a header", Some(hint.to_owned()));
        None
    }

    fn expression<T>(
        &mut self,
        node: &Node,
        parsed: Result<T, Vec<ExpressionError>>,
        hint: Option<String>,
    ) -> Option<T> {
        match parsed {
            Ok(parsed) => Some(parsed),
            Err(errors) => {
                for error in errors {
                    let at = place(self.source, node, error.span.start);
                    self.reporter.at(self.source, at, error.message, error.hint.or_else(|| hint.clone()));
                }
                None
            }
        }
    }

    /// A selector with the rules of `fields`.
    pub fn selector(
        &mut self,
        fields: &Fields<'_>,
        (policy, id): (&str, &str),
        when: Option<Expr>,
        names: &mut Names<'b>,
        built: &mut Built,
    ) -> SelectorSpec {
        let phase = when.as_ref().map_or(Phase::Request, Expr::phase);
        self.site = (policy.to_owned(), id.to_owned());
        let mut rules = Vec::new();
        for fields in fields.items("rules").iter().filter_map(|item| item.as_fields()) {
            let rule = self.rule(fields, phase, names, RuleIndex(built.labels.len() as u32));
            let Some((rule, plugin)) = rule else { continue };
            built.labels.push(RuleLabel {
                policy: policy.to_owned(),
                selector: id.to_owned(),
                id: rule.id.clone(),
                message: rule.message.clone(),
                line: self.source.position(fields.node.at).line,
                file: None,
                plugin,
                severity: None,
                tags: Vec::new(),
                content: fields.node.content(),
            });
            built.places.push((self.number, fields.get("when").map_or(fields.node, |item| item.node).at));
            rules.push(rule);
        }
        SelectorSpec { id: id.to_owned(), when, rules }
    }

    /// A rule and the name of its first action.
    fn rule(
        &mut self,
        fields: &Fields<'_>,
        phase: Phase,
        names: &mut Names<'b>,
        index: RuleIndex,
    ) -> Option<(RuleSpec, &'static str)> {
        let id = names.claim(fields, "rule", self.whole(), self);
        let when = fields.get("when").and_then(|item| self.condition(item));
        self.one_way_to_act(fields);
        let items = fields.items("actions").iter().chain(fields.get("action"));
        let mut actions = Vec::new();
        let mut plugin = None;
        let mut all_made = true;
        for item in items {
            let Value::Action(kind, parameters) = &item.value else { continue };
            plugin.get_or_insert(kind.resource.name);
            self.point_at(item.node);
            match (kind.build)(parameters, self) {
                Some(action) => actions.push((item.node, parameters, action)),
                None => all_made = false,
            }
        }
        let when = when.filter(|_| all_made)?;
        let phases = actions.iter().map(|(_, _, action)| action.phase());
        let phase = phases.fold(phase.max(when.phase()), Phase::max);
        for (node, parameters, action) in &actions {
            self.in_time(node, parameters, action, phase);
        }
        let rule = RuleSpec {
            index,
            id: id?.to_owned(),
            message: fields.text("message").unwrap_or_default().to_owned(),
            score: fields.integer("score").map_or(Some(0), |score| u32::try_from(score).ok())?,
            when,
            actions: actions.into_iter().map(|(_, _, action)| action).collect(),
        };
        Some((rule, plugin?))
    }

    fn one_way_to_act(&mut self, fields: &Fields<'_>) {
        match (fields.key_node("actions"), fields.key_node("action")) {
            (None, None) if fields.lacks(&["actions", "action"]) => {
                let hint = "for one action write `action: block`; `log` only writes a finding".to_owned();
                self.fault(fields.node, "a rule needs `actions`", Some(hint));
            }
            (Some(_), Some(node)) => {
                self.fault(
                    node,
                    "a rule has either `actions` or `action`",
                    Some("put all of them into `actions`".to_owned()),
                );
            }
            _ => {}
        }
    }

    /// Refuses an action that has no effect any more when its rule runs.
    fn in_time(&mut self, node: &Node, parameters: &Fields<'_>, action: &Action, phase: Phase) {
        let last = action.last_phase();
        if phase <= last {
            return;
        }
        let (node, message, hint) = match last {
            Phase::Request => (
                node,
                "a rule set begins before the body is read",
                "its own rules read the rest; let the condition read only the request's head, or use `true`",
            ),
            Phase::Body | Phase::Response => (
                match action {
                    Action::SetHeader(..) | Action::RemoveHeader(..) => {
                        parameters.get("on").map_or(node, |item| item.node)
                    }
                    _ => node,
                },
                "a rule that reads the response cannot change the request",
                "the origin has answered by then; use `on: response`, or read only the request",
            ),
        };
        self.fault(node, message, Some(hint.to_owned()));
    }
}

fn literals(value: &ValueExpr, see: &mut dyn FnMut(&[u8])) {
    match value {
        ValueExpr::Literal(Literal::Bytes(bytes)) => see(bytes),
        ValueExpr::Literal(_) | ValueExpr::Field(_) => {}
        ValueExpr::Call(_, arguments) => arguments.iter().for_each(|argument| literals(argument, see)),
    }
}
