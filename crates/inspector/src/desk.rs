//! The desk: takes a question to its detector, for tenants that have it, within the time that the gateway waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_inspect::own::ReceivedQuestion;
use weir_inspect::{Advice, Answer};

use crate::config::{Config, MAX_TENANTS};
use crate::detector::Detector;
use crate::error::InspectorError;
use crate::metrics::{Metrics, Tenant};

/// Bytes of all questions that are being answered, in KiB.
const MAX_QUESTIONS_KIB: usize = 256 << 10;
/// How long an answer may take if the question does not say.
const USUAL_DEADLINE: Duration = Duration::from_secs(1);

/// All detectors, and who may ask them.
pub(crate) struct Desk {
    detectors: Vec<(String, Detector)>,
    /// Tenants by name; if there are none, every tenant may ask.
    tenants: BTreeMap<String, BTreeSet<String>>,
    memory: Arc<Semaphore>,
    pub metrics: Metrics,
}

const _: () = assert!(MAX_TENANTS < u16::MAX as usize);

impl Desk {
    /// Makes all detectors. It is called within the runtime.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn new(
        detectors: BTreeMap<String, crate::config::DetectorConfig>,
        tenants: BTreeMap<String, BTreeSet<String>>,
    ) -> Result<Self, InspectorError> {
        let metrics = Metrics::new(detectors.keys().cloned().collect(), tenants.keys().cloned().collect());
        let made = detectors.into_iter().map(|(name, config)| {
            let detector = Detector::new(&name, config)?;
            Ok((name, detector))
        });
        let detectors = made.collect::<Result<_, InspectorError>>()?;
        Ok(Self { detectors, tenants, memory: Arc::new(Semaphore::new(MAX_QUESTIONS_KIB)), metrics })
    }

    /// As [`Self::new`], from the whole configuration.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of(config: &mut Config) -> Result<Self, InspectorError> {
        Self::new(std::mem::take(&mut config.detectors), std::mem::take(&mut config.tenants))
    }

    /// The detectors, by name.
    pub fn detectors(&self) -> &[(String, Detector)] {
        &self.detectors
    }

    /// Waits until there is room for a question of that length.
    pub async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes / 1024 + 1).ok()?;
        Arc::clone(&self.memory).acquire_many_owned(kib).await.ok()
    }

    /// Answers a question that was received at that time.
    pub async fn answer(&self, question: &ReceivedQuestion, received: Instant) -> Answer {
        let unable = |reason: &str| Answer { advice: Advice::Unable, reason: reason.to_owned(), ..Answer::default() };
        let Ok(place) = self.detectors.binary_search_by(|(name, _)| name.as_str().cmp(&question.detector)) else {
            self.metrics.unknown.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            return unable("there is no such detector");
        };
        let (name, detector) = &self.detectors[place];
        let (tenant, is_on) = match self.tenants.get(&question.tenant) {
            Some(off) => (self.metrics.tenant(&question.tenant), !off.contains(name)),
            None => (Tenant::OTHER, self.tenants.is_empty() || question.tenant.is_empty()),
        };
        let wait = match question.deadline_ms {
            0 => USUAL_DEADLINE,
            ms => Duration::from_millis(u64::from(ms)),
        };
        let end = received + wait;
        let answer = if tenant == Tenant::OTHER && !is_on {
            unable("the tenant is not known")
        } else if !is_on {
            Answer::default()
        } else if Instant::now() >= end {
            unable("the gateway has stopped waiting")
        } else {
            detector.answer(question, end).await.unwrap_or_else(|| unable("the detector could not decide"))
        };
        self.metrics.answered(place, tenant, answer.advice, received.elapsed());
        answer
    }
}
