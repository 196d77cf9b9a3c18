//! Probes in JVMs that have registered: where each is, and when it was last heard of.
//!
//! They are kept in memory: a probe registers again every ten seconds, so a new control knows them as soon as it can
//! reach them. Commands go to the probe's own HTTP service. To hand them out with the answer to a registration was the
//! alternative; it needs no way to the probe, and takes seconds.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::client::{Answer, Client, ClientError, Method, Target};

/// A probe that has not registered for so long is shown as lost.
const LOST: Duration = Duration::from_secs(35);
/// And is forgotten after so long.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Most probes.
const MAX: usize = 4_096;
/// The longest wait for a probe, and for one that checks its isolation.
const ANSWER: Duration = Duration::from_secs(5);
const CHECK: Duration = Duration::from_secs(60);
/// Longest text in a member that is shown, in bytes.
const MAX_SHOWN: usize = 256;
/// Members of a registration that are shown.
const SHOWN: [&str; 10] =
    ["app", "host", "pid", "jvm", "version", "address", "port", "state", "ready", "shadow_revision"];

/// A request to a probe failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// There is no such probe.
    #[error("there is no probe `{0}`")]
    Unknown(String),
    /// It does not answer in time.
    #[error("the probe {0} does not answer within {s} s", s = .1.as_secs())]
    Late(String, Duration),
    /// It cannot be reached.
    #[error("the probe {0} does not answer: {1}")]
    Unreachable(String, ClientError),
}

/// A registration is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegisterError {
    /// What is wrong with it.
    #[error("{0}")]
    Invalid(String),
    /// Another process has this id, and was heard of so long ago.
    #[error("{0} is the id of another probe, which has registered {s} s ago", s = .1.as_secs())]
    Taken(String, Duration),
}

impl<T: Into<String>> From<T> for RegisterError {
    fn from(detail: T) -> Self {
        Self::Invalid(detail.into())
    }
}

/// All probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    known: Arc<Mutex<BTreeMap<String, Known>>>,
}

#[derive(Debug)]
struct Known {
    about: Map<String, Value>,
    target: Target,
    seen: Instant,
}

impl Probes {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a probe, or notes that it is there still; returns its id. A probe is known by its token: commands and
    /// passwords for one never go to another that claims its id.
    pub fn register(&self, about: &Value) -> Result<String, RegisterError> {
        let word = |key: &str| {
            let is_good = |text: &&str| {
                (1..=128).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            };
            let found = about[key].as_str().filter(is_good);
            found.ok_or_else(|| format!("/{key} is not a name of 1 to 128 letters, digits, `.`, `_` and `-`"))
        };
        word("app")?;
        let pid = about["pid"].as_u64().ok_or("/pid is not a number")?;
        let id = format!("{pid}@{}", word("host")?);
        let address: Option<IpAddr> = about["address"].as_str().and_then(|text| text.parse().ok());
        let address = address.ok_or("/address is not an IP address")?;
        let port = about["port"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let is_token = |text: &&str| (1..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let token = about["token"].as_str().filter(is_token).ok_or("/token is not a text of visible characters")?;
        let target = Target::Tcp {
            host: address.to_string(),
            port: port.ok_or("/port is not a number from 1 to 65535")?,
            tls: false,
            token: Some(token.to_owned()),
        };
        let is_plain = |value: &&Value| match value {
            Value::String(text) => text.len() <= MAX_SHOWN,
            value => value.is_number() || value.is_boolean(),
        };
        let shown = SHOWN.iter().filter_map(|key| Some(((*key).to_owned(), about.get(key).filter(is_plain)?.clone())));
        let mut known = self.known();
        known.retain(|_, one| one.seen.elapsed() < FORGOTTEN);
        if known.len() >= MAX && !known.contains_key(&id) {
            return Err(format!("there are {MAX} probes already").into());
        }
        if let Some(other) = known.get(&id).filter(|one| one.seen.elapsed() < LOST && !has_token(&one.target, token)) {
            return Err(RegisterError::Taken(id, other.seen.elapsed()));
        }
        known.insert(id.clone(), Known { about: shown.collect(), target, seen: Instant::now() });
        Ok(id)
    }

    /// What is known of all probes, by id.
    pub fn list(&self) -> Vec<Value> {
        let mut known = self.known();
        known.retain(|_, one| one.seen.elapsed() < FORGOTTEN);
        let show = |(id, one): (&String, &Known)| {
            let mut row = one.about.clone();
            row.insert("id".into(), id.as_str().into());
            row.insert("lost".into(), (one.seen.elapsed() > LOST).into());
            row.insert("seen_ms_ago".into(), u64::try_from(one.seen.elapsed().as_millis()).unwrap_or(u64::MAX).into());
            Value::Object(row)
        };
        known.iter().map(show).collect()
    }

    /// Ids of an application's probes.
    pub fn of_app(&self, app: &str) -> Vec<String> {
        let known = self.known();
        known.iter().filter(|(_, one)| one.about["app"] == app).map(|(id, _)| id.clone()).collect()
    }

    /// Hands a request on to a probe.
    pub async fn call(
        &self,
        id: &str,
        (method, path): (Method, &str),
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, ProbeError> {
        let target = self.known().get(id).map(|one| one.target.clone());
        let target = target.ok_or_else(|| ProbeError::Unknown(id.to_owned()))?;
        // A probe closes each connection, so there is none to keep.
        let client = Client::new(target);
        let wait = if matches!((method, path), (_, "/v1/arm") | (Method::Put, _)) { CHECK } else { ANSWER };
        match tokio::time::timeout(wait, client.call_with(method, path, body, headers)).await {
            Err(_) => Err(ProbeError::Late(id.to_owned(), wait)),
            Ok(answer) => answer.map_err(|error| ProbeError::Unreachable(id.to_owned(), error)),
        }
    }
}

fn has_token(target: &Target, token: &str) -> bool {
    matches!(target, Target::Tcp { token: Some(own), .. } if own == token)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_registrations_are_taken_and_tokens_are_not_shown() {
        let probes = Probes::default();
        let mut good = json!({
            "app": "shop", "host": "a", "pid": 7, "address": "127.0.0.1", "port": 1, "token": "secret", "state": "armed",
        });
        for (key, bad) in [
            ("app", json!("")),
            ("app", json!("a/b")),
            ("host", json!("a b")),
            ("pid", json!("7")),
            ("address", json!("metadata.internal")),
            ("port", json!(0)),
            ("port", json!(65_536)),
            ("token", json!("a\r\nb: c")),
            ("token", json!(null)),
        ] {
            let mut about = good.clone();
            about[key] = bad;
            let error = probes.register(&about).expect_err(key).to_string();
            assert!(error.starts_with(&format!("/{key} ")), "{error}");
        }
        assert_eq!(probes.list(), Vec::<Value>::new());
        assert_eq!(probes.register(&good).unwrap(), "7@a");
        good["jvm"] = json!({"a": "b".repeat(100_000)});
        assert_eq!(probes.register(&good).unwrap(), "7@a");
        let mut other = good.clone();
        other["token"] = json!("another");
        let error = probes.register(&other).unwrap_err().to_string();
        assert!(error.starts_with("7@a is the id of another probe, which has registered 0 s ago"), "{error}");
        let listed = probes.list();
        assert_eq!((listed.len(), &listed[0]["app"], &listed[0]["lost"]), (1, &json!("shop"), &json!(false)));
        assert!(!listed[0].to_string().contains("secret") && listed[0]["jvm"].is_null(), "{listed:?}");
        assert_eq!((probes.of_app("shop").len(), probes.of_app("stock").len()), (1, 0));
    }
}
