//! Lists, policies and rule sets as one policy file: what the sandbox compiles and workers load.
//!
//! They are compiled together, because a policy may use every list. The text is JSON on one line; an
//! error's place in it leads back to the document that it came from.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use weir_gateway::resource::ResourceKind as Kind;

use crate::action::sec_lang;
use crate::document;
use crate::pointer;
use crate::source::Source;
use crate::{Fault, PolicyError, PolicyErrors};

/// A policy file made of documents.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    text: String,
    /// Ids of the policies, in the order of the text.
    policies: Vec<String>,
    /// Files that lists name, with the lists' names.
    files: Vec<(String, String)>,
}

/// The part of the settings that goes into the text.
const SETTINGS: [&str; 2] = ["client_address", "geo"];

/// Makes a policy file of documents, each with its id. Policies are sorted by id.
pub fn assemble<'d>(
    policies: impl IntoIterator<Item = (&'d str, &'d Value)>,
    lists: impl IntoIterator<Item = (&'d str, &'d Value)>,
    rule_sets: impl IntoIterator<Item = (&'d str, &'d Value)>,
    settings: Option<&'d Value>,
) -> Assembled {
    let policies: BTreeMap<&str, &Value> = policies.into_iter().collect();
    let lists: BTreeMap<&str, &Value> = lists.into_iter().collect();
    let rule_sets: BTreeMap<&str, &Value> = rule_sets.into_iter().collect();
    let mut root = Map::new();
    for key in SETTINGS {
        let value = settings.and_then(|settings| settings.get(key));
        root.extend(value.map(|value| (key.to_owned(), value.clone())));
    }
    let by_name = |all: &BTreeMap<&str, &Value>| -> Map<String, Value> {
        all.iter().map(|(id, value)| ((*id).to_owned(), (*value).clone())).collect()
    };
    for (key, all) in [("lists", &lists), ("rule_sets", &rule_sets)] {
        if !all.is_empty() {
            root.insert(key.to_owned(), by_name(all).into());
        }
    }
    if root.is_empty() && policies.is_empty() {
        return Assembled::default();
    }
    let bodies: Vec<Value> = policies.iter().map(|(id, value)| with_id(id, value)).collect();
    root.insert("policies".to_owned(), if bodies.is_empty() { nothing() } else { bodies.into() });
    let file = |(name, list): (&&str, &&Value)| Some((list.get("file")?.as_str()?.to_owned(), (*name).to_owned()));
    Assembled {
        text: Value::Object(root).to_string(),
        policies: policies.keys().map(|id| (*id).to_owned()).collect(),
        files: lists.iter().filter_map(file).collect(),
    }
}

fn with_id(id: &str, policy: &Value) -> Value {
    let mut body = Map::from_iter([("id".to_owned(), json!(id))]);
    if let Value::Object(keys) = policy {
        body.extend(keys.clone());
    }
    body.into()
}

/// A policy file has a policy. While there is none, this one stands for it; nothing names it.
fn nothing() -> Value {
    json!([{ "id": "nothing", "rules": [{ "id": "nothing", "when": "false", "action": "log" }] }])
}

impl Assembled {
    /// What the text is called, and the end of the path for [`crate::Snapshot::parse`].
    pub const FILE: &str = "policies.json";

    /// JSON, for [`crate::Snapshot::parse`]; empty if there is nothing to load. Relative names of files begin
    /// at the folder of the path that is given there, which has to end in [`Self::FILE`].
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All errors of this text, each with the document whose fault it is: kind, id (empty for settings), and
    /// the fault with its pointer in that document. What is no document's comes as that of the settings.
    #[must_use]
    pub fn faults(&self, errors: &PolicyErrors) -> Vec<(Kind, String, Fault)> {
        let source = Source::new(Self::FILE.to_owned(), &self.text);
        let root = document::parse(&source).ok();
        let place = |error: &PolicyError| {
            let root = root.as_ref().filter(|_| error.line > 0 && error.file.ends_with(Self::FILE))?;
            Some(pointer::of(root, source.offset_of(error.line, error.column)))
        };
        errors.errors().iter().map(|error| self.fault(error, place(error))).collect()
    }

    fn fault(&self, error: &PolicyError, place: Option<String>) -> (Kind, String, Fault) {
        let fault = |pointer: String| Fault {
            pointer,
            message: error.message.clone(),
            hint: error.hint.clone(),
            ..Fault::default()
        };
        let elsewhere = || {
            let mut fault = fault(String::new());
            let line = if error.line > 0 { format!(", line {}", error.line) } else { String::new() };
            fault.message = format!("{}{line}: {}", error.file, error.message);
            fault
        };
        if let Some((kind, id, rest)) = place.and_then(|place| self.owner(&place)) {
            return (kind, id, fault(rest));
        }
        if let Some(id) = error.file.strip_prefix(&sec_lang::named("")) {
            let mut fault = fault("/rules".to_owned());
            fault.message = format!("line {}: {}", error.line, error.message);
            return (Kind::RuleSets, id.to_owned(), fault);
        }
        if let Some((_, list)) = self.files.iter().find(|(file, _)| error.file.ends_with(file)) {
            return (Kind::Lists, list.clone(), Fault { pointer: "/file".to_owned(), ..elsewhere() });
        }
        (Kind::Settings, String::new(), elsewhere())
    }

