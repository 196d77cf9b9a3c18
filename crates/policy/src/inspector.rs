//! Inspectors: from checked keys to what the engine and the workers ask.

use std::sync::Arc;

use weir_inspect::Inspector;
use weir_inspect::breaker::Limits;
use weir_inspect::inspector::{Fail, Mode, Protocol, Remediation, Secret, SentHeaders, Tls};
use weir_rules::ir::ValueExpr;

use crate::build::Builder;
use crate::check::{Fields, Item, Value};
use crate::consumer;
use crate::table::form::{MAX_PEM_BYTES, MAX_SECRET_BYTES};

/// An inspector, and the key under which its answers are remembered.
pub(crate) type Built = (Arc<Inspector>, Option<ValueExpr>);

/// Builds an inspector, or `None` after reporting what is wrong.
pub(crate) fn build(id: &str, fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Built> {
    let protocol = fields.choice_or("protocol");
    let is_http = protocol != "weir";
    for (key, is_right, hint) in [
        ("detector", !is_http, "only `protocol: weir` has detectors; see `path`"),
        ("tenant", !is_http, "only `protocol: weir` has tenants"),
        ("path", is_http, "`protocol: weir` asks a `detector`, not a path"),
        ("unknown", protocol == "crowdsec", "only `protocol: crowdsec` has remediations"),
        ("token", matches!(protocol, "weir" | "crowdsec"), "the service gets what the client has sent"),
    ] {
        if let Some(node) = fields.key_node(key).filter(|_| !is_right) {
            builder.fault(node, format!("`{key}` has no meaning for `protocol: {protocol}`"), Some(hint.to_owned()));
        }
    }
    let protocol = match protocol {
        "forward_auth" => Protocol::ForwardAuth,
        "ext_authz" => Protocol::ExtAuthz,
        "crowdsec" => Protocol::CrowdSec {
            unknown: match fields.choice_or("unknown") {
                "captcha" => Remediation::Captcha,
                "allow" => Remediation::Allow,
                _ => Remediation::Ban,
            },
        },
        _ => Protocol::Weir {
            detector: fields.text("detector").unwrap_or(id).to_owned(),
            tenant: fields.text("tenant").unwrap_or_default().to_owned(),
        },
    };
    for item in fields.items("sets") {
        if matches!(item.value, Value::Text(name) if name.eq_ignore_ascii_case("host")) {
            let hint = "clients' copies of these fields are removed, and no request can do without its host".to_owned();
            builder.fault(item.node, "an inspector cannot set `Host`", Some(hint));
        }
    }
    let is_authority = matches!(protocol, Protocol::ForwardAuth | Protocol::ExtAuthz);
    let is_closed = fields.choice("fail").map_or(is_authority, |fail| fail == "closed");
    let lower = |key: &str| fields.texts(key).into_iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>();
    let mut path = fields.text_or("path").to_owned();
    if protocol == Protocol::ExtAuthz && path.ends_with('/') {
        path.pop(); // the original path begins with one
    }
    let token = match fields.get("token") {
        Some(item) => {
            let text = text(item, "secret", MAX_SECRET_BYTES, builder)?;
            let Some(line) = consumer::one_line(&text) else {
                let hint = "the file has one line, the secret".to_owned();
                builder.fault(item.node, "the secret's file does not hold one line", Some(hint));
                return None;
            };
            Secret(line.into())
        }
        None => Secret::default(),
    };
    let tls = match fields.switch("tls", |fields| tls(fields, builder)) {
        Some(tls) => Some(tls?),
        None => None,
    };
    let (key, remember_ms) = match fields.fields("cache") {
        Some(cache) => (Some(builder.value(cache, "key")?), cache.ms_or("for")),
        None => (None, 0),
    };
    let inspector = Inspector {
        id: id.to_owned(),
        protocol,
        endpoints: fields.texts("endpoints"),
        tls,
        path,
        token,
        deadline_ms: fields.ms_or("deadline") as u32,
        fail: if is_closed { Fail::Closed(fields.status_or("fail_status")) } else { Fail::Open },
        mode: if fields.choice_or("mode") == "observe" { Mode::Observe } else { Mode::Enforce },
        headers: if fields.key_node("headers").is_some() {
            SentHeaders::Listed(lower("headers"))
        } else {
            SentHeaders::All
        },
        body_bytes: fields.bytes_or("body") as usize,
        sets: lower("sets"),
        sample: fields.per_10000_or("sample"),
        remember_ms,
        skips: fields.texts("skip"),
        breaker: fields.fields_or("breaker", |fields| Limits {
            share: fields.per_10000_or("failures"),
            least: fields.u32_or("requests"),
            open_ms: fields.ms_or("open"),
        }),
    };
    Some((Arc::new(inspector), key))
}

/// The text of the file that a value names.
fn text(item: &Item<'_>, what: &'static str, max_bytes: usize, builder: &mut Builder<'_>) -> Option<String> {
    let file = builder.named(item, what, max_bytes as u64 + 2)?;
    let (content, _) = builder.read(&file)?;
    let text = String::from_utf8(content.to_vec()).ok();
    if text.is_none() {
        builder.fault(item.node, format!("the {what} file is not UTF-8"), None);
    }
    text
}

fn tls(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<Tls> {
    let authorities = match fields.get("authorities") {
        None => None,
        Some(item) => {
            let text = text(item, "authorities", MAX_PEM_BYTES, builder)?;
            if !text.contains("-----BEGIN CERTIFICATE-----") {
                builder.fault(item.node, "there is no certificate in this file", None);
                return None;
            }
            Some(text)
        }
    };
    let server_name = fields.text("server_name").map(str::to_owned);
    Some(Tls { verify: fields.flag_or("verify"), authorities, server_name })
}
