//! `counters`: limits by expressions, each with its answer.

use std::time::Duration;

use weir_inspect::own::ReceivedQuestion;
use weir_inspect::{Advice, Answer};

use crate::config::{CountersConfig, Limit};
use crate::counter::{Counters, RedisState, Store};
use crate::error::InspectorError;
use crate::request;

/// The detector.
pub(crate) struct Limits {
    limits: Vec<Limit>,
    counters: Counters,
    store: Store,
}

impl Limits {
    /// Makes the detector of that name.
    ///
    /// # Errors
    /// If its expressions do not compile, or its server's address makes no sense.
    pub fn new(name: &str, config: CountersConfig) -> Result<Self, InspectorError> {
        let counters = Counters::new(config.limits.iter().map(|limit| limit.counter.clone()).collect());
        let counters = counters.map_err(|reason| InspectorError::Apply { detector: name.to_owned(), reason })?;
        let store = Store::new(name, &counters, &config.store)?;
        Ok(Self { limits: config.limits, counters, store })
    }

    /// Counts a question, and answers for all limits that it exceeds.
    pub async fn answer(&self, question: &ReceivedQuestion, deadline: Duration) -> Option<Answer> {
        let now_ms = request::now_ms();
        let counts = self.counters.of(question, now_ms)?;
        let values = self.store.count(&counts, now_ms, deadline).await;
        let mut answer = Answer::default();
        for (count, value) in counts.iter().zip(values) {
            let limit = &self.limits[count.counter];
            if value > limit.most {
                exceed(&mut answer, limit, value, now_ms);
            }
        }
        Some(answer)
    }

    /// The state of the server, if there is one.
    pub fn redis(&self) -> Option<&RedisState> {
        self.store.redis().map(|state| &**state)
    }
}

/// Adds what a limit says to the answer so far: of several that refuse, the first one counts.
fn exceed(answer: &mut Answer, limit: &Limit, value: u64, now_ms: u64) {
    let Limit { counter, most, answer: own } = limit;
    let is_first = answer.advice != Advice::Refuse;
    answer.score = answer.score.saturating_add(own.score);
    answer.tags.extend(own.tags.iter().filter(|tag| !answer.tags.contains(tag)).cloned().collect::<Vec<_>>());
    let separator = if answer.reason.is_empty() { "" } else { "; " };
    let reason = format!("{separator}{}: {value} in {} s, at most {most}", counter.id, counter.window_ms / 1000);
    answer.reason.push_str(&reason);
    match own.advice {
        Advice::Refuse if is_first => {
            answer.advice = Advice::Refuse;
            answer.status = own.status;
            answer.body.clone_from(&own.body);
            answer.response_headers.clone_from(&own.response_headers);
            let seconds = (counter.window_ms - now_ms % counter.window_ms).div_ceil(1000);
            answer.response_headers.push((b"Retry-After".to_vec(), seconds.to_string().into_bytes()));
        }
        Advice::Detect if is_first => answer.advice = Advice::Detect,
        Advice::Refuse | Advice::Detect | Advice::Pass | Advice::Unable => {}
    }
}
