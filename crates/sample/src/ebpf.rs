//! The BPF programs, loaded and attached: only those that were asked for.
//!
//! The object is opened as it is, without a generated skeleton: names of a few maps and programs are the whole
//! interface, and a skeleton would bind its lifetime to a place that the session would have to point into.

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
pub(crate) use numbers::{CallSum, Counters, Waited};

use config::Config;
use load::{ON_CPU, STILL, Sizes};

/// Processes at most that are followed (forks included).
const MOST_PROCESSES: u32 = 16_384;
/// Bytes of the ring for each CPU, and its bounds. It is emptied ten times a second: at 99 Hz a CPU writes at most
/// 650 KB in that time, at 8 KiB a stack it is 80 KB.
const RING_BYTES_PER_CPU: u32 = 2 << 20;
const RING_LEAST: u32 = 8 << 20;
const RING_MOST: u32 = 64 << 20;

/// Programs that run now. They end when this is dropped.
pub(crate) struct Programs {
    links: Vec<Link>,
    object: Object,
    ring: Ring,
    targets: MapHandle,
    /// Whether there is a list of processes, and not a control group or everyone.
    named: bool,
    /// Whether waits that are not over can be looked at.
    still: bool,
    remarks: Vec<String>,
}

impl Programs {
    /// Loads and attaches them.
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

    /// Says whom to sample.
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

    /// Follows a process. Whose end is seen is no target any more; one that has ended before is taken out here.
    fn add(&self, pid: u32) -> Result<(), SampleError> {
        let key = pid.to_ne_bytes();
        self.targets.update(&key, &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(failed("adding a process"))?;
        if !Path::new("/proc").join(pid.to_string()).exists() {
            // The program that sees exits may have been quicker.
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

    /// One timer for each CPU.
    fn attach_clock(&mut self, online: &[u32], frequency_hz: u32) -> Result<(), SampleError> {
        let clock = Attributes::clock(frequency_hz);
        for &cpu in online {
            let event = match clock.open(None, Some(cpu)) {
                Ok(event) => event,
                // It was taken offline meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                Err(error) => return Err(crate::perf::refused(error)),
            };
            let link =
                self.program(ON_CPU).attach_perf_event(event.as_raw_fd()).map_err(failed("attaching to the clock"))?;
            // The link closes it from now on.
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

    /// Gives every record to `take`, until that says to stop. Returns how full the ring was.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Record<'_>) -> ControlFlow<()>) -> f64 {
        self.ring.drain(&mut |bytes| Record::parse(bytes).map_or(ControlFlow::Continue(()), &mut *take))
    }

    /// Whether any process is left, where processes were named.
    pub(crate) fn any_target(&self) -> bool {
        !self.named || self.targets.keys().next().is_some()
    }

    /// Says where a process's Lua is; `None`: nowhere any more.
    pub(crate) fn set_lua(&mut self, pid: u32, offsets: Option<&[u8]>) {
        let processes = map(&self.object, "lua_processes");
        let key = pid.to_ne_bytes();
        // A full map (LUA_MAX_PROCESSES) costs the Lua frames of this process, which Health shows.
        let _ = match offsets {
            Some(offsets) => processes.update(&key, offsets, MapFlags::ANY),
            None => processes.delete(&key),
        };
    }

    /// Writes waits that are not over to the ring. All programs are detached by then.
    pub(crate) fn still_waiting(&mut self) {
        if !self.still {
            return;
        }
        let looked = self.program(STILL).attach().and_then(|link| Iter::new(&link)).map_err(|error| error.to_string());
        // The program prints nothing; reading runs it.
        let read = looked.and_then(|mut iter| iter.read_to_end(&mut Vec::new()).map_err(|error| error.to_string()));
        if let Err(error) = read {
            self.remarks.push(format!("waits that are not over could not be looked at: {error}"));
        }
    }

    /// What this kernel cannot do, a sentence each; each is given once.
    pub(crate) fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Begins or ends the sampling, in one moment for all programs.
    pub(crate) fn set_gate(&mut self, open: bool) {
        map(&self.object, ".data.gate")
            .update(&0_u32.to_ne_bytes(), &u32::from(open).to_ne_bytes(), MapFlags::ANY)
            .expect("a variable of the programs can be set");
    }

    /// Takes the programs away; the ring keeps what is in it.
    pub(crate) fn detach(&mut self) {
        self.links.clear();
    }
}

/// Bytes of the ring: a power of two.
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
        // EACCES is the verifier's refusal of a program, EPERM the kernel's of a user; the number is only in the text.
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
