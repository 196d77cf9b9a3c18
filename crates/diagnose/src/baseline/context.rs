//! Compares the context of the code: binaries, configuration, modules, kernel, limits, CPU.
//!
//! Only properties that stay the same from one minute to the next are compared: no pids, counters
//! or open connections.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::configuration;
use crate::facts::{BuildFacts, Facts, KernelFacts, LuaFacts, ModuleOrigin, NginxFacts, ProcessFacts, Role};

/// Maximum number of changes for each area.
pub const MAX_CHANGES: usize = 1000;

/// The area of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Executables and libraries, and their builds.
    Binaries,
    /// nginx's configuration.
    Configuration,
    /// nginx's modules and version.
    Modules,
    /// Kernel settings and version.
    Kernel,
    /// Resource limits of the process.
    Limits,
    /// The machine's processors.
    Cpu,
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binaries => "binaries",
            Self::Configuration => "configuration",
            Self::Modules => "modules",
            Self::Kernel => "kernel",
            Self::Limits => "limits",
            Self::Cpu => "CPU",
        })
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The subject: `net.core.somaxconn`, `server shop (8080): keepalive`.
    pub area: Area,
    /// What changed: `net.core.somaxconn`, `server shop (8080): keepalive`.
    pub what: String,
    /// The old value; `None` if it was missing.
    pub before: Option<String>,
    /// The new value; `None` if it is missing.
    pub after: Option<String>,
    /// Position of the old value, `file:line`; empty if it has none.
    pub place_before: String,
    /// Position of the new value, `file:line`; empty if it has none.
    pub place: String,
}

impl Change {
    pub(super) fn of(area: Area, what: impl Into<String>, before: Option<String>, after: Option<String>) -> Self {
        Self { area, what: what.into(), before, after, place_before: String::new(), place: String::new() }
    }
}

/// All changes, by area.
pub(super) fn changes(old: &Facts, new: &Facts, unknown: &mut Vec<String>) -> Vec<Change> {
    let mut changes = Vec::new();
    let known = (!old.binaries.is_empty(), !new.binaries.is_empty());
    if both("binaries", known, unknown) {
        changes.extend(binaries(&old.binaries, &new.binaries));
    }
    if let Some((old, new)) = pair("the configuration of nginx", &old.nginx, &new.nginx, unknown) {
        changes.extend(configuration::changes(&old.configuration, &new.configuration));
        changes.extend(named(Area::Modules, &modules(old), &modules(new)));
    }
    if let Some((old, new)) = pair("Lua", &old.lua, &new.lua, unknown) {
        changes.extend(named(Area::Modules, &lua(old), &lua(new)));
    }
    if let Some((old, new)) = pair("the kernel", &old.kernel, &new.kernel, unknown) {
        changes.extend(named(Area::Kernel, &kernel(old), &kernel(new)));
        changes.extend(named(Area::Cpu, &cpu(old), &cpu(new)));
    }
    if let Some((old, new)) = pair("limits", &old.process, &new.process, unknown) {
        changes.extend(named(Area::Limits, &limits(old), &limits(new)));
    }
    changes
}

/// Both sides, if they are known. If neither is known, the comparison does not apply and there is no remark.
fn pair<'f, T>(
    what: &str,
    old: &'f Option<T>,
    new: &'f Option<T>,
    unknown: &mut Vec<String>,
) -> Option<(&'f T, &'f T)> {
    both(what, (old.is_some(), new.is_some()), unknown).then(|| old.as_ref().zip(new.as_ref())).flatten()
}

fn both(what: &str, known: (bool, bool), unknown: &mut Vec<String>) -> bool {
    match known {
        (true, true) => return true,
        (true, false) => unknown.push(format!("{what}: unknown in the new facts")),
        (false, true) => unknown.push(format!("{what}: unknown in the old facts")),
        (false, false) => {}
    }
    false
}

type NamedValues = BTreeMap<String, String>;

