//! `weir schema`: the JSON Schemas that editors check files with.

use crate::Failure;
use crate::arguments::SchemaOf;

pub(crate) fn run(of: SchemaOf) -> Result<(), Failure> {
    let schema = match of {
        SchemaOf::Policy => weir_policy::json_schema(),
        SchemaOf::Gateway => weir_resource::state_schema(),
    };
    println!("{schema:#}");
    Ok(())
}
