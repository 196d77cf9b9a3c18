//! Weights with their sums: finds the n-th unit of all weights, and changes one weight, in O(log n).
//!
//! A tree of 16 children that is never changed in place while someone shares it: a change copies one node a level (four
//! for 65,536 slots). An alias table answers in O(1), but any change of a weight costs O(n) there.

use rpds::Vector;

use crate::teardown::{Lazily, Shared};

const WIDTH: usize = 16;
const BITS: u32 = 4;

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "of things that are pointers, a leaf is as large as a branch")]
enum Node<T> {
    Leaf { weights: [u32; WIDTH], items: [Option<T>; WIDTH] },
    Branch { sums: [u64; WIDTH], children: [Option<Shared<Node<T>>>; WIDTH] },
}

impl<T: Clone> Node<T> {
    fn empty(height: u32) -> Shared<Self> {
        Shared::new(match height {
            0 => Self::Leaf { weights: [0; WIDTH], items: Default::default() },
            _ => Self::Branch { sums: [0; WIDTH], children: Default::default() },
        })
    }

    /// Sets a slot and returns the node's new sum.
    fn set(node: &mut Shared<Self>, height: u32, slot: u32, weight: u32, item: Option<T>) -> u64 {
        let n = digit(slot, height);
        match Shared::make_mut(node) {
            Self::Leaf { weights, items } => {
                weights[n] = weight;
                items[n] = item;
                weights.iter().map(|weight| u64::from(*weight)).sum()
            }
            Self::Branch { sums, children } => {
                let child = children[n].get_or_insert_with(|| Self::empty(height - 1));
                sums[n] = Self::set(child, height - 1, slot, weight, item);
                sums.iter().sum()
            }
        }
    }
}

fn digit(slot: u32, height: u32) -> usize {
    (slot >> (BITS * height)) as usize % WIDTH
}

/// Weighted items in numbered slots. Clones share their contents.
#[derive(Clone, Debug)]
pub(crate) struct WeightTree<T> {
    root: Shared<Node<T>>,
    /// Levels of branches above the leaves.
    height: u32,
    total: u64,
    /// Slots below this one have been used.
    length: u32,
    /// The free slots among them.
    free: Vector<u32, Lazily>,
}

impl<T: Clone> WeightTree<T> {
    pub fn new() -> Self {
        Self { root: Node::empty(0), height: 0, total: 0, length: 0, free: Vector::new_with_ptr_kind() }
    }

    /// Sum of all weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest number of slots used at the same time.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Adds an item; returns its slot.
    pub fn insert(&mut self, weight: u32, item: T) -> u32 {
        let slot = match self.free.last() {
            Some(slot) => *slot,
            None => self.length,
        };
        if !self.free.drop_last_mut() {
            self.length += 1;
        }
        if u64::from(slot) >> (BITS * (self.height + 1)) > 0 {
            let below = std::mem::replace(&mut self.root, Node::empty(self.height + 1));
            if let Node::Branch { sums, children } = Shared::make_mut(&mut self.root) {
                (sums[0], children[0]) = (self.total, Some(below));
            }
            self.height += 1;
        }
        self.set(slot, weight, item);
        slot
    }

    /// Replaces the item in a slot.
    pub fn set(&mut self, slot: u32, weight: u32, item: T) {
        self.total = Node::set(&mut self.root, self.height, slot, weight, Some(item));
    }

    /// Frees a slot.
    pub fn remove(&mut self, slot: u32) {
        self.total = Node::set(&mut self.root, self.height, slot, 0, None);
        self.free.push_back_mut(slot);
    }

    /// The item in a slot, and its weight.
    pub fn get(&self, slot: u32) -> Option<(u32, &T)> {
        let (mut node, mut height) = (&self.root, self.height);
        if slot >= self.length {
            return None;
        }
        loop {
            let n = digit(slot, height);
            match &**node {
                Node::Leaf { weights, items } => return items[n].as_ref().map(|item| (weights[n], item)),
                Node::Branch { children, .. } => node = children[n].as_ref()?,
            }
            height -= 1;
        }
    }

    /// The item with the `unit`-th unit of weight; `None` from the total on.
    pub fn at(&self, mut unit: u64) -> Option<&T> {
        let mut node = &self.root;
        loop {
            match &**node {
                Node::Leaf { weights, items } => {
                    let n = find(weights.iter().map(|weight| u64::from(*weight)), &mut unit)?;
                    return items[n].as_ref();
                }
                Node::Branch { sums, children } => node = children[find(sums.iter().copied(), &mut unit)?].as_ref()?,
            }
        }
    }
}

/// The first whose sum with those before it is more than `unit`; takes those before it off.
fn find(mut sums: impl Iterator<Item = u64>, unit: &mut u64) -> Option<usize> {
    sums.position(|sum| {
        let found = *unit < sum;
        *unit -= if found { 0 } else { sum };
        found
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Change {
        Insert(u32),
        Set(usize, u32),
        Remove(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            3 => (0..20u32).prop_map(Change::Insert),
            2 => (any::<usize>(), 0..20u32).prop_map(|(n, weight)| Change::Set(n, weight)),
            1 => any::<usize>().prop_map(Change::Remove),
        ]
    }

    proptest! {
        #[test]
        fn units_belong_to_who_has_the_weight(changes in prop::collection::vec(change(), 0..600)) {
            let mut tree = WeightTree::new();
            let mut live: Vec<(u32, u32, usize)> = Vec::new(); // slot, weight, item
            for (item, change) in changes.iter().enumerate() {
                match change {
                    Change::Insert(weight) => live.push((tree.insert(*weight, item), *weight, item)),
                    Change::Set(..) | Change::Remove(_) if live.is_empty() => {}
                    Change::Set(n, weight) => {
                        let n = n % live.len();
                        live[n] = (live[n].0, *weight, item);
                        tree.set(live[n].0, *weight, item);
                    }
                    Change::Remove(n) => tree.remove(live.swap_remove(n % live.len()).0),
                }
            }
            let total: u64 = live.iter().map(|(_, weight, _)| u64::from(*weight)).sum();
            prop_assert_eq!(tree.total(), total);
            live.sort_unstable();
            let units = live.iter().flat_map(|(_, weight, item)| (0..*weight).map(move |_| *item));
            for (n, item) in units.enumerate() {
                prop_assert_eq!(tree.at(n as u64), Some(&item));
            }
            prop_assert_eq!(tree.at(total), None);
            for (slot, weight, item) in live {
                prop_assert_eq!(tree.get(slot), Some((weight, &item)));
            }
        }
    }

    #[test]
    fn slots_are_used_again_and_older_trees_stay() {
        let mut tree = WeightTree::new();
        for n in 0..300 {
            assert_eq!(tree.insert(1, n), n);
        }
        let before = tree.clone();
        tree.remove(17);
        assert_eq!(tree.insert(5, 1000), 17);
        assert_eq!((before.total(), before.get(17)), (300, Some((1, &17))));
        assert_eq!((tree.total(), tree.get(17)), (304, Some((5, &1000))));
    }
}
