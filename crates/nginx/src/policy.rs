//! Loading the policy, and finding out what it needs of nginx: what no rule asks for is not made.

use nginx_sys::ngx_conf_t;
use weir_engine::{Action, Specification};
use weir_policy::Snapshot;
use weir_rules::Field;
use weir_rules::ir::ValueExpr;

use crate::configuration::Main;
use crate::{directive, shared};

/// Loads the policy of `weir_policy`, if there is one; what is odd about it goes to the log.
pub fn load(cf: *mut ngx_conf_t, main: &mut Main) -> Result<(), String> {
    let Some(path) = &main.policy_path else { return Ok(()) };
    let snapshot = Snapshot::load(path).map_err(|errors| errors.to_string())?;
    for warning in snapshot.warnings() {
        warning.to_string().lines().for_each(|line| directive::warn(cf, line));
    }
    let reads = |field| reads_field(snapshot.specification(), field);
    let needs = snapshot.rule_set_needs();
    main.reads_request_id = reads(Field::RequestId) || needs.request_id;
    main.reads_server_address |= reads(Field::IpServer) || needs.server_address;
    main.holds_responses = needs.response_body;
    if snapshot.specification().rate_limits > 0 {
        let bytes = main.zone_bytes.unwrap_or(shared::DEFAULT_BYTES);
        main.zone = Some(shared::add(cf, &shared::RATE_LIMITS, bytes)?);
    }
    if needs.collections {
        let bytes = main.collections_bytes.unwrap_or(shared::DEFAULT_BYTES);
        main.collections_zone = Some(shared::add(cf, &shared::COLLECTIONS, bytes)?);
    }
    main.snapshot = Some(snapshot);
    Ok(())
}

/// Whether any rule reads a field, in a condition or in an action's parameter.
fn reads_field(specification: &Specification, wanted: Field) -> bool {
    let mut found = false;
    let mut see_value = |value: &ValueExpr| value.fields(&mut |access| found |= access.field == wanted);
    for selector in specification.policies.iter().flat_map(|policy| &policy.selectors) {
        for when in selector.when.iter().chain(selector.rules.iter().map(|rule| &rule.when)) {
            when.tests(&mut |test| see_value(&test.value));
        }
        for action in selector.rules.iter().flat_map(|rule| &rule.actions) {
            match action {
                Action::Redirect { to: value, .. } | Action::SetHeader(_, _, value) => see_value(value),
                Action::RateLimit(limit) => see_value(&limit.key),
                Action::Block(_) | Action::Allow(_) | Action::Log | Action::RemoveHeader(..) | Action::Tag(_) => {}
                Action::RuleSet(_) => {} // the snapshot says what rule sets need
            }
        }
    }
    found
}
