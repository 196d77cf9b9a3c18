//! Names of transformations; the table itself is in `weir-transform`, which runs them.

use weir_transform::Transformation;

use crate::suggest;

/// The transformation of this name, ignoring case.
pub(in crate::seclang) fn find(name: &str) -> Option<Transformation> {
    Transformation::named(name)
}

/// "did you mean ...?", if a similar name exists.
pub(in crate::seclang) fn guess(name: &str) -> Option<String> {
    let names = Transformation::ALL.iter().map(|one| one.info().name).chain(["none"]);
    suggest::nearest(name, names).map(|near| format!("did you mean `t:{near}`?"))
}
