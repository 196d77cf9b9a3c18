//! Settings, and policies under their ids, which only say what they name.

use weir_gateway::op::Op;
use weir_gateway::resource::{Resource, Settings};

use super::Maker;
use crate::Kind;
use weir_policy::check::{Fields, Value};

impl Maker<'_> {
    pub(super) fn settings(&mut self, fields: &Fields<'_>) {
        let policies = self.policies(fields).unwrap_or_default();
        let default_certificate = self.reference(fields, "default_certificate", Kind::Certificates);
        self.checked.op = Some(Op::Put(Resource::Settings(Settings { policies, default_certificate })));
        // Taking `client_address` or `geo` away changes what is compiled, too.
        self.checked.compiled = true;
    }

    /// Notes the rule sets that a policy runs. All the rest of it is for the sandbox.
    pub(super) fn policy(&mut self, fields: &Fields<'_>) {
        self.checked.compiled = true;
        self.rules(fields);
        fields.items("selectors").iter().filter_map(|item| item.as_fields()).for_each(|selector| self.rules(selector));
    }

    fn rules(&mut self, fields: &Fields<'_>) {
        for rule in fields.items("rules").iter().filter_map(|item| item.as_fields()) {
            for action in rule.items("actions").iter().chain(rule.get("action")) {
                if let Value::Action(kind, parameters) = &action.value
                    && kind.resource.name == "rule_set"
                    && let Some(item) = parameters.get("set")
                {
                    self.refer(item, Kind::RuleSets);
                }
            }
        }
    }
}
