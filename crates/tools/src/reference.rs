//! The reference pages, generated from the tables that the code itself uses, so that they cannot be
//! wrong: `weir docs` writes them, a test of the repository compares them.

use std::fmt::Write;

use weir_log::access::LOG_FIELDS;
use weir_log::attack::{ATTACK_FIELDS, FINDING_FIELDS, FieldInfo as AttackInfo};
use weir_rules::{FIELDS, FUNCTIONS, FieldInfo, FunctionInfo, OPERATORS, OperatorInfo, Phase, Shape, ValueType};

/// Every page: file name and Markdown.
#[must_use]
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("access-log.md", access_log()),
        ("attack-log.md", attack_log()),
        ("diagnosis.md", weir_diagnose::rules::reference()),
        ("directives.md", weir_directives::markdown()),
        ("expressions.md", expressions()),
        ("inspector.md", weir_inspector::config::reference()),
        ("policy.md", weir_resource::reference()),
        ("seclang.md", weir_rules::seclang::reference()),
    ]
}

const EXPRESSIONS: &str = "\
# Expressions

<!-- Made by `weir docs` from the tables in crates/rules; do not edit. -->

The condition of a selector or rule (`when:`) is an expression in a subset of the Cloudflare rules language: comparisons
of fields, joined with `and`, `or`, `xor`, `not` and parentheses.

```
http.request.uri.path matches \"^/api/\" and not ip.src in $office
any(http.request.uri.args.values[*] contains \"<script\")
lower(http.host) in {\"example.com\" \"www.example.com\"}
```

Action parameters of type *expression* (`to:`, `value:`, `key:`) take a value instead of a condition: a field,
a constant or a function, such as `concat(\"https://\", http.host, http.request.uri)`.

Fields with several values are read with `[*]` inside `any(...)` or `all(...)`, or with an index (`[0]`).
Fields with named values take a name: `http.request.headers[\"x-y\"]`; a name missing from the request has no
value, and every comparison with it is false. A missing field with a single value is empty, zero or false.
";

const ACCESS_LOG: &str = "\
# Access log

<!-- Made by `weir docs` from the table in crates/log; do not edit. -->

`weir_access_log PATH;` writes one JSON object per client request with the fields below, in this order;
`weir_access_log PATH fields=time,status,uri;` only those named. Bytes that are not UTF-8 and control characters
are escaped. Lines are buffered and written whole; a full disk loses lines, which are counted, and blocks nothing.

| field | value |
| --- | --- |
";

const ATTACK_LOG: &str = "\
# Attack log

<!-- Made by `weir docs` from the tables in crates/log; do not edit. -->

`weir_attack_log PATH;` writes one JSON object for each request with findings, and for each request that the fail
mode stopped. `weir replay` and `weir tune` read it. Values longer than 8 KiB are cut; the access log's rules for
escaping and for full disks apply.
";

fn attack_log() -> String {
    fn fields<F>(table: &'static [AttackInfo<F>]) -> impl Iterator<Item = [String; 3]> {
        table.iter().map(|info| [code(info.name), info.shape.to_owned(), info.doc.to_owned()])
    }
    let mut page = ATTACK_LOG.to_owned();
    section(&mut page, "Fields of a line", ["field", "type", "value"], fields(ATTACK_FIELDS));
    section(&mut page, "Fields of a finding", ["field", "type", "value"], fields(FINDING_FIELDS));
    page
}

fn access_log() -> String {
    LOG_FIELDS.iter().fold(ACCESS_LOG.to_owned(), |page, info| page + &row([&code(info.name), info.doc]))
}

fn expressions() -> String {
    let mut page = EXPRESSIONS.to_owned();
    section(&mut page, "Fields", ["field", "type", "known", "meaning"], FIELDS.iter().map(field));
    section(&mut page, "Operators", ["operator", "of", "example", "meaning"], OPERATORS.iter().map(operator));
    section(&mut page, "Functions", ["function", "yields", "meaning"], FUNCTIONS.iter().map(function));
    page
}

