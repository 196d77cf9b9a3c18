//! `weir rules list`: the rules of all rule sets, one a line.

use serde_json::{Value, json};
use weir_engine::seclang::{Program, RuleInfo};

use super::Chosen;
use super::said::{paranoia, severity};
use crate::table::{Align, counted, render};
use crate::terminal::shown;

pub(super) fn run(chosen: &Chosen, tags: &[String], file: Option<&str>, as_json: bool) {
    let sets = chosen.sets();
    let rules: Vec<(&Program, &RuleInfo)> = sets
        .iter()
        .flat_map(|one| one.profile.program().rules().iter().map(|rule| (&**one.profile.program(), rule)))
        .filter(|(_, rule)| tags.iter().all(|tag| rule.tags.contains(tag)))
        .filter(|(program, rule)| file.is_none_or(|text| file_of(program, rule).contains(text)))
        .collect();
    if as_json {
        println!("{}", Value::Array(rules.iter().map(|(program, rule)| as_value(program, rule)).collect()));
        return;
    }
    let columns = [
        ("RULE", Align::Right),
        ("PHASE", Align::Right),
        ("PARANOIA", Align::Right),
        ("SEVERITY", Align::Left),
        ("MESSAGE", Align::Left),
        ("WHERE", Align::Left),
    ];
    let rows: Vec<Vec<String>> = rules.iter().map(|(program, rule)| row(program, rule)).collect();
    print!("{}", render(&columns, &rows));
    println!("{} of {}", counted(rules.len() as u64, "rule"), chosen.name);
}

fn file_of<'p>(program: &'p Program, rule: &RuleInfo) -> &'p str {
    program.files().get(rule.place.file as usize).map_or("", String::as_str)
}

fn row(program: &Program, rule: &RuleInfo) -> Vec<String> {
    let file = file_of(program, rule);
    let name = file.rsplit('/').next().unwrap_or(file);
    vec![
        rule.id.to_string(),
        (rule.phase as u8).to_string(),
        paranoia(&rule.tags).map_or_else(|| "-".to_owned(), |level| level.to_string()),
        severity(rule.severity).unwrap_or("-").to_owned(),
        shown(&rule.message, 60),
        format!("{}:{}", shown(name, 60), rule.place.line),
    ]
}

fn as_value(program: &Program, rule: &RuleInfo) -> Value {
    json!({
        "id": rule.id, "file": file_of(program, rule), "line": rule.place.line, "phase": rule.phase as u8,
        "message": rule.message, "severity": severity(rule.severity), "tags": rule.tags,
        "paranoia": paranoia(&rule.tags),
    })
}
