use proptest::prelude::*;

use super::*;
use crate::format::{Format, read_as};
use crate::hang;

/// A profile of folded stacks.
fn profile(folded: &str) -> Profile {
    read_as(folded.as_bytes(), Format::Folded).unwrap()
}

fn merged(old: &str, new: &str) -> Difference {
    diff(&profile(old), &profile(new), &DiffOptions::default())
}

/// The nodes of the tree with self weight: `a;b 1 2`.
fn paths(difference: &Difference) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(difference.nodes.len());
    let mut paths = Vec::new();
    for node in &difference.nodes {
        let name = &difference.function(node.function).name;
        let path = match node.parent.map(|parent| names[parent.0 as usize].as_str()) {
            None | Some("") => name.clone(),
            Some(above) => format!("{above};{name}"),
        };
        let WeightPair { old, new } = node.self_weight;
        if old + new > 0 {
            paths.push(format!("{path} {old} {new}"));
        }
        names.push(if node.parent.is_none() { String::new() } else { path });
    }
    paths
}

fn forwarders(difference: &Difference) -> Vec<(String, Side, u64, u64)> {
    let name = |entry: &Forwarded| difference.function(entry.function).name.clone();
    difference.forwarded.iter().map(|entry| (name(entry), entry.side, entry.paths, entry.weight)).collect()
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let mut old = profile("main;x\x1b[31m 9");
    old.meta.title = "\x1b]0;owned\x07".into();
    old.meta.remarks.push("\x1b[2J".into());
    let text = diff(&old, &profile("main 9"), &DiffOptions::default()).text(10);
    assert!(text.contains("[31m") && !text.contains(['\x1b', '\x07']), "{text:?}");
}

/// Description, old and new stacks, merged stacks, merged functions.
type Merging<'a> = (&'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str]);

#[test]
fn frames_that_only_forward_are_merged_where_the_other_side_has_none() {
    let cases: &[Merging<'_>] = &[
        ("a tail call", "a;b;c 9", "a;c 5", &["a;c 9 5"], &["b"]),
        ("the other way round", "a;c 5", "a;b;c 9", &["a;c 5 9"], &["b"]),
        ("a run of them", "a;b;c;d;e 9", "a;e 5", &["a;e 9 5"], &["b", "c", "d"]),
        ("samples of their own stay", "a;b;c 99\na;b 1", "a;c 50\na;b 1", &["a;b 1 1", "a;c 99 50"], &["b"]),
        ("what works itself is none", "a;b;c 9\na;b 9", "a;c 9", &["a;b 9 0", "a;b;c 9 0", "a;c 0 9"], &[]),
        ("the other side calls so, too", "a;b;c 9", "a;c 5\nx;b;c 1", &["a;b;c 9 0", "a;c 0 5", "x;b;c 0 1"], &[]),
        ("no caller is left", "b;c 9", "c 5", &["b;c 9 0", "c 0 5"], &[]),
        ("only there where it must", "a;b;c 8\na;b;d 8", "a;c 8\na;b;d 8", &["a;b;d 8 8", "a;c 8 8"], &["b"]),
        ("markers are no functions", "a;[unknown];c 9", "a;c 9", &["a;[unknown];c 9 0", "a;c 0 9"], &[]),
        ("the kernel is the same build", "a;b_[k];c_[k] 9", "a;c_[k] 9", &["a;b;c 9 0", "a;c 0 9"], &[]),
        ("behind a call that is new", "a;b;c 9", "a;x;c 9\nx;a;c 1", &["a;c 9 0", "a;x;c 0 9", "x;a;c 0 1"], &["b"]),
    ];
    for (name, old, new, expected, forwarded) in cases {
        let difference = merged(old, new);
        let mut seen = paths(&difference);
        seen.sort();
        assert_eq!(seen, *expected, "{name}");
        let mut names: Vec<_> = forwarders(&difference).into_iter().map(|(name, ..)| name).collect();
        names.sort();
        assert_eq!(names, *forwarded, "{name}");
    }
}

