//! The cases: what is sent, and what must be seen.

use std::path::{Path, PathBuf};

use super::wire;
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
    /// This rule's id is in the log.
    pub logged: Option<u64>,
    /// This rule's id is not in the log.
    pub not_logged: Option<u64>,
    /// The answer contains this.
    pub answer: Option<String>,
    /// There is no answer that a client would understand.
    pub error: bool,
}

/// Reads every enabled case below `directory`, in the order of file names.
pub fn load(directory: &Path) -> Result<Vec<Case>, MeasureError> {
    let mut cases = Vec::new();
    for group in sorted(directory)?.into_iter().filter(|path| path.is_dir()) {
        for path in sorted(&group)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
            cases.extend(read(&path)?);
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

fn read(path: &Path) -> Result<Vec<Case>, MeasureError> {
    let size = std::fs::metadata(path).map_err(MeasureError::file(path))?.len();
    let wrong = |message: String| MeasureError::wrong(path.display().to_string(), message);
    if size > FILE_BYTES {
        return Err(wrong(format!("has {size} bytes, more than {FILE_BYTES}")));
    }
    let text = std::fs::read_to_string(path).map_err(MeasureError::file(path))?;
    let name = |path: Option<&std::ffi::OsStr>| path.map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let group = name(path.parent().and_then(Path::file_name));
    let rule = name(path.file_stem()).parse().unwrap_or(0);
    cases(&text, &group, rule).map_err(wrong)
}

/// The cases of a file's text; none if the file is switched off.
fn cases(text: &str, group: &str, rule: u64) -> Result<Vec<Case>, String> {
    let file = Yaml::parse(text)?;
    if !file.get("meta").is_some_and(|meta| meta.is_true("enabled")) {
        return Ok(Vec::new());
    }
    let tests = file.get("tests").map_or(&[][..], Yaml::items);
    tests.iter().map(|test| case(test, group, rule)).collect()
}

fn case(test: &Yaml, group: &str, rule: u64) -> Result<Case, String> {
    let title = test.text("test_title").ok_or("a test without test_title")?.to_owned();
    let stages = test.get("stages").map_or(&[][..], Yaml::items);
    let stages = stages.iter().map(|item| stage(item.get("stage").unwrap_or(item))).collect::<Result<Vec<_>, _>>();
    let stages = stages.map_err(|message| format!("{title}: {message}"))?;
    if stages.is_empty() {
        return Err(format!("{title}: no stages"));
    }
    let description = test.text("desc").unwrap_or_default().to_owned();
    Ok(Case { title, group: group.to_owned(), rule, description, stages })
}

fn stage(stage: &Yaml) -> Result<Stage, String> {
    let input = stage.get("input").ok_or("a stage without input")?;
    let output = stage.get("output").ok_or("a stage without output")?;
    let expected = Expected {
        statuses: statuses(output)?,
        logged: rule_in(output, "log_contains")?,
        not_logged: rule_in(output, "no_log_contains")?,
        answer: output.text("response_contains").map(str::to_owned),
        error: output.is_true("expect_error"),
    };
    if expected == Expected::default() {
        return Err("a stage that expects nothing".into());
    }
    Ok(Stage { request: wire::bytes(input)?, expected })
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
        let all = cases(TEXT, "REQUEST-942", 942_100).unwrap();
        assert_eq!((all.len(), all[0].title.as_str(), all[0].rule), (1, "942100-1", 942_100));
        assert_eq!(all[0].stages[0].expected, Expected { logged: Some(942_100), ..Expected::default() });
        assert_eq!(all[0].stages[0].request, b"GET /?a HTTP/1.1\r\n\r\n");
        assert!(cases(&TEXT.replace("true", "false"), "", 0).unwrap().is_empty());
    }

    #[test]
    fn every_way_to_expect_something_is_read() {
        let expected = |text: &str| stage(&Yaml::parse(&format!("{{input: {{}}, output: {{{text}}}}}")).unwrap());
        let of = |text: &str| expected(text).unwrap().expected;
        assert_eq!(of("status: [403, 400]").statuses, [403, 400]);
        assert_eq!(of("status: 200, no_log_contains: 'id:921140'").not_logged, Some(921_140));
        assert!(of("expect_error: true").error);
        assert_eq!(of("log_contains: 'id \"942480'").logged, Some(942_480));
        for wrong in ["", "status: x", "log_contains: nothing"] {
            assert!(expected(wrong).is_err(), "{wrong}");
        }
    }
}
