//! Changes of clients with limits: every target and every document that changes has to be within them.

use std::path::Path;

use weir_resource::ResourceKind;

use super::queue::{Answer, Operation, Refresh, Submission};
use crate::auth::Scope;
use crate::sandbox::Uses;
use crate::state::{Action, Applied, Edit, Held, Key, State, Target};

/// Checks the targets, before anything of them is looked at.
pub(super) fn check_targets(state: &State, submission: &Submission) -> Result<(), Answer> {
    let Some(scope) = submission.scope.as_deref() else { return Ok(()) };
    let has = |key: &Key| scope.has(key, state.get(key.kind, &key.id)).then_some(()).ok_or_else(|| beyond(scope, key));
    match &submission.refresh {
        Refresh::Written => {}
        Refresh::Named(keys) => keys.iter().try_for_each(has)?,
        Refresh::All => return Err(forbidden(scope, "all files would be read again")),
    }
    let Operation::Edits(edits) = &submission.operation else {
        return Err(forbidden(scope, "a rollback can change everything"));
    };
    edits.iter().try_for_each(|edit| {
        let is_foreign = |site: &&str| !scope.sites.is_empty() && !scope.sites.iter().any(|own| own == site);
        if let Some(site) = new_site(edit).filter(is_foreign) {
            return Err(beyond(scope, &Key::new(ResourceKind::Sites, site)));
        }
        match (&edit.target, &edit.action) {
            (Target::Resource(key, _), _) => has(key),
            (Target::Collection(kind, upstream), Action::Create(body)) => {
                let id = body["id"].as_str().unwrap_or_default();
                has(&upstream.as_deref().map_or_else(|| Key::new(*kind, id), |upstream| Key::member(upstream, id)))
            }
            (Target::Collection(kind, _), _) => has(&Key::new(*kind, "")),
        }
    })
}

/// The site that an edit names for a route. It is compared before the edit is applied, because faults would tell of
/// routes that the other site has.
fn new_site(edit: &Edit) -> Option<&str> {
    if edit.target.kind() != ResourceKind::Routes {
        return None;
    }
    let (Action::Put(body) | Action::Patch(body) | Action::Create(body)) = &edit.action else { return None };
    match &edit.target {
        Target::Resource(_, steps) if steps.as_slice() == ["site"] => body.as_str(),
        Target::Resource(_, steps) if !steps.is_empty() => None,
        Target::Resource(..) | Target::Collection(..) => body["site"].as_str(),
    }
}

/// Checks what the change does: each document as it was and as it becomes. Of captured files, contents may come and go
/// with the documents of the change, but what others use as well stays as it is.
pub(super) fn check_deltas(scope: &Scope, state: &State, applied: &Applied, uses: Option<&Uses>) -> Result<(), Answer> {
    let is_foreign = |user: &Key| !scope.has(user, state.get(user.kind, &user.id));
    applied.deltas.iter().try_for_each(|delta| {
        if delta.key.kind != ResourceKind::Files {
            let is_within =
                [&delta.old, &delta.new].into_iter().flatten().all(|held| scope.has(&delta.key, Some(held)));
            let hosts = |held: &Option<Held>| -> Vec<String> {
                let hosts = held.as_ref().map(|held| held.document.value()["hosts"].take());
                serde_json::from_value(hosts.unwrap_or_default()).unwrap_or_default()
            };
            // A more specific host, or `*`, would take traffic of other sites.
            if delta.key.kind == ResourceKind::Sites && !scope.sites.is_empty() {
                let known = hosts(&delta.old);
                if let Some(new) = hosts(&delta.new).iter().find(|host| !known.contains(host)) {
                    return Err(forbidden(
                        scope,
                        &format!("a client without these limits assigns hosts such as `{new}`"),
                    ));
                }
            }
            return if is_within { Ok(()) } else { Err(beyond(scope, &delta.key)) };
        }
        let path = delta.old.as_ref().map(|held| held.document.value()["path"].as_str().unwrap_or_default().to_owned());
        let Some(path) = path else { return Ok(()) };
        let mut users = uses
            .into_iter()
            .flatten()
            .filter(|(_, groups)| groups.iter().any(|group| group.iter().any(|one| one == Path::new(&path))));
        match users.find(|(user, _)| is_foreign(user)) {
            Some((user, _)) => Err(forbidden(scope, &format!("{user} uses {path} as well, which has changed"))),
            None => Ok(()),
        }
    })
}

fn beyond(scope: &Scope, key: &Key) -> Answer {
    forbidden(scope, &format!("{key} is not among them"))
}

fn forbidden(scope: &Scope, why: &str) -> Answer {
    Answer::Forbidden(format!("the client is limited to {scope}; {why}"))
}
