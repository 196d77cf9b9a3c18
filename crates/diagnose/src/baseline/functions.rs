//! A differential flame graph reduced to one screen: the functions with the largest change in self time.

use serde::Serialize;
use weir_profile::diff::{Difference, Function, Side, Unit};
use weir_profile::tree::FunctionId;

/// Maximum number of functions of each list.
const SHOWN: usize = 12;
/// Minimum change shown, as a share of the larger side.
const LEAST_SHARE: f64 = 0.005;
/// Smaller changes, in samples, are random: if four are expected, eight or none occur in one case out of 25.
const LEAST_SAMPLES: f64 = 4.0;

/// A function on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionChange {
    /// Function name.
    pub name: String,
    /// Binary or Lua chunk; empty if unknown.
    pub module: String,
    /// Old self time, in the unit of [`Functions::unit`].
    pub before: f64,
    /// New self time.
    pub after: f64,
}

/// The differences between two profiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Functions {
    /// Unit of times: nanoseconds per request, or shares of the total.
    pub unit: Unit,
    /// Functions on both sides, by change of self time, the largest first.
    pub changed: Vec<FunctionChange>,
    /// Functions that are new, the heaviest first.
    pub appeared: Vec<FunctionChange>,
    /// Functions that are gone, the heaviest first.
    pub vanished: Vec<FunctionChange>,
    /// Functions that only one build shows because the other makes tail calls.
    pub tail_calls: Vec<String>,
    /// Caveats for the reader.
    pub remarks: Vec<String>,
}

impl Functions {
    /// Selects the functions to show.
    #[must_use]
    pub fn of(difference: &Difference) -> Self {
        let whole = [Side::Old, Side::New].map(|side| difference.per_unit(side, difference.input(side).total));
        #[allow(clippy::cast_precision_loss, reason = "a count of samples")]
        let fewest = difference.old.samples.min(difference.new.samples).max(1) as f64;
        let least = LEAST_SHARE.max(LEAST_SAMPLES / fewest) * whole[0].max(whole[1]);
        let alone = |ids: &[FunctionId]| -> Vec<FunctionChange> {
            let named = ids.iter().map(|&id| change(difference, difference.function(id)));
            named.filter(|one| one.before.max(one.after) >= least).take(SHOWN).collect()
        };
        let both = |one: &&Function| one.total.old > 0 && one.total.new > 0 && one.self_change.abs() >= least;
        let mut changed: Vec<&Function> = difference.functions.iter().skip(1).filter(both).collect();
        changed.sort_by(|one, other| other.self_change.abs().total_cmp(&one.self_change.abs()));
        let forwarded = difference.forwarded.iter().take(SHOWN);
        Self {
            unit: difference.unit,
            changed: changed.into_iter().take(SHOWN).map(|function| change(difference, function)).collect(),
            appeared: alone(&difference.appeared),
            vanished: alone(&difference.vanished),
            tail_calls: forwarded.map(|one| difference.function(one.function).name.clone()).collect(),
            remarks: difference.remarks.clone(),
        }
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.appeared.is_empty() && self.vanished.is_empty() && self.tail_calls.is_empty()
    }
}

fn change(difference: &Difference, function: &Function) -> FunctionChange {
    FunctionChange {
        name: function.name.clone(),
        module: function.module.clone(),
        before: difference.per_unit(Side::Old, function.self_weight.old),
        after: difference.per_unit(Side::New, function.self_weight.new),
    }
}
