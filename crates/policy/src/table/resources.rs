//! The rows: every resource but the actions, which bring their own (`action/`).

use super::{Key, Kind, Need, Resource, Word, form};

/// Highest score of one rule.
pub const MAX_SCORE: i64 = 1_000_000;

/// The key of [`CLIENT_ADDRESS`], in a policy file and in a gateway's settings.
pub const CLIENT_ADDRESS_KEY: Key = Key {
    name: "client_address",
    kind: Kind::Resource(&CLIENT_ADDRESS),
    need: Need::Default("the address of the connection"),
    doc: "The trusted sources of the client's address (`ip.src`).",
};

/// The key of [`GEO`], in a policy file and in a gateway's settings.
pub const GEO_KEY: Key = Key {
    name: "geo",
    kind: Kind::Resource(&GEO),
    need: Need::Default("no geographic data"),
    doc: "The data for `ip.src.country`, `ip.src.continent` and `ip.src.asnum`.",
};

/// The whole file.
pub static ROOT: Resource = Resource {
    name: "file",
    article: "a policy file",
    doc: "The complete file: the policies, and the lists and data that their expressions use.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "revision",
            kind: Kind::Word(Word::Revision),
            need: Need::Default("a hash of everything loaded"),
            doc: "The name of this version of the policy, for logs and `weir status`.",
        },
        CLIENT_ADDRESS_KEY,
        GEO_KEY,
        Key {
            name: "lists",
            kind: Kind::Map(&Kind::Word(Word::List), &Kind::Resource(&LIST)),
            need: Need::Default("none"),
            doc: "Named lists, for expressions such as `ip.src in $office`.",
        },
        Key {
            name: "rule_sets",
            kind: Kind::Map(
                &Kind::Id(weir_gateway::resource::ResourceKind::RuleSets),
                &Kind::Resource(&RULE_SET_DOCUMENT),
            ),
            need: Need::Default("none"),
            doc: "Named rule sets, for the action `rule_set: {set: NAME}`.",
        },
        Key {
            name: "consumers",
            kind: Kind::Map(
                &Kind::Id(weir_gateway::resource::ResourceKind::Consumers),
                &Kind::Resource(&super::CONSUMER),
            ),
            need: Need::Default("none"),
            doc: "Known senders of requests with their credentials, for the actions `key_auth`, `jwt` and `verify_signature`.",
        },
        Key {
            name: "inspectors",
            kind: Kind::Map(
                &Kind::Id(weir_gateway::resource::ResourceKind::Inspectors),
                &Kind::Resource(&super::INSPECTOR),
            ),
            need: Need::Default("none"),
            doc: "Remote detectors, for the action `inspect`.",
        },
        Key {
            name: "policies",
            kind: Kind::List(&Kind::Resource(&POLICY), true),
            need: Need::Required,
            doc: "The policies, evaluated in this order; `weir_apply` selects some of them by id, in an order of its own. At most 64.",
        },
    ],
};

/// Trusted proxies.
pub static CLIENT_ADDRESS: Resource = Resource {
    name: "client_address",
    article: "`client_address`",
    doc: "How the client's address is determined behind proxies. The header is read from its end; the first address that is not trusted is the client.",
    short: None,
    one_of: &[],
    keys: &[
        Key {
            name: "trusted",
            kind: Kind::List(&Kind::Network, true),
            need: Need::Required,
            doc: "The addresses of trusted proxies. From any other peer, the header is ignored.",
        },
        Key {
            name: "from",
            kind: Kind::Choice(&[
                ("x-forwarded-for", "the `X-Forwarded-For` header"),
                ("forwarded", "the `Forwarded` header (RFC 7239)"),
                ("proxy_protocol", "the PROXY protocol line, which needs `listen ... proxy_protocol`"),
            ]),
            need: Need::Default("x-forwarded-for"),
            doc: "Where the proxies put the address.",
        },
    ],
};

/// Geographic data.
pub static GEO: Resource = Resource {
    name: "geo",
    article: "`geo`",
    doc: "MMDB files with geographic data. A file alone (`geo: FILE`) is short for `{country: FILE}`.",
    short: Some("country"),
    one_of: &[],
    keys: &[
        Key {
            name: "country",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "A Country or City database: `country.iso_code` and `continent.code`.",
        },
        Key {
            name: "asn",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "An ASN database: `autonomous_system_number`.",
        },
        REFRESH,
    ],
};

