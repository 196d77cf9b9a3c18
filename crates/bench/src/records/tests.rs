use serde_json::{Value, json};

use super::Comparison;

/// A record with one growth row, one row of a fan-out and one that time alone describes.
fn record(cpu: &str, growth: [f64; 3], of_nchan: f64, ms: f64) -> Value {
    json!({
        "scenario": "rs",
        "host": {"cpu": cpu, "cores": 2, "nginx": "1.22.1", "started": 1},
        "rows": [
            {"name": "weir-rs", "ratio": 1.4, "ratio_low": 1.2, "ratio_high": 1.5, "p99_us": 2000.0},
            {"name": "fanout", "of_nchan": of_nchan},
            {"name": "form", "paranoia": 2, "ms": ms},
        ],
        "growth": [
            {"of": "rules", "size": 10000, "name": "weir-rules-10000", "ratio": growth[1], "ratio_low": growth[0], "ratio_high": growth[2]},
        ],
    })
}

#[test]
fn a_growth_row_that_got_six_times_dearer_is_told_first() {
    let old = record("EPYC", [1.25, 1.28, 1.31], 1.25, 7.0);
    let comparison = Comparison::of(&old, &record("EPYC", [7.45, 7.48, 8.83], 1.24, 7.2));
    assert!(comparison.got_worse());
    let text = comparison.text();
    assert!(
        text.starts_with(
            "worse by more than 5 %:\n  growth rules 10000 weir-rules-10000: ratio 1.280 -> 7.480 (+484 %)\n"
        ),
        "{text}"
    );
    assert!(text.contains("within 5 %: 3 figures"), "{text}");
}

#[test]
fn overlapping_intervals_are_no_regression() {
    let comparison =
        Comparison::of(&record("EPYC", [1.2, 1.3, 1.5], 1.25, 7.0), &record("EPYC", [1.4, 1.45, 1.6], 1.25, 7.0));
    assert!(!comparison.got_worse());
    assert!(comparison.text().starts_with("perhaps worse, the intervals overlap:"), "{}", comparison.text());
}

#[test]
fn the_dearest_change_comes_first_and_less_can_be_worse() {
    let comparison =
        Comparison::of(&record("EPYC", [1.2, 1.3, 1.4], 1.25, 7.0), &record("EPYC", [1.2, 1.3, 1.4], 1.0, 14.0));
    let text = comparison.text();
    let (ms, nchan) = (text.find("ms 7.000 -> 14.000").unwrap(), text.find("of_nchan 1.250 -> 1.000").unwrap());
    assert!(ms < nchan && comparison.got_worse(), "{text}");
}

#[test]
fn times_of_other_machines_are_not_compared() {
    let (old, new) = (record("EPYC", [1.2, 1.3, 1.4], 1.25, 7.0), record("Xeon", [2.0, 2.1, 2.2], 1.25, 70.0));
    let text = Comparison::of(&old, &new).text();
    assert!(text.contains("ratio 1.300 -> 2.100") && !text.contains("ms"), "{text}");
    assert!(text.contains("EPYC (2 cores, nginx 1.22.1) and Xeon"), "{text}");
}

#[test]
fn rows_that_come_and_go_are_named() {
    let old = record("EPYC", [1.2, 1.3, 1.4], 1.25, 7.0);
    let mut new = old.clone();
    new["rows"][0]["name"] = "weir-other".into();
    let text = Comparison::of(&old, &new).text();
    assert!(text.contains("no longer measured: weir-rs\n") && text.contains("new: weir-other\n"), "{text}");
}

#[test]
fn every_committed_record_has_rows_with_names_of_their_own() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/results");
    let mut compared = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut names: Vec<String> = super::rows::of(&record).into_iter().map(|row| row.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{}", path.display());
        let comparison = Comparison::of(&record, &record);
        assert!(!comparison.got_worse() && comparison.unclear.is_empty(), "{}: {}", path.display(), comparison.text());
        compared += comparison.same;
    }
    assert!(compared > 100, "{compared} figures");
}
