//! What is to be done with the members of one collection: which transformations, and which rules
//! wait for what in which of their results.

use std::collections::HashMap;

use weir_transform::{ByteSet, Transformation};

use super::super::need::{Bytes, Need};
use super::super::pipeline::{IDENTITY, Node};
use super::super::program::Program;
use super::super::variable::{Availability, BASES, Origin};

/// Transformations on one collection that are filtered: bits of a [`Nodes`].
pub(super) const MAX_NODES: usize = 128;

/// A set of places among a plan's nodes.
pub(super) type Nodes = u128;

/// The plan of one collection.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) origin: Origin,
    pub(super) known: Availability,
    /// Transformations wanted, parents before children; [`IDENTITY`] is the first.
    nodes: Vec<Node>,
    /// One for each node but the first: step `n` makes node `n + 1`.
    pub(super) steps: Vec<Step>,
    /// The different transformations of untransformed and transformed values, and for each the
    /// nodes that change if it changes the untransformed value.
    pub(super) kinds: Vec<TransformationUse>,
    /// All their triggers, those that are `always` apart.
    pub(super) triggers: ByteSet,
    /// Bytes of the shortest value that one of those changes.
    pub(super) always_from: usize,
    /// Number of the search for its literals.
    pub(super) search: usize,
    /// Rules that look at every member.
    pub(super) all: Wanted,
    /// Rules that look at the member of that name.
    named: HashMap<Box<[u8]>, Wanted, foldhash::fast::RandomState>,
    /// Lengths of those names, a bit each; the last also for longer ones.
    lengths: u64,
}

/// A transformation of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The place of what it transforms.
    pub(super) parent: u8,
    pub(super) transformation: Transformation,
    /// Bytes of the shortest value that is worth transforming: of a shorter one nothing comes that
    /// a rule waits for. 0 where transformations may lengthen.
    pub(super) min_length: usize,
    /// Untransformed values without any of these bytes are not worth it either.
    pub(super) worthwhile: ByteSet,
    /// Bytes of the shortest result that a rule waits for, or that is transformed further.
    pub(super) needed: usize,
    /// Of the literals that rules wait for in the result, none is in one without any of these bytes.
    pub(super) awaits: ByteSet,
}

