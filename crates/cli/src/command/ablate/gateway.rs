//! Ablation in the running gateway: parts are switched off by one transaction for each
//! variant, and whatever happens the policies are restored.
//!
//! Before the first change the journal is on disk and the guard runs. After that there are four ways
//! out: the end, an error or Ctrl-C (both come through [`Session::end`]), a panic ([`Drop`]), and the
//! death of this process (the guard).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_ablate::MeasureError;
use weir_ablate::{self as ablate, Cut, LoadChoice, Options, Outcome, Part, Stage};

use super::guard::Guard;
use super::journal::{Journal, StateLock};
use super::restore::{self, restore};
use crate::Failure;
use crate::api::Api;
use crate::arguments::{Ablate, Arguments};

/// Policies of one page.
const PAGE: usize = 1_000;

pub(super) fn run(arguments: &Arguments, ablate: &Ablate, cut: &Cut, options: &Options) -> Result<Outcome, Failure> {
    let address = match (&options.url, &options.load) {
        (Some(url), _) => url.address().map_err(Failure::new)?,
        (None, LoadChoice::Live) => SocketAddr::from(([127, 0, 0, 1], 0)),
        (None, _) => return Err(Failure::new("--live with a load needs --url: where the gateway listens")),
    };
    let api = Api::of(arguments)?;
    let held = restore::lock(&super::journal_directory(arguments, ablate)?)?;
    if let Some(restored) = restore::left_over(&held)? {
        eprintln!("an earlier run was killed; {}", restored.say());
    }
    let policies = policies(&api)?;
    let bodies: Vec<(String, &Value)> = policies.iter().map(|(id, (body, _))| (id.clone(), body)).collect();
    let parts = cut.parts(&bodies).map_err(Failure::new)?;
    weir_measure::interrupt::catch();
    let mut session = Session::begin(arguments, held, api, address, policies, parts.clone())?;
    let of = session.api_name.clone();
    let outcome = ablate::on(&mut session, of, cut, parts, options);
    let restored = session.end()?;
    eprintln!("{restored}");
    outcome.map_err(Failure::new)
}

/// All policies with their entity tags.
fn policies(api: &Api) -> Result<BTreeMap<String, (Value, String)>, Failure> {
    let mut ids = Vec::new();
    loop {
        let after = ids.last().map_or_else(String::new, |last: &String| format!("&after={last}"));
        let page = api.get(&format!("/api/v1/policies?limit={PAGE}{after}"))?;
        let found: Vec<String> = page.as_object().into_iter().flatten().map(|(id, _)| id.clone()).collect();
        let last = found.len() < PAGE;
        ids.extend(found);
        if last {
            break;
        }
    }
    if ids.is_empty() {
        return Err(Failure::new("the gateway has no policy").hint("weir apply adds one"));
    }
    let each = |id: String| {
        let path = format!("/api/v1/policies/{id}");
        let found = api.fetch(&path)?.ok_or_else(|| Failure::new(format!("policies/{id} was just deleted")))?;
        Ok((id, found))
    };
    ids.into_iter().map(each).collect()
}

/// Changes that have to be undone.
struct Session {
    api: Api,
    api_name: String,
    address: SocketAddr,
    runtime: PathBuf,
    parts: Vec<Part>,
    journal: Journal,
    /// Entity tag of each policy, as we know it.
    tags: BTreeMap<String, String>,
    current: Option<usize>,
    held: StateLock,
    guard: Option<Guard>,
}

impl Session {
    fn begin(
        arguments: &Arguments,
        held: StateLock,
        api: Api,
        address: SocketAddr,
        policies: BTreeMap<String, (Value, String)>,
        parts: Vec<Part>,
    ) -> Result<Self, Failure> {
        let concerned = |id: &String| parts.iter().any(|part| part.rules.iter().any(|(policy, _)| policy == id));
        let concerned: BTreeMap<_, _> = policies.into_iter().filter(|(id, _)| concerned(id)).collect();
        let tags = concerned.iter().map(|(id, (_, tag))| (id.clone(), tag.clone())).collect();
        let originals = concerned.into_iter().map(|(id, (body, _))| (id, body)).collect();
        let moment =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let name = format!("weir ablate {}-{moment}", std::process::id());
        let journal = Journal::new(name, &arguments.runtime, arguments.control.as_deref(), originals);
        held.write(&journal)?;
        let guard = match Guard::start(arguments, held.directory()) {
            Ok(guard) => guard,
            Err(failure) => {
                held.clear()?;
                return Err(failure);
            }
        };
        let api_name = format!("gateway at {}", api.target());
        let runtime = arguments.runtime.clone();
        let (current, guard) = (None, Some(guard));
        Ok(Self { api, api_name, address, runtime, parts, journal, tags, current, held, guard })
    }

