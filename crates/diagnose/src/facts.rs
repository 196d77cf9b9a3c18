//! What is known of a running process and of what it runs in, before anybody judges it.
//!
//! Facts are gathered once, written down whole and judged afterwards, so that a saved diagnosis can be
//! asked again by newer rules, compared with a later one, and tested without the process. Everything is
//! read (`/proc`, files, samples); nothing is executed and nothing is written to the process.
//!
//! What could not be read is `None` and named in [`Facts::remarks`]: a rule that needs it says nothing.

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

pub use build::{BinaryKind, BuildFacts, CodeStatistics, Level, Optimisation, OptimisationSource, Producer, TailCalls};
pub use collect::{CollectError, Edge, Options, collect};
pub use kernel::{Conntrack, Counter, KernelFacts};
pub use lua::{LuaFacts, LuaHandler};
pub use nginx::{
    Block, Configuration, Directive, Module, ModuleOrigin, NginxFacts, NginxRequests, Pass, PassTarget, Place, Scope,
    ScopeKind, Upstream,
};
pub use process::{CgroupFacts, Limit, ProcessFacts, RemoteSockets, Role, SocketFacts, WorkerFacts};

/// Everything that rules look at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Where its CPU time went; system calls are counted in it ([`Profile::system_calls`]).
    pub profile: Option<Profile>,
    /// What it waited for.
    pub off_cpu: Option<Profile>,
    /// Length of the window in which counters and samples were taken; 0: nothing was watched.
    pub seconds: f64,
    /// Requests answered in the window, where known (`stub_status`, Weir's ledger, or told).
    pub requests: Option<u64>,
    /// The process.
    pub process: Option<ProcessFacts>,
    /// Its configuration, where it is an nginx or an OpenResty.
    pub nginx: Option<NginxFacts>,
    /// The kernel that it runs on.
    pub kernel: Option<KernelFacts>,
    /// Its executable and libraries, the executable first, then modules of nginx, then LuaJIT, then others by path.
    pub binaries: Vec<BuildFacts>,
    /// Its Lua, where it has any.
    pub lua: Option<LuaFacts>,
    /// When this was gathered, in milliseconds since 1970; 0: unknown.
    pub taken_ms: u64,
    /// What could not be read and why, a sentence each.
    pub remarks: Vec<String>,
}

impl Facts {
    /// The facts in a profile alone, as when a saved or imported one is diagnosed.
    #[must_use]
    pub fn of_profile(profile: Profile) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "a length to show")]
        let seconds = profile.meta.duration_ns as f64 / 1e9;
        Self { seconds, requests: profile.meta.requests, profile: Some(profile), ..Self::default() }
    }

    /// Says how many requests were answered, in the facts and in their profiles.
    pub fn count_requests(&mut self, requests: Option<u64>) {
        self.requests = requests;
        for profile in [&mut self.profile, &mut self.off_cpu].into_iter().flatten() {
            profile.meta.requests = requests;
        }
    }

    /// CPU time of all watched processes per request, user and system, in microseconds. `None` unless
    /// requests are known and there were any.
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