/// A transformation that occurs in a plan.
#[derive(Debug)]
pub(super) struct TransformationUse {
    pub(super) transformation: Transformation,
    /// Bytes of which a value has one if it is worth transforming, unless `always`.
    pub(super) triggers: ByteSet,
    /// Whether it may change values of any bytes, such as decoding base64.
    pub(super) always: bool,
    pub(super) min_length: usize,
    /// The nodes made by it or from what it makes.
    pub(super) nodes: Nodes,
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
    /// For a member's name: a number other than 0, different from those of other names.
    pub(super) number: u16,
    /// For a literal.
    literals: Vec<Waiting>,
    /// The same, indexed by rule, where there are enough of them to be worth the memory.
    by_rule: Vec<Nodes>,
    /// For bytes.
    pub(super) bytes: Vec<Waiting>,
    /// Bytes of which each of those needs one.
    pub(super) special: ByteSet,
    /// The positions in `bytes` of those that a byte of `special` may open, by byte.
    by_byte: Vec<u128>,
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
            kinds: Vec::new(),
            triggers: ByteSet::EMPTY,
            always_from: usize::MAX,
            search: 0,
            all: Wanted::default(),
            named: HashMap::default(),
            lengths: 0,
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
                self.lengths |= length_bit(name);
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
        self.nodes.push(node);
        self.steps.push(Step {
            parent: parent as u8,
            transformation,
            min_length: 0,
            worthwhile: ByteSet::EMPTY,
            needed: 0,
            awaits: ByteSet::EMPTY,
        });
        self.nodes.len() - 1
    }

    pub(super) fn settle(&mut self, rules: usize) {
        self.all.settle(rules);
        for (number, wanted) in self.named.values_mut().enumerate() {
            wanted.number = number as u16 + 1;
            wanted.settle(rules);
        }
        let mut shortest = vec![usize::MAX; self.nodes.len()];
        for wanted in std::iter::once(&self.all).chain(self.named.values()) {
            wanted.shortest(&mut shortest);
        }
        for number in (0..self.steps.len()).rev() {
            let step = &mut self.steps[number];
            let needed = shortest[number + 1];
            step.min_length = if lengthens(step.transformation) { 0 } else { needed };
            step.needed = needed;
            let parent = &mut shortest[usize::from(step.parent)];
            *parent = (*parent).min(step.min_length);
        }
        for number in 0..self.steps.len() {
            let mut worthwhile = ByteSet::EMPTY;
            for wanted in std::iter::once(&self.all).chain(self.named.values()) {
                worthwhile = worthwhile.union(&wanted.worthwhile(number + 1, &self.steps));
            }
            let waiting = std::iter::once(&self.all).chain(self.named.values()).flat_map(|wanted| &wanted.literals);
            let here = waiting.filter(|waiting| waiting.nodes >> (number + 1) & 1 != 0);
            self.steps[number].awaits = here.fold(ByteSet::EMPTY, |all, waiting| all.union(&waiting.first));
            // What is made from a node needs the node.
            let mut place = number + 1;
            while place != 0 {
                let step = &mut self.steps[place - 1];
                step.worthwhile = step.worthwhile.union(&worthwhile);
                place = usize::from(step.parent);
            }
        }
        let mut kinds: Vec<TransformationUse> = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let known = kinds.iter().position(|kind| kind.transformation == step.transformation);
            let kind = known.unwrap_or_else(|| {
                let triggers = *step.transformation.triggers();
                kinds.push(TransformationUse {
                    transformation: step.transformation,
                    triggers,
                    always: triggers == ByteSet::ALL || step.transformation.may_change(&ByteSet::EMPTY),
                    min_length: usize::MAX,
                    nodes: 0,
                });
                kinds.len() - 1
            });
            kinds[kind].min_length = kinds[kind].min_length.min(step.min_length);
            kinds[kind].nodes |= self.subtree(number + 1);
        }
        let (always, foreseen): (Vec<&TransformationUse>, Vec<&TransformationUse>) =
            kinds.iter().partition(|kind| kind.always);
        self.always_from = always.iter().map(|kind| kind.min_length).min().unwrap_or(usize::MAX);
        self.triggers = foreseen.iter().fold(ByteSet::EMPTY, |all, kind| all.union(&kind.triggers));
        self.kinds = kinds;
    }

    /// A node and all that are made from it.
    fn subtree(&self, place: usize) -> Nodes {
        let mut nodes: Nodes = 1 << place;
        for (number, step) in self.steps.iter().enumerate() {
            if nodes >> step.parent & 1 != 0 {
                nodes |= 1 << (number + 1);
            }
        }
        nodes
    }

    /// Whether a rule waits for a literal in a form with these bytes that is the result of these nodes.
    #[inline]
    pub(super) fn awaits(&self, nodes: Nodes, occurring: &ByteSet) -> bool {
        let mut left = nodes;
        while left & 1 == 0 && left != 0 {
            if self.steps[left.trailing_zeros() as usize - 1].awaits.intersects(occurring) {
                return true;
            }
            left &= left - 1;
        }
        left != 0
    }

    /// Rules that ask for the member of that name only.
    pub(super) fn named(&self, name: &[u8]) -> Option<&Wanted> {
        if self.lengths & length_bit(name) == 0 {
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

    /// Rules that wait for a literal here, each once.
    pub(super) fn awaiting_literals(&self) -> Vec<u32> {
        let wanted = std::iter::once(&self.all).chain(self.named.values());
        let mut rules: Vec<u32> =
            wanted.flat_map(|wanted| wanted.literals.iter().map(|waiting| waiting.rule)).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
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

/// The bit for names of that length.
fn length_bit(name: &[u8]) -> u64 {
    1 << name.len().min(63)
}

/// Bytes that may stand in what a transformation makes although they are not in what it was given;
/// all if nothing better is known.
fn made_by(transformation: Transformation) -> ByteSet {
    use Transformation as T;
    const SMALL: ByteSet = ByteSet::range(b'a', b'z');
    match transformation {
        T::Lowercase => SMALL,
        T::CmdLine => SMALL.with(b' '),
        T::CompressWhitespace | T::ReplaceComments | T::ReplaceNulls => ByteSet::EMPTY.with(b' '),
        T::RemoveNulls | T::RemoveWhitespace | T::Trim | T::TrimLeft | T::TrimRight => ByteSet::EMPTY,
        T::Utf8ToUnicode => ByteSet::range(b'a', b'f').union(&ByteSet::range(b'0', b'9')).with(b'%').with(b'u'),
        _ => ByteSet::ALL,
    }
}

/// Whether a transformation may make a value longer, or something of nothing.
fn lengthens(transformation: Transformation) -> bool {
    use Transformation as T;
    matches!(
        transformation,
        T::Base64Encode
            | T::HexEncode
            | T::Length
            | T::Md5
            | T::Sha1
            | T::UrlEncode
            | T::Utf8ToUnicode
            | T::RemoveComments
            | T::ReplaceComments
            | T::NormalisePath
            | T::NormalisePathWin
    )
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
        if self.bytes.len() <= u128::BITS as usize && !self.bytes.is_empty() {
            self.by_byte = (0..=255u8)
                .map(|byte| {
                    let opened = self.bytes.iter().enumerate().filter(|(_, waiting)| waiting.first.contains(byte));
                    opened.fold(0, |all, (at, _)| all | 1 << at)
                })
                .collect();
        }
        if self.literals.len() > FEW {
            self.by_rule = vec![0; rules];
            self.literals.iter().for_each(|waiting| self.by_rule[waiting.rule as usize] = waiting.nodes);
        }
    }

    /// Calls `each` for the rules that wait for bytes, as far as these bytes may open them.
    #[inline]
    pub(super) fn opened(&self, occurring: &ByteSet, mut each: impl FnMut(&Waiting)) {
        if self.by_byte.is_empty() {
            return self.bytes.iter().for_each(each);
        }
        let mut all =
            self.special.intersection(occurring).bytes().fold(0, |all, byte| all | self.by_byte[usize::from(byte)]);
        while all != 0 {
            each(&self.bytes[all.trailing_zeros() as usize]);
            all &= all - 1;
        }
    }

    /// Whether a rule waits at one of these nodes for a literal in a value of that length with these
    /// bytes.
    #[inline]
    pub(super) fn awaits_literals(&self, nodes: Nodes, occurring: &ByteSet, length: usize) -> bool {
        self.literals.iter().any(|waiting| waiting.nodes & nodes != 0 && waiting.is_met(occurring, length))
    }

    /// Bytes of which an untransformed value has one if it may open a rule at a node.
    fn worthwhile(&self, place: usize, steps: &[Step]) -> ByteSet {
        let here = |nodes: Nodes| nodes >> place & 1 != 0;
        if [&self.sqli, &self.xss, &self.any].into_iter().flatten().any(|(_, nodes)| here(*nodes)) {
            return ByteSet::ALL;
        }
        let mut all = ByteSet::EMPTY;
        for waiting in self.literals.iter().chain(&self.bytes).filter(|waiting| here(waiting.nodes)) {
            let mut set = waiting.first;
            let mut at = place;
            while at != 0 {
                let step = &steps[at - 1];
                // The byte was there before, or the transformation has made it.
                if set.intersects(&made_by(step.transformation)) {
                    set = set.union(step.transformation.triggers());
                }
                at = usize::from(step.parent);
            }
            all = all.union(&set);
        }
        all
    }

    /// Lowers, for each node, the length of the shortest value that may open a rule there.
    fn shortest(&self, of_nodes: &mut [usize]) {
        let mut lower = |nodes: Nodes, length: usize| {
            let here = of_nodes.iter_mut().enumerate().filter(|(place, _)| nodes >> place & 1 != 0);
            here.for_each(|(_, shortest)| *shortest = (*shortest).min(length));
        };
        self.literals.iter().chain(&self.bytes).for_each(|waiting| lower(waiting.nodes, waiting.bytes.min_length));
        [&self.sqli, &self.xss, &self.any].into_iter().flatten().for_each(|(_, nodes)| lower(*nodes, 0));
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
