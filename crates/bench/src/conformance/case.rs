//! The cases: what is sent, and what must be seen.

use std::path::{Path, PathBuf};

use super::wire::{self, Driver};
use super::yaml::Yaml;
use weir_measure::error::MeasureError;

/// A file is at most this long; CRS's longest has 120 kB.
const FILE_BYTES: u64 = 4 << 20;

/// A regression case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its title, such as `942100-3`.
    pub title: String,
    /// The file of rules that it is about, such as `REQUEST-942-APPLICATION-ATTACK-SQLI`.
    pub group: String,
    /// The rule that it is about: the name of its file.
    pub rule: u64,
    /// What it says about itself; may be empty.
    pub description: String,
    /// Its requests, each on a connection of its own.
    pub stages: Vec<Stage>,
}

/// A request of a case.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The bytes to send.
    pub request: Vec<u8>,
    /// The expected outcome.
    pub expected: Expected,
}

/// What a stage expects; all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Status is one of these; empty: any.
    pub statuses: Vec<u16>,
    /// These rules' ids are in the log.
    pub logged: Vec<u64>,
    /// These rules' ids are not in the log.
    pub not_logged: Vec<u64>,
    /// The answer contains this.
    pub answer: Option<String>,
    /// There is no answer that a client would understand.
    pub error: bool,
}

/// Where the cases lie in a checkout of CRS 4.
const CHECKOUT_CASES: &str = "tests/regression/tests";

/// Whether `directory` is a checkout of CRS 4, with rules and cases, rather than cases alone.
#[must_use]
pub fn is_checkout(directory: &Path) -> bool {
    directory.join("rules").is_dir() && directory.join(CHECKOUT_CASES).is_dir()
}

/// Reads every enabled case below `directory`, in the order of file names.
pub fn load(directory: &Path) -> Result<Vec<Case>, MeasureError> {
    let (base, driver) = match is_checkout(directory) {
        true => (directory.join(CHECKOUT_CASES), Driver::GoFtw),
        false => (directory.to_owned(), Driver::Ftw),
    };
    let mut cases = Vec::new();
    for group in sorted(&base)?.into_iter().filter(|path| path.is_dir()) {
        for path in sorted(&group)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
            cases.extend(read(&path, driver)?);
        }
    }
    if cases.is_empty() {
        return Err(MeasureError::Missing(format!("{} has no regression cases (*/*.yaml)", directory.display())));
    }
    Ok(cases)
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>, MeasureError> {
    let entries = std::fs::read_dir(directory).map_err(MeasureError::file(directory))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &Path, driver: Driver) -> Result<Vec<Case>, MeasureError> {
    let size = std::fs::metadata(path).map_err(MeasureError::file(path))?.len();
    let wrong = |message: String| MeasureError::wrong(path.display().to_string(), message);
    if size > FILE_BYTES {
        return Err(wrong(format!("has {size} bytes, more than {FILE_BYTES}")));
    }
    let text = std::fs::read_to_string(path).map_err(MeasureError::file(path))?;
    let name = |path: Option<&std::ffi::OsStr>| path.map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let group = name(path.parent().and_then(Path::file_name));
    let rule = name(path.file_stem()).parse().unwrap_or(0);
    cases(&text, &group, rule, driver).map_err(wrong)
}

/// The cases of a file's text; none if the file is switched off, of which `go-ftw` knows nothing.
fn cases(text: &str, group: &str, rule: u64, driver: Driver) -> Result<Vec<Case>, String> {
    if driver == Driver::GoFtw && text.lines().all(|line| line.is_empty() || line.starts_with('#')) {
        return Ok(Vec::new()); // a file that only tells CRS's linter that a rule needs no cases
    }
    let file = Yaml::parse(text)?;
    if driver == Driver::Ftw && !file.get("meta").is_some_and(|meta| meta.is_true("enabled")) {
        return Ok(Vec::new());
    }
    let tests = file.get("tests").map_or(&[][..], Yaml::items);
    tests.iter().map(|test| case(test, group, rule, driver)).collect()
}

fn case(test: &Yaml, group: &str, rule: u64, driver: Driver) -> Result<Case, String> {
    let title = match (test.text("test_title"), test.text("test_id")) {
        (Some(title), _) => title.to_owned(),
        (None, Some(id)) => format!("{rule}-{id}"),
        (None, None) => return Err("a test without test_title or test_id".into()),
    };
    let stages = test.get("stages").map_or(&[][..], Yaml::items);
    let stage = |item: &Yaml| stage(item.get("stage").unwrap_or(item), rule, driver);
    let stages = stages.iter().map(stage).collect::<Result<Vec<_>, _>>();
    let stages = stages.map_err(|message| format!("{title}: {message}"))?;
    if stages.is_empty() {
        return Err(format!("{title}: no stages"));
    }
    let description = test.text("desc").unwrap_or_default().to_owned();
    Ok(Case { title, group: group.to_owned(), rule, description, stages })
}