    /// Puts everything back and says what that was.
    fn end(mut self) -> Result<String, Failure> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<String, Failure> {
        let restored = restore(&self.journal)
            .map_err(|failure| failure.hint("the policies are still changed; weir ablate --restore restores them"))?;
        self.held.clear()?;
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
        Ok(restored.say())
    }

    fn change(&mut self, on: &[bool]) -> Result<(), Failure> {
        let off = ablate::off(&self.parts, on);
        let changes: Vec<Value> = (self.journal.policies.iter())
            .map(|(id, original)| {
                let mut body = original.clone();
                ablate::switch_off(id, &mut body, &off);
                json!({"method": "PUT", "path": format!("/policies/{id}"), "body": body, "if_match": self.tags[id]})
            })
            .collect();
        let state: Vec<&str> =
            self.parts.iter().zip(on).filter(|(_, on)| !**on).map(|(part, _)| part.name.as_str()).collect();
        /// What control takes as a message, less what stands before the names.
        const NAMES: usize = 1_000;
        let names: String = state.join(", ").chars().take(NAMES).collect();
        let message = format!("{}: off: {names}", self.journal.session);
        let answer = self.api.post("/api/v1/transactions", &json!({"changes": changes, "message": message}));
        let answer = answer.map_err(|failure| self.explained(failure))?;
        let pending = answer["workers"].as_array().into_iter().flatten().any(|worker| worker["result"] != "applied");
        if pending {
            return Err(Failure::new("a worker did not apply the change in time").hint("weir status shows which"));
        }
        for path in answer["changed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some(tag) =
                path.trim_start_matches('/').strip_prefix("policies/").and_then(|id| self.tags.get_mut(id))
            {
                *tag = format!("\"{}\"", answer["revision"]);
            }
        }
        Ok(())
    }

    /// A refused change with the name of the policy that somebody else has changed, if that was it.
    fn explained(&self, failure: Failure) -> Failure {
        let changed = self.tags.iter().find(|(id, tag)| {
            let found = self.api.fetch(&format!("/api/v1/policies/{id}"));
            found.is_ok_and(|found| found.is_none_or(|(_, now)| now != **tag))
        });
        match changed {
            Some((id, _)) => {
                Failure::new(format!("another client has changed policies/{id} during the run, which ends here"))
                    .hint("the other policies are restored, the client's change is kept; run again")
            }
            None => failure,
        }
    }
}

impl Stage for Session {
    fn enter(&mut self, variant: usize, _copy: usize, on: &[bool]) -> Result<(), MeasureError> {
        if self.current != Some(variant) {
            self.change(on).map_err(|failure| MeasureError::program("control", failure.to_string()))?;
            self.current = Some(variant);
        }
        Ok(())
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_ns(&mut self) -> Result<u64, MeasureError> {
        let workers = self.workers()?;
        ablate::cpu_ns(&workers.iter().map(|worker| worker.pid).collect::<Vec<_>>())
    }

    fn requests(&mut self) -> Result<Option<u64>, MeasureError> {
        Ok(Some(self.workers()?.iter().map(|worker| worker.requests).sum()))
    }

    fn ledger(&self) -> Option<PathBuf> {
        Some(self.runtime.clone())
    }
}

impl Session {
    fn workers(&self) -> Result<Vec<weir_ledger::WorkerReport>, MeasureError> {
        let fail = |error: weir_ledger::LedgerError| MeasureError::program("nginx", error.to_string());
        let all = weir_ledger::Control::open(&self.runtime).map_err(fail)?.workers();
        let alive: Vec<_> = all.into_iter().filter(|worker| worker.alive).collect();
        if alive.is_empty() {
            let runtime = self.runtime.display();
            return Err(MeasureError::program(
                "nginx",
                format!("no worker runs with {runtime} as its runtime directory"),
            ));
        }
        Ok(alive)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Only a panic comes here with the guard still on watch.
        if self.guard.is_some() {
            match self.put_back() {
                Ok(said) => eprintln!("{said}"),
                Err(failure) => eprintln!("weir: {failure}"),
            }
        }
    }
}
