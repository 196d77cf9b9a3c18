//! Policies, and the lists and rule sets that they name: what compiling them finds is not known here.

use weir_gateway::resource::{Document, Resource};
use weir_policy::check::{Fields, Value};
use weir_policy::table::{INSPECTOR, INSPECTOR_TABLES, LIST, POLICY_DOCUMENT, RULE_SET_DOCUMENT};

use super::{Descriptor, Example};
use crate::convert::Converter;

pub(super) static LISTS: Descriptor = Descriptor {
    table: &LIST,
    nested: &[],
    secret: None,
    example: Example {
        id: "office",
        document: r#"{"addresses": ["192.0.2.0/24", "2001:db8::1"]}"#,
        patch: r#"{"addresses": ["192.0.2.0/24"]}"#,
    },
    convert: |converter, _| converter.document(Resource::List),
};

pub(super) static RULE_SETS: Descriptor = Descriptor {
    table: &RULE_SET_DOCUMENT,
    nested: &[],
    secret: None,
    example: Example {
        id: "own",
        document: r#"{"rules": "SecRule REQUEST_URI \"@contains /.git\" \"id:1,phase:1,deny\""}"#,
        patch: "",
    },
    convert: |converter, _| converter.document(Resource::RuleSet),
};

pub(super) static INSPECTORS: Descriptor = Descriptor {
    table: &INSPECTOR,
    nested: &INSPECTOR_TABLES,
    secret: None,
    example: Example {
        id: "bots",
        document: r#"{"endpoints": ["127.0.0.1:7331"], "deadline": "20ms", "sets": ["X-Bot"]}"#,
        patch: r#"{"deadline": "50ms"}"#,
    },
    convert: |converter, _| converter.document(Resource::Inspector),
};

pub(super) static POLICIES: Descriptor = Descriptor {
    table: &POLICY_DOCUMENT,
    nested: &[],
    secret: None,
    example: Example {
        id: "base",
        document: r#"{"mode": "on", "rules": [{"id": "no-dot-env", "when": "http.request.uri.path eq \"/.env\"", "action": "block"}]}"#,
        patch: r#"{"mode": "detect"}"#,
    },
    convert: |converter, fields| converter.policy(fields),
};

impl Converter<'_> {
    /// Puts a document that workers compile, as it stands.
    pub(super) fn document(&mut self, resource: fn(Document) -> Resource) {
        self.put(resource(Document::new(self.id, self.source.text.as_str())));
    }

    /// Notes the resources that the actions of a policy name. All the rest of it is for the sandbox.
    fn policy(&mut self, fields: &Fields<'_>) {
        self.document(Resource::Policy);
        self.rules(fields);
        fields.items("selectors").iter().filter_map(|item| item.as_fields()).for_each(|selector| self.rules(selector));
    }

    fn rules(&mut self, fields: &Fields<'_>) {
        for rule in fields.items("rules").iter().filter_map(|item| item.as_fields()) {
            for action in rule.items("actions").iter().chain(rule.get("action")) {
                if let Value::Action(_, parameters) = &action.value {
                    parameters.references().for_each(|(kind, item)| drop(self.refer(item, kind)));
                }
            }
        }
    }
}