fn stage(stage: &Yaml, rule: u64, driver: Driver) -> Result<Stage, String> {
    let input = stage.get("input").ok_or("a stage without input")?;
    let output = stage.get("output").ok_or("a stage without output")?;
    let expected = Expected {
        statuses: statuses(output)?,
        logged: rules(output, rule, ["log_contains", "expect_ids", "match_regex"])?,
        not_logged: rules(output, rule, ["no_log_contains", "no_expect_ids", "no_match_regex"])?,
        answer: output.text("response_contains").map(str::to_owned),
        error: output.is_true("expect_error"),
    };
    if expected == Expected::default() {
        return Err("a stage that expects nothing".into());
    }
    Ok(Stage { request: wire::bytes(input, driver)?, expected })
}

/// The rules that an output names: in `ftw`'s way, as a pattern for the log; in `go-ftw`'s, as a list
/// of ids, or as a pattern for the message of one engine. That message is of the rule the file is about.
fn rules(output: &Yaml, rule: u64, [pattern, ids, message]: [&str; 3]) -> Result<Vec<u64>, String> {
    let mut found = Vec::from_iter(rule_in(output, pattern)?);
    let Some(log) = output.get("log") else { return Ok(found) };
    for id in log.get(ids).map_or(&[][..], Yaml::items) {
        let number = if let Yaml::Text(text) = id { text.parse().ok() } else { None };
        found.push(number.ok_or_else(|| format!("{ids}: {id:?} is not an id"))?);
    }
    found.extend(log.get(message).map(|_| rule));
    Ok(found)
}

fn statuses(output: &Yaml) -> Result<Vec<u16>, String> {
    let texts: Vec<&Yaml> = match output.get("status") {
        None => Vec::new(),
        Some(Yaml::List(items)) => items.iter().collect(),
        Some(one) => vec![one],
    };
    let number = |item: &Yaml| if let Yaml::Text(text) = item { text.parse().ok() } else { None };
    texts.into_iter().map(|item| number(item).ok_or_else(|| format!("{item:?} is not a status"))).collect()
}

/// The rule that a pattern such as `id "942100"` looks for. The pattern is meant for one engine's
/// log; what it is about is the number in it.
fn rule_in(output: &Yaml, key: &str) -> Result<Option<u64>, String> {
    let Some(pattern) = output.text(key) else { return Ok(None) };
    let digits: String =
        pattern.chars().skip_while(|it| !it.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().map(Some).map_err(|_| format!("{key} {pattern:?} names no rule"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\n  meta: {enabled: true}\n  tests:\n  -\n    test_title: 942100-1\n    desc: d\n    stages:\n\
        \x20   -\n      stage:\n        input: {uri: \"/?a\"}\n        output:\n          log_contains: id \"942100\"\n";

    #[test]
    fn a_file_becomes_cases_unless_it_is_switched_off() {
        let all = cases(TEXT, "REQUEST-942", 942_100, Driver::Ftw).unwrap();
        assert_eq!((all.len(), all[0].title.as_str(), all[0].rule), (1, "942100-1", 942_100));
        assert_eq!(all[0].stages[0].expected, Expected { logged: vec![942_100], ..Expected::default() });
        assert_eq!(all[0].stages[0].request, b"GET /?a HTTP/1.1\r\n\r\n");
        assert!(cases(&TEXT.replace("true", "false"), "", 0, Driver::Ftw).unwrap().is_empty());
    }

    #[test]
    fn every_way_to_expect_something_is_read() {
        let expected =
            |text: &str| stage(&Yaml::parse(&format!("{{input: {{}}, output: {{{text}}}}}")).unwrap(), 7, Driver::Ftw);
        let of = |text: &str| expected(text).unwrap().expected;
        assert_eq!(of("status: [403, 400]").statuses, [403, 400]);
        assert_eq!(of("status: 200, no_log_contains: 'id:921140'").not_logged, [921_140]);
        assert!(of("expect_error: true").error);
        assert_eq!(of("log_contains: 'id \"942480'").logged, [942_480]);
        assert_eq!(of("log: {expect_ids: [1, 2], no_expect_ids: [3], match_regex: x}").logged, [1, 2, 7]);
        for wrong in ["log: {expect_ids: [x]}", "", "status: x", "log_contains: nothing"] {
            assert!(expected(wrong).is_err(), "{wrong}");
        }
    }
}
