//! What a client may do with topics: as route and rules say when its request begins.

use weir_engine::{Plan, TopicGrants};
use weir_gateway::resource::{Messages, Rate};
use weir_messages::hub::Refusal;
use weir_messages::topic::TopicFilter;
use weir_rules::Phase;

/// The rights of one client.
pub struct Rights {
    /// The topics that rules allow; without it, all of the set.
    grants: Option<Box<TopicGrants>>,
    /// Why it may not publish by frames.
    no_frames: Option<Refusal>,
    rate: Option<Rate>,
    /// When the next message would be due at an even pace, in µs.
    due_us: u64,
}

impl Rights {
    /// The rights of a client for which rules of the plan have named these topics.
    pub fn of(known: &TopicGrants, plan: Option<&Plan>, messages: &Messages) -> Self {
        let is_restricted = messages.restricted || known.is_restricted;
        // Those that only look on miss a frame; those that may refuse must not be evaded by it.
        let is_evaded = plan.is_some_and(|plan| plan.has(Phase::Body) && !plan.only_detects());
        let no_frames = match (messages.publish, is_evaded && !messages.uninspected_frames) {
            (false, _) => Some(Refusal::NotHere),
            (true, true) => Some(Refusal::Uninspected),
            (true, false) => None,
        };
        let grants = is_restricted.then(|| Box::new(known.clone()));
        Self { grants, no_frames, rate: messages.publish_rate, due_us: 0 }
    }

    /// Whether the client may subscribe to all of these.
    pub fn may_subscribe<'f>(&self, mut filters: impl Iterator<Item = &'f str>) -> Result<(), Refusal> {
        filters.try_for_each(|filter| self.check(|grants| &grants.subscribe, filter))
    }

    /// Whether it may publish to a topic.
    pub fn may_publish(&self, topic: &str) -> Result<(), Refusal> {
        self.check(|grants| &grants.publish, topic)
    }

    /// Whether it may publish by frames at all.
    pub fn may_publish_frames(&self) -> bool {
        self.no_frames.is_none()
    }

    /// Whether it may publish by a frame now; counts it.
    pub fn may_publish_frame(&mut self, topic: &str, now_ms: u64) -> Result<(), Refusal> {
        if let Some(refusal) = &self.no_frames {
            return Err(refusal.clone());
        }
        self.may_publish(topic)?;
        let Some(Rate { requests, period_ms }) = self.rate else { return Ok(()) };
        let (now_us, each_us) = (now_ms * 1000, (period_ms * 1000 / requests).max(1));
        let due_us = self.due_us.max(now_us);
        // As many at once as in a whole period, and then one for each that is due.
        if due_us - now_us + each_us > (period_ms * 1000).max(each_us) {
            return Err(Refusal::TooFast { requests, period_ms });
        }
        self.due_us = due_us + each_us;
        Ok(())
    }

    fn check(&self, granted: fn(&TopicGrants) -> &Vec<String>, wanted: &str) -> Result<(), Refusal> {
        let Some(grants) = &self.grants else { return Ok(()) };
        let filter = TopicFilter::new(wanted.as_bytes())?;
        let covers = |one: &String| TopicFilter::new(one.as_bytes()).is_ok_and(|one| one.covers(filter));
        if granted(grants).iter().any(covers) { Ok(()) } else { Err(Refusal::Forbidden(wanted.to_owned())) }
    }
}
