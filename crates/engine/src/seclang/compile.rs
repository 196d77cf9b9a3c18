//! From the language's form of a rule set to a program.

use std::collections::HashMap;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use weir_rules::seclang::ir::{
    self, Collection, Control, Disruption, Flow, Macro, PatternText, RuleSet, RuleSetEntry, Selector, TextMatch,
};
use weir_rules::seclang::pattern::Pattern;

use super::bits::Bits;
use super::expand::Text;
use super::gate;
use super::matcher::Matcher;
use super::names::TxNames;
use super::need::Need;
use super::operator::Operator;
use super::pipeline::Pipelines;
use super::program::{
    Assignment, Change, Disrupt, Effect, Link, Name, Pick, Program, ProgramError, Rule, RuleInfo, SETTINGS_MARKER,
    Target, Test,
};
use super::remembered::Remembered;
use super::scratch::at_load;
use super::variable::Source;
use super::{Exclusion, RuleChoice};

/// Phrases of one automaton past which the compact kind is used.
const LARGE_PHRASES: usize = 2000;

pub(super) fn compile(set: &RuleSet) -> Result<Program, Vec<ProgramError>> {
    let layout = Layout::new(set);
    let mut compiler = Compiler {
        rules: layout.rules.clone(),
        names: TxNames::new(),
        pipelines: Pipelines::default(),
        matchers: HashMap::new(),
        errors: Vec::new(),
        at: (0, ir::SourcePosition::default()),
    };
    let infos = set.entries.iter().filter_map(|entry| match entry {
        RuleSetEntry::Rule(rule) => Some(info(rule)),
        RuleSetEntry::Marker(_) => None,
    });
    let infos: Vec<RuleInfo> = infos.collect();
    let rules = layout.rules.iter().enumerate();
    let rules: Vec<Rule> = rules.map(|(at, (info, rule))| compiler.rule(rule, *info, layout.jumps[at])).collect();
    if !compiler.errors.is_empty() {
        return Err(compiler.errors);
    }
    let mut rules = rules;
    find_names(&mut rules, &compiler.names);
    let collecting = gate::Collecting::of(&rules);
    rules.iter_mut().zip(collecting).for_each(|(rule, collecting)| rule.collecting = collecting);
    Ok(Program {
        infos,
        rules,
        phases: layout.phases,
        names: compiler.names,
        pipelines: compiler.pipelines,
        settings: set.settings.clone(),
        files: set.files.clone(),
        settings_at: layout.settings_at,
        sifters: std::sync::Mutex::default(),
        factors: std::sync::Mutex::default(),
        templates: std::sync::Mutex::default(),
    })
}

/// Which variables of `TX` each pattern over their names picks, once all names are known.
fn find_names(rules: &mut [Rule], names: &TxNames) {
    let tests = rules.iter_mut().flat_map(|rule| &mut rule.links).filter_map(|link| link.test.as_mut());
    for target in tests.flat_map(|test| &mut test.targets).filter(|target| target.source == Source::Tx) {
        let all = 0..names.len() as u16;
        target.tx = at_load(|scratch| {
            let selects = |id: &u16| {
                super::values::selects(&target.selector, target.pattern.as_deref(), names.name(*id), scratch)
            };
            all.filter(selects).collect()
        });
    }
}

fn info(rule: &ir::Rule) -> RuleInfo {
    let mut message = String::new();
    for piece in &rule.message.0 {
        match piece {
            ir::Piece::Text(text) => message.push_str(&String::from_utf8_lossy(text)),
            ir::Piece::Variable(variable, member) => {
                let member = member.as_deref().map(|name| format!(".{}", String::from_utf8_lossy(name)));
                message.push_str(&format!("%{{{}{}}}", variable.name(), member.unwrap_or_default()));
            }
        }
    }
    RuleInfo {
        id: rule.id,
        phase: rule.phase,
        place: rule.place,
        message,
        severity: rule.severity,
        tags: rule.tags.clone(),
    }
}

/// Rules by phase, and where their jumps lead.
struct Layout<'s> {
    /// Number among the infos, and the rule; by phase.
    rules: Vec<(u32, &'s ir::Rule)>,
    phases: [std::ops::Range<u32>; 5],
    jumps: Vec<Option<u32>>,
    settings_at: u32,
}

