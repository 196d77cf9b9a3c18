//! Follows CrowdSec's local API as a bouncer: all decisions first, then what has changed.
//!
//! After anything that went wrong all decisions are asked for again, because an answer that did not arrive is not
//! repeated. Until then those that are known hold to their end. Downloads and reading have a thread of their own, so that
//! neither changes nor the end of the daemon wait for them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{oneshot, watch};
use weir_bans::{Origin, Remedy};
use weir_resource::ResourceKind;

use super::decisions::{Decisions, Reading};
use super::{Bans, MAX_DECISIONS, ticks};
use crate::fetch;
use crate::log;
use crate::shared::{Shared, ended, now_ms};
use crate::state::secret_text;

/// How often CrowdSec is asked, unless the settings say otherwise.
const EVERY_MS: u64 = 10_000;
/// The time in which an answer must be there.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer: some 300,000 decisions.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Where decisions come from.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    url: String,
    key: String,
    every: Duration,
    reading: Reading,
}

impl Source {
    /// As the settings say it; `None` if they do not.
    fn of(settings: &Value) -> Option<Self> {
        let crowdsec = settings.get("crowdsec")?;
        let every_ms = crowdsec["every"].as_str().and_then(weir_policy::leaf::milliseconds).unwrap_or(EVERY_MS);
        let origins = crowdsec["origins"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let unknown = crowdsec["unknown"].as_str().and_then(|word| word.parse().ok()).unwrap_or(Remedy::Ban);
        Some(Self {
            url: crowdsec["url"].as_str()?.trim_end_matches('/').to_owned(),
            key: secret_text(crowdsec.get("key")?)?.to_owned(),
            every: Duration::from_millis(every_ms),
            reading: Reading { origins: origins.map(str::to_owned).collect(), unknown },
        })
    }

    /// Asks for all decisions, or for those that have changed.
    fn ask(&self, all: bool) -> Result<Decisions, String> {
        let url = format!("{}/v1/decisions/stream?startup={all}", self.url);
        let request = fetch::Request {
            url: &url,
            headers: &[("Accept", "application/json"), ("X-Api-Key", &self.key)],
            timeout: TIMEOUT,
            max_bytes: MAX_ANSWER_BYTES,
        };
        let answer = fetch::fetch(&request).map_err(|error| match error.to_string() {
            // Which is what it answers to a wrong key.
            refused if refused.ends_with("status 403") => format!("{refused}; is the key that of a bouncer?"),
            other => other,
        })?;
        self.reading.read(&answer, now_ms() / 1_000)
    }
}

/// The present source, and what is known of it.
struct Feed {
    source: Source,
    due: Instant,
    /// Whether the last answer was taken over, so that the next one may be a difference.
    is_current: bool,
    /// Why it was not, if that was said.
    said: Option<String>,
    odd: BTreeSet<String>,
}

/// Follows the source that the settings name, until `stop`.
pub(crate) async fn follow(bans: Bans, shared: Shared, mut stop: watch::Receiver<bool>) {
    let mut ticks = ticks();
    let mut feed: Option<Feed> = None;
    let mut seen = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ended(&mut stop) => return,
        }
        let settings = {
            let state = shared.state();
            let held = state.get(ResourceKind::Settings, "");
            let revision = held.map_or(0, |held| held.revision);
            (seen != Some(revision)).then(|| (revision, held.map(|held| held.document.value()).unwrap_or_default()))
        };
        if let Some((revision, settings)) = settings {
            let source = Source::of(&settings);
            if seen.is_none() && source.is_none() || source.as_ref() != feed.as_ref().map(|feed| &feed.source) {
                feed = change(&bans, source).await;
            }
            seen = Some(revision);
        }
        if let Some(feed) = feed.as_mut().filter(|feed| feed.due <= Instant::now()) {
            tokio::select! {
                () = feed.update(&bans) => {}
                () = ended(&mut stop) => return,
            }
        }
    }
}

/// Goes over to another source, or to none: then its decisions go.
async fn change(bans: &Bans, source: Option<Source>) -> Option<Feed> {
    if source.is_none() && bans.count(Origin::CrowdSec) > 0 {
        let bans = bans.clone();
        let cleared = tokio::task::spawn_blocking(move || bans.replace_decisions(Vec::new())).await;
        if let Ok(Err(error)) = cleared {
            log::failure!("CrowdSec: its decisions stay until they end: {error}");
        }
    }
    source.map(|source| Feed { source, due: Instant::now(), is_current: false, said: None, odd: BTreeSet::new() })
}

impl Feed {
    async fn update(&mut self, bans: &Bans) {
        let all = !std::mem::take(&mut self.is_current);
        let (source, bans) = (self.source.clone(), bans.clone());
        let (reply, answer) = oneshot::channel();
        let asked = std::thread::Builder::new().name("crowdsec".to_owned()).spawn(move || {
            let _ = reply.send(source.ask(all));
        });
        let result = match asked {
            Ok(_) => answer.await.unwrap_or_else(|_| Err("the answer could not be read".to_owned())),
            Err(error) => Err(format!("there is no thread to ask it: {error}")),
        };
        let result = match result {
            Ok(decisions) => self.take_over(bans, decisions, all).await,
            Err(error) => Err(error),
        };
        self.due = Instant::now() + self.source.every;
        let url = &self.source.url;
        match result {
            Ok(count) => {
                self.is_current = true;
                if self.said.take().is_some() || all {
                    log::info!("CrowdSec at {url}: {count} bans");
                }
            }
            Err(error) if self.said.is_none() => {
                log::failure!("CrowdSec at {url}: {error}; what is known holds until it ends");
                self.said = Some(error);
            }
            Err(_) => {}
        }
    }

    async fn take_over(&mut self, bans: Bans, decisions: Decisions, all: bool) -> Result<usize, String> {
        let url = &self.source.url;
        for (oddity, count) in decisions.odd {
            if !self.odd.contains(&oddity) {
                log::warning!("CrowdSec at {url}: {count} decisions with {oddity}");
                self.odd.insert(oddity);
            }
        }
        let taken = tokio::task::spawn_blocking(move || {
            let left_out = if all {
                bans.replace_decisions(decisions.new)
            } else {
                bans.change_decisions(&decisions.deleted, &decisions.new)
            };
            left_out.map(|left_out| (left_out, bans.count(Origin::CrowdSec)))
        });
        let (left_out, count) = taken.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        if left_out > 0 && self.odd.insert("room".to_owned()) {
            log::failure!("CrowdSec at {url}: more than {MAX_DECISIONS} decisions; {left_out} are left out");
        }
        Ok(count)
    }
}
