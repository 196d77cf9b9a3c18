//! The BPF programs, loaded and attached: only the requested ones.
//!
//! The object is opened as it is, without a generated skeleton: names of a few maps and programs are the whole
//! interface, and a skeleton would bind its lifetime to a location to which the session would have to refer.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
use std::path::Path;

use libbpf_rs::{Iter, Link, MapCore, MapFlags, MapHandle, Object};

use crate::cpus;
use crate::error::SampleError;
use crate::event::Attributes;
use crate::options::Options;
use crate::record::Record;
use crate::ring::Ring;

mod config;
mod load;
mod messages;
mod numbers;

pub(crate) use config::Scope;
pub(crate) use numbers::{CallSum, Counters, ShortWaits};

use config::Config;
use load::{ON_CPU, STILL, Sizes};

/// Maximum number of sampled processes (forks included).
const MOST_PROCESSES: u32 = 16_384;
/// Size of the ring for each CPU, and its limits. It is emptied ten times a second: at 99 Hz a CPU
/// writes at most 650 KB in that time, at 8 KiB per stack it is 80 KB.
const RING_BYTES_PER_CPU: u32 = 2 << 20;
const RING_LEAST: u32 = 8 << 20;
const RING_MOST: u32 = 64 << 20;

/// Running programs. They end when this is dropped.
pub(crate) struct Programs {
    links: Vec<Link>,
    object: Object,
    ring: Ring,
    targets: MapHandle,
    /// Whether the scope is a list of processes, rather than a control group or all.
    named: bool,
    /// Whether unfinished waits can be read.
    still: bool,
    remarks: Vec<String>,
}

impl Programs {
    /// Loads and attaches the programs.
    pub(crate) fn start(scope: &Scope, options: &Options) -> Result<Self, SampleError> {
        messages::keep();
        let config = Config::of(scope, options).map_err(|error| SampleError::read("/proc/self/ns/pid", error))?;
        let online = cpus::online().map_err(|error| SampleError::read("/sys/devices/system/cpu", error))?;
        let possible = cpus::possible().map_err(|error| SampleError::read("/sys/devices/system/cpu", error))?;
        let sizes = Sizes { ring_bytes: ring_bytes(online.len()), possible_cpus: possible };
        let loaded = load::load(config, options, sizes)?;
        let object = loaded.object;
        let ring = Ring::map(map(&object, "ring").as_fd(), sizes.ring_bytes)
            .map_err(|error| SampleError::bpf("mapping the ring buffer", &error, error.kind()))?;
        let targets = handle(&object, "targets").map_err(failed("opening the map of targets"))?;
        let named = matches!(scope, Scope::Processes(_));
        let links = Vec::new();
        let mut programs = Self { links, object, ring, targets, named, still: loaded.still, remarks: loaded.remarks };
        programs.attach_trackers(options).map_err(failed("attaching to tracepoints"))?;
        programs.aim(scope)?;
        if options.on_cpu {
            programs.attach_clock(&online, options.frequency_hz)?;
        }
        Ok(programs)
    }

    /// Sets the scope of sampling.
    fn aim(&mut self, scope: &Scope) -> Result<(), SampleError> {
        match scope {
            Scope::All => Ok(()),
            Scope::Processes(pids) => pids.iter().try_for_each(|pid| self.add(*pid)),
            Scope::Cgroup(path) => {
                let directory = std::fs::File::open(path).map_err(|error| SampleError::read(path, error))?;
                map(&self.object, "cgroups")
                    .update(&0_u32.to_ne_bytes(), &directory.as_raw_fd().to_ne_bytes(), MapFlags::ANY)
                    .map_err(failed("choosing the control group"))
            }
        }
    }