impl<'s> Layout<'s> {
    fn new(set: &'s RuleSet) -> Self {
        let mut layout = Self { rules: Vec::new(), phases: Default::default(), jumps: Vec::new(), settings_at: 0 };
        for phase in 0..5 {
            let begin = layout.rules.len() as u32;
            let mut markers: Vec<(&str, u32)> = Vec::new();
            let mut number = 0;
            for entry in &set.entries {
                let position = layout.rules.len() as u32;
                match entry {
                    RuleSetEntry::Marker(name) => {
                        if phase == 0 && name == SETTINGS_MARKER {
                            layout.settings_at = position;
                        }
                        markers.push((name, position));
                    }
                    RuleSetEntry::Rule(rule) => {
                        if rule.phase as usize == phase + 1 {
                            layout.rules.push((number, rule));
                        }
                        number += 1;
                    }
                }
            }
            let end = layout.rules.len() as u32;
            for position in begin..end {
                let jump = match &layout.rules[position as usize].1.flow {
                    Flow::Next => None,
                    Flow::Skip(count) => Some(position.saturating_add(1).saturating_add(*count).min(end)),
                    // A marker that does not come any more skips the rest of the phase.
                    Flow::SkipAfter(name) => {
                        let behind = |marker: &&(&str, u32)| marker.0 == name && marker.1 > position;
                        Some(markers.iter().find(behind).map_or(end, |marker| marker.1))
                    }
                };
                layout.jumps.push(jump);
            }
            layout.phases[phase] = begin..end;
        }
        layout
    }
}

struct Compiler<'s> {
    rules: Vec<(u32, &'s ir::Rule)>,
    names: TxNames,
    pipelines: Pipelines,
    matchers: HashMap<String, Arc<Matcher>>,
    errors: Vec<ProgramError>,
    /// The rule being compiled.
    at: (u64, ir::SourcePosition),
}

