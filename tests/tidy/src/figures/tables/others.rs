//! Tables of messages, live changes, agents, diagnosis, profiling and nginx's own tests.

use super::super::cell::Cell;
use super::super::table::{Column, Line, Part, Table};

pub(super) static TABLES: &[Table] = &[
    Table {
        name: "messages",
        title: "",
        columns: &[
            Column("median (µs)", &[], Cell::Number("p50_us")),
            Column("99th percentile (µs)", &[], Cell::Number("p99_us")),
            Column("ratio to the floor", &[], Cell::Ratio("ratio")),
            Column("rounds from, to", &[], Cell::Range("ratio_min", "ratio_max")),
        ],
        parts: &[Part {
            record: "messages",
            list: "rows",
            lines: &[
                Line("from process to process and back", &[("name", "worker")]),
                Line("`POST` at one worker to a server-sent event of the other", &[("name", "socket-other-worker")]),
                Line("the same to a WebSocket", &[("name", "socket-other-worker-websocket")]),
                Line("`POST` and server-sent event at one worker", &[("name", "socket-same-worker")]),
                Line(
                    "requests to another route beside 50,000 messages a second (floor: without them; ratio of the 99th percentiles)",
                    &[("name", "data-beside-50000")],
                ),
            ],
        }],
    },
    Table {
        name: "fanout",
        title: "a message to 10,000 subscribers",
        columns: &[
            Column("CPU per delivery (µs)", &[], Cell::Number("cpu_us_per_delivery")),
            Column("ratio to bare writes", &[], Cell::Ratio("ratio")),
            Column("deliveries per CPU second, of nchan's", &[], Cell::Ratio("of_nchan")),
            Column("memory of an idle subscriber (kB)", &[], Cell::Scaled("memory_bytes_per_idle_subscriber", 1e-3)),
        ],
        parts: &[Part {
            record: "messages",
            list: "rows",
            lines: &[
                Line("**Weir**, server-sent events", &[("name", "fanout-10000")]),
                Line("**Weir**, WebSockets", &[("name", "fanout-10000-websocket")]),
                Line("nchan", &[("name", "nchan")]),
                Line("NATS, its own protocol", &[("name", "nats")]),
                Line("Mosquitto, MQTT at QoS 0", &[("name", "mosquitto")]),
                Line("bare nginx, a request that lasts", &[("name", "nginx-open-request")]),
            ],
        }],
    },
    Table {
        name: "probe",
        title: "agent",
        columns: &[
            Column("CPU time", &[], Cell::Fine("cpu_ratio")),
            Column("95 % interval", &[], Cell::FineRange("cpu_ratio_low", "cpu_ratio_high")),
            Column("start-up", &[], Cell::Ratio("startup_ratio")),
            Column("µs an order", &[], Cell::Number("cpu_us_per_request")),
            Column("forks", &[], Cell::Number("forks")),
        ],
        parts: &[Part {
            record: "probe",
            list: "rows",
            lines: &[
                Line("none", &[("name", "none")]),
                Line("**the probe, silent**", &[("name", "silent")]),
                Line("**the probe, armed**", &[("name", "armed")]),
                Line("**the probe, armed, every tenth order is shadow traffic**", &[("name", "shadow-10")]),
                Line("LinkAgent after its optimisation (`linkagent-after`)", &[("name", "linkagent-after")]),
                Line("LinkAgent before it (`linkagent-before`)", &[("name", "linkagent-before")]),
                Line("OpenTelemetry's agent, nothing exported", &[("name", "opentelemetry")]),
            ],
        }],
    },
    Table {
        name: "events",
        title: "",
        columns: &[
            Column("changes per second", &[], Cell::Number("per_second")),
            Column("mean (µs)", &[], Cell::Number("mean_us")),
            Column("99th percentile (µs)", &[], Cell::Number("p99_us")),
            Column("ratio to the floor", &[], Cell::Ratio("ratio")),
            Column("rounds from, to", &[], Cell::Range("ratio_min", "ratio_max")),
        ],
        parts: &[Part {
            record: "events",
            list: "rows",
            lines: &[
                Line("**Weir**, 64 members", &[("name", "change-1")]),
                Line("**Weir**, 10,000 members", &[("name", "change-1@10000")]),
                Line("**Weir**, 1,000 sites", &[("name", "change-1@1000-sites")]),
                Line("**Weir**, 10,000 routes", &[("name", "change-1@10000-routes")]),
                Line("**Weir**, a route's priority among 10,000", &[("name", "route-1@10000-routes")]),
                Line("**Weir**, 64 connections", &[("name", "change-64")]),
                Line("HAProxy, runtime socket, one process", &[("name", "haproxy")]),
                Line("Caddy, admin API, 10 routes", &[("name", "caddy")]),
                Line("Caddy, admin API, 1,000 routes", &[("name", "caddy@1000")]),
                Line(
                    "`nginx -s reload`, 1,000 servers, until the last answer of the old configuration",
                    &[("name", "nginx-reload")],
                ),
                Line("requests through the gateway, no changes", &[("name", "traffic-quiet")]),
                Line("the same beside 2,000 changes a second", &[("name", "traffic-2000")]),
            ],
        }],
    },
    Table {
        name: "diagnosis",
        title: "planted fault",
        columns: &[
            Column("requests/s relative to the healthy proxy", &[], Cell::Ratio("rps_ratio")),
            Column("CPU per request (µs)", &[], Cell::Cpu),
            Column("finding", &[], Cell::Names("diagnoses")),
        ],
        parts: &[Part {
            record: "no-keepalive",
            list: "rows",
            lines: &[
                Line("none: the upstream alone", &[("case", "direct")]),
                Line("no `keepalive` in the upstream block", &[("case", "no-keepalive")]),
                Line("none: a healthy proxy", &[("case", "keepalive")]),
                Line("built with `-O0`", &[("case", "O0")]),
                Line("built with `-O1`", &[("case", "O1")]),
            ],
        }],
    },
    Table {
        name: "profile",
        title: "",
        columns: &[
            Column("CPU per request, ratio", &[], Cell::Fine("overhead_ratio")),
            Column("95 % interval", &[], Cell::Range("overhead_low", "overhead_high")),
            Column("profiler's own CPU (% of a core)", &[], Cell::Scaled("own_cpu", 100.0)),
            Column("profiler's memory (MiB)", &[], Cell::Number("rss_mb")),
        ],
        parts: &[Part {
            record: "profile",
            list: "rows",
            lines: &[
                Line("no profiler", &[("profiler", "none")]),
                Line("no profiler, again", &[("profiler", "none-again")]),
                Line("`weir profile` at 99 Hz", &[("profiler", "weir")]),
                Line("`perf record --call-graph dwarf` at 99 Hz", &[("profiler", "perf-dwarf")]),
            ],
        }],
    },
    Table {
        name: "nginx-tests",
        title: "configuration",
        columns: &[
            Column("files passed", &[], Cell::Number("pass")),
            Column("failed", &[], Cell::Number("fail")),
            Column("skipped", &[], Cell::Number("skip")),
            Column("differ from nginx alone", &[], Cell::Number("differs")),
        ],
        parts: &[
            Part { record: "nginx-tests", list: "bare", lines: &[Line("nginx alone", &[])] },
            Part {
                record: "nginx-tests",
                list: "weir",
                lines: &[Line("`weir`: rules that only detect, CRS with response bodies", &[])],
            },
            Part {
                record: "nginx-tests",
                list: "body",
                lines: &[Line("`body`: rules that read every body and may refuse it", &[])],
            },
            Part {
                record: "nginx-tests",
                list: "held",
                lines: &[Line("`held`: CRS with response bodies, which may refuse them", &[])],
            },
            Part { record: "nginx-tests", list: "gateway", lines: &[Line("`gateway`", &[])] },
        ],
    },
];
