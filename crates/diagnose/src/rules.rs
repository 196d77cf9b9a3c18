//! The table of rules: known problems of a process.
//!
//! A rule is one entry here and one function in a file below. It examines facts and returns
//! nothing, or one finding with its evidence, a fix and a way to verify it. Thresholds are stated
//! in the entry in words, with the reason, so that they can be questioned. They are set so that a
//! healthy nginx under full load has no finding; the profiles in `tests/profiles` ensure that.

use crate::facts::Facts;
use crate::finding::Finding;

mod bodies;
mod build;
mod cgroup;
mod dns;
mod event_loop;
mod gzip;
mod logging;
mod lua_collector;
mod lua_compiler;
mod lua_loading;
mod lua_sort;
mod lua_strings;
mod lua_variables;
mod network;
mod nginx;
mod open_files;
mod plugins;
mod process;
mod profile_health;
mod regex;
pub(crate) mod stacks;
mod swap;
mod tls;
mod upstream;
mod workers;

/// A source of facts, which may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactSource {
    /// On-CPU samples.
    Profile,
    /// Off-CPU samples.
    OffCpu,
    /// The process in `/proc`.
    Process,
    /// nginx's configuration.
    Configuration,
    /// The kernel's settings and counters.
    Kernel,
    /// Executable and libraries.
    Binaries,
}

impl FactSource {
    /// All sources, in the order of the report.
    pub const ALL: [Self; 6] =
        [Self::Profile, Self::OffCpu, Self::Configuration, Self::Process, Self::Kernel, Self::Binaries];

    /// Whether the facts include this source.
    #[must_use]
    pub fn is_in(self, facts: &Facts) -> bool {
        let sampled = |profile: &Option<_>| profile.as_ref().is_some_and(|one: &weir_profile::Profile| one.total() > 0);
        match self {
            Self::Profile => sampled(&facts.profile),
            Self::OffCpu => sampled(&facts.off_cpu),
            Self::Process => facts.process.is_some(),
            Self::Configuration => facts.nginx.as_ref().is_some_and(|nginx| !nginx.configuration.directives.is_empty()),
            Self::Kernel => facts.kernel.is_some(),
            Self::Binaries => !facts.binaries.is_empty(),
        }
    }
}

/// The sources that a rule requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleNeeds {
    /// All of these.
    All(&'static [FactSource]),
    /// At least one of these.
    Any(&'static [FactSource]),
}

impl RuleNeeds {
    /// The sources missing from these facts; if empty, the rule can be evaluated.
    #[must_use]
    pub fn missing(self, facts: &Facts) -> Vec<FactSource> {
        match self {
            Self::All(all) => all.iter().copied().filter(|source| !source.is_in(facts)).collect(),
            Self::Any(any) if any.iter().any(|source| source.is_in(facts)) => Vec::new(),
            Self::Any(any) => any.to_vec(),
        }
    }

    fn words(self) -> String {
        let (sources, between) = match self {
            Self::All(all) => (all, " and "),
            Self::Any(any) => (any, " or "),
        };
        sources.iter().map(|source| source.title()).collect::<Vec<_>>().join(between)
    }
}

/// A rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name in reports and for `--rule`.
    pub id: &'static str,
    /// Title, in a few words.
    pub title: &'static str,
    /// Required sources; a rule may use others too.
    pub needs: RuleNeeds,
    /// The facts that it uses.
    pub looks_at: &'static str,
    /// The threshold, with its reason.
    pub threshold: &'static str,
    /// Evaluates the rule.
    pub check: fn(&Facts) -> Option<Finding>,
}

/// All rules, by topic; reports use their own order.
pub const RULES: &[Rule] = &[
    profile_health::INCOMPLETE,
    upstream::NO_KEEPALIVE,
    dns::AT_REQUEST_TIME,
    build::UNOPTIMISED,
    build::NO_TAIL_CALLS,
    lua_variables::COPYING,
    lua_strings::INTERNING,
    lua_strings::TABLE_GROWTH,
    lua_collector::GARBAGE,
    lua_sort::TABLE_SORT,
    lua_compiler::NOT_COMPILED,
    lua_compiler::TRACE_ABORTS,
    lua_loading::CODE_CACHE_OFF,
    regex::COMPILED_AGAIN,
    regex::NO_JIT,
    logging::DEBUG,
    logging::ACCESS_UNBUFFERED,
    gzip::LEVEL,
    tls::NO_RESUMPTION,
    workers::ACCEPT_IMBALANCE,
    event_loop::BLOCKED,
    bodies::TEMPORARY_FILES,
    plugins::MODSECURITY,
    plugins::WEIR,
    network::LISTEN_QUEUE,
    network::PORT_RANGE,
    network::CONNTRACK,
    open_files::LIMIT,
    cgroup::THROTTLED,
    swap::SWAPPING,
    process::ALLOCATION,
    process::COPYING,
    process::LOCKS,
];

/// A rule by its id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The table as the reference page `docs/reference/diagnosis.md`.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(REFERENCE);
    for rule in RULES {
        page.push_str(&format!(
            "\n## `{}`\n\n{}.\n\n- **Uses** {}.\n- **Threshold:** {}.\n- **Requires** {}.\n",
            rule.id,
            rule.title,
            rule.looks_at,
            rule.threshold,
            rule.needs.words(),
        ));
    }
    page
}

impl FactSource {
    /// The name in reports.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Profile => "a CPU profile",
            Self::OffCpu => "an off-CPU profile",
            Self::Process => "the process in /proc",
            Self::Configuration => "nginx's configuration",
            Self::Kernel => "the kernel's settings and counters",
            Self::Binaries => "the executable and its libraries",
        }
    }
}

const REFERENCE: &str = "\
# Rules of `weir diagnose`

<!-- Made by `weir docs` from the table in crates/diagnose; do not edit. -->

`weir diagnose` evaluates every rule below whose requirements are met, and lists the others. Unless stated otherwise,
shares refer to the CPU time of all watched processes, kernel included.
";

#[cfg(test)]
mod tests;
