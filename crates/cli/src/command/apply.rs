//! `weir apply`: files say what is wanted; the difference to what is there is shown and applied as one change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_resource::{ResourceKind, State, parse_state, reads_alike};

use crate::api::{Api, Method};
use crate::arguments::{Apply, ChangeOptions};
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::{Failure, body, difference};

/// Extensions of the files that are read of a directory.
const EXTENSIONS: &[&str] = &["yaml", "yml", "json"];

/// Documents by path in the API, such as `upstreams/app`.
type Documents = BTreeMap<String, Value>;

pub(crate) fn run(api: &Api, apply: &Apply) -> Result<(), Failure> {
    let wanted = documents(read(&apply.files)?);
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
    api.change(Method::Post, "/api/v1/transactions", Some(&body), &options)?.say(&options)
}

/// Applies the initial configuration; prints nothing.
pub(crate) fn begin(api: &Api, files: &[PathBuf]) -> Result<(), Failure> {
    let wanted = documents(read(files)?);
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

/// The documents of all files. The same resource in two of them is an error.
fn read(paths: &[PathBuf]) -> Result<State, Failure> {
    let mut all = State::default();
    for path in files(paths)? {
        let text = if path == Path::new("-") { body::standard_input()? } else { body::file(&path)? };
        let state = parse_state(&text, &path);
        state.and_then(|state| all.merge(state)).map_err(|errors| {
            eprintln!("{errors}");
            Failure::new(format!("{}: nothing is applied", path.display()))
        })?;
    }
    Ok(all)
}

fn documents(state: State) -> Documents {
    state.into_documents().into_iter().map(|((kind, id), document)| (name(kind, &id), document)).collect()
}

fn name(kind: ResourceKind, id: &str) -> String {
    if kind == ResourceKind::Settings { kind.plural().to_owned() } else { format!("{}/{id}", kind.plural()) }
}

/// Directories stand for their files, by name.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        let known = |path: &PathBuf| path.extension().is_some_and(|one| EXTENSIONS.iter().any(|known| one == *known));
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(known).collect();
        if found.is_empty() {
            return Err(Failure::new(format!("{}: no file ends in {}", path.display(), EXTENSIONS.join(", "))));
        }
        found.sort();
        all.append(&mut found);
    }
    Ok(all)
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
            all.insert(format!("{kind}/{id}"), document.clone());
        }
    }
    Ok((all, tag.trim_matches('"').parse().ok()))
}

/// A resource that changes, and what it is to be; `None` if it goes.
fn changes<'d>(there: &'d Documents, wanted: &'d Documents, prune: bool) -> Vec<(&'d str, Option<&'d Value>)> {
    let put = wanted.iter().filter(|(name, document)| there.get(*name).is_none_or(|old| !same(old, document)));
    let put = put.map(|(name, document)| (name.as_str(), Some(document)));
    let gone = there.keys().filter(|name| prune && !wanted.contains_key(*name));
    // Settings cannot be deleted; empty ones are the same as none.
    gone.filter(|name| *name != ResourceKind::Settings.plural()).map(|name| (name.as_str(), None)).chain(put).collect()
}

/// Resources that stay as they are and may name files.
fn unchanged(wanted: &Documents, changes: &[(&str, Option<&Value>)]) -> Vec<String> {
    let kinds: Vec<&str> =
        ResourceKind::written().filter(|kind| kind.is_compiled()).map(|kind| kind.plural()).collect();
    let may_name_files = |name: &&String| name.split('/').next().is_some_and(|kind| kinds.contains(&kind));
    let is_same = |name: &&String| changes.iter().all(|(changed, _)| changed != name);
    wanted.keys().filter(may_name_files).filter(is_same).map(|name| format!("/{name}")).collect()
}

/// Whether a document is what the gateway has. It never shows keys, only their hashes.
fn same(old: &Value, new: &Value) -> bool {
    match (&old["key"]["sha256"], &new["key"]) {
        (Value::String(hash), Value::String(key)) => {
            let (mut old, mut new) = (old.clone(), new.clone());
            old["key"] = Value::Null;
            new["key"] = Value::Null;
            *hash == weir_control::key_hash(key) && reads_alike(&old, &new)
        }
        _ => reads_alike(old, new),
    }
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
    let mut text: String =
        changes.iter().map(|(name, new)| difference::render(name, there.get(*name), *new, style)).collect();
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
    }

    #[test]
    fn a_certificate_is_the_same_if_the_hash_of_its_key_is() {
        let hash = weir_control::key_hash("secret");
        let old = json!({"certificate": "c", "key": {"sha256": hash}});
        assert!(same(&old, &json!({"certificate": "c", "key": "secret"})));
        assert!(!same(&old, &json!({"certificate": "c", "key": "other"})));
        assert!(!same(&old, &json!({"certificate": "d", "key": "secret"})));
    }
}
