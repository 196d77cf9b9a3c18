//! A detector: what answers a question.

mod limits;
mod risk;

use std::time::{Duration, Instant};

use weir_inspect::Answer;
use weir_inspect::own::ReceivedQuestion;

pub(crate) use limits::Limits;
pub(crate) use risk::Risk;

use crate::config::DetectorConfig;
use crate::counter::RedisState;
use crate::error::InspectorError;
use crate::ext_authz::Bridge;
use crate::policy::Policy;

/// A detector of one of the kinds.
pub(crate) enum Detector {
    Rules(Policy),
    Counters(Limits),
    Risk(Risk),
    ExtAuthz(Bridge),
}

impl Detector {
    /// Makes the detector of that name. It is called within the runtime, in which clients of other servers connect.
    ///
    /// # Errors
    /// What is wrong with what it names.
    pub fn new(name: &str, config: DetectorConfig) -> Result<Self, InspectorError> {
        Ok(match config {
            DetectorConfig::Rules(config) => Self::Rules(Policy::load(name, config, Vec::new())?),
            DetectorConfig::Counters(config) => Self::Counters(Limits::new(name, config)?),
            DetectorConfig::Risk(config) => Self::Risk(Risk::new(name, config)?),
            DetectorConfig::ExtAuthz(config) => Self::ExtAuthz(Bridge::new(name, config)?),
        })
    }

    /// Answers before `end`; nothing if it cannot tell.
    pub async fn answer(&self, question: &ReceivedQuestion, end: Instant) -> Option<Answer> {
        match self {
            Self::Rules(policy) => policy.judge(question, &[]),
            Self::Counters(limits) => limits.answer(question, left(end)).await,
            Self::Risk(risk) => risk.answer(question, left(end)).await,
            Self::ExtAuthz(bridge) => bridge.answer(question, left(end)).await,
        }
    }

    /// Its policy, if it has one.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Self::Rules(policy) => Some(policy),
            Self::Risk(risk) => Some(risk.policy()),
            Self::Counters(_) | Self::ExtAuthz(_) => None,
        }
    }

    /// The state of its server of counters, if it has one.
    pub fn redis(&self) -> Option<&RedisState> {
        match self {
            Self::Counters(limits) => limits.redis(),
            Self::Risk(risk) => risk.redis(),
            Self::Rules(_) | Self::ExtAuthz(_) => None,
        }
    }
}

fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}
