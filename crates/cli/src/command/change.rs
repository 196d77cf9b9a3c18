//! `weir put`, `patch` and `delete`: one change of one resource, or of a part of it.

use std::path::Path;

use serde_json::{Value, json};

use crate::api::{Api, Method};
use crate::arguments::{Change, Delete, RefreshFiles};
use crate::{Failure, body};

pub(crate) fn put(api: &Api, change: &Change) -> Result<(), Failure> {
    with_body(api, Method::Put, change)
}

pub(crate) fn patch(api: &Api, change: &Change) -> Result<(), Failure> {
    with_body(api, Method::Patch, change)
}

pub(crate) fn delete(api: &Api, delete: &Delete) -> Result<(), Failure> {
    api.change(Method::Delete, &api.resource(&delete.path)?, None, &delete.options)?.say(&delete.options)
}

pub(crate) fn refresh(api: &Api, refresh: &RefreshFiles) -> Result<(), Failure> {
    let wanted = if refresh.paths.is_empty() { json!(true) } else { json!(refresh.paths) };
    let body = json!({"changes": [], "refresh": wanted});
    api.change(Method::Post, "/api/v1/transactions", Some(&body), &refresh.options)?.say(&refresh.options)
}

fn with_body(api: &Api, method: Method, change: &Change) -> Result<(), Failure> {
    let body = argument(&change.body)?;
    api.change(method, &api.resource(&change.path)?, Some(&body), &change.options)?.say(&change.options)
}

/// The document that an argument is, or names.
fn argument(text: &str) -> Result<Value, Failure> {
    match text {
        "-" => body::parse(&body::standard_input()?, "standard input"),
        text => match text.strip_prefix('@') {
            Some(file) => body::parse(&body::file(Path::new(file))?, file),
            None => body::parse(text, "the argument"),
        },
    }
}
