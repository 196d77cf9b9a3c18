//! Names of the variables in `TX`, as numbers.

use std::collections::HashMap;

/// Number of a variable in `TX`.
pub(crate) type TxId = u16;

/// Variables 0 to 9 are `TX:0` to `TX:9`, what `capture` keeps.
pub(crate) const CAPTURES: TxId = 10;

/// All names that a program mentions, in lower case.
#[derive(Debug)]
pub(crate) struct TxNames {
    numbers: HashMap<Box<[u8]>, TxId, foldhash::fast::RandomState>,
    names: Vec<Box<[u8]>>,
}

impl TxNames {
    pub(crate) fn new() -> Self {
        let mut names = Self { numbers: HashMap::default(), names: Vec::new() };
        for digit in b'0'..=b'9' {
            names.intern(&[digit]);
        }
        names
    }

    /// The number of a name, a new one if need be.
    pub(crate) fn intern(&mut self, name: &[u8]) -> TxId {
        let name = name.to_ascii_lowercase().into_boxed_slice();
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        // The language bounds rules and what each may set, far below this type's range.
        let number = self.names.len() as TxId;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// The number of a lower-case name that the program mentions.
    pub(crate) fn find(&self, name: &[u8]) -> Option<TxId> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, id: TxId) -> &[u8] {
        &self.names[usize::from(id)]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.names.iter().map(|name| &**name)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}
