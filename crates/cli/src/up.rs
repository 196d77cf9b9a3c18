//! `weir up`: nginx with Weir and its control in front of a small demo site, for as long as the command runs.
//!
//! Everything is private to one run directory and one process group, so that it can stand beside
//! any other nginx and leaves nothing behind: nginx and control are children that die with this
//! process even if that is killed (`PR_SET_PDEATHSIG`), nginx's workers with it.

mod child;
mod configuration;
mod daemon;
mod demo;
mod follow;
mod group;
mod inspector;
mod installation;
mod port;
mod run_dir;
mod worker_user;

use std::io::Write;
use std::time::Duration;

use self::child::Nginx;
use self::daemon::Daemon;
use self::follow::Follower;
use self::installation::Installation;
use self::run_dir::RunDir;
use crate::Failure;
use crate::api::Api;
use crate::arguments::Up;
use crate::command::apply;
use crate::style::{Stream, Style};

/// How often the attack log, the child and the signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(up: &Up) -> Result<(), Failure> {
    weir_measure::interrupt::catch();
    // The reader of our output may go first (`weir up | head`); nginx goes on, and is stopped in order.
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let installation = Installation::find(up)?;
    port::check_free(up.port)?;
    let dir = RunDir::make(up.dir.as_deref(), up.port)?;
    let mut daemon = if installation.policy.is_none() { Some(control(&installation, &dir, up)?) } else { None };
    let is_demo = installation.policy.is_none() && up.apply.is_empty();
    let inspector = if is_demo { inspector::start(&dir)? } else { None };
    let configuration = configuration::write(&dir, &installation, up)?;
    let mut nginx = Nginx::start(&installation.nginx, &dir, &configuration)?;
    nginx.wait_until_ready(&dir, up)?;

    if is_demo && inspector.is_none() {
        say("weir: the demo has no inspector, because weir-tools is missing: `make tools`, then start again");
    }
    say(&format!("{}weir: ready on http://127.0.0.1:{}", demo::introduction(up, &dir, &installation), up.port));
    let mut attacks = Follower::new(dir.attack_log());
    let style = Style::of(Stream::Out);
    while !weir_measure::interrupt::is_requested() {
        std::thread::sleep(LOOK);
        for line in attacks.lines() {
            say(&follow::readable(&line, style));
        }
        nginx.check_alive()?;
        if let Some(how) = daemon.as_mut().map(|daemon| daemon.revive(&dir)).transpose()?.flatten() {
            say(&format!("weir: control exited ({how}) and was restarted; nginx kept serving"));
        }
    }
    nginx.stop();
    drop(inspector);
    drop(daemon);
    say("weir: stopped");
    Ok(())
}

/// Starts control, and gives it what the gateway begins with unless it has something already
/// (`--dir` of an earlier run).
fn control(installation: &Installation, dir: &RunDir, up: &Up) -> Result<Daemon, Failure> {
    let mut daemon = Daemon::start(dir)?;
    let api = Api::at(&dir.socket());
    daemon.wait_until_ready(&api)?;
    let files = installation.state(dir, up)?;
    if api.get("/api/v1/revisions?limit=1")?["revisions"].as_array().is_none_or(Vec::is_empty) {
        apply::begin(&api, &files)?;
    }
    Ok(daemon)
}

/// Prints a line. That nobody reads it any more (a closed pipe) is no reason to stop the gateway.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
