//! Prints the tree in the syntax of `regex-syntax` and in that of `fancy-regex`.
//!
//! The output has no flags: sets carry case and newlines, and assertions are spelled out.
//! `fancy-regex` matches characters, so that its `\b` would be Unicode's; look-around replaces it.

use std::fmt::Write as _;

use super::atomic::{Follow, has_one_way, may_be_greedy, may_be_plain};
use super::finite;
use super::set::Set;
use super::tree::{Assertion, Direction, Node, RepeatMode};
use super::{END_MARK, MARKS};

/// A pattern for `regex-syntax`.
pub(super) struct Linear {
    pub(super) text: String,
    /// It matches a superset of the pattern's matches.
    pub(super) is_inexact: bool,
    /// See [`super::Pattern::differs_after_final_newline`].
    pub(super) differs_after_final_newline: bool,
}

/// The text of [`super::Marked`].
pub(super) struct WithMarks {
    pub(super) linear: Linear,
    pub(super) sets: Vec<Set>,
}

#[derive(Clone, Copy, PartialEq)]
enum Syntax {
    Rust,
    /// Rust's, with marks.
    Marked,
    Fancy,
}

struct Printer {
    syntax: Syntax,
    out: Linear,
    /// The sets of marks.
    sets: Vec<Set>,
    /// Within a group or behind an end mark, where no match can end.
    may_not_end: bool,
}

pub(super) fn rust(tree: &Node) -> Linear {
    print(tree, Syntax::Rust).out
}

pub(super) fn fancy(tree: &Node) -> String {
    print(tree, Syntax::Fancy).out.text
}

pub(super) fn marked(tree: &Node) -> WithMarks {
    let printer = print(tree, Syntax::Marked);
    WithMarks { linear: printer.out, sets: printer.sets }
}

fn print(tree: &Node, syntax: Syntax) -> Printer {
    let out = Linear { text: String::new(), is_inexact: false, differs_after_final_newline: false };
    let mut printer = Printer { syntax, out, sets: Vec::new(), may_not_end: false };
    printer.node(tree, Follow::END);
    printer
}

