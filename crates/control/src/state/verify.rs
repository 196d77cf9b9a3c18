//! Checks across documents: references, unique values, cycles, limits of a kind. Only touched documents are checked.

use weir_resource::{Fault, ResourceKind};

use super::apply::{MAX_FAULTS, Session};
use super::{Document, Key, State};

/// Longest chain of fallbacks.
pub const MAX_FALLBACKS: usize = 16;

impl Session<'_> {
    pub(super) fn verify(&mut self) {
        let mut faults = Vec::new();
        for (key, old) in self.touched() {
            match (self.state.get(key.kind, &key.id), old) {
                (Some(new), _) => {
                    self.dangling(key, &new.document, &mut faults);
                    self.shared(key, &new.document, &mut faults);
                    if key.kind == ResourceKind::Upstreams {
                        self.state.circular(key, &mut faults);
                    }
                }
                (None, Some(_)) => self.state.orphans(key, &mut faults),
                (None, None) => {}
            }
            if faults.len() >= MAX_FAULTS {
                break;
            }
        }
        self.crowded(&mut faults);
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// Resources beyond the limit of their kind: of those that the change adds, the last ones are at fault.
    fn crowded(&self, faults: &mut Vec<Fault>) {
        for (kind, most) in ResourceKind::ALL.into_iter().filter_map(|kind| Some((kind, kind.most()?))) {
            let count = self.state.count(kind);
            let is_new = |key: &&Key| key.kind == kind && self.state.get(kind, &key.id).is_some();
            let added: Vec<&Key> =
                self.touched().filter(|(_, old)| old.is_none()).map(|(key, _)| key).filter(is_new).collect();
            let kept = added.len().saturating_sub(count.saturating_sub(most));
            for key in added.into_iter().skip(kept).take(MAX_FAULTS) {
                faults.push(Fault {
                    pointer: key.to_string(),
                    message: format!("with it there would be {count} {}s", kind.singular()),
                    expected: Some(format!("at most {most}")),
                    hint: Some(format!("delete one that is not needed, or put more into one of those in {kind}")),
                    ..Fault::default()
                });
            }
        }
    }

    fn dangling(&self, key: &Key, document: &Document, faults: &mut Vec<Fault>) {
        for reference in &document.references {
            if self.state.get(reference.kind, &reference.id).is_some()
                || self.broken.iter().any(|broken| broken.kind == reference.kind && *broken.id == *reference.id)
            {
                continue;
            }
            let (what, id) = (reference.kind.singular(), &reference.id);
            faults.push(Fault {
                pointer: format!("{key}{}", reference.pointer),
                message: format!("there is no {what} `{id}`"),
                expected: Some(format!("the id of an existing {what}")),
                found: Some(id.clone()),
                hint: self.state.similar(reference.kind, id),
            });
        }
    }

    /// What is in another document already. Of two that were written together, the second is at fault; and two routes
    /// that share all their methods are one fault, not one for each.
    fn shared(&self, key: &Key, document: &Document, faults: &mut Vec<Fault>) {
        let mut told: Vec<(&str, &Key)> = Vec::new();
        for unique in &document.unique {
            let mut owners = self.state.uniques.owners(key.kind, &unique.key).iter();
            let is_first = |owner: &Key| owner < key || (owner != key && !self.has_written(owner));
            let Some(other) = owners.find(|owner| is_first(owner)) else { continue };
            if told.contains(&(&unique.pointer, other)) {
                continue;
            }
            told.push((&unique.pointer, other));
            faults.push(Fault {
                pointer: format!("{key}{}", unique.pointer),
                message: format!("{} is in {other} already", unique.what.trim_end()),
                ..Fault::default()
            });
        }
    }
}

impl State {
    /// Resources that still refer to a deleted one.
    fn orphans(&self, gone: &Key, faults: &mut Vec<Fault>) {
        let mut referrers: Vec<&Key> = self.references.referrers(gone.kind, &gone.id).take(MAX_FAULTS).collect();
        referrers.sort();
        for referrer in referrers {
            let Some(held) = self.get(referrer.kind, &referrer.id) else { continue };
            let same = held.document.references.iter().filter(|one| one.kind == gone.kind && *one.id == *gone.id);
            for reference in same {
                faults.push(Fault {
                    pointer: format!("{referrer}{}", reference.pointer),
                    message: format!("{referrer} refers to {gone}, which would be deleted"),
                    hint: Some(format!("change {referrer} first, or in the same transaction")),
                    ..Fault::default()
                });
            }
        }
    }

    /// Follows the chain of fallbacks.
    fn circular(&self, start: &Key, faults: &mut Vec<Fault>) {
        let mut chain = vec![start.id.to_string()];
        while let Some(next) = self.fallback(chain.last().expect("it begins with one")) {
            let closed = chain.contains(&next);
            chain.push(next);
            if closed || chain.len() > MAX_FALLBACKS {
                let message = if closed { "fallbacks in a circle" } else { "too many fallbacks in a row" };
                faults.push(Fault {
                    pointer: format!("{start}/fallback"),
                    message: format!("{message}: {}", chain.join(" → ")),
                    expected: Some(format!("at most {MAX_FALLBACKS} upstreams in a row, each only once")),
                    ..Fault::default()
                });
                return;
            }
        }
    }

    fn fallback(&self, upstream: &str) -> Option<String> {
        let held = self.get(ResourceKind::Upstreams, upstream)?;
        held.document.references.iter().find(|one| one.kind == ResourceKind::Upstreams).map(|one| one.id.clone())
    }

    /// A similar id of the kind.
    fn similar(&self, kind: ResourceKind, id: &str) -> Option<String> {
        let close = |known: &str| known.eq_ignore_ascii_case(id) || known.starts_with(id) || id.starts_with(known);
        let found = self.iter(kind, None).take(1_000).find(|(known, _)| close(known))?;
        Some(format!("did you mean `{}`?", found.0))
    }
}
