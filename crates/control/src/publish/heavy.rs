//! Changes that have to be compiled: through the sandbox, one at a time, while light ones go on.

use super::queue::{Answer, Submitted, What};
use super::task::Publisher;
use crate::sandbox::{Job, MAX_WAITING, Rejected};
use crate::state::{Applied, Refusal, State};
use crate::store::Store;

/// How often a change is tried again because the policies changed under it.
const ATTEMPTS: u32 = 3;

/// What the sandbox has found good.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    policies: Option<String>,
    patterns: Vec<String>,
    attempts: u32,
}

impl Verified {
    /// Whether it is all that has to be compiled.
    pub fn covers(&self, applied: &Applied) -> bool {
        let policies = applied.policies.as_ref().map(|policies| policies.assembled.text());
        (policies.is_none() || policies == self.policies.as_deref())
            && applied.new_patterns().all(|(pattern, _)| self.patterns.iter().any(|known| known == pattern))
    }
}

/// What the sandbox said.
#[derive(Debug)]
pub(super) struct Verdict {
    submitted: Submitted,
    verified: Verified,
    rejected: Option<Rejected>,
}

impl Publisher {
    pub(super) fn enqueue_heavy(&mut self, state: &mut State, store: &mut Store, submitted: Submitted) {
        if submitted.verified.as_ref().is_some_and(|verified| verified.attempts >= ATTEMPTS) {
            let why = "the policies were changed again and again while this change was being checked; try again";
            let _ = submitted.answer.send(Answer::Failed(why.to_owned()));
            return;
        }
        // One that was in the sandbox already keeps its turn.
        if submitted.verified.is_none() && self.heavy.len() >= MAX_WAITING {
            let _ = submitted.answer.send(Answer::Busy);
            return;
        }
        self.heavy.push_back(submitted);
        self.next_heavy(state, store);
    }

    /// Sends the next one to the sandbox, if none is there.
    fn next_heavy(&mut self, state: &mut State, store: &mut Store) {
        while !self.heavy_runs {
            let Some(submitted) = self.heavy.pop_front() else { return };
            let edits = match &submitted.submission.what {
                What::Edits(edits) => Ok(edits.clone()),
                What::Rollback(revision) => super::commit::rollback(state, store, *revision),
            };
            let applied = edits.and_then(|edits| state.apply(state.revision() + 1, &edits).map_err(Answer::Refused));
            let applied = match applied {
                Ok(applied) => applied,
                Err(answer) => {
                    let _ = submitted.answer.send(answer);
                    continue;
                }
            };
            let policies = applied.policies.as_ref().map(|policies| policies.assembled.clone());
            let patterns = applied.places_of_patterns();
            state.undo(applied);
            let verified = Verified {
                policies: policies.as_ref().map(|policies| policies.text().to_owned()),
                patterns: patterns.iter().map(|(pattern, _)| pattern.clone()).collect(),
                attempts: submitted.verified.as_ref().map_or(0, |verified| verified.attempts) + 1,
            };
            self.heavy_runs = true;
            let (sandbox, verdicts) = (self.parts.sandbox.clone(), self.verdicts.clone());
            tokio::spawn(async move {
                let rejected = sandbox.check(Job { policies, patterns }).await.err();
                let _ = verdicts.send(Verdict { submitted, verified, rejected });
            });
        }
    }

    /// Goes on with a change that the sandbox has seen.
    pub(super) fn verdict(&mut self, verdict: Verdict) {
        self.heavy_runs = false;
        let Verdict { mut submitted, verified, rejected } = verdict;
        let refused = match rejected {
            None => {
                submitted.verified = Some(verified);
                self.commit(std::iter::once(submitted));
                None
            }
            Some(Rejected::Busy) => Some((submitted, Answer::Busy)),
            Some(Rejected::Faults(faults)) => Some((submitted, Answer::Refused(Refusal::Invalid(faults)))),
        };
        if let Some((submitted, answer)) = refused {
            let _ = submitted.answer.send(answer);
        }
        let parts = self.parts.clone();
        self.next_heavy(&mut parts.state(), &mut parts.store());
    }
}
