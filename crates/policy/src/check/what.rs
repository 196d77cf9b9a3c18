//! What a value is for, said only once something is wrong with it.

use std::fmt;

use crate::document::quoted;
use crate::table::{Key, Resource};

/// What a value is for.
#[derive(Clone, Copy)]
pub enum What<'w> {
    /// The value of a key.
    Key(&'static Key, &'static Resource),
    /// An item of a list.
    Item(&'w What<'w>),
    /// A name in a mapping.
    Name(&'w What<'w>),
    /// What is under a name in a mapping.
    Named(&'w str, &'w What<'w>),
}

impl fmt::Display for What<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key, resource) => write!(out, "`{}` of {}", key.name, resource.article),
            Self::Item(list) => write!(out, "an item of {list}"),
            Self::Name(map) => write!(out, "a name in {map}"),
            Self::Named(name, map) => write!(out, "{} in {map}", quoted(name)),
        }
    }
}
