//! A gateway: a control daemon, and an nginx whose first server is a gateway. Both end with the test.

use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::api::Api;
use crate::nginx::kill;
use crate::wait::until;
use crate::{Nginx, Setup};

/// A `weir control` process, on directories that outlive it.
pub struct Control {
    child: Child,
    binary: PathBuf,
    state: PathBuf,
    runtime: PathBuf,
    environment: Vec<(String, String)>,
    disk_kib: Option<u32>,
    /// Its API.
    pub api: Api,
}

/// The command under test: `WEIR_BIN`, or the one beside the most recently built module.
///
/// # Panics
/// If the command is not built.
#[must_use]
pub fn weir() -> PathBuf {
    let beside = || crate::setup::module().parent().expect("is in a directory").join("weir");
    let path = std::env::var_os("WEIR_BIN").map_or_else(beside, PathBuf::from);
    assert!(path.exists(), "the command is not built: `make build` makes {}", path.display());
    path
}

impl Control {
    /// Starts the daemon and waits until it answers.
    #[must_use]
    pub fn start(state: &Path, runtime: &Path) -> Self {
        Self::start_with(state, runtime, &[])
    }

    /// Does the same with additional environment variables.
    #[must_use]
    pub fn start_with(state: &Path, runtime: &Path, environment: &[(&str, &str)]) -> Self {
        let environment: Vec<(String, String)> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::start_on(&weir(), state, runtime, environment, None)
    }

    /// Starts another build of the command.
    #[must_use]
    pub fn start_build(binary: &Path, state: &Path, runtime: &Path) -> Self {
        Self::start_on(binary, state, runtime, Vec::new(), None)
    }

    /// Does the same with the store on a private disk of this size, which disappears with the process. Needs root.
    #[must_use]
    pub fn start_on_small_disk(state: &Path, runtime: &Path, kib: u32) -> Self {
        std::fs::create_dir_all(state).expect("the prefix is writable");
        Self::start_on(&weir(), state, runtime, Vec::new(), Some(kib))
    }

    fn start_on(
        binary: &Path,
        state: &Path,
        runtime: &Path,
        environment: Vec<(String, String)>,
        disk_kib: Option<u32>,
    ) -> Self {
        let child = spawn(binary, state, runtime, &environment, disk_kib);
        let api = Api::at(runtime.join("control.sock"));
        let this = Self {
            child,
            binary: binary.into(),
            state: state.into(),
            runtime: runtime.into(),
            environment,
            disk_kib,
            api,
        };
        this.wait();
        this
    }

    /// Waits until the daemon answers.
    pub fn wait(&self) {
        until("control to answer", || {
            let answer = self.api.try_call("GET", "/healthz", &[], None);
            answer.is_ok_and(|answer| answer.status == 200).then_some(())
        });
    }

    /// Its process id.
    ///
    /// # Panics
    /// Never on Linux: its process ids are positive and small.
    #[must_use]
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("Linux's process ids fit")
    }

    /// Kills the daemon with `SIGKILL`.
    ///
    /// # Panics
    /// If waiting for the process fails.
    pub fn kill(&mut self) {
        kill(self.pid(), libc::SIGKILL);
        self.child.wait().expect("our own child");
    }

    /// Ends it in order and starts another build of it in its place.
    pub fn replace(&mut self, binary: &Path) {
        self.stop();
        self.binary = binary.to_owned();
        self.respawn();
        self.wait();
    }

    /// Starts the daemon again after it has ended, without waiting until it answers.
    pub fn respawn(&mut self) {
        self.child = spawn(&self.binary, &self.state, &self.runtime, &self.environment, self.disk_kib);
    }

    /// Stops the daemon in an orderly way and returns its exit code.
    ///
    /// # Panics
    /// If waiting for the process fails.
    pub fn stop(&mut self) -> Option<i32> {
        kill(self.pid(), libc::SIGTERM);
        self.child.wait().expect("our own child").code()
    }

    /// The directory of the store.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The standard error output so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.state.with_extension("log")).unwrap_or_default()
    }
}

fn spawn(
    binary: &Path,
    state: &Path,
    runtime: &Path,
    environment: &[(String, String)],
    disk_kib: Option<u32>,
) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(state.with_extension("log"));
    let mut command = Command::new(binary);
    command.arg("--runtime").arg(runtime).arg("control").arg("--state").arg(state);
    command.arg("--files").arg(state.parent().expect("the state is in the prefix"));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.expect("the prefix is writable")).process_group(0);
    let place = CString::new(state.as_os_str().as_encoded_bytes()).expect("a path has no NUL");
    let options = disk_kib.map(|kib| CString::new(format!("size={kib}k")).expect("has no NUL"));
    // SAFETY: the calls are system calls on what was made before the fork, and touch nothing of this process.
    unsafe {
        command.pre_exec(move || {
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            let Some(options) = &options else { return Ok(()) };
            done(libc::unshare(libc::CLONE_NEWNS))?;
            let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
            done(libc::mount(none, c"/".as_ptr(), none, private, std::ptr::null()))?;
            let kind = c"tmpfs".as_ptr();
            done(libc::mount(kind, place.as_ptr(), kind, 0, options.as_ptr().cast()))
        });
    }
    command.spawn().expect("the command is built, and a disk can be made")
}

fn done(result: libc::c_int) -> std::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

impl Drop for Control {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of control\n{}---", self.log());
        }
        kill(-self.pid(), libc::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Control and nginx.
pub struct Gateway {
    /// nginx; its first server is a gateway.
    pub nginx: Nginx,
    /// Control.
    pub control: Control,
}

impl Setup {
    /// An nginx with the Weir module whose first server is a gateway. Its header `X-Weir` names the worker and the
    /// revision.
    #[must_use]
    pub fn gateway() -> Self {
        Self::weir().server("weir_gateway on;\nadd_header X-Weir \"$weir_worker $weir_gateway_revision\" always;")
    }
}

impl Gateway {
    /// Starts both with these documents, such as `("sites/a", json!({...}))`.
    #[must_use]
    pub fn start(documents: &[(&str, Value)]) -> Self {
        Self::start_with(Setup::gateway(), documents)
    }

    /// Does the same with a given nginx.
    #[must_use]
    pub fn start_with(setup: Setup, documents: &[(&str, Value)]) -> Self {
        let control = Control::start(&setup.prefix().join("state"), &setup.prefix().join("run"));
        if !documents.is_empty() {
            let _ = control.api.put_all(documents).expect(200);
        }
        Self { nginx: setup.start(), control }
    }

    /// The API.
    #[must_use]
    pub fn api(&self) -> &Api {
        &self.control.api
    }
}