    /// Whose a place in the text is, and where in that document.
    fn owner(&self, place: &str) -> Option<(Kind, String, String)> {
        let mut parts = pointer::parts(place);
        let (first, second) = (parts.next()?, parts.next());
        let mut rest = String::new();
        parts.for_each(|part| pointer::push(&mut rest, &part));
        match first.as_str() {
            "policies" => Some((Kind::Policies, self.policies.get(second?.parse::<usize>().ok()?)?.clone(), rest)),
            "lists" => Some((Kind::Lists, second?, rest)),
            "rule_sets" => Some((Kind::RuleSets, second?, rest)),
            _ => Some((Kind::Settings, String::new(), place.to_owned())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Snapshot;

    fn parse(assembled: &Assembled) -> Result<Snapshot, PolicyErrors> {
        Snapshot::parse(assembled.text(), &Path::new("/nowhere").join(Assembled::FILE))
    }

    fn rule(when: &str, action: Value) -> Value {
        json!({ "rules": [{ "id": when.chars().filter(char::is_ascii_alphanumeric).collect::<String>(), "when": when, "action": action }] })
    }

    #[test]
    fn nothing_is_an_empty_text_and_settings_alone_are_enough() {
        assert_eq!(assemble([], [], [], Some(&json!({ "policies": [] }))).text(), "");
        let settings = json!({ "client_address": { "trusted": ["10.0.0.0/8"] } });
        let snapshot = parse(&assemble([], [], [], Some(&settings))).unwrap();
        assert_eq!(snapshot.client_address().trusted.len(), 1);
        assert!(parse(&assemble([], [("l", &json!({ "strings": ["a"] }))], [], None)).is_ok());
    }

    #[test]
    fn policies_are_sorted_and_use_lists_and_rule_sets() {
        let (b, a) = (rule("http.host in $l", json!("block")), rule("true", json!({ "rule_set": { "set": "own" } })));
        let (l, own) =
            (json!({ "strings": ["x"] }), json!({ "rules": "SecRule ARGS \"@rx evil\" \"id:1,phase:2,deny\"" }));
        let assembled = assemble([("b", &b), ("a", &a)], [("l", &l)], [("own", &own)], None);
        let snapshot = parse(&assembled).unwrap();
        assert_eq!(snapshot.policy_names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(snapshot.rules().last().unwrap().file.as_deref(), Some("rule_sets/own"));
    }

    #[test]
    fn errors_lead_back_to_their_documents() {
        let settings = json!({ "client_address": { "trusted": ["x"] } });
        let good = rule("ssl", json!("log"));
        let (unknown, broken) = (rule("http.host in $ofice", json!("log")), rule("http.hots eq \"a\"", json!("log")));
        let (list, file) =
            (json!({ "addresses": ["10.0.0.0/8", "y"] }), json!({ "kind": "strings", "file": "no.txt" }));
        let set = json!({ "rules": "SecRule ARGS \"@rx x\" \"id:1,phase:2,deny\"\nSecRul x" });
        let use_set = rule("true", json!({ "rule_set": { "set": "own" } }));
        for (policies, lists, sets, settings, expected) in [
            (vec![("b", &unknown), ("a", &good)], vec![], vec![], None, (Kind::Policies, "b", "/rules/0/when")),
            (vec![("a", &broken)], vec![], vec![], None, (Kind::Policies, "a", "/rules/0/when")),
            (vec![("a", &good)], vec![("l", &list)], vec![], None, (Kind::Lists, "l", "/addresses/1")),
            (vec![("a", &good)], vec![("l", &file)], vec![], None, (Kind::Lists, "l", "/file")),
            (vec![("a", &good)], vec![], vec![], Some(&settings), (Kind::Settings, "", "/client_address/trusted/0")),
            (vec![("a", &use_set)], vec![], vec![("own", &set)], None, (Kind::RuleSets, "own", "/rules")),
            (vec![("a", &good)], vec![], vec![("own", &set)], None, (Kind::RuleSets, "own", "/rules")),
        ] {
            let assembled = assemble(policies, lists, sets, settings);
            let errors = parse(&assembled).unwrap_err();
            let (kind, id, fault) = assembled.faults(&errors).remove(0);
            assert_eq!((kind, id.as_str(), fault.pointer.as_str()), expected, "{errors}");
        }
    }

    #[test]
    fn a_policy_that_names_no_rule_set_says_so() {
        let policy = rule("true", json!({ "rule_set": { "set": "owm" } }));
        let own = json!({ "rules": "SecRuleEngine On" });
        let assembled = assemble([("p", &policy)], [], [("own", &own)], None);
        let (kind, _, fault) = assembled.faults(&parse(&assembled).unwrap_err()).remove(0);
        assert_eq!((kind, fault.pointer.as_str()), (Kind::Policies, "/rules/0/action/rule_set/set"));
        assert_eq!(fault.hint.as_deref(), Some("did you mean `own`?"));
    }
}
