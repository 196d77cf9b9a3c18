//! CrowdSec's local API: where control takes decisions from. The keys are read by control alone, and go to no worker.

use weir_policy::table::{Form, Key, Kind, Need, Resource, SECRET, form};

use super::super::DAY_MS;

/// Most origins that are named.
const MAX_ORIGINS: usize = 64;

static URL: Form = Form {
    name: "URL",
    describe: "a URL without user, query and fragment, such as http://127.0.0.1:8080",
    pattern: r"^https?://[^\s/?#@]+(/[^\s?#]*)?$",
    max_bytes: form::MAX_PATH_BYTES,
    check: |text| {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let rest = rest.ok_or(Some("it begins with http:// or https://"))?;
        let host = rest.split('/').next().unwrap_or_default();
        let is_plain = !rest.contains(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c));
        if is_plain && !host.is_empty() && !host.contains('@') { Ok(()) } else { Err(None) }
    },
};

static ORIGIN: Form = Form { name: "origin", describe: "an origin: one line of text", ..form::CREDENTIAL_ID };

/// The settings of CrowdSec.
pub(super) static CROWDSEC: Resource = Resource {
    name: "crowdsec",
    article: "the settings of CrowdSec",
    doc: "CrowdSec's local API. Its decisions about addresses and ranges become bans, which rules see in `ip.ban`.",
    short: None,
    one_of: &[],
    keys: &[
        Key { name: "url", kind: Kind::Form(&URL), need: Need::Required, doc: "Its address. Proxies are not asked." },
        Key {
            name: "key",
            kind: Kind::Resource(&SECRET),
            need: Need::Required,
            doc: "The key of a bouncer, as `cscli bouncers add weir` prints it.",
        },
        Key {
            name: "every",
            kind: Kind::Duration(1_000, DAY_MS),
            need: Need::Default("10s"),
            doc: "How often it is asked for new decisions.",
        },
        Key {
            name: "origins",
            kind: Kind::AtMost(&Kind::List(&Kind::Form(&ORIGIN), true), MAX_ORIGINS),
            need: Need::Default("all"),
            doc: "Only decisions of these origins, such as `crowdsec`, `cscli`, `CAPI` or `lists`.",
        },
        Key {
            name: "unknown",
            kind: Kind::Choice(&[
                ("ban", "they are bans"),
                ("captcha", "they ask for a captcha"),
                ("throttle", "they slow down"),
                ("other", "they are `other`"),
            ]),
            need: Need::Default("ban"),
            doc: "What decisions of other types than `ban`, `captcha` and `throttle` come to.",
        },
    ],
};
