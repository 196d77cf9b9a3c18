use super::*;
use crate::target::cgroup::container_group;

fn tree() -> Listing {
    Listing::of(&[(1, 0, "init"), (10, 1, "nginx"), (11, 10, "nginx"), (12, 10, "nginx"), (20, 1, "sh"), (21, 20, "x")])
}

#[test]
fn a_master_brings_its_workers() {
    let listing = tree();
    assert_eq!(Vec::from_iter(listing.with_descendants([10])), [10, 11, 12]);
    assert_eq!(Vec::from_iter(listing.with_descendants([21, 10])), [10, 11, 12, 21]);
    assert_eq!(listing.roots(&[10, 11, 12]), [10]);
}

#[test]
fn processes_that_are_their_own_ancestors_do_not_loop() {
    let listing = Listing::of(&[(5, 6, "a"), (6, 5, "b")]);
    assert_eq!(Vec::from_iter(listing.with_descendants([5])), [5, 6]);
}

#[test]
fn titles_say_what_is_sampled() {
    for (roots, all, expected) in [
        (&[10][..], 1, "nginx (pid 10)"),
        (&[10], 3, "nginx (pid 10 and 2 below it)"),
        (&[10, 11], 2, "nginx (pids 10, 11)"),
        (&[1, 2, 3, 4, 5], 9, "nginx (pids 1, 2, 3, 4, ... and 4 below them)"),
    ] {
        assert_eq!(title("nginx", roots, all), expected);
    }
}

#[test]
fn names_with_brackets_are_read() {
    for (stat, expected) in [
        ("7 (nginx) S 1 7 7", Some(("nginx", 1))),
        ("7 (a) b) (c) R 33 7", Some(("a) b) (c", 33))),
        ("7 (x", None),
        ("", None),
    ] {
        let found = listing::parse(stat);
        assert_eq!(found.as_ref().map(|process| (process.name.as_str(), process.parent)), expected, "{stat}");
    }
}

#[test]
fn containers_are_found_by_the_beginning_of_their_id() {
    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    for (line, expected) in [
        (format!("0::/system.slice/docker-{ID}.scope"), Some(format!("/system.slice/docker-{ID}.scope"))),
        (format!("0::/system.slice/docker-{ID}.scope/init"), Some(format!("/system.slice/docker-{ID}.scope"))),
        (format!("12:pids:/docker/{ID}"), Some(format!("/docker/{ID}"))),
        (
            format!("0::/kubepods/burstable/pod1/cri-containerd-{ID}.scope"),
            Some(format!("/kubepods/burstable/pod1/cri-containerd-{ID}.scope")),
        ),
        ("0::/user.slice".to_owned(), None),
        ("garbage".to_owned(), None),
    ] {
        assert_eq!(container_group(&line, "01234567").map(|(_, group)| group), expected, "{line}");
    }
    assert_eq!(container_group(&format!("0::/docker/{ID}"), "99999999"), None);
}

#[test]
fn who_is_not_there_is_said() {
    // Above the highest pid that the kernel assigns (PID_MAX_LIMIT).
    let gone = find(&Target::Pid(4_194_305)).expect_err("no such process");
    assert!(gone.to_string().contains("no process 4194305"), "{gone}");
    for target in [
        Target::Name("no-such-program".into()),
        Target::Cgroup("/no/such/group".into()),
        Target::Container("ffffffffffff".into()),
        Target::Container("nginx".into()),
    ] {
        assert!(find(&target).is_err(), "{target:?}");
    }
}

#[test]
fn this_process_is_found() {
    let found = find(&Target::Pid(std::process::id())).expect("it runs");
    assert!(found.pids.contains(&std::process::id()));
}
