//! Facts about a running process and its environment, gathered before any judgement.
//!
//! Facts are gathered once, stored completely and judged afterwards, so that a saved diagnosis can be evaluated again
//! by newer rules, compared with a later one, and tested without the process. Everything is read (`/proc`, files,
//! samples); nothing is executed and nothing is written to the process.
//!
//! Facts that could not be read are `None` and explained in [`Facts::remarks`]: rules that need them are skipped.

use serde::{Deserialize, Serialize};
use weir_profile::Profile;

mod binaries;
pub mod build;
pub mod collect;
pub mod kernel;
pub mod lua;
mod mapped;
pub mod nginx;
pub mod process;
pub mod root;
mod sampling;
pub mod stub_status;

pub use build::{
    BinaryKind, BuildFacts, CodeStatistics, Optimisation, OptimisationLevel, OptimisationSource, Producer, TailCalls,
};
pub use collect::{CollectError, Options, WindowEdge, collect};
pub use kernel::{Conntrack, Counter, KernelFacts};
pub use lua::{LuaFacts, LuaHandler};
pub use nginx::{
    Block, Configuration, Directive, DirectivePosition, Module, ModuleOrigin, NginxFacts, NginxRequests, Pass,
    PassTarget, Scope, ScopeKind, Upstream,
};
pub use process::{CgroupFacts, Limit, ProcessFacts, RemoteSockets, Role, SocketFacts, WorkerFacts};

/// The input of the rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// On-CPU profile, including the counted system calls ([`Profile::system_calls`]).
    pub profile: Option<Profile>,
    /// Off-CPU profile.
    pub off_cpu: Option<Profile>,
    /// Length of the window in which counters and samples were taken; 0 if nothing was watched.
    pub seconds: f64,
    /// Requests answered in the window, if known (from `stub_status`, Weir's ledger, or an option).
    pub requests: Option<u64>,
    /// The process.
    pub process: Option<ProcessFacts>,
    /// Its configuration, if it is nginx or OpenResty.
    pub nginx: Option<NginxFacts>,
    /// The kernel on which it runs.
    pub kernel: Option<KernelFacts>,
    /// Its executable and libraries: the executable first, then nginx modules, then LuaJIT, then others by path.
    pub binaries: Vec<BuildFacts>,
    /// Its Lua, if it has any.
    pub lua: Option<LuaFacts>,
    /// Time of gathering, in milliseconds since 1970; 0 if unknown.
    pub taken_ms: u64,
    /// Explanations of what could not be read, a sentence each.
    pub remarks: Vec<String>,
}

impl Facts {
    /// The facts contained in a profile alone, for diagnosing a saved or imported one.
    #[must_use]
    pub fn of_profile(profile: Profile) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a length to show")]
        let seconds = profile.meta.duration_ns as f64 / 1e9;
        Self { seconds, requests: profile.meta.requests, profile: Some(profile), ..Self::default() }
    }

    /// Sets the number of answered requests, in the facts and in their profiles.
    pub fn count_requests(&mut self, requests: Option<u64>) {
        self.requests = requests;
        for profile in [&mut self.profile, &mut self.off_cpu].into_iter().flatten() {
            profile.meta.requests = requests;
        }
    }

    /// CPU time of all watched processes per request, user and system, in microseconds. `None`
    /// unless requests are known and not zero.
    #[must_use]
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let requests = self.requests.filter(|&requests| requests > 0)?;
        let workers = &self.process.as_ref()?.workers;
        #[allow(clippy::cast_precision_loss, reason = "below 2^52 microseconds")]
        Some(workers.iter().map(WorkerFacts::cpu_us).sum::<u64>() as f64 / requests as f64)
    }

    /// The executable of the process.
    #[must_use]
    pub fn executable(&self) -> Option<&BuildFacts> {
        self.binaries.iter().find(|binary| binary.kind == BinaryKind::Executable)
    }
}
