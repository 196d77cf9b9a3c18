//! `weir apply`: files say what is wanted; the difference to what is there is shown and applied as one change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_resource::{Fault, ResourceKind, State, reads_alike};

use crate::api::{Api, Method};
use crate::arguments::{Apply, ChangeOptions};
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::{Failure, difference, state_files};

/// Documents by path in the API, such as `upstreams/app`.
type Documents = BTreeMap<String, Value>;

pub(crate) fn run(api: &Api, apply: &Apply) -> Result<(), Failure> {
    let mut files = read(&apply.files)?;
    let style = Style::of(Stream::Err);
    files.warnings().iter().for_each(|warning| eprintln!("{} {warning}", style.yellow("warning:")));
    let wanted = documents(&mut files);
    let (there, revision) = current(api)?;
    let changes = changes(&there, &wanted, apply.prune);
    let unchanged = unchanged(&wanted, &changes);
    let ChangeOptions { expect, idempotency_key, .. } = &apply.options;
    if changes.is_empty() && unchanged.is_empty() && expect.is_none() && idempotency_key.is_none() {
        return say("nothing to change", apply.options.json);
    }
    if !apply.options.json && !changes.is_empty() {
        print!("{}", shown(&there, &changes));
    }
    let mut body = transaction(&changes);
    // Their files may have changed.
    body["refresh"] = json!(unchanged);
    // What is sent depends on what the gateway has; repeated with the same key, it may be something else.
    let intent = json!({"wanted": wanted, "prune": apply.prune}).to_string();
    body["intent"] = weir_control::key_hash(&intent).into();
    let mut options = apply.options.clone();
    if options.dry_run {
        // What was shown is the difference to this revision.
        options.expect = options.expect.or(revision);
    }
    let locate = |fault: &Fault| files.error_at_path(fault);
    let answer = api.change_located(Method::Post, "/api/v1/transactions", Some(&body), &options, &locate)?;
    answer.say_located(&options, &locate)
}

/// Applies the initial configuration; prints nothing.
pub(crate) fn begin(api: &Api, files: &[PathBuf]) -> Result<(), Failure> {
    let wanted = documents(&mut read(files)?);
    let changes: Vec<(&str, Option<&Value>)> =
        wanted.iter().map(|(name, document)| (name.as_str(), Some(document))).collect();
    let message = Some("initial configuration".into());
    let options = ChangeOptions { message, no_wait: true, ..ChangeOptions::default() };
    api.change(Method::Post, "/api/v1/transactions", Some(&transaction(&changes)), &options).map(|_| ())
}

fn say(text: &str, as_json: bool) -> Result<(), Failure> {
    if as_json {
        println!("{}", json!({"changed": []}));
    } else {
        println!("{text}");
    }
    Ok(())
}

/// What the files say, and where.
fn read(paths: &[PathBuf]) -> Result<State, Failure> {
    state_files::read(paths)?.map_err(|errors| {
        errors.iter().for_each(|error| eprintln!("{error}"));
        Failure::new(format!("{}; nothing is applied", counted(errors.len() as u64, "error")))
    })
}

fn documents(state: &mut State) -> Documents {
    let all = state.take_documents().into_iter();
    all.map(|((kind, id), document)| (name(kind, &id), written(document))).collect()
}

/// A document without what answers add to it: what was captured of the files of a certificate.
fn written(mut document: Value) -> Value {
    if let Some(keys) = document.as_object_mut() {
        keys.remove("captured");
    }
    document
}

fn name(kind: ResourceKind, id: &str) -> String {
    if kind == ResourceKind::Settings { kind.plural().to_owned() } else { format!("{}/{id}", kind.plural()) }
}

/// The documents of the gateway, and their revision.
fn current(api: &Api) -> Result<(Documents, Option<u64>), Failure> {
    let (state, tag) = api.fetch("/api/v1/state")?.unwrap_or_default();
    let mut all = Documents::new();
    for (kind, value) in state.as_object().into_iter().flatten() {
        if kind == ResourceKind::Settings.plural() {
            if value.as_object().is_some_and(|settings| !settings.is_empty()) {
                all.insert(kind.clone(), value.clone());
            }
            continue;
        }
        for (id, document) in value.as_object().into_iter().flatten() {
            all.insert(format!("{kind}/{id}"), written(document.clone()));
        }
    }
    Ok((all, tag.trim_matches('"').parse().ok()))
}

/// A resource that changes, and what it is to be; `None` if it goes.
fn changes<'d>(there: &'d Documents, wanted: &'d Documents, prune: bool) -> Vec<(&'d str, Option<&'d Value>)> {
    // Settings cannot be deleted; empty ones are the same as none.
    let none = json!({});
    let old = |name: &String| there.get(name).or((name == ResourceKind::Settings.plural()).then_some(&none));
    let put = wanted.iter().filter(|(name, document)| old(name).is_none_or(|old| !same(name, old, document)));
    let put = put.map(|(name, document)| (name.as_str(), Some(document)));
    let gone = there.keys().filter(|name| prune && !wanted.contains_key(*name));
    gone.filter(|name| *name != ResourceKind::Settings.plural()).map(|name| (name.as_str(), None)).chain(put).collect()
}

/// Resources that stay as they are and may name files.
fn unchanged(wanted: &Documents, changes: &[(&str, Option<&Value>)]) -> Vec<String> {
    let has_files = |kind: &ResourceKind| kind.is_compiled() || *kind == ResourceKind::Certificates;
    let kinds: Vec<&str> = ResourceKind::written().filter(has_files).map(|kind| kind.plural()).collect();
    let may_name_files = |name: &&String| name.split('/').next().is_some_and(|kind| kinds.contains(&kind));
    let is_same = |name: &&String| changes.iter().all(|(changed, _)| changed != name);
    wanted.keys().filter(may_name_files).filter(is_same).map(|name| format!("/{name}")).collect()
}

