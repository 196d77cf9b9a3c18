//! All tables of figures. A new one is an entry here and a pair of markers in a document.

use super::table::Table;

mod others;
mod overview;
mod traffic;

/// The table of this name.
pub(super) fn named(name: &str) -> Option<&'static Table> {
    [overview::TABLES, traffic::TABLES, others::TABLES].into_iter().flatten().find(|table| table.name == name)
}
