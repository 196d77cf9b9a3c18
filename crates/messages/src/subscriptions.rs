//! Which subscribers want a message: filters with their subscribers, found from the name of its topic.
//!
//! # What a look-up costs
//!
//! Filters without wildcards are one look-up in a hash table. Filters with wildcards are paths in a trie of levels, and a
//! name follows those that agree with it: at most 9,401 steps for the bounds of [`topic`](crate::topic), three or four for
//! filters that people write. Subscriptions elsewhere cost nothing. Clients choose the names, so hashes have random seeds.
//! `cargo bench -p weir-messages --bench messages`, profile `quick`, on two cores that other builds kept busy, at loads of 3
//! and of 7:
//!
//! | look-up | µs |
//! | --- | --- |
//! | one subscriber by three filters, alone or beside 100,000 other filters | 0.2 to 0.4 |
//! | 10,000 subscribers by one filter | 13 to 25 |
//! | none, past 1,940 filters made to be dear (6,884 steps) | 160 to 340 |
//!
//! # Why nobody is told twice
//!
//! A subscriber may have several filters that match. Each look-up has a number, and a subscriber carries the number of the
//! last one that found it: the second filter finds its own number and goes on. That is one store for each subscriber, where a
//! set of those already told would be memory for each message. The price is `&mut` for a look-up.
//!
//! # Memory
//!
//! Texts of filters and levels, and lists of subscribers, are freed with the last subscription that uses them, and all tables
//! with the last one of all. In between, tables shrink when three quarters are empty; places in arrays are used again.
//! 100,000 filters like `orders/N/+` of one subscriber take 27 MB, with 16 levels about 70 MB.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use crate::topic::{TopicFilter, TopicName};

mod shrink;
mod slab;
mod trie;

use shrink::shrink;
use slab::Slab;
use trie::{Spot, Trie};

/// Filters and their subscribers. `T` names a subscriber: a number or a pointer, which is hashed and compared.
#[derive(Debug)]
pub struct Subscriptions<T> {
    /// Filters without wildcards.
    exact: HashMap<Arc<str>, u32>,
    /// Filters with wildcards.
    trie: Trie,
    filters: Slab<Filter>,
    ids: HashMap<T, u32>,
    subscribers: Slab<Subscriber<T>>,
    /// The number of subscriptions.
    len: usize,
    /// The number of the last look-up.
    lookup: u64,
}

#[derive(Debug)]
struct Filter {
    place: Place,
    subscribers: Vec<u32>,
}

/// Where a filter is found.
#[derive(Clone, Debug)]
enum Place {
    Exact(Arc<str>),
    Trie(Spot),
}

#[derive(Debug)]
struct Subscriber<T> {
    value: T,
    /// The last look-up that found it.
    lookup: u64,
    /// Its place in the list of each of its filters, so that removal does not search.
    filters: HashMap<u32, u32>,
}

impl<T> Default for Subscriptions<T> {
    fn default() -> Self {
        Self {
            exact: HashMap::new(),
            trie: Trie::default(),
            filters: Slab::default(),
            ids: HashMap::new(),
            subscribers: Slab::default(),
            len: 0,
            lookup: 0,
        }
    }
}

impl<T: Copy + Eq + Hash> Subscriptions<T> {
    /// Calls `found` with each subscriber that has a filter that matches, once. Allocates nothing.
    pub fn for_each_match(&mut self, name: TopicName<'_>, mut found: impl FnMut(T)) {
        self.lookup += 1;
        let Self { exact, trie, filters, subscribers, lookup, .. } = self;
        let mut tell = |filter: u32| {
            for id in &filters.get(filter).subscribers {
                let subscriber = subscribers.get_mut(*id);
                if subscriber.lookup != *lookup {
                    subscriber.lookup = *lookup;
                    found(subscriber.value);
                }
            }
        };
        if let Some(filter) = exact.get(name.as_str()) {
            tell(*filter);
        }
        trie.find(name, &mut tell);
    }

