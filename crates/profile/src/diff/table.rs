//! The table of functions, and the difference as text.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::ProfileKind;
use crate::graph::text::clean;
use crate::tree::FunctionId;

use super::calls::function_weights;
use super::{Difference, Function, Side, Unit, WeightPair};
use crate::amount::counted;

impl Difference {
    /// Computes the functions' weights from the tree.
    pub(super) fn sum_up(&mut self) {
        let weights = function_weights(&self.nodes, self.functions.len());
        for (at, (self_weight, total)) in weights.into_iter().enumerate() {
            let (self_change, total_change) = (self.change(self_weight), self.change(total));
            let function = &mut self.functions[at];
            *function = Function { self_weight, total, self_change, total_change, ..std::mem::take(function) };
        }
        self.vanished = self.only_on(Side::Old);
        self.appeared = self.only_on(Side::New);
    }

    fn only_on(&self, side: Side) -> Vec<FunctionId> {
        let other = if side == Side::Old { Side::New } else { Side::Old };
        let only = |pair: WeightPair| pair.on(side) > 0 && pair.on(other) == 0 && self.shows(pair);
        let mut ids: Vec<FunctionId> = self.ids().filter(|id| only(self.function(*id).total)).collect();
        ids.sort_by_key(|id| (std::cmp::Reverse(self.function(*id).total.on(side)), *id));
        ids
    }

    fn ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (1..self.functions.len()).map(|at| FunctionId(u32::try_from(at).expect("numbered with 32 bits")))
    }

    /// Functions worth showing: the largest change of self weight first, then of total.
    #[must_use]
    pub fn ranked(&self) -> Vec<FunctionId> {
        let size = |id: FunctionId| {
            let function = self.function(id);
            (function.self_change.abs(), function.total_change.abs())
        };
        let mut ids: Vec<FunctionId> = self.ids().filter(|id| self.shows(self.function(*id).total)).collect();
        ids.retain(|id| self.function(*id).total != WeightPair::default());
        ids.sort_by(|a, b| size(*b).partial_cmp(&size(*a)).unwrap_or(Ordering::Equal).then(a.cmp(b)));
        ids
    }

    /// The difference as a table for a terminal, with at most `limit` functions in each list.
    #[must_use]
    pub fn text(&self, limit: usize) -> String {
        let mut out = String::new();
        self.head(&mut out);
        let ranked = self.ranked();
        let _ = writeln!(out, "\nFunctions by change of self weight, in {}{}", self.unit_name(), more(&ranked, limit));
        let _ = writeln!(
            out,
            "{:>11} {:>11} {:>11}  {:>11} {:>11} {:>11}  function",
            "self old", "new", "change", "total old", "new", "change"
        );
        for id in ranked.iter().take(limit) {
            let function = self.function(*id);
            let _ = writeln!(
                out,
                "{}  {}  {}",
                self.cells(function.self_weight),
                self.cells(function.total),
                title(function)
            );
        }
        self.list(&mut out, "Vanished", Side::Old, &self.vanished, limit);
        self.list(&mut out, "New", Side::New, &self.appeared, limit);
        self.merged_list(&mut out, limit);
        out
    }

    fn head(&self, out: &mut String) {
        for side in [Side::Old, Side::New] {
            let input = self.input(side);
            let name = if side == Side::Old { "old" } else { "new" };
            let requests =
                input.requests.map_or_else(String::new, |requests| format!(", {}", counted(requests, "request")));
            let title = if input.title.is_empty() { "(no title)".to_owned() } else { clean(&input.title) };
            let _ = writeln!(out, "{name}: {title}, {}{requests}", counted(input.samples, "sample"));
        }
        for remark in &self.remarks {
            let _ = writeln!(out, "note: {}", clean(remark));
        }
        if self.unit == Unit::PerRequest {
            let total = WeightPair { old: self.old.total, new: self.new.total };
            let _ = writeln!(out, "total:{}  {}", self.cells(total), self.unit_name());
        }
    }

    fn list(&self, out: &mut String, name: &str, side: Side, ids: &[FunctionId], limit: usize) {
        if ids.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{name}, by total{}", more(ids, limit));
        for id in ids.iter().take(limit) {
            let function = self.function(*id);
            let cell = |pair: WeightPair| self.number(self.per_unit(side, pair.on(side)));
            let _ = writeln!(
                out,
                "{:>11} self {:>11}  {}",
                cell(function.total),
                cell(function.self_weight),
                title(function)
            );
        }
    }

    fn merged_list(&self, out: &mut String, limit: usize) {
        if self.forwarded.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\nMerged: these functions only pass calls on, and the other side has no such frames (tail calls or inlining){}",
            more(&self.forwarded, limit)
        );
        for entry in self.forwarded.iter().take(limit) {
            let side = if entry.side == Side::Old { "old" } else { "new" };
            let weight = self.number(self.per_unit(entry.side, entry.weight));
            let name = title(self.function(entry.function));
            let _ = writeln!(out, "{weight:>11} in the {side} profile, {}  {name}", counted(entry.paths, "path"));
        }
    }

    fn cells(&self, pair: WeightPair) -> String {
        let (old, new) = (self.per_unit(Side::Old, pair.old), self.per_unit(Side::New, pair.new));
        format!("{:>11} {:>11} {:>11}", self.number(old), self.number(new), self.signed(new - old))
    }

    fn unit_name(&self) -> &'static str {
        match (self.unit, self.kind) {
            (Unit::Share, _) => "% of the whole",
            (Unit::PerRequest, ProfileKind::Count) => "occurrences per request",
            (Unit::PerRequest, ProfileKind::OnCpu | ProfileKind::OffCpu) => "µs per request",
        }
    }

    /// A value in the unit as displayed: microseconds, occurrences, or per cent.
    fn shown(&self, value: f64) -> f64 {
        match (self.unit, self.kind) {
            (Unit::Share, _) => value * 100.0,
            (Unit::PerRequest, ProfileKind::Count) => value,
            (Unit::PerRequest, ProfileKind::OnCpu | ProfileKind::OffCpu) => value / 1_000.0,
        }
    }

    fn number(&self, value: f64) -> String {
        format!("{:.3}", self.shown(value))
    }

    fn signed(&self, value: f64) -> String {
        let text = format!("{:+.3}", self.shown(value));
        if text.trim_start_matches(['+', '-']).bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            "0.000".into()
        } else {
            text
        }
    }
}

fn more<T>(list: &[T], limit: usize) -> String {
    if list.len() > limit { format!(" ({limit} of {})", list.len()) } else { String::new() }
}

fn title(function: &Function) -> String {
    let frame =
        crate::Frame { module: function.module.clone(), ..crate::Frame::named(function.name.clone(), function.origin) };
    clean(&crate::label::label(&frame))
}
