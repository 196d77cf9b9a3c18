//! `weir log-level`: what Weir writes to nginx's error log, changed without a reload.

use std::path::Path;

use clap::ValueEnum;
use weir_ledger::Control;

use crate::Failure;
use crate::arguments::Level;

pub(crate) fn run(runtime: &Path, level: Option<Level>) -> Result<(), Failure> {
    let control = Control::open(runtime)?;
    if let Some(level) = level {
        control.set_log_level(level as u32);
    }
    println!("log level: {}", name(control.log_level()));
    Ok(())
}

/// The name of a level.
pub(crate) fn name(level: u32) -> String {
    let known = Level::value_variants().iter().find(|known| **known as u32 == level);
    match known {
        None | Some(Level::Default) => "as configured".into(),
        Some(level) => level.to_possible_value().expect("no level is hidden").get_name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_have_nginx_s_names() {
        assert_eq!([0, 1, 4, 8].map(super::name), ["as configured", "emerg", "error", "debug"]);
    }
}
