//! From a requested change to changed documents: parts, patches, and members within their upstream.

use serde_json::{Map, Value};
use weir_gateway::resource::Sha256Hash;
use weir_resource::{Fault, ResourceKind, descriptor};

use super::apply::Session;
use super::edit::{Action, Condition, Edit, Match, Refusal};
use super::{Held, Key, Target, certificate, consumer, merge_patch, nested};

impl Session<'_> {
    pub(super) fn edit(&mut self, edit: &Edit) -> Result<(), Refusal> {
        match &edit.target {
            Target::Collection(kind, upstream) => match &edit.action {
                Action::Create(body) => self.create(*kind, upstream.as_deref(), body.clone()),
                _ => Err(Refusal::NotAllowed("a collection as a whole can only be read or added to".to_owned())),
            },
            Target::Resource(key, steps) => {
                self.meets(key, &edit.condition)?;
                self.resource(key, steps, &edit.action)
            }
        }
    }

    fn meets(&self, key: &Key, condition: &Condition) -> Result<(), Refusal> {
        let revision = self.state.get(key.kind, &key.id).map(|held| held.revision);
        let fails = |why: String| Err(Refusal::Precondition(why, revision));
        match (&condition.matches, revision) {
            (Some(_), None) => return fails(format!("{key} does not exist")),
            (Some(Match::Revisions(wanted)), Some(revision)) if !wanted.contains(&revision) => {
                return fails(format!("{key} last changed in revision {revision}"));
            }
            _ => {}
        }
        if condition.absent && revision.is_some() {
            return fails(format!("{key} exists already"));
        }
        Ok(())
    }

    fn create(&mut self, kind: ResourceKind, upstream: Option<&str>, mut body: Value) -> Result<(), Refusal> {
        let Some(Value::String(id)) = body.as_object_mut().and_then(|object| object.remove("id")) else {
            let pointer = format!("{}/id", Target::Collection(kind, upstream.map(Into::into)));
            let message = format!("a new {} needs an id", kind.singular());
            let expected = Some("an object with `id`, a string".to_owned());
            return Err(Refusal::Invalid(vec![Fault { pointer, message, expected, ..Fault::default() }]));
        };
        let key = upstream.map_or_else(|| Key::new(kind, &id), |upstream| Key::member(upstream, &id));
        if self.state.get(kind, &key.id).is_some() {
            return Err(Refusal::Exists(key));
        }
        self.resource(&key, &[], &Action::Put(body))
    }

    fn resource(&mut self, key: &Key, steps: &[String], action: &Action) -> Result<(), Refusal> {
        if let Action::Restore(text) = action {
            self.write_back(key, text.as_deref().map(str::to_owned));
            return Ok(());
        }
        if let Some(upstream) = key.upstream()
            && self.state.get(ResourceKind::Upstreams, upstream).is_none()
            && !self.broken.contains(&Key::new(ResourceKind::Upstreams, upstream))
        {
            return Err(Refusal::NotFound(format!("there is no upstream `{upstream}`")));
        }
        match (action, steps) {
            (Action::Put(body), []) => self.put(key, body),
            (Action::Patch(patch), []) => self.patch(key, patch),
            (Action::Delete, []) => self.delete(key),
            (Action::Create(_), _) => Err(Refusal::NotAllowed(format!("{key} is not a collection"))),
            (action, steps) => self.part(key, steps, action),
        }
    }

    fn put(&mut self, key: &Key, body: &Value) -> Result<(), Refusal> {
        let as_it_is = key.kind != ResourceKind::Upstreams && descriptor(key.kind).secret.is_none();
        if as_it_is && body.get("id").is_none() {
            self.write(key, Some(body.to_string()));
            return Ok(());
        }
        let mut body = body.clone();
        if let Some(object) = body.as_object_mut() {
            let own = key.id.rsplit('/').next().unwrap_or_default();
            if object.get("id").is_some_and(|id| id == own) {
                object.remove("id");
            }
        }
        if key.kind != ResourceKind::Upstreams {
            self.write_value(key, body);
            return Ok(());
        }
        let members = self.take_members(key, &mut body);
        self.write_value(key, body);
        let Some(members) = members else { return Ok(()) };
        let gone: Vec<Key> = (self.state.members(&key.id))
            .filter(|(member, ..)| !members.contains_key(*member))
            .map(|(_, id, _)| Key { kind: ResourceKind::Members, id: id.clone() })
            .collect();
        gone.iter().for_each(|key| self.write(key, None));
        for (member, body) in members {
            self.write_value(&Key::member(&key.id, &member), body);
        }
        Ok(())
    }

    /// The members in the document of an upstream; `None` if they are not valid, which has then been noted.
    fn take_members(&mut self, key: &Key, body: &mut Value) -> Option<Map<String, Value>> {
        match body.as_object_mut().and_then(|object| object.remove("members")) {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(members)) => Some(members),
            Some(other) => {
                let found = Some(kind_of(&other).to_owned());
                let (message, expected) =
                    ("members must be an object".to_owned(), Some("members by their ids".to_owned()));
                let fault = Fault { pointer: "/members".to_owned(), message, expected, found, hint: None };
                self.refuse(key, vec![fault]);
                None
            }
        }
    }

    fn patch(&mut self, key: &Key, patch: &Value) -> Result<(), Refusal> {
        let mut value = self.current(key)?;
        let mut patch = patch.clone();
        let members = if key.kind == ResourceKind::Upstreams {
            patch.as_object_mut().and_then(|patch| patch.remove("members"))
        } else {
            None
        };
        merge_patch(&mut value, patch);
        self.write_value(key, value);
        match members {
            None => {}
            Some(Value::Object(members)) => {
                for (member, patch) in members {
                    let member = Key::member(&key.id, &member);
                    if patch.is_null() {
                        self.write(&member, None);
                        continue;
                    }
                    let mut value = self.current(&member).unwrap_or_default();
                    merge_patch(&mut value, patch);
                    self.write_value(&member, value);
                }
            }
            Some(other) => {
                let mut body = Value::Object(Map::from_iter([("members".to_owned(), other)]));
                if self.take_members(key, &mut body).is_some() {
                    self.delete_members(&key.id);
                }
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &Key) -> Result<(), Refusal> {
        if key.kind.is_singleton() {
            return Err(Refusal::NotAllowed(format!("{} cannot be deleted; PUT {{}} empties them", key.kind)));
        }
        self.current(key)?;
        if key.kind == ResourceKind::Upstreams {
            self.delete_members(&key.id);
        }
        self.write(key, None);
        Ok(())
    }

    fn delete_members(&mut self, upstream: &str) {
        let members: Vec<Key> = self
            .state
            .members(upstream)
            .map(|(_, id, _)| Key { kind: ResourceKind::Members, id: id.clone() })
            .collect();
        members.iter().for_each(|key| self.write(key, None));
    }

    fn part(&mut self, key: &Key, steps: &[String], action: &Action) -> Result<(), Refusal> {
        let mut value = self.current(key)?;
        let missing = |_| Refusal::NotFound(format!("{key} has no `{}`", steps.join("/")));
        match action {
            Action::Put(new) => nested::put(&mut value, steps, new.clone()).map_err(missing)?,
            Action::Patch(patch) => {
                let mut part = nested::find(&value, steps).cloned().unwrap_or_default();
                merge_patch(&mut part, patch.clone());
                nested::put(&mut value, steps, part).map_err(missing)?;
            }
            _ => nested::remove(&mut value, steps).map_err(missing)?,
        }
        self.write_value(key, value);
        Ok(())
    }

    /// A document as it is, ready to be changed: a member in its short form becomes an object.
    fn current(&self, key: &Key) -> Result<Value, Refusal> {
        match self.state.get(key.kind, &key.id).map(|held| held.document.value()) {
            Some(address @ Value::String(_)) if key.kind == ResourceKind::Members => {
                Ok(Value::Object(Map::from_iter([("address".to_owned(), address)])))
            }
            Some(value) => Ok(value),
            None if key.kind.is_singleton() => Ok(Value::Object(Map::new())),
            None => Err(Refusal::NotFound(format!("there is no {key}"))),
        }
    }

    fn write_value(&mut self, key: &Key, mut value: Value) {
        let resolved = match key.kind {
            ResourceKind::Certificates => {
                let known = |hash| self.private_key(key, hash);
                Some(certificate::resolve(key, &mut value, self.contents, known))
            }
            ResourceKind::Consumers | ResourceKind::Settings => {
                let before = self.state.get(key.kind, &key.id).map(|held| held.document.value());
                Some(consumer::resolve(key, &mut value, self.contents, before))
            }
            _ => None,
        };
        if let Some(resolved) = resolved {
            match resolved {
                Ok(unread) if unread.is_empty() => {}
                Ok(unread) => return self.unread.extend(unread),
                Err(faults) => {
                    self.broken.insert(key.clone());
                    return faults.into_iter().for_each(|fault| self.fault(fault));
                }
            }
        }
        self.write(key, Some(value.to_string()));
    }

    /// A private key that the gateway has, or had before this change: most likely that of the same certificate.
    fn private_key(&self, key: &Key, hash: Sha256Hash) -> Option<String> {
        let own = self.state.get(key.kind, &key.id);
        let others = self.state.iter(ResourceKind::Certificates, None).map(|(_, held)| held);
        let before = self.touched().filter_map(|(_, old)| old);
        let has = |held: &&Held| held.document.certificate.as_ref().is_some_and(|parts| parts.key == Some(hash));
        let held = own.into_iter().chain(others).chain(before).find(has)?;
        held.document.value()["key"].as_str().map(str::to_owned).or_else(|| self.contents.text(hash))
    }
}

const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
