//! The difference between two profiles: both call trees in one, and a table of functions.
//!
//! Weights stay as measured; [`Difference::per_unit`] makes them comparable, per request if both
//! profiles know their number of requests, otherwise as shares of the whole. A share alone misleads
//! (if one function becomes cheaper, all others look more expensive), so it is only the fallback.
//!
//! Builds differ in ways that are not changes of the program: clones of a function have suffixes ([`names`]), and
//! optimised code omits frames by tail calls. Comparing frame by frame would show half of nginx as vanished between
//! `-O0` and `-O2`. Frames that only pass a call on are therefore removed from the side that has them, if the other
//! side shows the call without them ([`forward`]); merged frames are counted and listed, never hidden.

mod calls;
mod forward;
mod names;
mod table;

use serde::Serialize;

use crate::tree::{FunctionId, NodeId};
use crate::{Origin, Profile, ProfileKind};
use calls::{Calls, Functions};
use forward::Merge;

/// The unit in which the two profiles are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Weight per request.
    PerRequest,
    /// Share of the profile's whole weight, from 0 to 1.
    Share,
}

/// Treatment of frames that only one build shows because the other made tail calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TailCalls {
    /// Remove and report them.
    #[default]
    Merge,
    /// Compare frame by frame.
    Keep,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiffOptions {
    /// The unit; by default per request if both profiles know their requests, otherwise shares. If
    /// requests are asked for but unknown, shares are used, with a remark.
    pub unit: Option<Unit>,
    /// Functions whose totals are below this share (0 to 1) on both sides are omitted from the text
    /// and from the lists of vanished and new functions. The tree stays complete.
    pub min_share: f64,
    /// Treatment of frames that only pass on calls.
    pub tail_calls: TailCalls,
}

/// One of the two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first profile.
    Old,
    /// The second profile.
    New,
}

/// A weight on both sides, as measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WeightPair {
    /// In the old profile.
    pub old: u64,
    /// In the new profile.
    pub new: u64,
}

impl WeightPair {
    /// The weight on one side.
    #[must_use]
    pub fn on(self, side: Side) -> u64 {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }

    pub(crate) fn add(&mut self, side: Side, weight: u64) {
        let here = match side {
            Side::Old => &mut self.old,
            Side::New => &mut self.new,
        };
        *here = here.saturating_add(weight);
    }

    fn plus(self, other: Self) -> Self {
        Self { old: self.old.saturating_add(other.old), new: self.new.saturating_add(other.new) }
    }
}

/// One of the compared profiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ComparedProfile {
    /// Its title.
    pub title: String,
    /// Its total weight.
    pub total: u64,
    /// Its number of samples.
    pub samples: u64,
    /// Requests answered during the profile, if known.
    pub requests: Option<u64>,
}

/// A function, whatever the names of its clones and whether or not it was inlined.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Function {
    /// Its name, without the suffixes that compilers give to clones.
    pub name: String,
    /// Origin of its code; [`Origin::Inlined`] only if it was inlined everywhere.
    pub origin: Origin,
    /// The binary, if known; if the sides differ, the first in order.
    pub module: String,
    /// Weight of samples that end in it.
    pub self_weight: WeightPair,
    /// Weight of samples that pass through it; recursion counts once.
    pub total: WeightPair,
    /// Change of `self_weight` in units of [`Difference::unit`]: new minus old.
    pub self_change: f64,
    /// Change of `total` in units of [`Difference::unit`]: new minus old.
    pub total_change: f64,
}

/// A function reached by one call path, in either profile or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Index into [`Difference::functions`].
    pub function: FunctionId,
    /// Its caller; `None` for the root.
    pub parent: Option<NodeId>,
    /// Its callees, by function.
    pub children: Vec<NodeId>,
    /// Distance from the root.
    pub depth: u32,
    /// Weight of samples that end here.
    pub self_weight: WeightPair,
    /// Weight of samples that pass through here.
    pub total: WeightPair,
}

/// A function that one side shows between a caller and a callee that are adjacent on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Forwarded {
    /// Index into [`Difference::functions`].
    pub function: FunctionId,
    /// The side that showed it: usually the build with less optimisation.
    pub side: Side,
    /// Number of call paths from which it was removed.
    pub paths: u64,
    /// Weight that passed through it on these paths.
    pub weight: u64,
}