impl Printer {
    fn text(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    /// Prints `node` in the context of the rest of the pattern.
    fn node(&mut self, node: &Node, follow: Follow) {
        match node {
            Node::Empty => {}
            Node::Set(set) => self.set(*set),
            Node::Assert(assertion) => self.assertion(*assertion, follow),
            Node::Capture(node) => {
                let outer = std::mem::replace(&mut self.may_not_end, true);
                self.enclosed("(", node, follow);
                self.may_not_end = outer;
            }
            Node::Concat(nodes) => self.concat(nodes, follow),
            Node::Either(nodes) => self.either(nodes, follow),
            Node::Repeat { node, min, max, mode } => self.repeat(node, (*min, *max), *mode, follow),
            Node::Atomic(node) if may_be_plain(node, follow) => self.enclosed("(?:", node, follow),
            Node::Atomic(node) => {
                let open = self.only_fancy("(?>", "(?:");
                self.enclosed(open, node, follow);
            }
            Node::Look { direction, negative, node } => self.look(*direction, *negative, node, follow),
            Node::Reference { group, caseless } => self.reference(*group, *caseless),
            Node::Keep => {
                let keep = self.only_fancy("\\K", "");
                self.text(keep);
            }
        }
    }

    /// `fancy` if the syntax supports it; otherwise `wider`, which makes the result inexact.
    fn only_fancy<'t>(&mut self, fancy: &'t str, wider: &'t str) -> &'t str {
        if self.syntax == Syntax::Fancy {
            return fancy;
        }
        self.out.is_inexact = true;
        wider
    }

    fn enclosed(&mut self, open: &str, node: &Node, follow: Follow) {
        self.text(open);
        self.node(node, follow);
        self.text(")");
    }

    fn either(&mut self, nodes: &[Node], follow: Follow) {
        for (index, node) in nodes.iter().enumerate() {
            self.text(if index > 0 { "|" } else { "" });
            self.node(node, follow);
        }
        // `regex-syntax` 0.8 turns `x+y|x+z` into `x+(?:y|z)`, which prefers the longest `x+` to
        // the first branch. A last branch that matches nothing prevents that.
        if self.syntax != Syntax::Fancy && shares_choice(nodes) {
            self.text("|[a&&b]");
        }
    }

    fn concat(&mut self, nodes: &[Node], follow: Follow) {
        let mut follows = vec![follow];
        for node in nodes.iter().skip(1).rev() {
            let before = follows.last().map_or(follow, |follow| follow.before(node));
            follows.push(before);
        }
        for (node, &follow) in nodes.iter().zip(follows.iter().rev()) {
            match node {
                Node::Either(_) => self.enclosed("(?:", node, follow),
                _ => self.node(node, follow),
            }
        }
    }

    fn repeat(&mut self, node: &Node, (min, max): (u32, Option<u32>), mode: RepeatMode, follow: Follow) {
        let greedy = mode == RepeatMode::Possessive && may_be_greedy(node, follow);
        let atomic = mode == RepeatMode::Possessive && !greedy;
        // A run that leaves no byte of its set behind can end in one place only.
        let mark = match node {
            Node::Set(set) if atomic && max.is_none() => self.mark(*set),
            _ => None,
        };
        let open = match mark {
            Some(_) => "(?:",
            None if atomic => self.only_fancy("(?>", "(?:"),
            None => "",
        };
        self.text(open);
        let within = follow.within_repeat(node, min, max);
        match node {
            Node::Set(_) | Node::Capture(_) => self.node(node, within),
            _ => self.enclosed("(?:", node, within),
        }
        let out = &mut self.out.text;
        let written = match (min, max) {
            (0, None) => write!(out, "*"),
            (1, None) => write!(out, "+"),
            (0, Some(1)) => write!(out, "?"),
            (min, None) => write!(out, "{{{min},}}"),
            (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
            (min, Some(max)) => write!(out, "{{{min},{max}}}"),
        };
        written.expect("writing to memory");
        if mode == RepeatMode::Lazy {
            self.text("?");
        }
        self.text(mark.unwrap_or(""));
        self.text(if open.is_empty() { "" } else { ")" });
    }

    /// The mark for "no byte of the set comes next".
    fn mark(&mut self, set: Set) -> Option<&'static str> {
        if self.syntax != Syntax::Marked {
            return None;
        }
        let at = self.sets.iter().position(|other| *other == set).unwrap_or(self.sets.len());
        let mark = *MARKS.get(at)?;
        if at == self.sets.len() {
            self.sets.push(set);
        }
        Some(mark)
    }

    /// A look-ahead as a mark, or at the end of the pattern as what follows an end mark.
    fn marked_look(&mut self, negative: bool, node: &Node, follow: Follow) -> Option<()> {
        if let (true, Node::Set(set)) = (negative, node) {
            let mark = self.mark(*set)?;
            self.text(mark);
            return Some(());
        }
        if self.may_not_end || !follow.is_end {
            return None;
        }
        let node = if negative { finite::none_of(&finite::strings(node)?)? } else { node.clone() };
        self.text(END_MARK);
        self.may_not_end = true;
        self.enclosed("(?:", &node, Follow::END);
        self.may_not_end = false;
        Some(())
    }

    fn look(&mut self, direction: Direction, negative: bool, node: &Node, follow: Follow) {
        if self.syntax == Syntax::Marked
            && direction == Direction::Ahead
            && self.marked_look(negative, node, follow).is_some()
        {
            return;
        }
        if self.syntax != Syntax::Fancy {
            self.out.is_inexact = true;
            return;
        }
        let open = match (direction, negative) {
            (Direction::Ahead, false) => "(?=",
            (Direction::Ahead, true) => "(?!",
            (Direction::Behind, false) => "(?<=",
            (Direction::Behind, true) => "(?<!",
        };
        // Branches may differ in length, as in PCRE: each gets its own look-behind.
        let (Direction::Behind, Node::Either(branches)) = (direction, node) else {
            return self.enclosed(open, node, Follow::END);
        };
        self.text("(?:");
        for (index, branch) in branches.iter().enumerate() {
            self.text(if index > 0 && !negative { "|" } else { "" });
            self.enclosed(open, branch, Follow::END);
        }
        self.text(")");
    }

    fn reference(&mut self, group: u32, caseless: bool) {
        if self.syntax != Syntax::Fancy {
            self.out.is_inexact = true;
            self.text("[\\x00-\\xFF]*");
            return;
        }
        let flag = if caseless { "i" } else { "" };
        write!(self.out.text, "(?{flag}:\\{group})").expect("writing to memory");
    }

    fn assertion(&mut self, assertion: Assertion, follow: Follow) {
        const WORD: &str = "(?:(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z]))";
        const NOT_WORD: &str = "(?:(?<=[0-9A-Z_a-z])(?=[0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?![0-9A-Z_a-z]))";
        let is_rust = self.syntax != Syntax::Fancy;
        if is_rust && assertion == Assertion::LineStart && follow.nullable {
            self.out.differs_after_final_newline = true;
        }
        let text = match assertion {
            Assertion::TextStart => "\\A",
            Assertion::TextEnd => "\\z",
            Assertion::LineStart if is_rust => "(?m:^)",
            Assertion::LineStart => "(?:\\A|(?<=\\x0A)(?!\\z))",
            Assertion::LineEnd if is_rust => "(?m:$)",
            Assertion::LineEnd => "(?=\\x0A|\\z)",
            Assertion::LastLineEnd => self.only_fancy("(?=\\x0A?\\z)", "(?m:$)"),
            Assertion::WordBoundary if is_rust => "\\b",
            Assertion::WordBoundary => WORD,
            Assertion::NotWordBoundary if is_rust => "\\B",
            Assertion::NotWordBoundary => NOT_WORD,
        };
        self.text(text);
    }

    fn set(&mut self, set: Set) {
        if let Some(byte) = set.single() {
            return self.byte(byte);
        }
        if set == Set::EMPTY {
            // Matches nowhere; an empty class is not accepted by both syntaxes.
            return self.text("(?:\\z[\\x00-\\xFF])");
        }
        self.text("[");
        for (first, last) in set.ranges() {
            self.byte(first);
            if last > first {
                self.text(if last - first > 1 { "-" } else { "" });
                self.byte(last);
            }
        }
        self.text("]");
    }

    /// A byte, inside or outside a class.
    fn byte(&mut self, byte: u8) {
        let written = match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' => write!(self.out.text, "{}", char::from(byte)),
            _ => write!(self.out.text, "\\x{byte:02X}"),
        };
        written.expect("writing to memory");
    }
}

/// Whether all branches begin with the same ambiguous item.
fn shares_choice(branches: &[Node]) -> bool {
    let mut flat = Vec::new();
    flatten(branches, &mut flat);
    let Some((first, others)) = flat.split_first() else { return false };
    let shared =
        first.iter().enumerate().take_while(|(at, node)| others.iter().all(|other| other.get(*at) == Some(node)));
    shared.map(|(_, node)| node).any(|node| !has_one_way(node))
}

/// The items of each branch, with nested alternations flattened.
fn flatten<'n>(branches: &'n [Node], flat: &mut Vec<&'n [Node]>) {
    for branch in branches {
        match branch {
            Node::Either(branches) => flatten(branches, flat),
            Node::Concat(nodes) => flat.push(nodes),
            node => flat.push(std::slice::from_ref(node)),
        }
    }
}
