use super::*;
use crate::{Builder, ProfileKind, Thread};

/// A profile of `stack weight` lines, each in the thread with the given number.
fn profile(lines: &[(u32, &str, u64)]) -> Profile {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    for (thread, stack, weight) in lines {
        let thread = builder.thread(Thread { pid: 1, tid: *thread, name: format!("worker {thread}") });
        let frames: Vec<FrameId> =
            stack.split(';').map(|name| builder.frame(Frame::named(name, Origin::Native))).collect();
        let stack = builder.stack(&frames);
        builder.add(thread, stack, 1, *weight);
    }
    builder.finish()
}

/// `depth name self/total`, a line each.
fn text(tree: &Tree) -> String {
    let line = |id| {
        let node = tree.node(id);
        format!("{} {} {}/{}", node.depth, tree.function(id).name, node.self_weight, node.total)
    };
    tree.walk().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn stacks_with_the_same_beginning_share_nodes_and_children_are_sorted_by_name() {
    let tree =
        Tree::of(&profile(&[(1, "main;run;z", 5), (1, "main;run;a", 3), (1, "main;run", 2)]), TreeOptions::default());
    assert_eq!(text(&tree), "0 all 0/10\n1 main 0/10\n2 run 2/10\n3 a 3/3\n3 z 5/5");
    assert_eq!((tree.total(), tree.depth(), tree.node(Tree::ROOT).count), (10, 3, 3));
}

#[test]
fn a_reversed_tree_has_callers_below() {
    let tree = Tree::of(
        &profile(&[(1, "main;f;alloc", 5), (1, "main;g;alloc", 3)]),
        TreeOptions { reverse: true, ..TreeOptions::default() },
    );
    assert_eq!(text(&tree), "0 all 0/8\n1 alloc 0/8\n2 f 0/5\n3 main 5/5\n2 g 0/3\n3 main 3/3");
}

#[test]
fn lines_make_different_functions_only_when_asked() {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let thread = builder.thread(Thread::default());
    for line in [10, 20] {
        let frame = builder.frame(Frame { line, file: "a.c".into(), ..Frame::named("f", Origin::Native) });
        let stack = builder.stack(&[frame]);
        builder.add(thread, stack, 1, 1);
    }
    let profile = builder.finish();
    for (lines, nodes) in [(false, 2), (true, 3)] {
        assert_eq!(Tree::of(&profile, TreeOptions { lines, ..TreeOptions::default() }).nodes.len(), nodes);
    }
}

#[test]
fn a_function_that_calls_itself_counts_once() {
    let tree = Tree::of(&profile(&[(1, "f;g;f", 3), (1, "f;f;g", 1), (1, "g", 2)]), TreeOptions::default());
    let weight = |self_weight, total, count| FunctionWeight { self_weight, total, count };
    let names: Vec<&str> = tree.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["all", "f", "g"]);
    assert_eq!(tree.weights(), [weight(0, 6, 3), weight(3, 4, 2), weight(3, 6, 3)]);
}

#[test]
fn a_stack_of_a_hundred_thousand_frames_and_an_empty_profile_are_trees_too() {
    let deep = vec!["f"; 100_000].join(";");
    assert_eq!(Tree::of(&profile(&[(1, &deep, 1)]), TreeOptions::default()).depth(), 100_000);
    assert_eq!(Tree::of(&Profile::default(), TreeOptions::default()).nodes.len(), 1);
}
