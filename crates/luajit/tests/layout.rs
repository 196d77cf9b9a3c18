//! The layout of the installed LuaJIT, derived from its code alone.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use weir_luajit::{LuaError, Vm};
use weir_unwind::Process;

/// A process that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that reports when it is ready, and then waits.
const WAITING: &str = "io.write('.') io.flush() io.read()";

/// Runs a program until it prints something.
fn run(program: &str, arguments: &[&str]) -> (Running, Process) {
    let child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut running = Running(child.unwrap_or_else(|error| panic!("{program}: {error}: `make setup` installs it")));
    running.0.stdout.as_mut().expect("is piped").read_exact(&mut [0]).expect("it says something");
    let process = Process::open(running.0.id()).expect("it runs");
    process.memory().u8(process.mappings()[0].start).expect("memory of other processes can be read (CAP_SYS_PTRACE)");
    (running, process)
}

#[test]
fn luajit_is_understood_and_its_machine_found() {
    let (_running, mut process) = run("luajit", &["-e", WAITING]);
    let vm = Vm::find(&mut process).expect("it is known").expect("it is LuaJIT");
    let offsets = vm.offsets();
    assert_eq!(vm.globals().len(), 1, "{offsets:?}");
    assert!(vm.is_interpreter(offsets.vm_start) && !vm.is_interpreter(offsets.vm_end));
    // True of each GC64 build so far; other values differ.
    let fixed = (offsets.l_global, offsets.l_base, offsets.l_maxstack, offsets.l_stack, offsets.proto_size);
    assert_eq!(fixed, (16, 32, 48, 56, 104));
    let memory = process.memory();
    let current = memory.u64(vm.globals()[0] + u64::from(offsets.g_current)).expect("it is there");
    assert_eq!(memory.u64(current + u64::from(offsets.l_global)).expect("it is there"), vm.globals()[0]);
}

#[test]
fn a_program_without_lua_has_none() {
    let (_running, mut process) = run("sh", &["-c", "echo; read line"]);
    assert!(Vm::find(&mut process).expect("nothing is odd").is_none());
}

#[test]
fn another_lua_is_refused_by_name() {
    let (_running, mut process) = run("lua5.1", &["-e", WAITING]);
    match Vm::find(&mut process) {
        Err(error @ LuaError::PlainLua { .. }) => assert!(error.to_string().contains("not LuaJIT"), "{error}"),
        other => panic!("{other:?}"),
    }
}
