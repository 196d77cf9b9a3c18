//! `weir silence`: lets everything pass at once, on the next request of every worker.

use std::path::Path;

use weir_ledger::Control;

use crate::Failure;
use crate::arguments::Switch;

pub(crate) fn run(runtime: &Path, switch: Switch) -> Result<(), Failure> {
    let control = Control::open(runtime)?;
    match switch {
        Switch::On => control.set_silence(true),
        Switch::Off => control.set_silence(false),
        Switch::Status => {}
    }
    println!("{}", text(control.silenced()));
    Ok(())
}

fn text(silenced: bool) -> &'static str {
    if silenced { "silence is on: every request passes uninspected" } else { "silence is off: policies apply" }
}
