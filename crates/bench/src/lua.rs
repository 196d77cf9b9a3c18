//! The Lua peers: their files, and their rules and addresses as Lua, from the tables that make Weir's policy.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use weir_measure::addresses;
use weir_measure::error::MeasureError;
use weir_measure::site::{Site, write};
use weir_measure::workload::{BLOCKED_COUNTRIES, LIST_LENGTH};

use crate::rules::{RULES, Rule};

/// The peers, as they lie in `bench/peers/lua`.
const FILES: &[(&str, &str)] = &[
    ("before/access.lua", include_str!("../../../bench/peers/lua/before/access.lua")),
    ("before/log.lua", include_str!("../../../bench/peers/lua/before/log.lua")),
    ("after/access.lua", include_str!("../../../bench/peers/lua/after/access.lua")),
    ("after/log.lua", include_str!("../../../bench/peers/lua/after/log.lua")),
    ("inspect/gateway.lua", include_str!("../../../bench/peers/lua/inspect/gateway.lua")),
    ("signature/access.lua", include_str!("../../../bench/peers/lua/signature/access.lua")),
    ("signature/gateway.lua", include_str!("../../../bench/peers/lua/signature/gateway.lua")),
    ("signature/sort.lua", include_str!("../../../bench/peers/lua/signature/sort.lua")),
    ("signature/tokens.lua", include_str!("../../../bench/peers/lua/signature/tokens.lua")),
];

/// Writes them all into the directory `lua` of the run.
pub fn write_peers(site: &Site) -> Result<(), MeasureError> {
    for (name, text) in FILES {
        write(&site.path("lua").join(name), text)?;
    }
    write(&site.path("lua/rules.lua"), &rules())?;
    write(&site.path("lua/blocked.lua"), &blocked(&addresses::list(LIST_LENGTH)))
}

/// Rules and countries.
fn rules() -> String {
    let mut text = String::from("return {\n  countries = { ");
    for code in BLOCKED_COUNTRIES {
        let _ = write!(text, "{code} = true, ");
    }
    text.push_str("},\n  list = {\n");
    for Rule { id, subject, pattern, .. } in RULES {
        let _ =
            writeln!(text, "    {{ id = \"{id}\", subject = \"{}\", pattern = [==[{pattern}]==] }},", subject.key());
    }
    text.push_str("  },\n}\n");
    text
}

/// Addresses as a hash table.
fn blocked(addresses: &[Ipv4Addr]) -> String {
    let mut text = String::from("return {\n");
    for address in addresses {
        let _ = writeln!(text, "  [\"{address}\"] = true,");
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lua_gets_every_rule() {
        let text = rules();
        assert_eq!(text.matches("pattern = [==[").count(), RULES.len());
        assert!(RULES.iter().all(|rule| text.contains(rule.pattern)));
    }
}
