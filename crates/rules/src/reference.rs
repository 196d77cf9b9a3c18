//! The reference page of the expression language, and the names for shell completion, made
//! from the tables of fields, operators and functions.

use std::fmt::Write;

use crate::limits::{MAX_AUTOMATON_BYTES, MAX_DEPTH, MAX_PATTERN_BYTES, MAX_TEXT_BYTES};
use crate::{FIELDS, FUNCTIONS, OPERATORS, Operands, Phase, Shape, Type};

/// What stands above the tables.
const INTRODUCTION: &str = "\
# Expressions: reference

<!-- Made by `weir docs` from the tables in crates/rules; do not edit. -->

Fields, operators and functions of the expression language; the guide is [expressions.md](../expressions.md).

```weir
http.request.uri.path matches \"^/api/\" and not ip.src in {192.0.2.0/24}
any(http.request.uri.args.values[*] contains \"<script\")
lower(http.host) in {\"example.com\" \"www.example.com\"}
```

A field of several values is read with `[*]` inside `any(...)` or `all(...)`, or with the number of one (`[0]`); a map takes
the name, too: `http.request.headers[\"x-y\"]`. What a request does not have has no value, and no comparison of it holds.
";

/// The reference page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    fields(&mut page);
    operators(&mut page);
    functions(&mut page);
    bounds(&mut page);
    page
}

/// Every name that may stand in an expression: fields, functions, operators, constants.
#[must_use]
pub fn completions() -> Vec<&'static str> {
    let fields = FIELDS.iter().map(|row| row.name);
    let functions = FUNCTIONS.iter().map(|row| row.name);
    let operators = OPERATORS.iter().map(|row| row.name);
    fields.chain(functions).chain(operators).chain(["any", "all", "true", "false"]).collect()
}

fn operators(page: &mut String) {
    page.push_str("\n## Operators that compare\n\n| operator | also | applies to | meaning | example |\n| --- | --- | --- | --- | --- |\n");
    for row in OPERATORS.iter().filter(|row| row.operator.compares()) {
        let types: Vec<&str> = row.types.iter().map(|ty| type_word(*ty)).collect();
        table_row(page, &[&code(row.name), &aliases(row.aliases), &types.join(", "), row.doc, &code(row.example)]);
    }
    page.push_str("\n## Operators that join, from tight to loose\n\n| operator | also | meaning | example |\n| --- | --- | --- | --- |\n");
    for row in OPERATORS.iter().filter(|row| matches!(row.operands, Operands::Condition | Operands::Conditions)) {
        table_row(page, &[&code(row.name), &aliases(row.aliases), row.doc, &code(row.example)]);
    }
}

fn functions(page: &mut String) {
    page.push_str("\n## Functions\n\n| function | result | meaning |\n| --- | --- | --- |\n");
    for row in FUNCTIONS {
        table_row(page, &[&code(&row.signature()), type_word(row.returns), row.doc]);
    }
    page.push_str(
        "\n`any(...)` and `all(...)` take a condition over a field of several values: whether it holds for at least one, \
         or for every one of them.\n",
    );
}

fn fields(page: &mut String) {
    let phases = [
        (Phase::Request, "Fields of the request"),
        (Phase::Body, "Fields of the request's body"),
        (Phase::Response, "Fields of the response"),
    ];
    for (phase, title) in phases {
        let _ = write!(page, "\n## {title}\n\n| field | type | meaning |\n| --- | --- | --- |\n");
        for row in FIELDS.iter().filter(|row| row.phase == phase) {
            let ty = match row.shape {
                Shape::Scalar => type_word(row.ty).to_owned(),
                Shape::Array => format!("array of {}", type_word(row.ty)),
                Shape::Map => format!("map of {}", type_word(row.ty)),
            };
            table_row(page, &[&code(row.name), &ty, row.doc]);
        }
    }
}

fn bounds(page: &mut String) {
    page.push_str("\n## Bounds\n\n| what | at most |\n| --- | --- |\n");
    let rows = [
        ("length of an expression", format!("{MAX_TEXT_BYTES} bytes")),
        ("nesting", format!("{MAX_DEPTH} levels")),
        ("length of a pattern", format!("{MAX_PATTERN_BYTES} bytes")),
        ("automaton of a pattern", format!("{} KiB", MAX_AUTOMATON_BYTES >> 10)),
    ];
    for (what, most) in rows {
        table_row(page, &[what, &most]);
    }
}

fn table_row(page: &mut String, cells: &[&str]) {
    for cell in cells {
        // A bar would end the cell, even in code.
        let _ = write!(page, "| {} ", cell.replace('|', "\\|"));
    }
    page.push_str("|\n");
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn aliases(all: &[&str]) -> String {
    all.iter().map(|alias| code(alias)).collect::<Vec<_>>().join(" ")
}

fn type_word(ty: Type) -> &'static str {
    match ty {
        Type::Bytes => "string",
        Type::Int => "integer",
        Type::Bool => "boolean",
        Type::Ip => "address",
    }
}
