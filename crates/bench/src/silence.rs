//! Silence for the variant that is measured under it: the same switch as `weir silence on`.

use std::path::Path;

use weir_ledger::Control;

use weir_measure::error::MeasureError;

/// Turns silence on in the runtime directory of a running nginx.
pub fn set(runtime: &Path) -> Result<(), MeasureError> {
    let control = Control::open(runtime).map_err(|error| MeasureError::wrong("weir-silent", error.to_string()))?;
    control.set_silence(true);
    Ok(())
}
