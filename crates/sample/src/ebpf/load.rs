//! Loads the requested programs, without features that an older kernel lacks.

use libbpf_rs::{Object, ObjectBuilder, OpenObject};

use super::config::Config;
use super::{MOST_PROCESSES, failed};
use crate::error::SampleError;
use crate::options::Options;

/// The programs, compiled by `build.rs`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sample.bpf.o"));

/// Maximum number of threads whose waits and system calls are followed.
const MOST_THREADS: u32 = 65_536;
/// Maximum number of pairs of process and system call.
const MOST_CALLS: u32 = 16_384;

pub(super) const ON_CPU: &str = "on_cpu";
pub(super) const STILL: &str = "still";

/// Whether options require a program.
type Need = fn(&Options) -> bool;

/// Programs with the conditions under which they are needed.
const PROGRAMS: [(&str, Need); 9] = [
    (ON_CPU, |options| options.on_cpu),
    ("forked", |_| true),
    ("executed", |_| true),
    ("exited", |_| true),
    ("switched", |options| options.off_cpu.is_some()),
    ("returned", |options| options.off_cpu.is_some()),
    (STILL, |options| options.off_cpu.is_some()),
    ("call_entered", |options| options.system_calls),
    ("call_returned", |options| options.system_calls),
];

/// Programs that are attached to tracepoints.
pub(super) fn tracepoints(options: &Options) -> impl Iterator<Item = &'static str> {
    wanted(options).filter(|name| ![ON_CPU, STILL].contains(name))
}

fn wanted(options: &Options) -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().filter(|(_, wanted)| wanted(options)).map(|(name, _)| *name)
}

/// Sizes that depend on the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub ring_bytes: u32,
    pub possible_cpus: u32,
}

/// The loaded programs.
pub(super) struct LoadedPrograms {
    pub object: Object,
    /// Whether unfinished waits can be read.
    pub still: bool,
    /// Limitations of this kernel, a sentence each.
    pub remarks: Vec<String>,
}

/// Features dropped step by step if the kernel rejects the programs; `(still, lua, remark)`.
const STEPS: [(bool, bool, &str); 3] = [
    (true, true, ""),
    (false, true, "this kernel cannot show unfinished waits (that needs Linux 5.18)"),
    (false, false, "this kernel cannot read Lua stacks (that needs Linux 5.17)"),
];

/// Loads the programs.
pub(super) fn load(config: Config, options: &Options, sizes: Sizes) -> Result<LoadedPrograms, SampleError> {
    let mut remarks = Vec::new();
    let mut refused = None;
    for (step, (still, lua, remark)) in STEPS.into_iter().enumerate() {
        let gives_up = [false, options.off_cpu.is_some(), options.lua][step];
        if step > 0 && !gives_up {
            continue;
        }
        remarks.extend((step > 0).then(|| remark.to_owned()));
        let config = if lua { config } else { config.without_lua() };
        let still = still && options.off_cpu.is_some();
        match load_with(&config, options, sizes, still) {
            Ok(object) => return Ok(LoadedPrograms { object, still, remarks }),
            // Dropping features would not help.
            Err(error @ SampleError::Bpf { denied: true, .. }) => return Err(error),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.expect("the first step is always tried"))
}

fn load_with(config: &Config, options: &Options, sizes: Sizes, still: bool) -> Result<Object, SampleError> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(failed("opening the programs"))?;
    prepare(&mut open, config, options, sizes, still).map_err(failed("preparing the programs"))?;
    open.load().map_err(failed("loading the programs"))
}

fn prepare(
    open: &mut OpenObject,
    config: &Config,
    options: &Options,
    sizes: Sizes,
    still: bool,
) -> libbpf_rs::Result<()> {
    for mut program in open.progs_mut() {
        let load = wanted(options).any(|name| program.name() == name && (still || name != STILL));
        program.set_autoload(load);
    }
    // Maps of unused features stay at one entry.
    let waits = |entries| if options.off_cpu.is_some() { entries } else { 1 };
    let calls = |entries| if options.system_calls { entries } else { 1 };
    let entries = [
        ("ring", sizes.ring_bytes),
        ("scratches", 2 * sizes.possible_cpus),
        ("targets", MOST_PROCESSES),
        ("waits", waits(MOST_THREADS)),
        ("short_waits", waits(MOST_PROCESSES)),
        ("calls_under_way", calls(MOST_THREADS)),
        ("calls", calls(MOST_CALLS)),
    ];
    for mut map in open.maps_mut() {
        if map.name() == ".rodata.config" {
            map.set_initial_value(config.bytes())?;
        }
        if let Some((_, entries)) = entries.iter().find(|(name, _)| map.name() == *name) {
            map.set_max_entries(*entries)?;
        }
    }
    Ok(())
}
