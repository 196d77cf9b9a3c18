use super::*;
use crate::{Builder, Frame, ProfileKind, SystemCall, Thread};

/// `main` calls a Lua function on two lines, which interns strings; another thread reads.
fn profile(requests: Option<u64>) -> Profile {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let native = |name: &str, module: &str| Frame { module: module.into(), ..Frame::named(name, Origin::Native) };
    let lua = |line| Frame { line, module: "access.lua".into(), ..Frame::named("access.lua:read_vars", Origin::Lua) };
    let main = native("main", "/usr/sbin/nginx");
    let intern = native("lj_str_new", "/usr/lib/libluajit-5.1.so.2");
    let read = Frame { module: "[kernel]".into(), ..Frame::named("vfs_read", Origin::Kernel) };
    let stacks = [
        (1, vec![main.clone(), lua(42), intern.clone()], 6),
        (1, vec![main.clone(), lua(44), intern], 2),
        (2, vec![main, read], 2),
    ];
    for (tid, frames, ms) in stacks {
        let thread = builder.thread(Thread { pid: 1, tid, name: "nginx".into() });
        let frames: Vec<_> = frames.into_iter().map(|frame| builder.frame(frame)).collect();
        let stack = builder.stack(&frames);
        builder.add(thread, stack, ms, ms * 1_000_000);
    }
    builder.profile_mut().meta.requests = requests;
    builder.finish()
}

#[test]
fn functions_by_what_they_weigh_themselves() {
    let want = [
        "   SELF  SELF %    TOTAL  TOTAL %  FUNCTION              HOTTEST LINE  MODULE",
        "8.00 ms   80.00  8.00 ms    80.00  lj_str_new                          libluajit-5.1.so.2",
        "2.00 ms   20.00  2.00 ms    20.00  vfs_read                            [kernel]",
        "   0 ns    0.00  10.0 ms   100.00  main                                nginx",
        "   0 ns    0.00  8.00 ms    80.00  access.lua:read_vars  42 (75.00 %)  access.lua",
    ];
    assert_eq!(top(&profile(None), &TopOptions::default()).lines().collect::<Vec<_>>(), want);
}

#[test]
fn each_way_to_make_rows() {
    let names =
        |by, order| -> Vec<String> { rows(&profile(None), by, order).into_iter().map(|row| row.name).collect() };
    assert_eq!(names(GroupBy::Function, SortBy::Total), ["main", "lj_str_new", "access.lua:read_vars", "vfs_read"]);
    let lines = ["lj_str_new", "vfs_read", "main", "access.lua:read_vars:42", "access.lua:read_vars:44"];
    assert_eq!(names(GroupBy::Line, SortBy::Own), lines);
    assert_eq!(
        names(GroupBy::Module, SortBy::Own),
        ["/usr/lib/libluajit-5.1.so.2", "[kernel]", "/usr/sbin/nginx", "access.lua"]
    );
    assert_eq!(names(GroupBy::Thread, SortBy::Own), ["nginx (pid 1, tid 1)", "nginx (pid 1, tid 2)"]);
}

#[test]
fn rows_that_are_left_out_are_counted_and_names_are_cut() {
    let text = top(&profile(Some(1000)), &TopOptions { rows: 3, width: 60, ..TopOptions::default() });
    assert!(
        text.contains("SELF/REQUEST") && text.contains("8.00 µs") && text.ends_with("and 1 more function\n"),
        "{text}"
    );
    assert_eq!(top(&Profile::default(), &TopOptions::default()), "no samples\n");
    let mut builder = Builder::new(ProfileKind::Count);
    let thread = builder.thread(Thread::default());
    let frame = builder.frame(Frame::named("x\x1b[31m".repeat(50), Origin::Native));
    let stack = builder.stack(&[frame]);
    builder.add(thread, stack, 1, 1);
    let text = top(&builder.finish(), &TopOptions { width: 60, ..TopOptions::default() });
    assert!(text.lines().all(|line| line.chars().count() <= 60) && !text.contains('\x1b'), "{text}");
}

#[test]
fn system_calls_of_all_processes_are_one_table() {
    let call = |pid, name: &str, calls, total_ns| SystemCall {
        pid,
        name: name.into(),
        calls,
        errors: 1,
        total_ns,
        max_ns: total_ns / 2,
    };
    let mut profile = Builder::new(ProfileKind::OnCpu).finish();
    assert_eq!(calls(&profile, 9), "");
    profile.system_calls =
        vec![call(1, "read", 1_000, 4_000_000), call(2, "read", 1_000, 4_000_000), call(1, "x\x1b", 7, 70_000)];
    let text = calls(&profile, 9);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["8.00", "ms", "2,000", "2", "4.00", "µs", "2.00", "ms", "read"], "{text}");
    assert!(lines.len() == 3 && lines[2].last().is_some_and(|name| name.starts_with('x')) && !text.contains('\x1b'));
    assert!(calls(&profile, 1).ends_with("and 1 more system call\n"));
}
