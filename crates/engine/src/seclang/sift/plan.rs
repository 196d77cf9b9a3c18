//! What is to be done with the members of one collection: which transformations, and which rules
//! wait for what in which of their results.

use std::collections::HashMap;

use weir_transform::{ByteSet, Transformation};

use super::super::need::{Bytes, Need};
use super::super::pipeline::{IDENTITY, Node};
use super::super::program::Program;
use super::super::variable::{BASES, Known, Origin};

/// Transformations on one collection that are filtered: bits of a [`Nodes`].
pub(super) const MAX_NODES: usize = 128;

/// A set of places among a plan's nodes.
pub(super) type Nodes = u128;

/// The plan of one collection.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) origin: Origin,
    pub(super) known: Known,
    /// Transformations wanted, parents before children; [`IDENTITY`] is the first.
    nodes: Vec<Node>,
    /// One for each node but the first.
    pub(super) steps: Vec<Step>,
    /// Those whose outcome cannot be foreseen from the bytes that occur, such as decoding base64.
    pub(super) always: Vec<Step>,
    /// Bytes without which no other transformation changes anything.
    pub(super) triggers: ByteSet,
    /// Rules that look at every member.
    pub(super) all: Wanted,
    /// Rules that look at the member of that name.
    named: HashMap<Box<[u8]>, Wanted, foldhash::fast::RandomState>,
    longest_name: usize,
}

/// A transformation of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its place among the nodes.
    pub(super) place: u8,
    /// The place of what it transforms.
    pub(super) parent: u8,
    pub(super) transformation: Transformation,
}

/// A rule that waits for bytes, or for a literal and bytes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) rule: u32,
    pub(super) nodes: Nodes,
    /// The first set by itself: it refuses most values, without a look elsewhere.
    pub(super) first: ByteSet,
    pub(super) bytes: Bytes,
}

/// Rules, each with the nodes at which it waits.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// For a literal.
    literals: Vec<Waiting>,
    /// The same by rule, where there are enough of them to be worth the room.
    by_rule: Vec<Nodes>,
    /// For bytes.
    pub(super) bytes: Vec<Waiting>,
    /// Bytes of which each of those needs one.
    pub(super) special: ByteSet,
    pub(super) sqli: Vec<(u32, Nodes)>,
    pub(super) xss: Vec<(u32, Nodes)>,
    /// For nothing: any value opens them.
    pub(super) any: Vec<(u32, Nodes)>,
}

/// More rules than this that wait for literals are found by number.
const FEW: usize = 4;

impl Plan {
    pub(super) fn new(origin: Origin) -> Self {
        Self {
            origin,
            known: BASES[usize::from(origin.base)].known,
            nodes: vec![IDENTITY],
            steps: Vec::new(),
            always: Vec::new(),
            triggers: ByteSet::EMPTY,
            all: Wanted::default(),
            named: HashMap::default(),
            longest_name: 0,
        }
    }

    /// Whether there is room for a chain of transformations of that length.
    pub(super) fn has_room(&self, length: usize) -> bool {
        self.nodes.len() + length <= MAX_NODES
    }

    /// The rules that look at the members of that name, or at all.
    pub(super) fn wanted(&mut self, name: Option<&[u8]>) -> &mut Wanted {
        match name {
            None => &mut self.all,
            Some(name) => {
                self.longest_name = self.longest_name.max(name.len());
                self.named.entry(name.into()).or_default()
            }
        }
    }

    /// The place of a node, with its parents before it.
    pub(super) fn node(&mut self, node: Node, program: &Program) -> usize {
        if let Some(place) = self.nodes.iter().position(|known| *known == node) {
            return place;
        }
        let (parent, transformation) = program.pipelines.step(node).expect("the identity is the first of the nodes");
        let parent = self.node(parent, program);
        let place = self.nodes.len();
        let step = Step { place: place as u8, parent: parent as u8, transformation };
        let unforeseen = *transformation.triggers() == ByteSet::ALL || transformation.may_change(&ByteSet::EMPTY);
        if unforeseen || self.always.iter().any(|step| usize::from(step.place) == parent) {
            self.always.push(step);
        } else {
            self.triggers = self.triggers.union(transformation.triggers());
        }
        self.nodes.push(node);
        self.steps.push(step);
        place
    }