#[test]
fn what_was_merged_is_counted() {
    let difference = merged("a;b;c 90\na;b;d 9\nx;b;c 1", "a;c 50\na;d 50\nx;c 1");
    assert_eq!(forwarders(&difference), [("b".to_owned(), Side::Old, 2, 100)]);
    let kept = diff(
        &profile("a;b;c 9"),
        &profile("a;c 5"),
        &DiffOptions { tail_calls: TailCalls::Keep, ..DiffOptions::default() },
    );
    assert!(kept.forwarded.is_empty());
    assert_eq!(paths(&kept), ["a;b;c 9 0", "a;c 0 5"]);
}

#[test]
fn clones_and_inlining_do_not_make_another_function() {
    let difference = merged("main;f.isra.0;g 4", "main;f;f.part.1;g_[i] 4");
    assert_eq!(paths(&difference), ["main;f;g 4 4"]);
    let g = difference.functions.iter().find(|function| function.name == "g").unwrap();
    assert_eq!(g.origin, Origin::Native);
}

#[test]
fn weights_are_per_request_where_both_know_their_requests() {
    let (mut old, mut new) = (profile("a;b 4000\na 1000"), profile("a;b 1000\na 1000"));
    let share = diff(&old, &new, &DiffOptions::default());
    assert_eq!(share.unit, Unit::Share);
    let change = |difference: &Difference, name: &str| {
        let found = difference.functions.iter().find(|function| function.name == name).unwrap();
        (found.self_change, found.total_change)
    };
    assert_eq!(change(&share, "b"), (0.5 - 0.8, 0.5 - 0.8));
    assert_eq!(change(&share, "a").1, 0.0);

    (old.meta.requests, new.meta.requests) = (Some(100), Some(200));
    let per_request = diff(&old, &new, &DiffOptions::default());
    assert_eq!(per_request.unit, Unit::PerRequest);
    assert_eq!(change(&per_request, "b"), (-35.0, -35.0));
    assert_eq!(change(&per_request, "a"), (-5.0, -40.0));

    let wished = DiffOptions { unit: Some(Unit::PerRequest), ..DiffOptions::default() };
    new.meta.requests = Some(0);
    let refused = diff(&old, &new, &wished);
    assert_eq!((refused.unit, refused.remarks.len()), (Unit::Share, 1));
}

#[test]
fn what_vanished_and_what_is_new_is_listed_by_weight() {
    let difference = merged("main;work 90\nmain;old_a 7\nmain;old_b 3", "main;work 99\nmain;new_a 1");
    let names = |ids: &[FunctionId]| ids.iter().map(|id| difference.function(*id).name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&difference.vanished), ["old_a", "old_b"]);
    assert_eq!(names(&difference.appeared), ["new_a"]);
    let options = DiffOptions { min_share: 0.05, ..DiffOptions::default() };
    let fewer = diff(&profile("m;work 90\nm;a 7\nm;b 3"), &profile("m;work 99\nm;c 1"), &options);
    assert_eq!((fewer.vanished.len(), fewer.appeared.len()), (1, 0));
    assert!(!fewer.text(9).contains('c') || !fewer.text(9).contains("  c\n"), "{}", fewer.text(9));
}

#[test]
fn recursion_counts_once_in_totals() {
    let difference = merged("a;b;a;b 6\na 4", "a;b 6\na 4");
    let a = difference.functions.iter().find(|function| function.name == "a").unwrap();
    assert_eq!((a.self_weight, a.total), (WeightPair { old: 4, new: 4 }, WeightPair { old: 10, new: 10 }));
}

#[test]
fn deep_stacks_and_many_of_them_are_compared() {
    let deep: String = (0..20).map(|at| format!("{}leaf{at} 1\n", "f;g;h;".repeat(600))).collect();
    let flat: String = (0..5_000).map(|at| format!("main;a{};b{};c{at} 1\n", at % 10, at % 1_000)).collect();
    let chain = |skip: usize| {
        (0..300)
            .map(|at| {
                let frames: Vec<_> = (0..60).step_by(skip).map(|level| format!("f{}", level + at % 7)).collect();
                format!("main;{};leaf 1\n", frames.join(";"))
            })
            .collect::<String>()
    };
    for (old, new) in [(deep.clone(), flat.clone()), (flat, deep), (chain(1), chain(3))] {
        assert!(!hang::ends("comparing", move || merged(&old, &new)).nodes.is_empty());
    }
}

