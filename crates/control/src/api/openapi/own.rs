//! Schemas of control's own responses: problems, changes, revisions, workers.

use serde_json::{Map, Value, json};
use weir_bans::Remedy;

/// All schemas, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let any = || json!({"type": "object"});
    // Documents have short forms that are not objects.
    let documents = json!({"type": "object", "additionalProperties": {}});
    let schemas = [
        ("Problem", problem()),
        ("Fault", fault()),
        ("Change", change()),
        ("ChangeOfWorker", change_of_worker()),
        ("Transaction", transaction()),
        ("Message", message()),
        ("Revision", object(&["revision", "time_ms", "actor"], revision())),
        ("Revisions", object(&["revisions"], json!({"revisions": list(reference("Revision"))}))),
        ("Diff", diff()),
        ("State", json!({"type": "object", "additionalProperties": documents, "properties": {"settings": any()}})),
        ("Files", json!({"type": "object", "additionalProperties": file()})),
        ("Workers", workers()),
        ("Audit", any()),
        ("Ban", ban()),
        ("Bans", object(&["bans", "total"], json!({"bans": list(reference("Ban")), "total": number()}))),
        ("NewBan", new_ban()),
        ("Probes", object(&["probes"], json!({"probes": list(any())}))),
        ("Probe", any()),
        ("ProbeCost", object(&["window_s", "cpu_ns", "requests", "points"], probe_cost())),
        ("NewProbe", new_probe()),
        ("ProbeRegistered", object(&["id"], json!({"id": text(), "shadow": any(), "shadow_revision": number()}))),
        ("ProbeAction", probe_action()),
        (
            "Shadow",
            object(&["revision", "shadow"], json!({"revision": number(), "shadow": any(), "revisions": list(any())})),
        ),
        ("ShadowChange", object(&["revision", "probes"], json!({"revision": number(), "probes": list(any())}))),
        ("Cost", any()),
        ("CostHistory", object(&["records"], json!({"records": list(any()), "next_ms": number()}))),
        ("Health", any()),
        ("OpenApi", any()),
    ];
    schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// A reference to a schema of the components.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object that may have more than is named: clients must not break when it does.
fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn text_or_null() -> Value {
    json!({"type": ["string", "null"]})
}

/// RFC 9457, with all faults.
fn problem() -> Value {
    let properties = json!({
        "type": text(),
        "title": text(),
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": text(),
        "errors": list(reference("Fault")),
    });
    object(&["type", "title", "status"], properties)
}

fn fault() -> Value {
    let properties = json!({
        "pointer": {"type": "string", "description": "JSON pointer (RFC 6901) that begins with kind and id."},
        "message": text(),
        "expected": text_or_null(),
        "found": text_or_null(),
        "hint": text_or_null(),
    });
    object(&["pointer", "message"], properties)
}

fn change() -> Value {
    let properties = json!({
        "revision": number(),
        "changed": list(text()),
        "workers": list(reference("ChangeOfWorker")),
        "dry_run": {"type": "boolean"},
        "replayed": {
            "type": "boolean", "description": "Whether an earlier request with the same idempotency key made it."
        },
        "warnings": {"type": "array", "items": {}, "description": "What is odd about the change, and refuses nothing."},
    });
    object(&["revision"], properties)
}

fn change_of_worker() -> Value {
    let properties = json!({
        "worker": number(),
        "pid": number(),
        "generation": number(),
        "result": {"type": "string", "enum": ["applied", "pending", "refused", "gone"]},
        "us": {"type": ["integer", "null"], "minimum": 0, "description": "Microseconds since it was published."},
    });
    object(&["worker", "pid", "result"], properties)
}

fn transaction() -> Value {
    let properties = json!({
        "method": {"type": "string", "enum": ["PUT", "PATCH", "POST", "DELETE"]},
        "path": {"type": "string", "pattern": "^/", "description": "Below `/api/v1`, such as `/upstreams/app`."},
        "body": {"description": "Of PUT, PATCH and POST."},
        "if_match": {"type": "string", "description": "As the header."},
    });
    let refresh = json!({
        "description": "Resources whose files are captured anew, beside those that are written: all of them, or these.",
        "anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string", "pattern": "^/"}}],
    });
    json!({
        "type": "object",
        "properties": {
            "changes": list(object(&["method", "path"], properties)),
            "message": {"type": "string", "maxLength": 1024},
            "refresh": refresh,
            "intent": {
                "type": "string",
                "description": "Stands for the body in the comparison of requests with the same idempotency key: for \
                    clients that compute the changes from what they have read.",
            },
        },
        "required": ["changes"],
        "additionalProperties": false,
    })
}