/// Whether a document is what the gateway has. It never shows keys and secrets, only their hashes.
fn same(name: &str, old: &Value, new: &Value) -> bool {
    if kind_with_secrets(name).is_some() {
        return reads_alike(old, &without_secrets(name, new));
    }
    let (Value::String(hash), Some(_)) = (&old["key"]["sha256"], new.get("key")) else { return reads_alike(old, new) };
    let mut new = new.clone();
    for part in ["certificate", "key"] {
        // The short form of the same.
        if let Some(pem) = new[part].get_mut("pem").map(Value::take) {
            new[part] = pem;
        }
    }
    if new["key"].as_str().is_some_and(|key| *hash == weir_control::key_hash(key)) {
        new["key"] = json!({ "sha256": hash });
    }
    reads_alike(old, &new)
}

/// The kind of a document whose secrets are hidden one by one.
fn kind_with_secrets(name: &str) -> Option<ResourceKind> {
    let kind = name.split('/').next()?;
    [ResourceKind::Consumers, ResourceKind::Settings].into_iter().find(|known| known.plural() == kind)
}

/// A document as the gateway shows it. What is wrong with it is told later, so that anything within a credential that is
/// not as it should be is hidden.
fn without_secrets(name: &str, document: &Value) -> Value {
    let Some(kind) = kind_with_secrets(name) else { return document.clone() };
    let text = weir_control::state::redacted(kind, &document.to_string());
    let mut shown: Value = serde_json::from_str(&text).unwrap_or_default();
    let hide = |value: &mut Value| {
        if !value.is_object() && !value.is_null() {
            *value = json!("(hidden)");
        }
    };
    let credentials = shown.get_mut("credentials");
    for credential in credentials.and_then(Value::as_array_mut).into_iter().flatten() {
        hide(credential);
        credential.as_object_mut().into_iter().flatten().for_each(|(_, of)| hide(of));
    }
    shown
}

fn transaction(changes: &[(&str, Option<&Value>)]) -> Value {
    let one = |(name, document): &(&str, Option<&Value>)| match document {
        Some(document) => json!({"method": "PUT", "path": format!("/{name}"), "body": document}),
        None => json!({"method": "DELETE", "path": format!("/{name}")}),
    };
    json!({"changes": changes.iter().map(one).collect::<Vec<_>>()})
}

fn shown(there: &Documents, changes: &[(&str, Option<&Value>)]) -> String {
    let style = Style::of(Stream::Out);
    let of = |(name, new): &(&str, Option<&Value>)| {
        let new = new.map(|new| without_secrets(name, new));
        difference::render(name, there.get(*name), new.as_ref(), style)
    };
    let mut text: String = changes.iter().map(of).collect();
    text.push_str(&format!("{} to change\n", counted(changes.len() as u64, "resource")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(all: &[(&str, Value)]) -> Documents {
        all.iter().map(|(name, document)| ((*name).to_owned(), document.clone())).collect()
    }

    #[test]
    fn only_what_differs_is_changed_and_only_prune_deletes() {
        let there = documents(&[("sites/a", json!({"x": 1})), ("sites/b", json!({})), ("settings", json!({"y": 1}))]);
        let wanted = documents(&[("sites/a", json!({"x": 2})), ("sites/c", json!({}))]);
        let names = |prune| changes(&there, &wanted, prune).iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(false), ["sites/a", "sites/c"]);
        assert_eq!(names(true), ["sites/b", "sites/a", "sites/c"]);
        assert!(changes(&there, &there, true).is_empty());
        assert!(changes(&documents(&[]), &documents(&[("settings", json!({}))]), true).is_empty(), "empty is none");
    }

    #[test]
    fn a_certificate_is_the_same_if_the_hash_of_its_key_is() {
        let hash = weir_control::key_hash("secret");
        let old = json!({"certificate": "c", "key": {"sha256": hash}});
        let same = |old: &Value, new: &Value| same("certificates/a", old, new);
        assert!(same(&old, &json!({"certificate": "c", "key": "secret"})));
        assert!(!same(&old, &json!({"certificate": "c", "key": "other"})));
        assert!(!same(&old, &json!({"certificate": "d", "key": "secret"})));
        assert!(same(&old, &json!({"certificate": {"pem": "c"}, "key": {"pem": "secret"}})));
        assert!(same(&old, &old) && !same(&old, &json!({"certificate": "c", "key": {"file": "/k"}})));
    }

    #[test]
    fn secrets_of_consumers_are_compared_by_hash_and_not_shown() {
        let new = |key: &str| documents(&[("consumers/a", json!({"credentials": [{"key_auth": {"key": key}}]}))]);
        let hash = weir_control::key_hash("TOPSECRET-0123456789");
        let there = documents(&[("consumers/a", json!({"credentials": [{"key_auth": {"key": {"sha256": hash}}}]}))]);
        assert!(changes(&there, &new("TOPSECRET-0123456789"), false).is_empty());
        let others = documents(&[
            ("consumers/a", json!({"credentials": [{"key_auth": {"key": "TOPSECRET-other-one"}}]})),
            ("consumers/b", json!({"credentials": [{"key_auth": "TOPSECRET"}, "TOPSECRET", {"jwt": ["TOPSECRET"]}]})),
            ("consumers/c", json!({"credentials": [{"signature": {"id": "x", "secret": {"value": "TOPSECRET"}}}]})),
        ]);
        let changed = changes(&there, &others, false);
        assert_eq!(changed.len(), 3);
        let text = shown(&there, &changed);
        assert!(!text.contains("TOPSECRET") && text.contains("sha256"), "{text}");
    }
}
