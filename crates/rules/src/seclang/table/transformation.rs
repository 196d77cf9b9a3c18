//! Transformations: the table is `weir-transform`'s, which runs them; here are its names only.

use weir_transform::Transformation;

use crate::suggest;

/// The transformation of that name, whatever its case.
pub(in crate::seclang) fn find(name: &str) -> Option<Transformation> {
    Transformation::named(name)
}

/// "did you mean ...?", if a name is near.
pub(in crate::seclang) fn guess(name: &str) -> Option<String> {
    let names = Transformation::ALL.iter().map(|one| one.info().name).chain(["none"]);
    suggest::nearest(name, names).map(|near| format!("did you mean `t:{near}`?"))
}
