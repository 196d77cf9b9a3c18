//! What rule sets need of whoever runs them, found out when they are loaded, so that sites without
//! such rules pay for nothing.

use weir_rules::Field;
use weir_rules::ir::Expr;
use weir_rules::seclang::ir::{Collection, Effect, Link, Phase, RuleSet, RuleSetEntry, Variable};

/// What the rule sets of a policy need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSetNeeds {
    /// The request's id before rules run.
    pub request_id: bool,
    /// The server's own address.
    pub server_address: bool,
    /// Memory from request to request.
    pub collections: bool,
    /// The response's body, perhaps: there are rules of phase 4.
    pub response_body: bool,
}

impl RuleSetNeeds {
    /// What a rule set needs.
    pub(super) fn of(set: &RuleSet) -> Self {
        // Any macro may name UNIQUE_ID.
        let mut needs = Self { request_id: true, ..Self::default() };
        for entry in &set.entries {
            let RuleSetEntry::Rule(rule) = entry else { continue };
            needs.response_body |= rule.phase == Phase::ResponseBody;
            rule.links.iter().for_each(|link| needs.see(link));
        }
        needs
    }

    fn see(&mut self, link: &Link) {
        let targets = link.test.iter().flat_map(|test| &test.targets);
        self.server_address |= targets.into_iter().any(|target| target.variable == Variable::ServerAddr);
        self.collections |= link.effects.iter().any(|effect| match effect {
            Effect::InitCollection(..) => true,
            Effect::SetVariable { collection, .. } | Effect::ExpireVariable { collection, .. } => {
                *collection != Collection::Tx
            }
            Effect::SetEnvironment(..) | Effect::Control(_) => false,
        });
    }

    /// What the condition of an exclusion needs.
    pub(super) fn see_condition(&mut self, when: &Expr) {
        when.tests(&mut |test| {
            test.value.fields(&mut |access| self.server_address |= access.field == Field::IpServer);
        });
    }

    /// Both together.
    pub(super) fn add(&mut self, other: Self) {
        self.request_id |= other.request_id;
        self.server_address |= other.server_address;
        self.collections |= other.collections;
        self.response_body |= other.response_body;
    }
}
