//! The report as text.

use weir_profile::format;

use super::*;

const SORTING: &str =
    "nginx;sign.lua:tokens:31;table.sort;auxsort 200\nnginx;a.lua:f:1;lua_pushlstring;lj_str_new 60\nnginx;other 740\n";

fn facts(folded: &str) -> Facts {
    Facts { seconds: 10.0, ..Facts::of_profile(format::read(folded.as_bytes()).expect("folded")) }
}

#[test]
fn the_dearest_comes_first_with_evidence_fix_and_check() {
    let diagnosis = diagnose(&facts(SORTING), |_| true);
    assert_eq!(
        diagnosis.findings.iter().map(|one| one.rule).collect::<Vec<_>>(),
        ["lua-table-sort", "lua-string-interning"]
    );
    let text = text(&diagnosis, TextStyle::default());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "serious  20.0 % of the CPU goes to table.sort, which LuaJIT does not compile.", "{text}");
    assert_eq!(lines[3], "         lua-table-sort · likely");
    assert_eq!(lines[4], "            20.0 %  sign.lua:tokens:31 > table.sort");
    assert!(text.contains("\n         verify  weir diagnose PID --rule lua-table-sort\n"), "{text}");
    assert!(!text.contains('\x1b') && text.lines().all(|line| line.chars().count() <= 101), "{text}");
}

#[test]
fn nothing_found_says_what_was_looked_at_and_what_not() {
    let text = text(&diagnose(&facts("nginx;main;work 1000\n"), |_| true), TextStyle::default());
    for want in [
        "Nothing found by",
        "examined  a CPU profile (1,000 samples in 10 s)",
        "skipped without an off-CPU profile: blocked-event-loop",
    ] {
        assert!(text.contains(want), "{want} is not in {text}");
    }
}

#[test]
fn who_asks_one_rule_gets_one_answer() {
    let diagnosis = diagnose(&facts(SORTING), |rule| rule.id == "lua-table-sort");
    assert_eq!((diagnosis.asked, diagnosis.findings.len()), (1, 1));
}

#[test]
fn colours_and_control_characters_do_not_mix() {
    let facts = facts("nginx;\x1b[31mevil.lua:f:1;table.sort 500\nnginx;other 500\n");
    let look = TextStyle { colours: true, full: true };
    let text = text(&diagnose(&facts, |_| true), look);
    assert!(text.contains("\x1b[1;31mserious") && !text.contains("\x1b[31mevil"), "{text}");
    let finding = Finding::new("a-rule", "The loop of \x1b[31mevil blocks.");
    let mut said = diagnose(&facts, |_| false);
    said.findings.push(finding);
    assert!(!self::text(&said, TextStyle { colours: false, full: true }).contains('\x1b'));
}

#[test]
fn the_list_has_every_rule() {
    let list = table(TextStyle::default());
    assert!(RULES.iter().all(|rule| list.contains(rule.id)), "{list}");
}