fn section<const N: usize>(page: &mut String, title: &str, heads: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## {title}\n\n{}{}", row(heads), row(["---"; N]));
    for cells in rows {
        page.push_str(&row(cells.each_ref().map(String::as_str)));
    }
}

fn row<const N: usize>(cells: [&str; N]) -> String {
    // A bar inside a cell would end it.
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn field(info: &FieldInfo) -> [String; 4] {
    let (name, ty) = match info.shape {
        Shape::Scalar => (code(info.name), ty(info.ty).to_owned()),
        Shape::Array => (code(&format!("{}[*]", info.name)), format!("{}, several", ty(info.ty))),
        Shape::Map => (code(&format!("{}[\"...\"]", info.name)), format!("{}, by name", ty(info.ty))),
    };
    let known = match info.phase {
        Phase::Request => "with the request header",
        Phase::Body => "with the request body",
        Phase::Response => "with the response",
    };
    [name, ty, known.to_owned(), info.doc.to_owned()]
}

fn operator(info: &OperatorInfo) -> [String; 4] {
    let names: Vec<String> = std::iter::once(&info.name).chain(info.aliases).map(|name| code(name)).collect();
    let types: Vec<&str> = info.types.iter().map(|&one| ty(one)).collect();
    let of = if types.is_empty() { "conditions".to_owned() } else { types.join(", ") };
    [names.join(" "), of, code(info.example), info.doc.to_owned()]
}

fn function(info: &FunctionInfo) -> [String; 3] {
    let mut parameters: Vec<String> = info
        .parameters
        .iter()
        .enumerate()
        .map(|(index, &one)| if index < info.required { ty(one).to_owned() } else { format!("[{}]", ty(one)) })
        .collect();
    if info.variadic {
        parameters.push("...".to_owned());
    }
    [code(&format!("{}({})", info.name, parameters.join(", "))), ty(info.returns).to_owned(), info.doc.to_owned()]
}

fn ty(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Bytes => "string",
        ValueType::Int => "integer",
        ValueType::Bool => "boolean",
        ValueType::Ip => "address",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_table_is_on_its_page() {
        let page = expressions();
        for name in FIELDS.iter().map(|info| info.name).chain(FUNCTIONS.iter().map(|info| info.name)) {
            assert!(page.contains(&format!("`{name}")), "{name}");
        }
        for info in OPERATORS {
            assert!(page.contains(&code(info.name)), "{}", info.name);
        }
        assert!(attack_log().contains("\n| `log_data` | string | "));
        let page = access_log();
        assert!(LOG_FIELDS.iter().all(|info| page.contains(&format!("\n| `{}` | ", info.name))));
    }

    #[test]
    fn what_the_page_shows_is_right() {
        struct Office;
        impl weir_rules::ListKinds for Office {
            fn kind(&self, name: &str) -> Option<weir_rules::ListKind> {
                (name == "office").then_some(weir_rules::ListKind::Addresses)
            }
            fn names(&self) -> Vec<String> {
                vec!["office".into()]
            }
        }
        let shown = EXPRESSIONS.split("```").nth(1).expect("a block of examples");
        for line in shown.lines().filter(|line| !line.is_empty()) {
            weir_rules::parse(line, &Office).unwrap_or_else(|errors| panic!("{}", errors[0].render(line)));
        }
        weir_rules::parse_value("concat(\"https://\", http.host, http.request.uri)").expect("is a value");
    }

    #[test]
    fn every_row_has_as_many_cells_as_its_head() {
        for (name, page) in pages() {
            let mut bars = 0;
            for line in page.lines() {
                let count = line.replace("\\|", "").matches('|').count();
                if line.starts_with("| ") {
                    assert!(bars == 0 || count == bars, "{name}: {line}");
                    bars = count;
                } else {
                    bars = 0;
                }
            }
        }
    }
}