/// Differences between two maps.
fn named(area: Area, old: &NamedValues, new: &NamedValues) -> Vec<Change> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&String| old.get(*name) != new.get(*name);
    let change = |name: &String| Change::of(area, name.clone(), old.get(name).cloned(), new.get(name).cloned());
    names.into_iter().filter(differs).take(MAX_CHANGES).map(change).collect()
}

fn binaries(old: &[BuildFacts], new: &[BuildFacts]) -> Vec<Change> {
    // A library is identified by name, because its path may change: libssl.so.3 stays.
    let by_path = |builds: &[BuildFacts]| {
        builds.iter().map(|build| (build.path.clone(), describe(build))).collect::<NamedValues>()
    };
    named(Area::Binaries, &by_path(old), &by_path(new))
}

/// Build id and optimisation, in a line.
fn describe(build: &BuildFacts) -> String {
    use crate::facts::{OptimisationLevel, TailCalls};
    let mut parts = Vec::new();
    parts.push(match build.build_id.as_str() {
        "" => format!("no build id, {} bytes", build.bytes),
        id => format!("build {}", id.get(..12).unwrap_or(id)),
    });
    parts.extend(build.producers.first().map(|producer| producer.text.clone()));
    parts.push(match build.optimisation.level {
        OptimisationLevel::Unknown => String::new(),
        OptimisationLevel::O0 => "not optimised (-O0)".into(),
        OptimisationLevel::O1 => "optimised little (-O1)".into(),
        OptimisationLevel::O2OrHigher => "optimised (-O2 or higher)".into(),
    });
    if build.optimisation.tail_calls == TailCalls::Missing {
        parts.push("no tail calls".into());
    }
    if !build.configured_flags.is_empty() {
        parts.push(format!("configured with {}", build.configured_flags));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn modules(nginx: &NginxFacts) -> NamedValues {
    let origin = |origin| match origin {
        ModuleOrigin::BuiltIn => "built in",
        ModuleOrigin::Added => "added to the build",
        ModuleOrigin::LeftOut => "left out of the build",
        ModuleOrigin::Loaded => "loaded",
    };
    let mut named: NamedValues =
        nginx.modules.iter().map(|module| (module.name.clone(), origin(module.origin).to_owned())).collect();
    named.insert(nginx.flavour.clone(), nginx.version.clone());
    named
}

fn lua(lua: &LuaFacts) -> NamedValues {
    [("Lua".to_owned(), lua.version.clone())].into_iter().filter(|(_, version)| !version.is_empty()).collect()
}

fn kernel(kernel: &KernelFacts) -> NamedValues {
    let mut named = kernel.settings.clone();
    named.insert("release".into(), kernel.release.clone());
    named.extend(kernel.transparent_hugepages.iter().map(|pages| ("transparent huge pages".into(), pages.clone())));
    named.extend(kernel.conntrack.map(|table| ("net.netfilter.nf_conntrack_max".into(), table.max.to_string())));
    named
}

fn cpu(kernel: &KernelFacts) -> NamedValues {
    let mut named = NamedValues::new();
    named.insert("model".into(), kernel.cpu_model.clone());
    named.insert("online".into(), kernel.cpus.to_string());
    named.extend(kernel.cpus_allowed.map(|cpus| ("allowed".into(), cpus.to_string())));
    named.extend(kernel.governor.iter().map(|governor| ("governor".into(), governor.clone())));
    named
}

fn limits(process: &ProcessFacts) -> NamedValues {
    let number = |limit: u64| if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() };
    let mut named = NamedValues::new();
    if let Some(nofile) = process.nofile {
        named.insert("open files (soft)".into(), number(nofile.soft));
        named.insert("open files (hard)".into(), number(nofile.hard));
    }
    if let Some(cgroup) = &process.cgroup {
        let quota = cgroup.quota_us.map(|quota| format!("{quota} us of CPU every {} us", cgroup.period_us));
        named.insert("CPU quota".into(), quota.unwrap_or_else(|| "none".into()));
    }
    if process.role == Role::NginxMaster {
        let workers = process.workers.iter().filter(|worker| !worker.partial && !worker.is_leaving());
        named.insert("workers".into(), workers.count().to_string());
    }
    named
}