    pub(super) fn settle(&mut self, rules: usize) {
        self.all.settle(rules);
        self.named.values_mut().for_each(|wanted| wanted.settle(rules));
    }

    /// Rules that ask for the member of that name only.
    pub(super) fn named(&self, name: &[u8]) -> Option<&Wanted> {
        if name.len() > self.longest_name || self.named.is_empty() {
            return None;
        }
        let mut lower = [0u8; 64];
        match lower.get_mut(..name.len()) {
            Some(lower) => {
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                self.named.get(&*lower)
            }
            None => self.named.get(name.to_ascii_lowercase().as_slice()),
        }
    }

    pub(super) fn name(&self) -> String {
        let name = BASES[usize::from(self.origin.base)].variable.name();
        if self.origin.names { format!("{name} (names)") } else { name.to_owned() }
    }

    /// All rules that look here.
    pub(super) fn rules(&self) -> Vec<u32> {
        let wanted = std::iter::once(&self.all).chain(self.named.values());
        let mut rules: Vec<u32> = wanted.flat_map(Wanted::rules).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

impl Waiting {
    /// Adds a rule at a node to a list.
    fn among(list: &mut Vec<Self>, rule: u32, node: usize, bytes: &Bytes) {
        match list.iter_mut().find(|waiting| waiting.rule == rule) {
            Some(waiting) => waiting.nodes |= 1 << node,
            None => {
                let first = bytes.sets.first().copied().unwrap_or(ByteSet::ALL);
                list.push(Self { rule, nodes: 1 << node, first, bytes: bytes.clone() });
            }
        }
    }

    /// Whether a value of that length with these bytes may do.
    #[inline]
    pub(super) fn is_met(&self, occurring: &ByteSet, length: usize) -> bool {
        self.first.intersects(occurring) && self.bytes.met(occurring, length)
    }
}

impl Wanted {
    /// Adds a rule that waits at a node.
    pub(super) fn add(&mut self, rule: u32, node: usize, need: &Need) {
        let list = match need {
            Need::Never => return,
            Need::Any => &mut self.any,
            Need::Literals(_, bytes) => return Waiting::among(&mut self.literals, rule, node, bytes),
            Need::Bytes(bytes) => return Waiting::among(&mut self.bytes, rule, node, bytes),
            Need::Sqli => &mut self.sqli,
            Need::Xss => &mut self.xss,
        };
        match list.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, nodes)) => *nodes |= 1 << node,
            None => list.push((rule, 1 << node)),
        }
    }

    fn settle(&mut self, rules: usize) {
        self.special = self.bytes.iter().fold(ByteSet::EMPTY, |all, waiting| all.union(&waiting.first));
        if self.literals.len() > FEW {
            self.by_rule = vec![0; rules];
            self.literals.iter().for_each(|waiting| self.by_rule[waiting.rule as usize] = waiting.nodes);
        }
    }

    /// Whether a rule waits at one of these nodes for a literal in a value of that length with these
    /// bytes.
    #[inline]
    pub(super) fn awaits_literals(&self, nodes: Nodes, occurring: &ByteSet, length: usize) -> bool {
        self.literals.iter().any(|waiting| waiting.nodes & nodes != 0 && waiting.is_met(occurring, length))
    }

    /// Whether any rule waits for a literal.
    pub(super) fn has_literals(&self) -> bool {
        !self.literals.is_empty()
    }

    /// The nodes at which a rule waits for a literal.
    #[inline]
    pub(super) fn literal_nodes(&self, rule: u32) -> Nodes {
        match self.by_rule.get(rule as usize) {
            Some(nodes) => *nodes,
            None => self.literals.iter().find(|waiting| waiting.rule == rule).map_or(0, |waiting| waiting.nodes),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules().next().is_none()
    }

    fn rules(&self) -> impl Iterator<Item = u32> {
        let lists = [&self.sqli, &self.xss, &self.any].into_iter().flatten().map(|(rule, _)| *rule);
        lists.chain([&self.literals, &self.bytes].into_iter().flatten().map(|waiting| waiting.rule))
    }
}