/// A named list.
pub static LIST: Resource = Resource {
    name: "list",
    article: "a list",
    doc: "A named list: either the entries, under the key of their type, or `kind` and `file`.",
    short: None,
    one_of: &["addresses", "strings", "integers", "file"],
    keys: &[
        Key {
            name: "addresses",
            kind: Kind::List(&Kind::Network, false),
            need: Need::Default("none"),
            doc: "Addresses and networks.",
        },
        Key {
            name: "strings",
            kind: Kind::List(&Kind::Text, false),
            need: Need::Default("none"),
            doc: "Texts, compared as a whole and case-sensitively.",
        },
        Key {
            name: "integers",
            kind: Kind::List(&Kind::Integer(i64::MIN, i64::MAX), false),
            need: Need::Default("none"),
            doc: "Integers.",
        },
        Key {
            name: "kind",
            kind: Kind::Choice(&[
                ("addresses", "addresses and networks"),
                ("strings", "texts"),
                ("integers", "integers"),
            ]),
            need: Need::Default("none"),
            doc: "The type of the lines of `file`.",
        },
        Key {
            name: "file",
            kind: Kind::File,
            need: Need::Default("none"),
            doc: "A file with one entry per line; empty lines and lines that begin with `#` are skipped. At most 10,000,000 entries.",
        },
        REFRESH,
    ],
};

/// When a gateway looks at a data file again.
const REFRESH: Key = Key {
    name: "refresh",
    kind: Kind::Form(&form::REFRESH),
    need: Need::Value("on_change"),
    doc: "When a gateway takes a file anew: `on_change`, `manual` (only at `weir refresh`, `weir apply` and changes of this resource), or an interval such as `15m`. Each refresh is a revision. A file that is missing or has errors changes nothing. A policy file is only read by nginx, when it starts or reloads.",
};

/// When a gateway looks at rule files again. A set of rules that is being replaced is not whole for a while, and may be
/// valid all the same.
const REFRESH_RULES: Key = Key {
    name: "refresh",
    kind: Kind::Form(&form::REFRESH),
    need: Need::Value("manual"),
    doc: "When a gateway takes the rule files anew that this names; see `refresh` of lists.",
};

/// Whether a policy acts.
pub const MODE: Key = Key {
    name: "mode",
    kind: Kind::Choice(&[("on", "actions are carried out"), ("detect", "findings state what would have been done")]),
    need: Need::Default("on"),
    doc: "Whether actions are carried out.",
};

/// Whether a policy reads compressed bodies.
pub const INFLATE: Key = Key {
    name: "inflate",
    kind: Kind::Flag,
    need: Need::Value("false"),
    doc: "Whether rules read what `gzip` and `deflate` request bodies (`Content-Encoding`) contain, up to `weir_body_limit`. Otherwise such a body has the anomaly `invalid_content_encoding`. The upstream gets the body as it came.",
};

/// The selectors of a policy.
pub const SELECTORS: Key = Key {
    name: "selectors",
    kind: Kind::List(&Kind::Resource(&SELECTOR), true),
    need: Need::Default("one, `default`, with `rules`"),
    doc: "Parts of the traffic, each with its own rules.",
};

/// The rules of a policy without selectors.
pub const RULES: Key = Key {
    name: "rules",
    kind: Kind::List(&Kind::Resource(&RULE), true),
    need: Need::Default("none"),
    doc: "Rules for all traffic, instead of `selectors`.",
};

/// Rules in SecLang under an id.
pub static RULE_SET_DOCUMENT: Resource = Resource {
    name: "rule_set_document",
    article: "a rule set",
    doc: "Named SecLang rules, for the action [rule_set](#rule_set) (`rule_set: {set: NAME}`): either the text or files.",
    short: None,
    one_of: &["rules", "files"],
    keys: &[
        Key {
            name: "rules",
            kind: Kind::Form(&form::SECLANG),
            need: Need::Default("`files`"),
            doc: "The rules. Files that they `Include` are also read.",
        },
        Key {
            name: "files",
            kind: Kind::List(&Kind::File, true),
            need: Need::Default("`rules`"),
            doc: "Files with the rules, in this order; names may contain `*` and `?`.",
        },
        REFRESH_RULES,
    ],
};

