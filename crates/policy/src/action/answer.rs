//! The answer that `block` and `rate_limit` give: the keys that they share.

use std::sync::Arc;

use weir_engine::Response;

use crate::build::Builder;
use crate::check::{Fields, Value};
use crate::table::{Key, Kind, Need};

pub(super) const BODY: Key = Key {
    name: "body",
    kind: Kind::Text,
    need: Need::Default("nginx's own page for the status; `error_page` applies"),
    doc: "Body of the answer.",
};

pub(super) const CONTENT_TYPE: Key = Key {
    name: "content_type",
    kind: Kind::HeaderValue,
    need: Need::Default("text/plain; charset=utf-8"),
    doc: "`Content-Type` of the body.",
};

pub(super) const HEADERS: Key = Key {
    name: "headers",
    kind: Kind::Map(&Kind::HeaderName, &Kind::HeaderValue),
    need: Need::Default("none"),
    doc: "Additional header fields of the answer.",
};

/// Status codes whose answers have no body (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).
const BODILESS: &[u16] = &[204, 205, 304];

/// The answer from `status`, `body`, `content_type` and `headers`.
pub(super) fn response(fields: &Fields<'_>, builder: &mut Builder<'_>, status: u16) -> Option<Arc<Response>> {
    let status = fields.integer("status").map_or(Some(status), |status| u16::try_from(status).ok())?;
    let body = fields.text("body").unwrap_or_default();
    let content_type = fields.text("content_type");
    if let Some(item) = fields.get("body").filter(|_| BODILESS.contains(&status)) {
        builder.fault(item.node, format!("an answer with status {status} has no body"), None);
    }
    if let (Some(node), None) = (fields.key_node("content_type"), fields.key_node("body")) {
        builder.fault(node, "`content_type` without `body`", Some("nginx's own page has its own type".to_owned()));
    }
    let mut headers = Vec::new();
    for (node, name, item) in fields.map("headers") {
        if name.eq_ignore_ascii_case("content-type") {
            let hint = "give the type of the body as `content_type`".to_owned();
            builder.fault(node, "`Content-Type` is not set among the headers", Some(hint));
        }
        if let Value::Text(value) = item.value {
            headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
    }
    let content_type = if body.is_empty() { "" } else { content_type.unwrap_or("text/plain; charset=utf-8") };
    Some(Arc::new(Response { status, body: body.into(), content_type: content_type.into(), headers }))
}
