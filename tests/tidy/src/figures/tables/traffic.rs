//! Tables of CPU time for each request: policies, rule sets, dear requests, signatures, inspectors.

use super::super::cell::Cell;
use super::super::table::{Column, Line, Part, Table};

/// CPU time for each request, with the interval of its ratio.
const CPU: &[Column] = &[
    Column("CPU per request (µs)", &[], Cell::Number("cpu_us_per_request")),
    Column("ratio to bare nginx", &[], Cell::Ratio("ratio")),
    Column("95 % interval", &[], Cell::Range("ratio_low", "ratio_high")),
];

pub(super) static TABLES: &[Table] = &[
    Table {
        name: "rs",
        title: "variant",
        columns: CPU,
        parts: &[Part {
            record: "rs",
            list: "rows",
            lines: &[
                Line("nginx, bare proxy", &[("name", "nginx")]),
                Line("nginx with its own JSON log of 33 fields", &[("name", "nginx-json-log")]),
                Line("HAProxy", &[("name", "haproxy")]),
                Line("Weir, silenced", &[("name", "weir-silent")]),
                Line("Weir enabled, no policy for the route", &[("name", "weir-idle")]),
                Line("**Weir, the 40 rules**", &[("name", "weir-rs")]),
                Line("**Weir, the 40 rules and a JSON log of 33 fields**", &[("name", "weir-rs-log")]),
                Line("Lua, the same rules and log, optimised", &[("name", "lua-after")]),
                Line("Lua, the same rules and log, before optimisation", &[("name", "lua-before")]),
                Line("ModSecurity v3 with CRS 3.3.4 (other rules, for scale)", &[("name", "modsecurity-crs")]),
            ],
        }],
    },
    Table {
        name: "growth",
        title: "size",
        columns: &[
            Column("CPU per request (µs)", &[], Cell::Number("cpu_us_per_request")),
            Column("ratio to bare nginx", &[], Cell::Ratio("ratio")),
            Column("95 % interval", &[], Cell::Range("ratio_low", "ratio_high")),
            Column("memory of the worker (MiB)", &[], Cell::Scaled("worker_pss_kib", 1.0 / 1024.0)),
        ],
        parts: &[Part {
            record: "rs",
            list: "growth",
            lines: &[
                Line("10 rules", &[("of", "rules"), ("size", "10")]),
                Line("100 rules", &[("of", "rules"), ("size", "100")]),
                Line("1,000 rules", &[("of", "rules"), ("size", "1000")]),
                Line("10,000 rules", &[("of", "rules"), ("size", "10000")]),
                Line("list of 10 addresses", &[("of", "list"), ("size", "10")]),
                Line("list of 1,000 addresses", &[("of", "list"), ("size", "1000")]),
                Line("list of 100,000 addresses", &[("of", "list"), ("size", "100000")]),
                Line("list of 1,000,000 addresses", &[("of", "list"), ("size", "1000000")]),
                Line("body of 0 bytes", &[("of", "body"), ("name", "weir-body-0")]),
                Line("body of 1,000 bytes", &[("of", "body"), ("name", "weir-body-1000")]),
                Line("body of 10,000 bytes", &[("of", "body"), ("name", "weir-body-10000")]),
                Line("body of 100,000 bytes", &[("of", "body"), ("name", "weir-body-100000")]),
                Line("body of 1,000,000 bytes", &[("of", "body"), ("name", "weir-body-1000000")]),
            ],
        }],
    },
    Table {
        name: "crs",
        title: "",
        columns: &[
            Column("GET", &[("load", "get")], Cell::Cpu),
            Column("GET, cookies of 2 kB", &[("load", "get-cookies")], Cell::Cpu),
            Column("form, 25 fields", &[("load", "form")], Cell::Cpu),
            Column("the same, fresh values", &[("load", "form-fresh")], Cell::Cpu),
            Column("JSON, 2 kB", &[("load", "json")], Cell::Cpu),
            Column("upload, 24 kB", &[("load", "upload")], Cell::Cpu),
        ],
        parts: &[Part {
            record: "crs",
            list: "rows",
            lines: &[
                Line("nginx alone", &[("name", "nginx")]),
                Line("with Weir", &[("name", "weir-pl1")]),
                Line("with Weir, paranoia level 2", &[("name", "weir-pl2")]),
                Line("with Weir, paranoia level 4", &[("name", "weir-pl4")]),
                Line("with Weir and CRS 4", &[("name", "weir-crs4")]),
                Line("with ModSecurity v3", &[("name", "modsecurity")]),
            ],
        }],
    },
    Table {
        name: "crs-system",
        title: "request",
        columns: &[
            Column("nginx, user time (µs)", &[("name", "nginx")], Cell::Number("user_us")),
            Column("nginx, system time (µs)", &[("name", "nginx")], Cell::Number("system_us")),
            Column("nginx, wake-ups", &[("name", "nginx")], Cell::Number("wakes_per_request")),
            Column("Weir, user time (µs)", &[("name", "weir-pl1")], Cell::Number("user_us")),
            Column("Weir, system time (µs)", &[("name", "weir-pl1")], Cell::Number("system_us")),
            Column("Weir, wake-ups", &[("name", "weir-pl1")], Cell::Number("wakes_per_request")),
        ],
        parts: &[Part {
            record: "crs",
            list: "rows",
            lines: &[
                Line("GET", &[("load", "get")]),
                Line("GET, cookies of 2 kB", &[("load", "get-cookies")]),
                Line("form, 25 fields", &[("load", "form")]),
                Line("the same, fresh values", &[("load", "form-fresh")]),
                Line("JSON, 2 kB", &[("load", "json")]),
                Line("upload, 24 kB", &[("load", "upload")]),
            ],
        }],
    },
    Table {
        name: "hostile",
        title: "request",
        columns: &[
            Column("bytes", &[("paranoia", "1")], Cell::Number("bytes")),
            Column("nginx alone", &[("paranoia", "1")], Cell::Number("bare_ms")),
            Column("level 1", &[("paranoia", "1")], Cell::Number("ms")),
            Column("level 2", &[("paranoia", "2")], Cell::Number("ms")),
            Column("level 4", &[("paranoia", "4")], Cell::Number("ms")),
        ],
        parts: &[Part {
            record: "hostile",
            list: "rows",
            lines: &[
                Line("`form-quotes-128k`", &[("name", "form-quotes-128k")]),
                Line("`form-prose-1m`", &[("name", "form-prose-1m")]),
                Line("`form-fields-4200`", &[("name", "form-fields-4200")]),
                Line("`json-10000`", &[("name", "json-10000")]),
                Line("`xml-500k`", &[("name", "xml-500k")]),
                Line("`header-quotes-8k`", &[("name", "header-quotes-8k")]),
                Line("`value-entities`", &[("name", "value-entities")]),
                Line("`value-percent`", &[("name", "value-percent")]),
                Line("`value-comments`", &[("name", "value-comments")]),
                Line("`value-backslashes`", &[("name", "value-backslashes")]),
                Line("`value-base64`", &[("name", "value-base64")]),
                Line("`value-links`", &[("name", "value-links")]),
                Line("`value-sql`", &[("name", "value-sql")]),
                Line("`value-having`", &[("name", "value-having")]),
            ],
        }],
    },
    Table {
        name: "signature",
        title: "",
        columns: CPU,
        parts: &[Part {
            record: "signature",
            list: "rows",
            lines: &[
                Line("bare nginx", &[("name", "nginx")]),
                Line("Weir, sorted tokens", &[("name", "weir-sorted-tokens")]),
                Line("the same with 1,000 selectors", &[("name", "weir-sorted-tokens-1000")]),
                Line("Weir, `hmac_auth`", &[("name", "weir-hmac")]),
                Line("Weir, RFC 9421, hmac-sha256", &[("name", "weir-rfc9421-hmac")]),
                Line("Weir, RFC 9421, ed25519", &[("name", "weir-rfc9421-ed25519")]),
                Line("Weir, JWT, HS256", &[("name", "weir-jwt")]),
                Line("Lua, sorted tokens, `table.sort`", &[("name", "lua-table-sort")]),
                Line("Lua, Shell sort", &[("name", "lua-shell-sort")]),
                Line("Lua, smoothsort", &[("name", "lua-smooth-sort")]),
            ],
        }],
    },
    Table {
        name: "inspect",
        title: "",
        columns: &[
            Column("0 %", &[("share", "0")], Cell::Cpu),
            Column("50 %", &[("share", "50")], Cell::Cpu),
            Column("100 %", &[("share", "100")], Cell::Cpu),
            Column("of `auth_request`'s, 100 %", &[("share", "100")], Cell::Ratio("/of_auth_request/median")),
        ],
        parts: &[Part {
            record: "inspect",
            list: "rows",
            lines: &[
                Line("bare nginx, which asks nobody", &[("name", "nginx")]),
                Line("Weir without inspectors", &[("name", "weir")]),
                Line("nginx's `auth_request`", &[("name", "auth-request")]),
                Line("Weir, forward-auth", &[("name", "weir-forward-auth")]),
                Line("Weir, own protocol", &[("name", "weir-own")]),
                Line("Lua, cosockets", &[("name", "lua-sequential")]),
                Line("Weir, own protocol, two services", &[("name", "weir-own-2")]),
                Line("Lua, two services in sequence", &[("name", "lua-sequential-2")]),
                Line("Lua, two services in parallel", &[("name", "lua-parallel-2")]),
            ],
        }],
    },
    Table {
        name: "two-slow",
        title: "two services",
        columns: &[
            Column("both answer after 80 ms (ms)", &[("case", "answered")], Cell::Number("added_ms")),
            Column("neither answers, deadline of 80 ms (ms)", &[("case", "timed-out")], Cell::Number("added_ms")),
        ],
        parts: &[Part {
            record: "inspect",
            list: "two-slow",
            lines: &[
                Line("Weir, own protocol", &[("name", "weir-own-2")]),
                Line("Weir, forward-auth", &[("name", "weir-forward-auth-2")]),
                Line("Lua, in sequence", &[("name", "lua-sequential-2")]),
                Line("Lua, in parallel", &[("name", "lua-parallel-2")]),
            ],
        }],
    },
];
