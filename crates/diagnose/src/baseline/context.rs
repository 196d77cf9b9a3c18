//! What changed around the code: binaries, configuration, modules, kernel, limits, CPU.
//!
//! Only what stays the same from one minute to the next if nobody changes anything is compared: no pids, no
//! counters, no open connections.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::configuration;
use crate::facts::{BuildFacts, Facts, KernelFacts, LuaFacts, ModuleOrigin, NginxFacts, ProcessFacts, Role};

/// Changes that are kept of each area.
pub const MAX_CHANGES: usize = 1000;

/// What a change is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Executables and libraries, and how they were built.
    Binaries,
    /// nginx's configuration.
    Configuration,
    /// nginx's modules and version.
    Modules,
    /// Settings of the kernel, and its version.
    Kernel,
    /// What the process may use.
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
    /// What it is of.
    pub area: Area,
    /// What changed: `net.core.somaxconn`, `server shop (8080): keepalive`.
    pub what: String,
    /// What it was; `None`: not there.
    pub before: Option<String>,
    /// What it is; `None`: not there any more.
    pub after: Option<String>,
    /// Where the old one is written, `file:line`; empty: nowhere.
    pub place_before: String,
    /// Where the new one is written, `file:line`; empty: nowhere.
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

/// Both sides, if they are known. That neither is known is no remark: it does not apply.
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
        (true, false) => unknown.push(format!("{what}: not known now")),
        (false, true) => unknown.push(format!("{what}: not known then")),
        (false, false) => {}
    }
    false
}

type Named = BTreeMap<String, String>;

/// Differences between two maps.
fn named(area: Area, old: &Named, new: &Named) -> Vec<Change> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&String| old.get(*name) != new.get(*name);
    let change = |name: &String| Change::of(area, name.clone(), old.get(name).cloned(), new.get(name).cloned());
    names.into_iter().filter(differs).take(MAX_CHANGES).map(change).collect()
}

fn binaries(old: &[BuildFacts], new: &[BuildFacts]) -> Vec<Change> {
    // A library is the same one under a new version: libssl.so.3 stays, its path may not.
    let by_path =
        |builds: &[BuildFacts]| builds.iter().map(|build| (build.path.clone(), describe(build))).collect::<Named>();
    named(Area::Binaries, &by_path(old), &by_path(new))
}

/// Build id and how it was built, in a line.
fn describe(build: &BuildFacts) -> String {
    use crate::facts::{Level, TailCalls};
    let mut parts = Vec::new();
    parts.push(match build.build_id.as_str() {
        "" => format!("no build id, {} bytes", build.bytes),
        id => format!("build {}", id.get(..12).unwrap_or(id)),
    });
    parts.extend(build.producers.first().map(|producer| producer.text.clone()));
    parts.push(match build.optimisation.level {
        Level::Unknown => String::new(),
        Level::O0 => "not optimised (-O0)".into(),
        Level::O1 => "optimised little (-O1)".into(),
        Level::O2OrHigher => "optimised (-O2 or higher)".into(),
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

fn modules(nginx: &NginxFacts) -> Named {
    let origin = |origin| match origin {
        ModuleOrigin::BuiltIn => "built in",
        ModuleOrigin::Added => "added to the build",
        ModuleOrigin::LeftOut => "left out of the build",
        ModuleOrigin::Loaded => "loaded",
    };
    let mut named: Named =
        nginx.modules.iter().map(|module| (module.name.clone(), origin(module.origin).to_owned())).collect();
    named.insert(nginx.flavour.clone(), nginx.version.clone());
    named
}

fn lua(lua: &LuaFacts) -> Named {
    [("Lua".to_owned(), lua.version.clone())].into_iter().filter(|(_, version)| !version.is_empty()).collect()
}

fn kernel(kernel: &KernelFacts) -> Named {
    let mut named = kernel.settings.clone();
    named.insert("release".into(), kernel.release.clone());
    named.extend(kernel.transparent_hugepages.iter().map(|pages| ("transparent huge pages".into(), pages.clone())));
    named.extend(kernel.conntrack.map(|table| ("net.netfilter.nf_conntrack_max".into(), table.max.to_string())));
    named
}

fn cpu(kernel: &KernelFacts) -> Named {
    let mut named = Named::new();
    named.insert("model".into(), kernel.cpu_model.clone());
    named.insert("online".into(), kernel.cpus.to_string());
    named.extend(kernel.cpus_allowed.map(|cpus| ("allowed".into(), cpus.to_string())));
    named.extend(kernel.governor.iter().map(|governor| ("governor".into(), governor.clone())));
    named
}

fn limits(process: &ProcessFacts) -> Named {
    let number = |limit: u64| if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() };
    let mut named = Named::new();
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
