//! The reference page, in Markdown, from the tables.

use std::fmt::Write;

use crate::{DIRECTIVES, Directive, VARIABLES};

/// The whole page: directives, then variables.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from("# nginx directives and variables\n\n## Directives\n");
    let mut directives = DIRECTIVES.to_vec();
    directives.sort_unstable_by_key(|info| info.name);
    for info in directives {
        let context = match info.directive {
            Directive::Http(_) => "`http`",
            Directive::Server(_) => "`server`",
            Directive::Location(_) => "`http`, `server`, `location`",
        };
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n### {name}\n\n```nginx\n{name} {syntax};\n```\n\nContext: {context}. Default: {default}.\n\n{doc}\n",
            name = info.name,
            syntax = info.syntax,
            default = info.default,
            doc = info.doc,
        );
    }
    page.push_str("\n## Variables\n\n| variable | value |\n| --- | --- |\n");
    for info in VARIABLES {
        let _ = writeln!(page, "| `${}` | {} |", info.name, info.doc);
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_row_is_on_the_page() {
        let page = super::markdown();
        for info in crate::DIRECTIVES {
            assert!(page.contains(&format!("### {}\n", info.name)));
        }
        assert!(page.contains("`$weir_verdict`"));
    }
}
