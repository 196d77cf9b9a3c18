//! Every key of the configuration.

use weir_policy::table::{Key, Kind, Need, Resource, Word, form};

use super::model::{MAX_COUNTERS, MAX_DETECTORS, MAX_TENANTS};

/// Longest window: a day, as for rates in policies.
const DAY_MS: u64 = 86_400_000;

const fn key(name: &'static str, kind: Kind, need: Need, doc: &'static str) -> Key {
    Key { name, kind, need, doc }
}

const fn resource(name: &'static str, article: &'static str, doc: &'static str, keys: &'static [Key]) -> Resource {
    Resource { name, article, doc, keys, short: None, one_of: &[] }
}

/// The whole file.
pub static ROOT: Resource = resource(
    "inspector",
    "a configuration",
    "The configuration of `weir inspector`.",
    &[
        key(
            "listen",
            Kind::AtMost(&Kind::List(&Kind::Form(&form::ADDRESS), true), 16),
            Need::Required,
            "The addresses for gateways: `host:port` or `unix:/path`.",
        ),
        key("tls", Kind::Resource(&TLS), Need::Default("no TLS"), "TLS on all TCP addresses."),
        key("token", Kind::Resource(&SECRET), Need::Default("none"), "The secret that gateways send."),
        key(
            "insecure",
            Kind::Flag,
            Need::Value("false"),
            "Allows an address that other machines can reach without TLS and without a token.",
        ),
        key("metrics", Kind::Form(&form::ADDRESS), Need::Default("none"), "The address of `/metrics` and `/health`."),
        key("connections", Kind::Integer(1, 65_536), Need::Value("1024"), "The largest number of connections."),
        key(
            "in_flight",
            Kind::Integer(1, 65_536),
            Need::Value("1024"),
            "The largest number of questions of one connection that are answered at once.",
        ),
        key(
            "detectors",
            Kind::AtMost(&Kind::Map(&Kind::Word(Word::Id), &Kind::Resource(&DETECTOR)), MAX_DETECTORS),
            Need::Required,
            "The detectors by name.",
        ),
        key(
            "tenants",
            Kind::AtMost(&Kind::Map(&Kind::Word(Word::Id), &Kind::Resource(&TENANT)), MAX_TENANTS),
            Need::Default("any tenant has all detectors"),
            "The known tenants by name.",
        ),
    ],
);

static TLS: Resource = resource(
    "tls",
    "`tls`",
    "Certificate and key.",
    &[
        key("certificate", Kind::File, Need::Required, "Certificates (PEM), the server's first."),
        key("key", Kind::File, Need::Required, "The private key (PEM)."),
    ],
);

static SECRET: Resource = Resource {
    one_of: &["value", "env", "file"],
    ..resource(
        "token",
        "`token`",
        "A secret.",
        &[
            key("value", Kind::Text, Need::Default("none"), "The secret itself."),
            key("env", Kind::Text, Need::Default("none"), "The name of a variable of the environment."),
            key("file", Kind::File, Need::Default("none"), "A file that contains it."),
        ],
    )
};

static TENANT: Resource = resource(
    "tenant",
    "a tenant",
    "What holds for a tenant.",
    &[key(
        "detectors",
        Kind::Map(&Kind::Word(Word::Id), &Kind::Choice(&[("on", "asked"), ("off", "lets everything pass")])),
        Need::Default("all are on"),
        "Detectors that are switched on or off.",
    )],
);

/// A detector: the keys of all kinds.
pub static DETECTOR: Resource = resource(
    "detector",
    "a detector",
    "A detector; which keys it has depends on its kind.",
    &[
        key(
            "kind",
            Kind::Choice(&[
                ("rules", "policies"),
                ("counters", "limits by expressions"),
                ("risk", "a policy over counters"),
                ("ext_authz", "a server that speaks Envoy's ext_authz"),
            ]),
            Need::Required,
            "Its kind.",
        ),
        key("policy", Kind::File, Need::Default("none"), "The policy file (`rules`, `risk`)."),
        key(
            "apply",
            Kind::List(&Kind::Word(Word::Id), true),
            Need::Default("all"),
            "The policies of the file that are evaluated, in this order (`rules`, `risk`).",
        ),
        key(
            "bounds",
            Kind::Choice(&[("closed", "refuses it"), ("open", "lets it pass")]),
            Need::Value("closed"),
            "What is done with a request that rules cannot read completely (`rules`, `risk`).",
        ),
        key(
            "limits",
            Kind::AtMost(&Kind::List(&Kind::Resource(&LIMIT), true), MAX_COUNTERS),
            Need::Default("none"),
            "The limits (`counters`).",
        ),
        key(
            "counters",
            Kind::AtMost(&Kind::List(&Kind::Resource(&COUNTER), true), MAX_COUNTERS),
            Need::Default("none"),
            "The counters that the policy reads as `inspector.counters[\"ID\"]` (`risk`).",
        ),
        key(
            "thresholds",
            Kind::AtMost(&Kind::List(&Kind::Resource(&THRESHOLD), true), MAX_COUNTERS),
            Need::Default("none"),
            "Answers by score (`risk`).",
        ),
        key(
            "keys",
            Kind::Integer(1, 10_000_000),
            Need::Value("100000"),
            "The largest number of keys of each counter in memory (`counters`, `risk`).",
        ),
        key(
            "redis",
            Kind::Resource(&REDIS),
            Need::Default("counters are in memory"),
            "A server that counts for several services (`counters`, `risk`).",
        ),
        key("endpoint", Kind::Text, Need::Default("none"), "`http://host:port` of the server (`ext_authz`)."),
        key("with_body", Kind::Flag, Need::Value("false"), "Whether the server gets the body (`ext_authz`)."),
        key(
            "timeout",
            Kind::Duration(1, 60_000),
            Need::Value("1s"),
            "How long the server may take, if the gateway does not wait for less (`ext_authz`).",
        ),
    ],
);