impl Compiler<'_> {
    fn rule(&mut self, rule: &ir::Rule, info: u32, jump: Option<u32>) -> Rule {
        self.at = (rule.id, rule.place);
        Rule {
            info,
            links: rule.links.iter().map(|link| self.link(link)).collect(),
            message: self.text(&rule.message),
            log_data: self.text(&rule.log_data),
            log: rule.log,
            disruption: match &rule.disruption {
                Disruption::Pass => Disrupt::Pass,
                Disruption::Redirect { status, to } => Disrupt::Redirect(*status, self.text(to)),
                other => Disrupt::Other(other.clone()),
            },
            jump,
            collecting: None,
        }
    }

    fn text(&mut self, text: &Macro) -> Text {
        Text::new(text, &mut self.names)
    }

    fn link(&mut self, link: &ir::Link) -> Link {
        let pipeline = self.pipelines.intern(&link.transformations);
        let mut compiled = Link {
            test: None,
            pipeline,
            stages: if link.multi_match { self.pipelines.stages(pipeline) } else { Vec::new() },
            capture: link.capture,
            assignments: Vec::new(),
            effects: Vec::new(),
        };
        if let Some(test) = &link.test {
            let operator = self.operator(&test.operator);
            compiled.test = Some(Test {
                targets: test.targets.iter().map(|target| self.target(target)).collect(),
                exclusions: test.exclusions.iter().map(|target| self.pick(target)).collect(),
                operator,
                negated: test.negated,
            });
        }
        for effect in &link.effects {
            match effect {
                ir::Effect::SetVariable { collection, name, change } => {
                    let assignment = self.assignment(*collection, name, change);
                    compiled.assignments.push(assignment);
                }
                other => {
                    let effect = self.effect(other);
                    compiled.effects.extend(effect);
                }
            }
        }
        compiled
    }

    fn target(&mut self, target: &ir::Target) -> Target {
        let pick = self.pick(target);
        let name = target.variable.name();
        let (source, selector, pattern) = (pick.source, pick.selector, pick.pattern);
        Target { source, selector, pattern, count: target.count, name, tx: Vec::new() }
    }

    fn pick(&mut self, target: &ir::Target) -> Pick {
        if let (ir::Variable::Tx, Selector::Name(name)) = (target.variable, &target.selector) {
            self.names.intern(name);
        }
        let pattern = match &target.selector {
            Selector::Pattern(pattern) => self.matcher(pattern),
            _ => None,
        };
        Pick { source: Source::new(target.variable), selector: target.selector.clone(), pattern }
    }

    fn matcher(&mut self, pattern: &Pattern) -> Option<Arc<Matcher>> {
        if let Some(matcher) = self.matchers.get(pattern.source()) {
            return Some(Arc::clone(matcher));
        }
        match Matcher::new(pattern) {
            Ok(matcher) => {
                let matcher = Arc::new(matcher);
                self.matchers.insert(pattern.source().to_owned(), Arc::clone(&matcher));
                Some(matcher)
            }
            Err(message) => {
                self.errors.push(ProgramError { rule: self.at.0, place: self.at.1, message });
                None
            }
        }
    }

    fn operator(&mut self, operator: &ir::Operator) -> Operator {
        match operator {
            ir::Operator::UnconditionalMatch => Operator::Always,
            ir::Operator::NoMatch | ir::Operator::Rbl(_) => Operator::Never,
            // With dots that match line ends, these two take the whole value.
            ir::Operator::Rx { pattern: PatternText::Ready(pattern), global: false }
                if matches!(pattern.source(), "^.*$" | "^.*") =>
            {
                Operator::Whole
            }
            ir::Operator::Rx { pattern: PatternText::Ready(pattern), global } => {
                match (self.matcher(pattern), global) {
                    (Some(matcher), false) => Operator::Rx(matcher),
                    (Some(matcher), true) => Operator::RxGlobal(matcher),
                    (None, _) => Operator::Never,
                }
            }
            ir::Operator::Rx { pattern: PatternText::Macro(text), .. } => {
                Operator::RxText(self.text(text), Arc::new(Remembered::default()))
            }
            ir::Operator::Pm(phrases) => self.phrases(phrases),
            ir::Operator::Within(text) => Operator::Within(self.text(text)),
            ir::Operator::Contains(text) | ir::Operator::StrMatch(text) => Operator::Contains(self.text(text)),
            ir::Operator::ContainsWord(text) => Operator::ContainsWord(self.text(text)),
            ir::Operator::BeginsWith(text) => Operator::BeginsWith(self.text(text)),
            ir::Operator::EndsWith(text) => Operator::EndsWith(self.text(text)),
            ir::Operator::StrEq(text) => Operator::StrEq(self.text(text)),
            ir::Operator::Compare(comparison, text) => Operator::Compare(*comparison, self.text(text)),
            ir::Operator::IpMatch(networks) => Operator::IpMatch(Arc::clone(networks)),
            ir::Operator::DetectSqli => Operator::Sqli,
            ir::Operator::DetectXss => Operator::Xss,
            ir::Operator::ValidateByteRange(allowed) => Operator::ByteRange(*allowed),
            ir::Operator::ValidateUrlEncoding => Operator::UrlEncoding,
            ir::Operator::ValidateUtf8Encoding => Operator::Utf8,
            ir::Operator::Verify(kind, pattern) => match self.matcher(pattern) {
                Some(matcher) => Operator::Verify(*kind, matcher),
                None => Operator::Never,
            },
            ir::Operator::GeoLookup => Operator::GeoLookup,
        }
    }

    fn phrases(&mut self, phrases: &[Vec<u8>]) -> Operator {
        let kind = if phrases.len() > LARGE_PHRASES {
            aho_corasick::AhoCorasickKind::ContiguousNFA
        } else {
            aho_corasick::AhoCorasickKind::NoncontiguousNFA
        };
        let built = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(kind))
            .build(phrases);
        match built {
            Ok(automaton) => Operator::Pm(Arc::new(automaton), Arc::new(Need::of_phrases(phrases))),
            Err(error) => {
                let message = format!("the phrases do not compile: {error}");
                self.errors.push(ProgramError { rule: self.at.0, place: self.at.1, message });
                Operator::Never
            }
        }
    }

    fn assignment(&mut self, collection: Collection, name: &Macro, change: &ir::Change) -> Assignment {
        let name = match (collection, name.as_text()) {
            (Collection::Tx, Some(name)) => Name::Tx(self.names.intern(name)),
            _ => Name::Text(self.text(name)),
        };
        let change = match change {
            ir::Change::Set(text) => Change::Set(self.text(text)),
            ir::Change::Add(text) => Change::Add(self.text(text)),
            ir::Change::Subtract(text) => Change::Subtract(self.text(text)),
            ir::Change::Unset => Change::Unset,
        };
        let scores = matches!((&name, &change), (Name::Tx(id), Change::Add(_)) if is_score(self.names.name(*id)));
        Assignment { collection, name, change, scores }
    }

    fn effect(&mut self, effect: &ir::Effect) -> Option<Effect> {
        Some(match effect {
            ir::Effect::SetVariable { .. } => return None,
            ir::Effect::ExpireVariable { collection, name, seconds } => {
                Effect::Expire(*collection, self.text(name), self.text(seconds))
            }
            ir::Effect::InitCollection(collection, key) => Effect::InitCollection(*collection, self.text(key)),
            ir::Effect::SetEnvironment(..) => Effect::SetEnvironment,
            ir::Effect::Control(control) => return self.control(control),
        })
    }

    fn control(&mut self, control: &Control) -> Option<Effect> {
        Some(match control {
            Control::Ignored => return None,
            Control::RuleEngine(engine) => Effect::Engine(*engine),
            Control::RequestBodyAccess(on) => Effect::RequestBodyAccess(*on),
            Control::ResponseBodyAccess(on) => Effect::ResponseBodyAccess(*on),
            Control::RequestBodyProcessor(processor) => Effect::BodyProcessor(*processor),
            Control::ForceRequestBodyVariable(on) => Effect::ForceRequestBody(*on),
            Control::RemoveById(ids) => Effect::Remove(self.by_id(ids)),
            Control::RemoveByTag(text) => Effect::Remove(self.by_tag(text)),
            Control::RemoveByMessage(text) => Effect::Remove(self.by_message(text)),
            Control::RemoveTargetById(ids, target) => {
                Effect::RemoveTarget(self.by_id(ids), Arc::new(self.pick(target)))
            }
            Control::RemoveTargetByTag(text, target) => {
                Effect::RemoveTarget(self.by_tag(text), Arc::new(self.pick(target)))
            }
            Control::RemoveTargetByMessage(text, target) => {
                Effect::RemoveTarget(self.by_message(text), Arc::new(self.pick(target)))
            }
        })
    }

    fn choose(&self, wanted: impl Fn(&ir::Rule) -> bool) -> Bits {
        let mut bits = Bits::new(self.rules.len());
        let chosen = self.rules.iter().enumerate().filter(|(_, (_, rule))| wanted(rule));
        chosen.for_each(|(position, _)| bits.insert(position));
        bits
    }

    fn by_id(&self, ids: &[(u64, u64)]) -> Bits {
        self.choose(|rule| ids.iter().any(|(first, last)| (*first..=*last).contains(&rule.id)))
    }

    fn by_tag(&mut self, text: &TextMatch) -> Bits {
        let matches = self.text_matcher(text);
        self.choose(|rule| rule.tags.iter().any(|tag| matches(tag)))
    }

    fn by_message(&mut self, text: &TextMatch) -> Bits {
        let matches = self.text_matcher(text);
        self.choose(|rule| rule.message.as_text().is_some_and(|text| matches(&String::from_utf8_lossy(text))))
    }

    fn text_matcher(&mut self, text: &TextMatch) -> impl Fn(&str) -> bool + use<> {
        let (exact, matcher) = match text {
            TextMatch::Exact(exact) => (exact.clone(), None),
            TextMatch::Pattern(pattern) => (String::new(), self.matcher(pattern)),
        };
        move |candidate| match &matcher {
            Some(matcher) => at_load(|scratch| matcher.is_match(candidate.as_bytes(), scratch)),
            None => candidate == exact,
        }
    }
}