    /// Adds a subscription; `false` if it is there already.
    pub fn add(&mut self, filter: TopicFilter<'_>, subscriber: T) -> bool {
        let filter = self.filter_or_new(filter);
        let id = *self.ids.entry(subscriber).or_insert_with(|| {
            self.subscribers.put(Subscriber { value: subscriber, lookup: 0, filters: HashMap::new() })
        });
        let list = &mut self.filters.get_mut(filter).subscribers;
        let Entry::Vacant(place) = self.subscribers.get_mut(id).filters.entry(filter) else { return false };
        place.insert(list.len() as u32);
        list.push(id);
        self.len += 1;
        true
    }

    /// Removes a subscription; `false` if there is none.
    pub fn remove(&mut self, filter: TopicFilter<'_>, subscriber: T) -> bool {
        let (Some(filter), Some(id)) = (self.filter(filter), self.ids.get(&subscriber).copied()) else { return false };
        let filters = &mut self.subscribers.get_mut(id).filters;
        let Some(place) = filters.remove(&filter) else { return false };
        shrink(filters);
        let is_last = filters.is_empty();
        self.unlist(filter, place);
        if is_last {
            self.forget(id);
        }
        self.free_if_empty();
        true
    }

    /// Removes all subscriptions of a subscriber, and returns their number.
    pub fn remove_subscriber(&mut self, subscriber: T) -> usize {
        self.remove_some(subscriber, usize::MAX)
    }

    /// Removes at most this many subscriptions of a subscriber, and returns their number: 0 when none is left. 100,000 at
    /// once would hold an event loop for a tenth of a second.
    pub fn remove_some(&mut self, subscriber: T, most: usize) -> usize {
        let Some(id) = self.ids.get(&subscriber).copied() else { return 0 };
        let filters = &mut self.subscribers.get_mut(id).filters;
        let removed: Vec<(u32, u32)> = filters.iter().take(most).map(|(filter, place)| (*filter, *place)).collect();
        for (filter, _) in &removed {
            filters.remove(filter);
        }
        shrink(filters);
        let is_last = filters.is_empty();
        for (filter, place) in &removed {
            self.unlist(*filter, *place);
        }
        if is_last {
            self.forget(id);
        }
        self.free_if_empty();
        removed.len()
    }

    /// The number of subscriptions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no subscription.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of subscriptions of one subscriber.
    #[must_use]
    pub fn count(&self, subscriber: T) -> usize {
        self.ids.get(&subscriber).map_or(0, |id| self.subscribers.get(*id).filters.len())
    }

    fn filter(&self, filter: TopicFilter<'_>) -> Option<u32> {
        if filter.is_exact() { self.exact.get(filter.as_str()).copied() } else { self.trie.get(filter) }
    }

    fn filter_or_new(&mut self, filter: TopicFilter<'_>) -> u32 {
        if let Some(id) = self.filter(filter) {
            return id;
        }
        if filter.is_exact() {
            let text: Arc<str> = filter.as_str().into();
            let id = self.filters.put(Filter { place: Place::Exact(text.clone()), subscribers: Vec::new() });
            self.exact.insert(text, id);
            return id;
        }
        let spot = self.trie.grow(filter);
        let id = self.filters.put(Filter { place: Place::Trie(spot), subscribers: Vec::new() });
        self.trie.set(spot, id);
        id
    }

    /// Takes a subscriber from a filter's list, and the filter away if it was the last.
    fn unlist(&mut self, filter: u32, place: u32) {
        self.len -= 1;
        let list = &mut self.filters.get_mut(filter).subscribers;
        list.swap_remove(place as usize);
        if let Some(moved) = list.get(place as usize) {
            self.subscribers.get_mut(*moved).filters.insert(filter, place);
        }
        if list.len() < list.capacity() / 4 {
            list.shrink_to(list.len() * 2);
        }
        if list.is_empty() {
            match self.filters.take(filter).place {
                Place::Exact(text) => {
                    self.exact.remove(&text);
                    shrink(&mut self.exact);
                }
                Place::Trie(spot) => self.trie.clear(spot),
            }
        }
    }

    fn forget(&mut self, id: u32) {
        let subscriber = self.subscribers.take(id);
        self.ids.remove(&subscriber.value);
        shrink(&mut self.ids);
    }

    fn free_if_empty(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests;