fn file() -> Value {
    object(&["path", "sha256", "size"], json!({"path": text(), "sha256": text(), "size": number()}))
}

fn message() -> Value {
    json!({
        "type": "object",
        "properties": {"message": {"type": "string", "maxLength": 1024}},
        "additionalProperties": false,
    })
}

fn revision() -> Value {
    json!({
        "revision": number(),
        "time_ms": {"type": "integer", "minimum": 0, "description": "Milliseconds since 1970."},
        "actor": text(),
        "message": text_or_null(),
        "changed": list(text()),
    })
}

fn diff() -> Value {
    let mut properties = revision();
    let side = || object(&["count", "lines"], json!({"count": number(), "lines": list(text())}));
    let mut lines = object(&["added", "removed"], json!({"added": side(), "removed": side()}));
    lines["description"] = "Of the file of a list, for the role admin: the first 1,000 lines of each side.".into();
    let change = json!({"path": text(), "old": {}, "new": {}, "lines": lines});
    properties["changes"] = list(object(&["path"], change));
    object(&["revision", "changes"], properties)
}

/// An address, or a network with its prefix length.
pub(super) fn network() -> Value {
    json!({"type": "string", "maxLength": 49, "examples": ["192.0.2.7", "2001:db8::/32"]})
}

fn remedy() -> Value {
    let words: Vec<&str> = Remedy::ALL.iter().map(|remedy| remedy.as_str()).collect();
    json!({"type": "string", "enum": words, "description": "What rules see in `ip.ban`."})
}

fn ban() -> Value {
    let properties = json!({
        "address": network(), "as": remedy(), "until_ms": number(),
        "origin": {"type": "string", "enum": ["operator", "crowdsec"]},
        "reason": text(), "by": text(), "made_ms": number(),
    });
    object(&["address", "as", "until_ms", "origin"], properties)
}

fn new_ban() -> Value {
    let properties = json!({
        "address": network(),
        "for": {"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "description": "A second to 366 days."},
        "as": remedy(),
        "reason": {"type": "string", "maxLength": 256},
    });
    json!({"type": "object", "properties": properties, "required": ["address", "for"], "additionalProperties": false})
}

fn new_probe() -> Value {
    let properties = json!({
        "app": text(), "host": text(), "pid": number(), "token": text(),
        "address": {"type": "string", "description": "An IP address at which control reaches the probe."},
        "port": {"type": "integer", "minimum": 1, "maximum": 65_535},
    });
    object(&["app", "host", "pid", "address", "port", "token"], properties)
}

fn probe_cost() -> Value {
    let point = json!({
        "plugin": text(), "join_point": text(), "calls": number(), "ns_total": number(),
        "traffic": {"type": "string", "enum": ["business", "shadow", "silent"]},
    });
    let points = list(object(&["plugin", "join_point", "traffic", "calls", "ns_total"], point));
    json!({"window_s": {"type": "number"}, "cpu_ns": number(), "requests": number(), "points": points})
}

fn probe_action() -> Value {
    object(
        &[],
        json!({
            "plugin": {"type": "string", "description": "Of silence and wake: only this plugin."},
            "why": text(),
            "off": {"type": "array", "items": text(), "description": "Of mask: the plugins that are silent for a while."},
            "for_ms": {"type": "integer", "minimum": 0, "maximum": 600_000},
        }),
    )
}

fn workers() -> Value {
    let mut worker = json!({"worker": number(), "pid": number(), "state": text(), "applied": number()});
    worker["journal_format"] = json!({
        "type": "integer", "description": "Present if it is not the daemon's: the worker gets no changes until both are of the same version."
    });
    let properties = json!({"revision": number(), "workers": list(object(&["worker", "pid", "state"], worker))});
    object(&["workers"], properties)
}
