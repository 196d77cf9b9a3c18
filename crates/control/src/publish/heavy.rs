//! Changes that have to be compiled: through the sandbox, one at a time, while light ones go on.

use super::files;
use super::publisher::{Publisher, Verdict};
use super::queue::{Answer, Submitted};
use super::verification::Compiled;
use crate::sandbox::{MAX_WAITING, Rejected};
use crate::state::{Refusal, State};

/// How often a change is retried because the policies changed under it.
const ATTEMPTS: u32 = 3;

impl Publisher {
    /// Puts a change into the queue for the sandbox; `compiled` is what of it has to be compiled.
    pub(super) fn enqueue_heavy(&mut self, state: &State, submitted: Submitted, compiled: Compiled) {
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
        self.heavy.push_back((submitted, compiled));
        self.next_heavy(state);
    }

    /// Sends the next change to the sandbox, if it is idle.
    fn next_heavy(&mut self, state: &State) {
        if self.heavy_runs {
            return;
        }
        let Some((submitted, compiled)) = self.heavy.pop_front() else { return };
        let attempts = submitted.verified.as_ref().map_or(0, |verified| verified.attempts) + 1;
        let (mut verified, fresh) = compiled.begin(state, self.parts.uses().as_deref(), attempts);
        self.heavy_runs = true;
        let (parts, verdicts) = (self.parts.clone(), self.verdicts.clone());
        tokio::spawn(async move {
            let rejected = files::verify(&parts.sandbox, &parts.objects, &mut verified, fresh).await.err();
            let _ = verdicts.send(Verdict { submitted, verified, rejected });
        });
    }

    /// Continues with a change after the sandbox.
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
            Some(Rejected::Full(reason)) => Some((submitted, Answer::Full(reason))),
            Some(Rejected::Faults(faults)) => Some((submitted, Answer::Refused(Refusal::Invalid(faults)))),
        };
        if let Some((submitted, answer)) = refused {
            let _ = submitted.answer.send(answer);
        }
        let parts = self.parts.clone();
        self.next_heavy(&parts.state());
    }
}
