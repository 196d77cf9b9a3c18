//! A process since its last `exec`: its maps, and the Lua in it.

use std::time::{Duration, Instant};

use weir_luajit::{RawLua, Vm};
use weir_unwind::{Modules, Process, Registers, UnwindError};

/// Times of further searches for Lua in a process: libraries may be loaded late, but the search must end.
const LOOK_AGAIN: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// One program in one process.
#[derive(Debug)]
pub(crate) struct Image {
    pub process: Process,
    pub vm: Option<Vm>,
    /// Time of its last sample.
    pub used: Instant,
    opened: Instant,
    looked: usize,
}

impl Image {
    /// Opens a process.
    pub(crate) fn open(pid: u32, modules: &Modules) -> Result<Self, UnwindError> {
        let now = Instant::now();
        let process = Process::open_with(pid, modules)?;
        Ok(Self { process, vm: None, used: now, opened: now, looked: 0 })
    }

    /// Looks for Lua if it is time to. An error is a readable sentence, returned once.
    pub(crate) fn look_for_lua(&mut self) -> Result<bool, String> {
        let due = match self.looked {
            0 => true,
            n => LOOK_AGAIN.get(n - 1).is_some_and(|after| self.opened.elapsed() >= *after),
        };
        if self.vm.is_some() || !due {
            return Ok(false);
        }
        self.looked += 1;
        match Vm::find(&mut self.process) {
            Ok(found) => {
                self.vm = found;
                Ok(self.vm.is_some())
            }
            Err(error) => {
                self.looked = usize::MAX;
                Err(error.to_string())
            }
        }
    }

    /// Lets the virtual machine learn from a sample; returns whether the data for the kernel side has changed.
    pub(crate) fn learn(&mut self, registers: &Registers, lua: Option<&RawLua<'_>>) -> bool {
        let Some(vm) = &mut self.vm else { return false };
        if let Some(lua) = lua {
            return vm.learn_from(lua).is_some();
        }
        let candidate = vm.is_interpreter(registers.ip) || self.process.module(registers.ip).is_none();
        candidate && vm.learn(registers).is_some()
    }
}
