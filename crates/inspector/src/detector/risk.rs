//! `risk`: a policy that reads counters, and answers by the score that it comes to.

use std::time::Duration;

use weir_inspect::own::ReceivedQuestion;
use weir_inspect::{Advice, Answer};

use crate::config::RiskConfig;
use crate::counter::{Counters, RedisState, Store};
use crate::error::InspectorError;
use crate::policy::Policy;
use crate::request;

/// The detector.
pub(crate) struct Risk {
    counters: Counters,
    store: Store,
    policy: Policy,
    /// The highest score first.
    thresholds: Vec<(u32, Answer)>,
}

impl Risk {
    /// Makes the detector of that name.
    ///
    /// # Errors
    /// What is wrong with its expressions, its policy, or its server's address.
    pub fn new(name: &str, config: RiskConfig) -> Result<Self, InspectorError> {
        let ids = config.counters.iter().map(|counter| counter.id.clone()).collect();
        let counters = Counters::new(config.counters);
        let counters = counters.map_err(|reason| InspectorError::Apply { detector: name.to_owned(), reason })?;
        let policy = Policy::load(name, config.policy, ids)?;
        let store = Store::new(name, &counters, &config.store)?;
        Ok(Self { counters, store, policy, thresholds: config.thresholds })
    }

    /// Counts a question, evaluates the policy, and answers by the score.
    pub async fn answer(&self, question: &ReceivedQuestion, deadline: Duration) -> Option<Answer> {
        let now_ms = request::now_ms();
        let counts = self.counters.of(question, now_ms)?;
        let values = self.store.count(&counts, now_ms, deadline).await;
        let read: Vec<(&str, i64)> = counts
            .iter()
            .zip(values)
            .map(|(count, value)| (&*self.counters.all()[count.counter].id, i64::try_from(value).unwrap_or(i64::MAX)))
            .collect();
        let mut answer = self.policy.judge(question, &read)?;
        let total = question.score.saturating_add(answer.score);
        let reached = self.thresholds.iter().find(|(score, _)| total >= *score);
        if let Some((score, own)) = reached.filter(|_| answer.advice != Advice::Refuse) {
            reach(&mut answer, own, total, *score);
        }
        Some(answer)
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The state of the server, if there is one.
    pub fn redis(&self) -> Option<&RedisState> {
        self.store.redis().map(|state| &**state)
    }
}

/// Adds what a threshold says.
fn reach(answer: &mut Answer, own: &Answer, total: u32, score: u32) {
    if own.advice != Advice::Pass {
        answer.advice = own.advice;
    }
    answer.status = own.status;
    answer.body.clone_from(&own.body);
    answer.response_headers.clone_from(&own.response_headers);
    answer.score = answer.score.saturating_add(own.score);
    answer.tags.extend(own.tags.iter().filter(|tag| !answer.tags.contains(tag)).cloned().collect::<Vec<_>>());
    answer.reason = format!("score {total} of {score}: {}", answer.reason);
}
