//! ModSecurity's test vectors of the operators (see NOTICE), each as a rule set of one rule: `vectors/operators.jsonl`
//! has a line for each operator and parameter, with the inputs that match and those that do not. Characters of an input
//! are bytes. They come as the body of a request, which `REQUEST_BODY` shows as they are.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bumpalo::Bump;
use weir_engine::seclang::{Profile, Program, Tuning};
use weir_engine::{Context, NoMeter, Outcome, Plan, RuleIndex, Specification};
use weir_http::{Head, Transaction, Version};
use weir_rules::Phase;
use weir_rules::seclang::ir::{Macro, Operator, PatternText, RuleSet, RuleSetEntry};
use weir_rules::seclang::pattern::Pattern;
use weir_rules::seclang::{Memory, Options, RuleSource, load_from};

/// Vectors whose rule is refused when it is loaded: operator, parameter, and what is wrong with it.
const REFUSED: [(&str, &str, &str); 3] = [
    ("ipMatch", "10.0.0.0/100", "an impossible network"),
    ("validateByteRange", "", "a range without bytes"),
    ("validateByteRange", "xxx", "not a number"),
];

/// The file that `@pmFromFile` reads in the vectors.
const PHRASES: (&str, &[u8]) = ("pmFromFile-01.dat", b"abc\ndef\nghi\nxxx yyy zzz\n");

#[test]
fn published_vectors() {
    let (mut passed, mut refused, mut failed) = (0, 0, Vec::new());
    for line in include_str!("vectors/operators.jsonl").lines() {
        let (name, parameter, matching, other): (String, String, Vec<String>, Vec<String>) =
            serde_json::from_str(line).unwrap();
        let site = site(&name, &parameter);
        if let Some((_, _, what)) = REFUSED.iter().find(|refused| (refused.0, refused.1) == (&name, &parameter)) {
            assert!(site.is_err(), "{name} {parameter:?}: {what}");
            refused += 1;
            continue;
        }
        let plans = site.unwrap_or_else(|problem| panic!("{name} {parameter:?}: {problem}"));
        let inputs = matching.iter().map(|input| (input, true)).chain(other.iter().map(|input| (input, false)));
        for (input, expected) in inputs {
            let body: Vec<u8> = input.chars().map(|character| u8::try_from(character).unwrap()).collect();
            let found = plans.each_ref().map(|plan| matches(plan, &body));
            if found == [expected; 2] {
                passed += 1;
            } else {
                failed.push(format!("{name} {parameter:?} of {input:?}: found {found:?}"));
            }
        }
    }
    println!("{passed} passed, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!((passed, refused), (1747, REFUSED.len()));
}

/// A site with one rule, as it is used and naively.
fn site(operator: &str, parameter: &str) -> Result<[Plan; 2], String> {
    let program = Arc::new(program(operator, parameter)?);
    let tuning = Tuning { request_body: Some(true), ..Tuning::default() };
    let plan = |profile| Plan::compile(&Specification::of_rule_set(profile), &[0]).unwrap();
    Ok([
        plan(Profile::new(Arc::clone(&program), RuleIndex(1), tuning.clone())),
        plan(Profile::naive(program, RuleIndex(1), tuning)),
    ])
}

fn program(operator: &str, parameter: &str) -> Result<Program, String> {
    let memory = Memory(BTreeMap::from([(PathBuf::from(PHRASES.0), PHRASES.1.to_vec())]));
    // ModSecurity reads on where the loader says what is wrong; then the operator is put in place.
    let written = match (operator, parameter) {
        ("noMatch" | "unconditionalMatch", _) => "",
        (name, "") if !name.starts_with("detect") && !name.starts_with("validate") => "x",
        (_, parameter) => parameter,
    };
    let text =
        format!("SecRule REQUEST_BODY \"@{operator} {}\" \"id:1,phase:2,pass,t:none\"\n", written.replace('"', "\\\""));
    let loaded = load_from(&[RuleSource::Text { name: "vector".into(), text }], &Options::default(), &memory);
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
