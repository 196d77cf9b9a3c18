use super::*;

/// Whether a test with this body asserts time.
fn offends(body: &str) -> bool {
    let text = format!(
        "fn took() -> u128 {{ let begun = Instant::now(); run(); begun.elapsed().as_millis() }}\nfn of() {{ {body} }}"
    );
    let found = assertions(Path::new("crates/a/tests/b.rs"), &text);
    assert!(found.iter().all(|line| *line == 2), "{found:?}");
    !found.is_empty()
}

#[test]
fn limits_on_time_are_found() {
    for body in [
        "assert!(begun.elapsed() < Duration::from_secs(3), \"{what}\");",
        "assert!(begun.elapsed() < PATIENCE / 2);",
        "assert!(begun.elapsed() < SOON);",
        "assert!(SystemTime::now().duration_since(start).unwrap() < SOON);",
        "let taken = begun.elapsed(); assert!(taken < bound(2));",
        "let taken; taken = begun.elapsed(); prop_assert!(ok && taken < SOON);",
        "let mut worst = ZERO; for n in 0..9 { worst = worst.max(begun.elapsed()); } assert!(worst < SOON);",
        "let mut all = Vec::new(); all.push(Instant::now()); let gap = all[1] - all[0]; assert!(gap > PERIOD);",
        "let time = |n| { let start = Instant::now(); run(n); start.elapsed() }; let (few, many) = (time(1), time(8)); assert!(many < few * 32);",
        "assert!((80..155).contains(&took()));",
        "let all = took(); assert_eq!(1, all / 10);",
        "let (few, mut n) = (begun.elapsed(), 0); n += 1; assert!(few < SOON);",
        "assert!(cpu() - start < Duration::from_secs(2));",
        "assert!((80..155).contains(&spent.as_millis()));",
        "assert!(spent.as_millis() < 5);",
        "const PATIENCE: Duration = Duration::from_millis(50); let _ = 1;",
    ] {
        assert!(offends(body), "{body}");
    }
}

#[test]
fn limits_on_waiting_and_durations_that_are_data_are_not() {
    for body in [
        "assert!(begun.elapsed() < PATIENCE, \"{:?}\", begun.elapsed());",
        "assert!(begun.elapsed() < wait::PATIENCE);",
        "while begun.elapsed() < ATTACK { assert!(call() < 7); }",
        "let totals = during(|| { let begun = Instant::now(); run(); worst = worst.max(begun.elapsed()); }); assert!(totals < 7);",
        "assert_eq!(parsed.timeout, Duration::from_secs(3));",
        "let (begun, mut n) = (Instant::now(), 0); (n, begun) = (n + 1, Instant::now()); n += 1; assert!(n < 3);",
        "nginx.reload(); longest = longest.max(begun.elapsed()); assert!(nginx.crashes() < 3);",
        "let users = spawn(|| { while begun.elapsed() < ATTACK { n += 1; } n }); let all = users.join(); assert!(all > 3);",
        "assert!(floor.measure(Duration::from_millis(100)).samples > 0);",
        "assert_eq!(bell.wait_at_most(Duration::from_millis(1)), None);",
        "let taken = begun.elapsed(); println!(\"{taken:?}\"); assert!(count < 3, \"{taken:?}\", taken);",
        "let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap(); assert!(id > now);",
        "const PATIENCE: Duration = Duration::from_secs(20); // assert!(begun.elapsed() < SOON)",
    ] {
        assert!(!offends(body), "{body}");
    }
}

#[test]
fn test_code_is_in_folders_and_files_of_tests_and_below_cfg_test() {
    let offence = "fn f() { assert!(begun.elapsed() < SOON); }";
    let lines = |path: &str, text: &str| assertions(Path::new(path), text).into_iter().collect::<Vec<_>>();
    assert_eq!(lines("crates/a/src/b/tests.rs", offence), [1]);
    assert_eq!(lines("crates/a/src/b.rs", offence), [0; 0]);
    let text = format!("{offence}\n#[cfg(test)]\nmod tests {{\n{offence}\n}}\n{offence}");
    assert_eq!(lines("crates/a/src/b.rs", &text), [4]);
}

#[test]
fn lines_of_java_are_told_apart() {
    assert!(asserts_in_java("check(System.nanoTime() - start < 4_000_000_000L, \"it waits\");"));
    assert!(asserts_in_java("assertTimeout(Duration.ofSeconds(5), () -> {"));
    assert!(!asserts_in_java("assertTimeoutPreemptively(PATIENCE, () -> {"));
    assert!(!asserts_in_java("for (long end = System.nanoTime() + 5; System.nanoTime() < end; ) {"));
}
