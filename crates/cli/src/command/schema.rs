//! `weir schema`: the JSON Schema that editors check policies with.

use crate::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    let schema = serde_json::to_string_pretty(&weir_policy::json_schema()).map_err(Failure::new)?;
    println!("{schema}");
    Ok(())
}
