//! The tables of README: ordinary and dear requests, beside bare nginx and what people use today.

use super::super::cell::Cell;
use super::super::table::{Column, Line, Part, Table};

pub(super) static TABLES: &[Table] = &[
    Table {
        name: "overview",
        title: "policy and request",
        columns: &[
            Column("bare nginx", &[("name", "nginx")], Cell::Number("cpu_us_per_request")),
            Column("**Weir**", &[("name", "weir-rs-log|weir-pl1|weir-rules-1000|weir-rules-10000")], Cell::Cpu),
            Column("Lua (first row), ModSecurity v3 (CRS)", &[("name", "lua-after|modsecurity")], Cell::Cpu),
        ],
        parts: &[
            Part { record: "rs", list: "rows", lines: &[Line("40 rules, a JSON log of 33 fields; small form", &[])] },
            Part {
                record: "crs",
                list: "rows",
                lines: &[
                    Line("CRS: GET", &[("load", "get")]),
                    Line("CRS: GET with 2 kB of cookies", &[("load", "get-cookies")]),
                    Line("CRS: form of 25 fields, values seen before", &[("load", "form")]),
                    Line("CRS: form of 25 fields, **fresh values**", &[("load", "form-fresh")]),
                    Line("CRS: JSON of 2 kB", &[("load", "json")]),
                    Line("CRS: upload of 24 kB", &[("load", "upload")]),
                ],
            },
            Part {
                record: "rs",
                list: "growth",
                lines: &[
                    Line("1,000 rules of your own; small form", &[("of", "rules"), ("size", "1000")]),
                    Line("10,000 rules of your own; small form", &[("of", "rules"), ("size", "10000")]),
                ],
            },
        ],
    },
    Table {
        name: "latency",
        title: "",
        columns: &[
            Column("median (µs)", &[], Cell::Number("p50_us")),
            Column("99th percentile (µs)", &[], Cell::Number("p99_us")),
        ],
        parts: &[Part {
            record: "events",
            list: "rows",
            lines: &[
                Line(
                    "a change of one upstream member through the API, until both workers serve it",
                    &[("name", "change-1")],
                ),
                Line("a request through the gateway, without changes", &[("name", "traffic-quiet")]),
                Line("a request through the gateway, beside 2,000 changes a second", &[("name", "traffic-2000")]),
            ],
        }],
    },
];