    /// Follows a process. A process seen to exit is no longer a target; one that has already exited is removed here.
    fn add(&self, pid: u32) -> Result<(), SampleError> {
        let key = pid.to_ne_bytes();
        self.targets.update(&key, &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(failed("adding a process"))?;
        if !Path::new("/proc").join(pid.to_string()).exists() {
            // The program that sees exits may have been faster.
            let _ = self.targets.delete(&key);
        }
        Ok(())
    }

    fn attach_trackers(&mut self, options: &Options) -> libbpf_rs::Result<()> {
        for program in load::tracepoints(options) {
            let link = self.program(program).attach_trace()?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Attaches one timer for each CPU.
    fn attach_clock(&mut self, online: &[u32], frequency_hz: u32) -> Result<(), SampleError> {
        let clock = Attributes::clock(frequency_hz);
        for &cpu in online {
            let event = match clock.open(None, Some(cpu)) {
                Ok(event) => event,
                // It has since been taken offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                Err(error) => return Err(crate::perf::refused(error)),
            };
            let link =
                self.program(ON_CPU).attach_perf_event(event.as_raw_fd()).map_err(failed("attaching to the clock"))?;
            // The link owns it from now on.
            let _ = event.into_raw_fd();
            self.links.push(link);
        }
        Ok(())
    }

    fn program(&self, name: &str) -> libbpf_rs::ProgramMut<'_> {
        self.object
            .progs_mut()
            .find(|program| program.name() == name)
            .expect("the object has the programs of the table")
    }

    /// Passes every record to `take`, until that says to stop. Returns how full the ring was.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) -> f64 {
        self.ring.drain(&mut |bytes| Record::parse(bytes).map_or(ControlFlow::Continue(()), &mut *take))
    }

    /// Whether any process is left, if the scope is a list of processes.
    pub(crate) fn any_target(&self) -> bool {
        !self.named || self.targets.keys().next().is_some()
    }

    /// Sets the Lua offsets of a process; `None` removes them.
    pub(crate) fn set_lua(&mut self, pid: u32, offsets: Option<&[u8]>) {
        let processes = map(&self.object, "lua_processes");
        let key = pid.to_ne_bytes();
        // If the map is full (LUA_MAX_PROCESSES), this process has no Lua frames, which Health shows.
        let _ = match offsets {
            Some(offsets) => processes.update(&key, offsets, MapFlags::ANY),
            None => processes.delete(&key),
        };
    }

    /// Writes unfinished waits to the ring, after all programs have been detached.
    pub(crate) fn still_waiting(&mut self) {
        if !self.still {
            return;
        }
        let looked = self.program(STILL).attach().and_then(|link| Iter::new(&link)).map_err(|error| error.to_string());
        // The program prints nothing; reading runs it.
        let read = looked.and_then(|mut iter| iter.read_to_end(&mut Vec::new()).map_err(|error| error.to_string()));
        if let Err(error) = read {
            self.remarks.push(format!("unfinished waits could not be read: {error}"));
        }
    }

    /// Limitations of this kernel, a sentence each; each is returned once.
    pub(crate) fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Begins or ends sampling, at the same moment for all programs.
    pub(crate) fn set_gate(&mut self, open: bool) {
        map(&self.object, ".data.gate")
            .update(&0_u32.to_ne_bytes(), &u32::from(open).to_ne_bytes(), MapFlags::ANY)
            .expect("a variable of the programs can be set");
    }

    /// Detaches the programs; the ring keeps its contents.
    pub(crate) fn detach(&mut self) {
        self.links.clear();
    }
}

/// Size of the ring: a power of two.
fn ring_bytes(cpus: usize) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    RING_BYTES_PER_CPU.saturating_mul(cpus).clamp(RING_LEAST, RING_MOST).next_power_of_two()
}

fn map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    object.maps().find(|map| map.name() == name).expect("the object has its maps")
}

fn handle(object: &Object, name: &str) -> libbpf_rs::Result<MapHandle> {
    MapHandle::try_from(&map(object, name))
}

fn failed(what: &'static str) -> impl Fn(libbpf_rs::Error) -> SampleError {
    move |error| {
        // EACCES is the verifier's rejection of a program, EPERM the kernel's of a user; only the
        // text contains the number.
        let verifier = error.to_string().contains(&format!("(os error {})", libc::EACCES));
        let kind = match error.kind() {
            libbpf_rs::ErrorKind::PermissionDenied if !verifier => io::ErrorKind::PermissionDenied,
            libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        };
        let said = messages::last();
        if said.is_empty() {
            SampleError::bpf(what, &error, kind)
        } else {
            SampleError::bpf(what, &format!("{error}: {said}"), kind)
        }
    }
}