/// The comparison of two profiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Meaning of weights; [`ProfileKind::Count`] if it differs between the profiles.
    pub kind: ProfileKind,
    /// How weights are compared.
    pub unit: Unit,
    /// The old profile.
    pub old: ComparedProfile,
    /// The new profile.
    pub new: ComparedProfile,
    /// All functions, by name and origin, after the root's, which is named `all`.
    pub functions: Vec<Function>,
    /// The merged tree in depth-first order: the root first, parents before children.
    pub nodes: Vec<Node>,
    /// Functions that only the old profile has, the heaviest total first.
    pub vanished: Vec<FunctionId>,
    /// Functions that only the new profile has, the heaviest total first.
    pub appeared: Vec<FunctionId>,
    /// Frames that were removed because they only pass on calls, the heaviest first.
    pub forwarded: Vec<Forwarded>,
    /// Caveats for the reader, a sentence each.
    pub remarks: Vec<String>,
    /// [`DiffOptions::min_share`].
    pub min_share: f64,
}

/// Compares two profiles, in time linear in their frames, stacks and samples.
#[must_use]
pub fn diff(old: &Profile, new: &Profile, options: &DiffOptions) -> Difference {
    let functions = Functions::of(old, new);
    let calls = [Calls::of(old, functions.of_old()), Calls::of(new, functions.of_new())];
    let merges = match options.tail_calls {
        TailCalls::Keep => [Merge::none(&calls[0]), Merge::none(&calls[1])],
        TailCalls::Merge => {
            let edges = [calls[0].edges(), calls[1].edges()];
            [Merge::find(&calls[0], &edges[1], functions.list()), Merge::find(&calls[1], &edges[0], functions.list())]
        }
    };
    let forwarded = forwarded(&calls, &merges);
    let (unit, remarks) = unit(old, new, options);
    let mut difference = Difference {
        kind: if old.kind == new.kind { old.kind } else { ProfileKind::Count },
        unit,
        old: input(old),
        new: input(new),
        nodes: calls::merged(&calls, &merges),
        functions: functions.into_list(),
        vanished: Vec::new(),
        appeared: Vec::new(),
        forwarded,
        remarks,
        min_share: options.min_share,
    };
    difference.sum_up();
    difference
}

fn input(profile: &Profile) -> ComparedProfile {
    ComparedProfile {
        title: profile.meta.title.clone(),
        total: profile.total(),
        samples: profile.samples.iter().map(|sample| sample.count).fold(0, u64::saturating_add),
        requests: profile.meta.requests,
    }
}

fn unit(old: &Profile, new: &Profile, options: &DiffOptions) -> (Unit, Vec<String>) {
    let mut remarks = Vec::new();
    if old.kind != new.kind {
        remarks.push("the profiles measure different things: only shares can be compared".into());
    }
    let known = |profile: &Profile| profile.meta.requests.is_some_and(|requests| requests > 0);
    let can = known(old) && known(new) && old.kind == new.kind;
    if options.unit == Some(Unit::PerRequest) && !can {
        remarks.push("requests are not known on both sides: shares are compared".into());
    }
    let unit = if can && options.unit != Some(Unit::Share) { Unit::PerRequest } else { Unit::Share };
    (unit, remarks)
}

fn forwarded(calls: &[Calls; 2], merges: &[Merge; 2]) -> Vec<Forwarded> {
    let mut all = Vec::new();
    for (side, (calls, merge)) in [Side::Old, Side::New].into_iter().zip(calls.iter().zip(merges)) {
        for (function, (paths, weight)) in merge.taken_out(calls) {
            all.push(Forwarded { function, side, paths, weight });
        }
    }
    all.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.weight), entry.function, entry.side));
    all
}

impl Difference {
    /// The root of [`Difference::nodes`].
    pub const ROOT: NodeId = NodeId(0);

    /// A node.
    ///
    /// # Panics
    /// If the id is of another tree.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A function.
    ///
    /// # Panics
    /// If the id is of another difference.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// One of the two profiles.
    #[must_use]
    pub fn input(&self, side: Side) -> &ComparedProfile {
        match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        }
    }

    /// A weight of one side in the unit: nanoseconds (or occurrences) per request, or a share from 0 to 1.
    #[must_use]
    pub fn per_unit(&self, side: Side, weight: u64) -> f64 {
        let input = self.input(side);
        let whole = match self.unit {
            Unit::PerRequest => input.requests.unwrap_or_default(),
            Unit::Share => input.total,
        };
        if whole == 0 { 0.0 } else { weight as f64 / whole as f64 }
    }

    /// Change of a weight in the unit: new minus old.
    #[must_use]
    pub fn change(&self, pair: WeightPair) -> f64 {
        self.per_unit(Side::New, pair.new) - self.per_unit(Side::Old, pair.old)
    }

    /// Whether a weight is large enough to show on either side, by [`DiffOptions::min_share`].
    #[must_use]
    pub fn shows(&self, pair: WeightPair) -> bool {
        let share = |weight: u64, whole: u64| if whole == 0 { 0.0 } else { weight as f64 / whole as f64 };
        share(pair.old, self.old.total).max(share(pair.new, self.new.total)) >= self.min_share
    }
}

#[cfg(test)]
mod tests;
