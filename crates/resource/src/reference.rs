//! The reference page of policy and state files, made from the table; `weir docs` writes it.

use weir_policy::action::ACTIONS;
use weir_policy::reference::section;
use weir_policy::table::{
    CLIENT_ADDRESS, EXCLUSION, GEO, LIST, POLICY, ROOT, RULE, RULE_SET_DOCUMENT, Resource, SELECTOR,
};

use crate::kind::tables;

/// Resources in the order of the page.
static ORDER: [&Resource; 7] = [&ROOT, &POLICY, &SELECTOR, &RULE, &LIST, &GEO, &CLIENT_ADDRESS];

/// Before the resources of the gateway.
const GATEWAY: &str = "
## Gateway

The documents that `weir apply` and the API accept, in addition to lists, policies and rule sets; see the [guide](../gateway.md). Ids are \
1 to 128 letters, digits and `_ . -` that begin with a letter or digit. Times are written as `250ms`, `5s`, `1m`, `1h`, \
`1d`; sizes as bytes, or as `128k`, `1m`, `1g` (powers of 1024).
";

/// The page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Policy reference\n\n<!-- Made by `weir docs` from the tables in crates/policy and crates/resource; do not edit. -->\n\n\
         A policy file is YAML, or JSON if its name ends in `.json`. Quotes around texts are optional; write \
         expressions in single quotes. An unknown key is an error.\n",
    );
    for resource in ORDER {
        section(&mut page, "##", resource);
    }
    page.push_str("\n## Actions\n\nAn action is its name alone (`- log`), or its name with parameters (`- block: {status: 404}`).\n");
    for kind in ACTIONS {
        section(&mut page, "###", kind.resource);
    }
    section(&mut page, "##", &EXCLUSION);
    section(&mut page, "##", &RULE_SET_DOCUMENT);
    page.push_str(GATEWAY);
    let above = [RULE_SET_DOCUMENT.name, LIST.name];
    for resource in tables().into_iter().filter(|one| !above.contains(&one.name)) {
        section(&mut page, "###", resource);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_key_and_links_that_lead_somewhere() {
        let page = reference();
        let actions = ACTIONS.iter().map(|kind| kind.resource);
        for resource in ORDER.into_iter().chain(actions).chain([&EXCLUSION]).chain(tables()) {
            assert!(page.contains(&format!("# {}\n", resource.name)), "{}", resource.name);
            for key in resource.keys {
                assert!(page.contains(&format!("\n| `{}` | ", key.name)), "{}", key.name);
            }
        }
        for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            let title =
                page.lines().any(|line| line.starts_with('#') && line.to_lowercase().ends_with(&format!(" {link}")));
            assert!(title, "{link}");
        }
    }
}
