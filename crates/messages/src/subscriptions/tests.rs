use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn name(text: &str) -> TopicName<'_> {
    TopicName::new(text.as_bytes()).unwrap()
}

fn filter(text: &str) -> TopicFilter<'_> {
    TopicFilter::new(text.as_bytes()).unwrap()
}

fn found(subscriptions: &mut Subscriptions<u32>, topic: &str) -> Vec<u32> {
    let mut found = Vec::new();
    subscriptions.for_each_match(name(topic), |subscriber| found.push(subscriber));
    found.sort_unstable();
    found
}

#[test]
fn a_subscriber_is_found_once_whatever_filters_match() {
    let mut subscriptions = Subscriptions::default();
    for text in ["a/b", "a/+", "a/#", "#", "+/b", "+/#", "a/b/#"] {
        assert!(subscriptions.add(filter(text), 1));
        assert!(!subscriptions.add(filter(text), 1), "{text} is there already");
    }
    assert!(subscriptions.add(filter("a/+"), 2));
    assert_eq!((subscriptions.len(), subscriptions.count(1), subscriptions.count(2)), (8, 7, 1));
    assert_eq!(found(&mut subscriptions, "a/b"), [1, 2]);
    assert_eq!(found(&mut subscriptions, "a/b"), [1, 2], "and again for the next message");
    assert_eq!(found(&mut subscriptions, "c"), [1]);
    assert_eq!(subscriptions.remove_subscriber(1), 7);
    assert_eq!(found(&mut subscriptions, "a/b"), [2]);
    assert_eq!(found(&mut subscriptions, "c"), [0; 0]);
    assert!(!subscriptions.remove(filter("a/b"), 2));
    assert!(subscriptions.remove(filter("a/+"), 2));
    assert!(subscriptions.is_empty());
}

#[test]
fn what_is_removed_is_freed() {
    let mut subscriptions = Subscriptions::default();
    subscriptions.add(filter("keep/+"), 0);
    let filters: Vec<String> =
        (0..20_000).map(|n| if n % 2 == 0 { format!("x/{n}/y") } else { format!("x/+/{n}/{}/#", n / 7) }).collect();
    for text in &filters {
        subscriptions.add(filter(text), 1);
    }
    assert_eq!(subscriptions.count(1), 20_000);
    assert!(subscriptions.trie.sizes()[1] > 20_000);
    assert!(subscriptions.remove(filter(&filters[0]), 1));
    assert_eq!(subscriptions.remove_some(1, 5_000), 5_000);
    assert_eq!((subscriptions.count(1), subscriptions.len()), (14_999, 15_000));
    assert_eq!(subscriptions.remove_subscriber(1), 14_999);
    assert_eq!(subscriptions.remove_some(1, 5_000), 0);
    assert_eq!(subscriptions.trie.sizes(), [2, 1, 1, 1]);
    assert_eq!((subscriptions.filters.len(), subscriptions.subscribers.len()), (1, 1));
    let tables = [subscriptions.exact.capacity(), subscriptions.trie.edge_capacity(), subscriptions.ids.capacity()];
    assert!(tables.iter().all(|capacity| *capacity < 64), "{tables:?}");
    assert!(subscriptions.remove(filter("keep/+"), 0));
    assert_eq!(subscriptions.trie.sizes(), [0; 4]);
}

#[test]
fn others_subscriptions_cost_a_message_nothing() {
    let steps = |subscriptions: &mut Subscriptions<u32>| {
        let before = trie::STEPS.get();
        assert_eq!(found(subscriptions, "orders/eu/7"), [0]);
        trie::STEPS.get() - before
    };
    let mut subscriptions = Subscriptions::default();
    for text in ["orders/eu/7", "orders/+/7", "orders/#"] {
        subscriptions.add(filter(text), 0);
    }
    let alone = steps(&mut subscriptions);
    for n in 0..100_000 {
        let text = if n % 2 == 0 { format!("orders/us/{n}") } else { format!("orders/us/+/{n}") };
        subscriptions.add(filter(&text), 1 + n % 10);
    }
    assert_eq!((alone, steps(&mut subscriptions)), (4, 4));
}

#[test]
fn the_worst_filters_make_fewer_than_the_stated_steps() {
    // Every filter of `a` and at most four `+` in 16 levels that differs from the message in its last level only.
    let mut subscriptions = Subscriptions::default();
    for plus in (0_u32..1 << 15).filter(|plus| (1..=4).contains(&plus.count_ones())) {
        let mut text = String::new();
        for level in 0..15 {
            text += if plus >> level & 1 == 1 { "+/" } else { "a/" };
        }
        text += "z";
        assert!(subscriptions.add(filter(&text), 0));
    }
    let topic = ["a"; 16].join("/");
    assert_eq!(found(&mut subscriptions, &topic), [0; 0]);
    // Its nodes, without those of the last level and with the root, are what the name is led to.
    let [nodes, ..] = subscriptions.trie.sizes();
    assert!(nodes - subscriptions.len() < 9_401, "{nodes} nodes");
}

proptest! {
    #[test]
    fn subscribers_are_those_whose_filters_match(
        steps in prop::collection::vec((any::<bool>(), "[ab+]{0,1}(/[ab+]{0,1}){0,3}(/#)?", 0_u32..4, 0_u8..20), 1..60),
        topics in prop::collection::vec("[abc]{0,1}(/[abc]{0,1}){0,4}", 1..8),
    ) {
        let mut subscriptions = Subscriptions::default();
        let mut model: HashSet<(String, u32)> = HashSet::new();
        for (adds, text, subscriber, leaves) in steps {
            if leaves == 0 {
                let before = model.len();
                model.retain(|(_, other)| *other != subscriber);
                prop_assert_eq!(subscriptions.remove_subscriber(subscriber), before - model.len());
                continue;
            }
            let Ok(wanted) = TopicFilter::new(text.as_bytes()) else { continue };
            if adds {
                prop_assert_eq!(subscriptions.add(wanted, subscriber), model.insert((text.clone(), subscriber)));
            } else {
                prop_assert_eq!(subscriptions.remove(wanted, subscriber), model.remove(&(text.clone(), subscriber)));
            }
            prop_assert_eq!(subscriptions.len(), model.len());
            for topic in topics.iter().filter(|topic| !topic.is_empty()) {
                let matching = model.iter().filter(|(text, _)| filter(text).matches(name(topic)));
                let mut expected: Vec<u32> = matching.map(|(_, subscriber)| *subscriber).collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(found(&mut subscriptions, topic), expected, "{}", topic);
            }
        }
        for (text, subscriber) in &model {
            prop_assert!(subscriptions.remove(filter(text), *subscriber));
        }
        prop_assert_eq!(subscriptions.trie.sizes(), [0; 4]);
        prop_assert_eq!((subscriptions.filters.len(), subscriptions.subscribers.len()), (0, 0));
    }
}