/// A policy.
pub static POLICY: Resource = Resource {
    name: "policy",
    article: "a policy",
    doc: "A policy, which nginx applies by name. It has either `selectors`, or `rules` for all traffic.",
    short: None,
    one_of: &["rules", "selectors"],
    keys: &[
        Key {
            name: "id",
            kind: Kind::Word(Word::Id),
            need: Need::Required,
            doc: "The name of the policy, unique in the file, for `weir_apply` and the logs. `none` is reserved.",
        },
        MODE,
        INFLATE,
        REFRESH_RULES,
        SELECTORS,
        RULES,
    ],
};

/// A selector.
pub static SELECTOR: Resource = Resource {
    name: "selector",
    article: "a selector",
    doc: "A part of the traffic, and the rules for it.",
    short: None,
    one_of: &[],
    keys: &[
        Key { name: "id", kind: Kind::Word(Word::Id), need: Need::Required, doc: "The name, unique in its policy." },
        Key { name: "when", kind: Kind::Condition, need: Need::Default("all traffic"), doc: "Selects the traffic." },
        Key {
            name: "rules",
            kind: Kind::List(&Kind::Resource(&RULE), true),
            need: Need::Required,
            doc: "The rules, evaluated in this order.",
        },
    ],
};

/// A rule.
pub static RULE: Resource = Resource {
    name: "rule",
    article: "a rule",
    doc: "A condition, and the actions for requests that match it.",
    short: None,
    one_of: &["actions", "action"],
    keys: &[
        Key {
            name: "id",
            kind: Kind::Word(Word::Id),
            need: Need::Required,
            doc: "The name of the rule, unique in the file, for the logs and `weir cost`.",
        },
        Key { name: "when", kind: Kind::Condition, need: Need::Required, doc: "The condition for a match." },
        Key {
            name: "message",
            kind: Kind::Text,
            need: Need::Default("empty"),
            doc: "A description of the finding, for readers of the attack log.",
        },
        Key {
            name: "score",
            kind: Kind::Integer(0, MAX_SCORE),
            need: Need::Default("0"),
            doc: "The score that a match adds to that of the request.",
        },
        Key {
            name: "actions",
            kind: Kind::List(&Kind::Action, true),
            need: Need::Default("`action`"),
            doc: "The actions on a match, in this order. Either `actions` or `action` is required.",
        },
        Key {
            name: "action",
            kind: Kind::Action,
            need: Need::Default("`actions`"),
            doc: "Short for `actions` with one action.",
        },
    ],
};

/// Rules, or targets of rules, that a rule set leaves out.
pub static EXCLUSION: Resource = Resource {
    name: "exclusion",
    article: "an exclusion",
    doc: "An exclusion from a rule set: complete rules or, with `target`, only one of the values that they inspect. Either `rule` or `tag` is required. Exclusions do not change the compiled rule set, so each site can have its own.",
    short: None,
    one_of: &["rule", "tag"],
    keys: &[
        Key {
            name: "rule",
            kind: Kind::RuleIds,
            need: Need::Default("none"),
            doc: "Rule ids: `942100`, a range such as `942100-942199`, or a list of both.",
        },
        Key {
            name: "tag",
            kind: Kind::Text,
            need: Need::Default("none"),
            doc: "A tag of the rules, such as `attack-sqli`.",
        },
        Key {
            name: "target",
            kind: Kind::Text,
            need: Need::Default("the whole rule"),
            doc: "The only target to exclude, in SecLang notation: `ARGS:comment`, `REQUEST_COOKIES:/^track/`, `REQUEST_HEADERS:Referer`.",
        },
        Key {
            name: "when",
            kind: Kind::Condition,
            need: Need::Default("all requests"),
            doc: "The condition for requests to which the exclusion applies. It is evaluated when the rule set starts, so it may read only what is known before the body.",
        },
    ],
};

/// A policy under its id.
pub static POLICY_DOCUMENT: Resource = Resource {
    name: "policy_document",
    article: "a policy",
    doc: "A policy as in the policy file, but without `id`, which is its key.",
    short: None,
    one_of: &["rules", "selectors"],
    keys: &[MODE, INFLATE, REFRESH_RULES, SELECTORS, RULES],
};