/// Keys of each kind, with those that it needs first; the number is how many.
pub const KINDS: [(&str, usize, &[&str]); 4] = [
    ("rules", 1, &["policy", "apply", "bounds"]),
    ("counters", 1, &["limits", "keys", "redis"]),
    ("risk", 2, &["policy", "counters", "apply", "bounds", "thresholds", "keys", "redis"]),
    ("ext_authz", 1, &["endpoint", "with_body", "timeout"]),
];

const ID: Key = key("id", Kind::Word(Word::Id), Need::Required, "The id, unique in the detector.");
const WHEN: Key = key("when", Kind::Condition, Need::Default("every request"), "The requests that are counted.");
const KEY: Key = key("key", Kind::Value, Need::Required, "What requests are counted by, such as `ip.src`.");
const DISTINCT: Key = key(
    "distinct",
    Kind::Value,
    Need::Default("requests are counted"),
    "Counts the different values of this expression instead of requests.",
);
const IPV6_PREFIX: Key =
    key("ipv6_prefix", Kind::Integer(1, 128), Need::Value("64"), "Bits of IPv6 addresses that are counted together.");

static COUNTER: Resource = resource(
    "counter",
    "a counter",
    "Counts requests in a sliding window.",
    &[
        ID,
        WHEN,
        KEY,
        DISTINCT,
        IPV6_PREFIX,
        key("window", Kind::Duration(1000, DAY_MS), Need::Required, "The length of the window."),
    ],
);

static LIMIT: Resource = resource(
    "limit",
    "a limit",
    "Counts requests in a sliding window, and answers beyond a number.",
    &[
        ID,
        WHEN,
        KEY,
        DISTINCT,
        IPV6_PREFIX,
        key("rate", Kind::Rate, Need::Required, "What may be counted in a window: `100/10s`."),
        key(
            "answer",
            Kind::Resource(&ANSWER),
            Need::Default("`{advice: refuse, status: 429}`"),
            "The answer beyond the limit.",
        ),
    ],
);

static THRESHOLD: Resource = resource(
    "threshold",
    "a threshold",
    "The answer from a score on.",
    &[
        key("score", Kind::Integer(1, 1_000_000), Need::Required, "The score."),
        key("answer", Kind::Resource(&ANSWER), Need::Required, "The answer."),
    ],
);

static ANSWER: Resource = Resource {
    short: Some("advice"),
    ..resource(
        "answer",
        "an answer",
        "What the gateway is told. The advice alone is the short form.",
        &[
            key(
                "advice",
                Kind::Choice(&[
                    ("refuse", "the request is answered with `status`"),
                    ("detect", "the request goes on, and is logged"),
                    ("pass", "the request goes on, with the score and the tags"),
                ]),
                Need::Value("refuse"),
                "What is to become of the request.",
            ),
            key("status", Kind::Integer(200, 599), Need::Default("429 of a limit, 403 of a threshold"), "The status."),
            key("body", Kind::Text, Need::Value(""), "The body."),
            key(
                "headers",
                Kind::Map(&Kind::HeaderName, &Kind::HeaderValue),
                Need::Default("none"),
                "Header fields of the response.",
            ),
            key("score", Kind::Integer(0, 1_000_000), Need::Value("0"), "What is added to the score."),
            key("tags", Kind::List(&Kind::Word(Word::Id), true), Need::Default("none"), "Tags for later rules."),
        ],
    )
};

static REDIS: Resource = Resource {
    short: Some("url"),
    ..resource(
        "redis",
        "`redis`",
        "Redis or Valkey. The URL alone is the short form.",
        &[
            key("url", Kind::Text, Need::Required, "`redis://user:password@host:port/database`."),
            key("timeout", Kind::Duration(1, 10_000), Need::Value("10ms"), "How long an answer is waited for."),
            key("prefix", Kind::Text, Need::Value("weir"), "What the names of keys begin with."),
        ],
    )
};
