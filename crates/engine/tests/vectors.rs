//! The published vectors of SecLang's operators (`operators/*.json` of secrules-language-tests),
//! each as a rule set of one rule. They are not part of this repository: `SECLANG_TESTS` says
//! where they are; without them the test says so and passes.
//!
//! A vector's bytes come as the body of a request, which `REQUEST_BODY` shows as they are.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bumpalo::Bump;
use serde_json::Value;
use weir_engine::seclang::{Profile, Program, Tuning};
use weir_engine::{Context, NoMeter, Outcome, Plan, RuleIndex, Specification};
use weir_http::{Head, Transaction, Version};
use weir_rules::Phase;
use weir_rules::seclang::ir::{Macro, Operator, PatternText, RuleSet, RuleSetEntry};
use weir_rules::seclang::pattern::Pattern;
use weir_rules::seclang::{Memory, Options, RuleSource, load_from};

/// Vectors that do not apply: operator, parameter if not all, and why.
const NOT_APPLICABLE: [(&str, Option<&str>, &str); 4] = [
    ("geoLookup", None, "its vectors need a database of ModSecurity's"),
    ("ipMatch", Some("10.0.0.0/100"), "an impossible network is an error when rules are loaded"),
    ("validateByteRange", Some(""), "so is a range without bytes"),
    ("validateByteRange", Some("xxx"), "and one that is no number"),
];

fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/secrules-language-tests");
    std::env::var_os("SECLANG_TESTS").map(PathBuf::from).or(Some(beside)).filter(|folder| folder.is_dir())
}

#[test]
fn published_vectors() {
    let Some(folder) = folder() else {
        println!("vectors: skipped: SECLANG_TESTS names no folder with the vectors");
        return;
    };
    let (mut passed, mut skipped, mut failed) = (0, 0, Vec::new());
    for path in files(&folder.join("operators")) {
        let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut sites: BTreeMap<String, Result<[Plan; 2], String>> = BTreeMap::new();
        for case in &cases {
            let name = case["name"].as_str().unwrap();
            let parameter = case["param"].as_str().unwrap_or_default();
            let is_meant = |(other, which, _): &(&str, Option<&str>, &str)| {
                name.eq_ignore_ascii_case(other) && which.is_none_or(|which| which == parameter)
            };
            if NOT_APPLICABLE.iter().any(is_meant) {
                skipped += 1;
                continue;
            }
            let plans = sites.entry(parameter.to_owned()).or_insert_with(|| site(name, parameter, &folder));
            match plans {
                Err(problem) => failed.push(format!("{case}: {problem}")),
                Ok(plans) => {
                    let body = bytes(case["input"].as_str().unwrap());
                    let found = plans.each_ref().map(|plan| matches(plan, &body));
                    let expected = case["ret"] == 1;
                    if found == [expected; 2] { passed += 1 } else { failed.push(format!("{case}: found {found:?}")) }
                }
            }
        }
    }
    for (name, parameter, why) in NOT_APPLICABLE {
        println!("vectors: {name} {} does not apply: {why}", parameter.unwrap_or("(all)"));
    }
    println!("vectors: operators: {passed} passed, {} failed, {skipped} do not apply", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 0);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

/// A site with one rule, as it is used and naively.
fn site(operator: &str, parameter: &str, folder: &Path) -> Result<[Plan; 2], String> {
    let program = Arc::new(program(operator, parameter, folder)?);
    let tuning = Tuning { request_body: Some(true), ..Tuning::default() };
    let plan = |profile| Plan::compile(&Specification::of_rule_set(profile), &[0]).unwrap();
    Ok([
        plan(Profile::new(Arc::clone(&program), RuleIndex(1), tuning.clone())),
        plan(Profile::naive(program, RuleIndex(1), tuning)),
    ])
}

fn program(operator: &str, parameter: &str, folder: &Path) -> Result<Program, String> {
    let mut parameter = parameter.to_owned();
    let mut memory = BTreeMap::new();
    if let Some(file) = parameter.rsplit('/').next().filter(|name| name.ends_with(".dat")) {
        let phrases = std::fs::read(folder.join("operators/op").join(file)).map_err(|error| error.to_string())?;
        memory.insert(PathBuf::from(file), phrases);
        parameter = file.to_owned();
    }
    // ModSecurity reads on where the loader says what is wrong; then the operator is put in place.
    let written = match (operator, parameter.as_str()) {
        ("noMatch" | "unconditionalMatch", _) => "",
        (name, "") if !name.starts_with("detect") && !name.starts_with("validate") => "x",
        (_, parameter) => parameter,
    };
    let text =
        format!("SecRule REQUEST_BODY \"@{operator} {}\" \"id:1,phase:2,pass,t:none\"\n", written.replace('"', "\\\""));
    let loaded = load_from(&[RuleSource::Text { name: "vector".into(), text }], &Options::default(), &Memory(memory));
    let mut set =
        loaded.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?.set;
    if parameter.is_empty() {
        empty_parameter(&mut set);
    }
    Program::compile(&set).map_err(|errors| format!("{errors:?}"))
}

/// Gives the rule's operator an empty parameter.
fn empty_parameter(set: &mut RuleSet) {
    let Some(RuleSetEntry::Rule(rule)) = set.entries.first_mut() else { panic!("one rule") };
    match &mut rule.links[0].test.as_mut().unwrap().operator {
        Operator::Rx { pattern, .. } => *pattern = PatternText::Ready(Arc::new(Pattern::parse("").unwrap())),
        Operator::Within(text)
        | Operator::Contains(text)
        | Operator::ContainsWord(text)
        | Operator::StrMatch(text)
        | Operator::BeginsWith(text)
        | Operator::EndsWith(text)
        | Operator::StrEq(text)
        | Operator::Compare(_, text) => *text = Macro::text(b""),
        _ => {}
    }
}

/// Whether the rule matches a body.
fn matches(plan: &Plan, body: &[u8]) -> bool {
    let arena = Bump::new();
    let address = "127.0.0.1".parse().unwrap();
    let head = Head {
        method: b"POST",
        target: b"/",
        path: b"/",
        query: b"",
        version: Version::Http11,
        host: b"localhost",
        headers: &[],
        peer: address,
        peer_port: 1,
        client: address,
        server: address,
        server_port: 80,
        tls: None,
        received_ms: 0,
    };
    let transaction = Transaction::new(head, &arena);
    let mut outcome = Outcome::default();
    let mut meter = NoMeter;
    let mut context = Context { detect: false, request_id: b"id", now_ms: 0, ..Context::new(&mut meter) };
    plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    assert!(plan.wants_body(&transaction, &outcome).is_some());
    transaction.set_body(arena.alloc_slice_copy(body));
    plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
    !outcome.findings.is_empty()
}

/// An input as ModSecurity's own runner reads it: up to a NUL byte, with escapes of its own.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.split('\0').next().unwrap_or_default();
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let hexadecimal = rest.strip_prefix(b"\\x").and_then(|digits| digits.get(..2));
        let byte = hexadecimal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &rest[4..] } else { after };
    }
    bytes
}