/// An exclusion, compiled.
#[derive(Debug)]
pub(crate) struct Excluded {
    pub(crate) rules: Bits,
    pub(crate) pick: Option<Pick>,
}

/// Which rules an exclusion is about. A pattern among its parts has been checked by the loader; one
/// that does not compile excludes nothing.
pub(crate) fn excluded(program: &Program, exclusion: &Exclusion) -> Excluded {
    let mut rules = Bits::new(program.rules.len());
    for (position, rule) in program.rules.iter().enumerate() {
        let info = &program.infos[rule.info as usize];
        let chosen = match &exclusion.rules {
            RuleChoice::Ids(ids) => ids.iter().any(|(first, last)| (*first..=*last).contains(&info.id)),
            RuleChoice::Tag(TextMatch::Exact(text)) => info.tags.contains(text),
            RuleChoice::Tag(TextMatch::Pattern(pattern)) => Matcher::new(pattern).is_ok_and(|matcher| {
                at_load(|scratch| info.tags.iter().any(|tag| matcher.is_match(tag.as_bytes(), scratch)))
            }),
        };
        if chosen {
            rules.insert(position);
        }
    }
    let pick = exclusion.target.as_ref().map(|target| Pick {
        source: Source::new(target.variable),
        selector: target.selector.clone(),
        pattern: match &target.selector {
            Selector::Pattern(pattern) => Matcher::new(pattern).ok().map(Arc::new),
            _ => None,
        },
    });
    Excluded { rules, pick }
}

/// CRS's counters of one paranoia level, to which each rule adds its own score: what they are
/// summed into later is not the summing rule's score.
fn is_score(name: &[u8]) -> bool {
    memchr::memmem::find(name, b"anomaly_score_pl").is_some()
}
