//! The policy of a detector: loaded, evaluated for a question, and loaded again when it changes.
//!
//! The engine and its order of phases are those of `crates/nginx`, so that a verdict does not depend on where rules run.
//! Rate limits, nonces and persistent collections are counted in memory of the detector's own, which outlives reloads.

mod judge;
mod tables;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use weir_engine::Plan;
use weir_policy::Snapshot;
use weir_rules::Field;
use weir_rules::ir::Access;

use crate::config::PolicyConfig;
use crate::error::InspectorError;
use crate::log;
use tables::Tables;

/// A policy and what it counts.
pub(crate) struct Policy {
    /// The detector that it belongs to.
    detector: String,
    config: PolicyConfig,
    /// Ids of the counters that its expressions may read.
    counters: Vec<String>,
    loaded: RwLock<Loaded>,
    tables: Tables,
}

/// What was read of the file.
#[derive(Clone)]
struct Loaded {
    snapshot: Snapshot,
    plan: Arc<Plan>,
    stamp: Option<(SystemTime, u64)>,
}

impl Policy {
    /// Loads the policy of a detector, whose rules may read counters of these ids.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(detector: &str, config: PolicyConfig, counters: Vec<String>) -> Result<Self, InspectorError> {
        let loaded = RwLock::new(read(detector, &config, &counters)?);
        Ok(Self { detector: detector.to_owned(), config, counters, loaded, tables: Tables::new() })
    }

    /// Loads it again; what is wrong with it is logged, and the earlier one stays in effect.
    pub fn reload(&self) -> bool {
        match read(&self.detector, &self.config, &self.counters) {
            Ok(loaded) => {
                log::info!("detector `{}`: policy {} is in effect", self.detector, loaded.snapshot.revision());
                *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                true
            }
            Err(error) => {
                log::failure!("detector `{}`: the earlier policy stays in effect: {error}", self.detector);
                // The same fault is reported once.
                self.loaded.write().unwrap_or_else(PoisonError::into_inner).stamp = stamp(&self.config);
                false
            }
        }
    }

    /// Whether the file is another one than was loaded.
    pub fn has_changed(&self) -> bool {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).stamp != stamp(&self.config)
    }

    fn current(&self) -> Loaded {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(detector: &str, config: &PolicyConfig, counters: &[String]) -> Result<Loaded, InspectorError> {
    let stamp = stamp(config);
    let snapshot = Snapshot::load(&config.policy)?;
    for warning in snapshot.warnings() {
        log::warning!("detector `{detector}`: {warning}");
    }
    let failed = |reason: String| InspectorError::Apply { detector: detector.to_owned(), reason };
    if let Some((message, hint)) = unknown_counter(&snapshot, config, counters) {
        return Err(failed(format!("{message}; {hint}")));
    }
    let names = applied(&snapshot, config);
    let plan = snapshot.plan(&names).map_err(|error| failed(error.to_string()))?;
    Ok(Loaded { plan, stamp, snapshot })
}

fn stamp(config: &PolicyConfig) -> Option<(SystemTime, u64)> {
    let file = std::fs::metadata(&config.policy).ok()?;
    Some((file.modified().ok()?, file.len()))
}

/// The policies that apply.
fn applied<'a>(snapshot: &'a Snapshot, config: &'a PolicyConfig) -> Vec<&'a str> {
    match config.apply.is_empty() {
        true => snapshot.policy_names().collect(),
        false => config.apply.iter().map(String::as_str).collect(),
    }
}

/// What to say of a counter that an expression reads and the detector does not have, and what to do about it.
pub(crate) fn unknown_counter(
    snapshot: &Snapshot,
    config: &PolicyConfig,
    counters: &[String],
) -> Option<(String, String)> {
    let names = applied(snapshot, config);
    let mut unknown: Option<String> = None;
    let mut see = |access: &Access| {
        if access.field == Field::Counters
            && let Some(key) = &access.key
            && !counters.iter().any(|counter| counter.as_bytes() == key)
        {
            unknown.get_or_insert_with(|| String::from_utf8_lossy(key).into_owned());
        }
    };
    let applied = snapshot.specification().policies.iter().filter(|policy| names.contains(&policy.id.as_str()));
    let selectors = applied.flat_map(|policy| &policy.selectors);
    for selector in selectors {
        let conditions = selector.when.iter().chain(selector.rules.iter().map(|rule| &rule.when));
        conditions.for_each(|when| when.tests(&mut |test| test.value.fields(&mut see)));
    }
    let unknown = unknown?;
    let hint = match weir_policy::nearest(&unknown, counters.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its counters are: {}", counters.join(", ")),
    };
    Some((format!("the policy reads a counter `{unknown}` that the detector does not have"), hint))
}
