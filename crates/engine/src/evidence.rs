//! The finding of a rule that matched: which value made it match, and which bytes of it.

use bumpalo::collections::Vec as ArenaVec;
use weir_rules::Field;
use weir_rules::ir::ValueExpr;

use crate::Finding;
use crate::check::{Node, Test};
use crate::evaluate::Pass;
use crate::function::write_text;
use crate::outcome::MATCHED_BYTES;
use crate::plan::Rule;
use crate::value::Value;

/// What the attack log says of `rule`, which has just matched.
pub(crate) fn finding(pass: &Pass<'_, '_, '_>, rule: &Rule, action: &'static str, detected_only: bool) -> Finding {
    let mut finding = Finding { rule: rule.index, action, detected_only, score: rule.score, ..Finding::default() };
    let selector = pass.plan.selectors[rule.selector as usize].when.as_ref();
    let Some(test) = evidence(pass, &rule.node).or_else(|| selector.and_then(|when| evidence(pass, when))) else {
        return finding;
    };
    let lane = &pass.plan.lanes[test.lane as usize];
    let values = pass.values(test.lane);
    let values = values.as_slice();
    finding.variable = lane.value.to_string();
    if let Some((position, value, range)) = test.evidence(values) {
        if let Some(name) = name_of(pass, &lane.value, position) {
            finding.variable = name;
        }
        match value {
            Value::Bytes(bytes) => {
                let end = range.end.min(bytes.len()).min(range.start + MATCHED_BYTES);
                finding.matched = bytes.get(range.start..end).unwrap_or_default().to_vec();
            }
            other => {
                let mut text = ArenaVec::new_in(pass.reader.transaction.arena());
                write_text(other, &mut text);
                finding.matched = text.to_vec();
            }
        }
    }
    finding
}

/// The first test that made the expression true, left to right; none inside a *not*.
fn evidence<'n>(pass: &Pass<'_, '_, '_>, node: &'n Node) -> Option<&'n Test> {
    match node {
        Node::Const(_) | Node::Not(_) => None,
        Node::And(parts) => {
            // A pattern tells more than a condition such as `method eq "POST"`.
            let found: Vec<&Test> = parts.iter().filter_map(|part| evidence(pass, part)).collect();
            found.iter().find(|test| test.check.searches()).or(found.first()).copied()
        }
        Node::Or(parts) => parts.iter().filter(|part| pass.holds(part)).find_map(|part| evidence(pass, part)),
        Node::Xor(left, right) => {
            if pass.holds(left) {
                evidence(pass, left)
            } else {
                evidence(pass, right)
            }
        }
        Node::Test(test) => test.holds(pass.values(test.lane).as_slice()).then_some(test),
    }
}

/// The item behind the n-th value of all items, e.g. `http.request.uri.args["id"]`.
fn name_of(pass: &Pass<'_, '_, '_>, value: &ValueExpr, position: usize) -> Option<String> {
    let transaction = pass.reader.transaction;
    let ValueExpr::Field(access) = value else { return None };
    if access.key.is_some() || access.index.is_some() {
        return None;
    }
    let (map, pairs) = match access.field {
        Field::UriArgs | Field::UriArgsValues => (Field::UriArgs, transaction.arguments()),
        Field::Cookies | Field::CookiesValues => (Field::Cookies, transaction.cookies()),
        Field::CookiesDecoded => (Field::CookiesDecoded, transaction.decoded_cookies()),
        Field::BodyForm | Field::BodyFormValues => (Field::BodyForm, transaction.form()),
        Field::BodyJson | Field::BodyJsonValues => (Field::BodyJson, transaction.json()),
        Field::Headers | Field::HeadersValues => {
            let header = transaction.head.headers.get(position)?;
            return Some(named(Field::Headers, header.name));
        }
        _ => return None,
    };
    Some(named(map, pairs.get(position)?.name))
}

fn named(map: Field, name: &[u8]) -> String {
    let shown = &name[..name.len().min(MATCHED_BYTES)];
    format!("{}[\"{}\"]", map.info().name, String::from_utf8_lossy(shown))
}