#[test]
fn it_is_written_as_json_and_as_text() {
    let difference = merged("main;work 90\nmain;old 10", "main;work 99\nmain;new 1");
    let json = serde_json::to_value(&difference).unwrap();
    assert_eq!((json["unit"].as_str(), json["nodes"][0]["total"]["old"].as_u64()), (Some("share"), Some(100)));
    let text = difference.text(2);
    assert!(
        text.contains("(2 of 4)") && text.contains("Vanished") && text.contains("     90.000      99.000      +9.000"),
        "{text}"
    );
}

fn stacks() -> impl Strategy<Value = Profile> {
    let stack = prop::collection::vec("[a-f]|[a-c]_\\[k\\]|[a-b]\\.part\\.0|\\[unknown\\]", 1..8);
    prop::collection::vec((stack, 1..50_u32), 1..12).prop_map(|samples| {
        let lines: Vec<_> = samples.iter().map(|(stack, weight)| format!("{} {weight}\n", stack.join(";"))).collect();
        profile(&lines.concat())
    })
}

/// The same comparison with the sides exchanged.
fn mirrored(mut this: Difference) -> Difference {
    let swap = |pair: &mut WeightPair| std::mem::swap(&mut pair.old, &mut pair.new);
    std::mem::swap(&mut this.old, &mut this.new);
    for node in &mut this.nodes {
        swap(&mut node.self_weight);
        swap(&mut node.total);
    }
    for function in &mut this.functions {
        swap(&mut function.self_weight);
        swap(&mut function.total);
        function.self_change = 0.0 - function.self_change;
        function.total_change = 0.0 - function.total_change;
    }
    for entry in &mut this.forwarded {
        entry.side = if entry.side == Side::Old { Side::New } else { Side::Old };
    }
    this.forwarded.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.weight), entry.function, entry.side));
    std::mem::swap(&mut this.vanished, &mut this.appeared);
    this
}

proptest! {
    #[test]
    fn a_profile_does_not_differ_from_itself(profile in stacks()) {
        let same = diff(&profile, &profile, &DiffOptions::default());
        prop_assert!(same.functions.iter().all(|function| function.self_change == 0.0 && function.total_change == 0.0));
        prop_assert!(same.nodes.iter().all(|node| node.self_weight.old == node.self_weight.new));
        prop_assert!(same.vanished.is_empty() && same.appeared.is_empty() && same.forwarded.is_empty());
    }

    #[test]
    fn own_weights_add_up_to_the_whole_on_both_sides(old in stacks(), new in stacks()) {
        let difference = diff(&old, &new, &DiffOptions::default());
        for (side, profile) in [(Side::Old, &old), (Side::New, &new)] {
            let nodes: u64 = difference.nodes.iter().map(|node| node.self_weight.on(side)).sum();
            let functions: u64 = difference.functions.iter().map(|function| function.self_weight.on(side)).sum();
            let whole = profile.total();
            prop_assert_eq!((nodes, functions, difference.node(Difference::ROOT).total.on(side)), (whole, whole, whole));
        }
        for node in &difference.nodes[1..] {
            prop_assert!(node.total != WeightPair::default());
        }
    }

    #[test]
    fn functions_keep_their_own_weight_whatever_is_merged(old in stacks(), new in stacks()) {
        let kept = diff(&old, &new, &DiffOptions { tail_calls: TailCalls::Keep, ..DiffOptions::default() });
        let merged = diff(&old, &new, &DiffOptions::default());
        for (kept, merged) in std::iter::zip(&kept.functions, &merged.functions) {
            prop_assert_eq!(kept.self_weight, merged.self_weight);
            prop_assert!(merged.total.old <= kept.total.old && merged.total.new <= kept.total.new);
        }
    }

    #[test]
    fn the_mirror_image_is_the_difference_the_other_way(old in stacks(), new in stacks()) {
        let there = diff(&old, &new, &DiffOptions::default());
        let back = diff(&new, &old, &DiffOptions::default());
        prop_assert_eq!(mirrored(there), back);
    }
}
