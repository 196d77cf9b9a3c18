//! `weir inspector`: the service that answers inspectors' questions.

use weir_cli::Failure;
use weir_cli::arguments::Inspector;

pub(crate) fn run(inspector: &Inspector) -> Result<(), Failure> {
    if inspector.check {
        weir_inspector::check(&inspector.config).map_err(Failure::new)?;
        println!("{}: good", inspector.config.display());
        return Ok(());
    }
    weir_cli::survive_broken_pipes();
    weir_inspector::run(&inspector.config).map_err(Failure::new)
}
