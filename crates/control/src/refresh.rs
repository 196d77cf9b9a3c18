//! Refreshes files that documents name, as their `refresh` says: those that are compiled, and those of certificates.
//!
//! Files are looked at every two seconds: that also works on network file systems and for links that are exchanged
//! (`live/` of certbot, `..data` of Kubernetes), where inotify would have to follow every component of the path. One that
//! has changed is taken when it has not changed between two looks. What matters is a change of the file, not that it
//! differs from what is in force: after a rollback the file on disk is the one that nobody wants.
//!
//! A certificate and its key are two files, which are written one after the other. As long as they do not fit each other,
//! the change is refused like any other that is not valid, and the next change of either is another attempt.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use weir_gateway::resource::Sha256Hash;
use weir_policy::MAX_LIST_BYTES;
use weir_policy::files::is_url;
use weir_resource::ResourceKind;

use crate::log;
use crate::objects::{Objects, Purpose, Stamp};
use crate::publish::{Answer, Queue, Refresh, Submission, Wait, captured};
use crate::sandbox::Uses;
use crate::shared::{Shared, ended};
use crate::state::{Key, Refusal, State};

/// How often a URL is downloaded whose document does not say it.
const URL_EVERY: Duration = Duration::from_secs(300);

/// When the files of a resource are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    OnChange,
    Every(Duration),
}

/// A path that is looked at.
#[derive(Debug)]
struct Watched {
    /// Resources that depend on it and are refreshed with it.
    keys: Vec<Key>,
    mode: Mode,
    purpose: Purpose,
    /// The last two looks.
    stamp: Option<Stamp>,
    taken: Option<Stamp>,
    due: Instant,
}

/// What is found at a path that has changed.
type Found = (PathBuf, Stamp, Result<Sha256Hash, String>);

/// Watches until `stop`.
pub(crate) async fn watch(shared: Shared, queue: Queue, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(shared.limits.refresh_interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut watched: BTreeMap<PathBuf, Watched> = BTreeMap::new();
    let mut looked_at = shared.store().looked_at().unwrap_or_default();
    let mut planned: Option<Known> = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ended(&mut stop) => return,
        }
        let compiled = shared.uses();
        {
            let state = shared.state();
            let newest = state.iter(ResourceKind::Certificates, None).map(|(_, held)| held.revision).max();
            let certificates = state.count(ResourceKind::Certificates);
            let known = (compiled, state.compiled().digest(), newest, certificates);
            if planned.as_ref().is_none_or(|planned| !same(planned, &known)) {
                let uses = uses(&state, known.0.as_deref());
                plan(&mut watched, &state, &uses);
                drop(state);
                // Until it is known which files are used, none is forgotten.
                if known.0.is_some() {
                    forget(&shared, &watched, &uses, &mut looked_at);
                }
                planned = Some(known);
            }
        }
        let objects = shared.objects.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let found = look(&mut watched, &objects);
            (watched, found)
        });
        let Ok((back, found)) = looked.await else { return };
        watched = back;
        let (mut keys, mut decided) = (BTreeSet::new(), Vec::new());
        for (path, stamp, found) in found {
            let Some(watched) = watched.get_mut(&path) else { continue };
            watched.taken = Some(stamp);
            let name = path.to_string_lossy().into_owned();
            match found {
                Ok(hash) => {
                    shared.stale().remove(&name);
                    let is_news = match looked_at.get(&name) {
                        Some(known) => *known != hash,
                        None => !is_pinned(&shared.state(), &name, hash),
                    };
                    if is_news {
                        keys.extend(watched.keys.iter().cloned());
                    }
                    decided.push((path, name, hash));
                }
                Err(reason) => complain(&shared, name, reason),
            }
        }
        let is_decided = keys.is_empty() || refresh(&shared, &queue, keys.into_iter().collect()).await;
        for (path, name, hash) in decided {
            if !is_decided {
                // It is not the file's fault: the next look tries again.
                let _ = watched.get_mut(&path).map(|watched| {
                    watched.taken = None;
                    watched.due = Instant::now();
                });
            } else if looked_at.insert(name.clone(), hash) != Some(hash)
                && let Err(error) = shared.store().look_at(&name, Some(hash))
            {
                log::warning!("cannot note that {name} was looked at: {error}");
            }
        }
    }
}

/// What the plan depends on.
type Known = (Option<Arc<Uses>>, u64, Option<u64>, usize);

fn same(one: &Known, other: &Known) -> bool {
    let uses = |known: &Known| known.0.as_ref().map(Arc::as_ptr);
    uses(one) == uses(other) && (one.1, one.2, one.3) == (other.1, other.2, other.3)
}

/// Files that resources use: documents that are compiled, and certificates.
fn uses(state: &State, compiled: Option<&Uses>) -> Uses {
    let mut uses = compiled.cloned().unwrap_or_default();
    for (id, files) in state.certificates_in_files() {
        let paths: Arc<[PathBuf]> = files.iter().map(|(_, file)| PathBuf::from(&file.path)).collect();
        uses.insert(Key::new(ResourceKind::Certificates, id), vec![paths]);
    }
    uses
}

/// Whether a content of a path is in force, wherever the path is named.
fn is_pinned(state: &State, path: &str, hash: Sha256Hash) -> bool {
    let of_certificates = state.certificates_in_files().flat_map(|(_, files)| files).map(|(_, file)| file);
    let named = of_certificates.filter(|file| file.path == path).cloned();
    let mut all = captured::captured_at(state, path).into_iter().chain(named).peekable();
    all.peek().is_some() && all.all(|file| file.sha256 == hash)
}

/// Forgets what was noted of files and resources that are not watched any more.
fn forget(
    shared: &Shared,
    watched: &BTreeMap<PathBuf, Watched>,
    uses: &Uses,
    looked_at: &mut BTreeMap<String, Sha256Hash>,
) {
    let is_watched = |name: &String| watched.contains_key(Path::new(name));
    let resources: BTreeSet<String> = uses.keys().map(ToString::to_string).collect();
    shared.stale().retain(|name, _| is_watched(name) || resources.contains(name));
    let gone: Vec<String> = looked_at.keys().filter(|name| !is_watched(name)).cloned().collect();
    for name in gone {
        looked_at.remove(&name);
        if let Err(error) = shared.store().look_at(&name, None) {
            log::warning!("cannot forget that {name} was looked at: {error}");
        }
    }
}

/// What is to be looked at.
fn plan(watched: &mut BTreeMap<PathBuf, Watched>, state: &State, uses: &Uses) {
    let mut wanted: HashMap<PathBuf, (Vec<Key>, Mode)> = HashMap::new();
    let of_certificates = || state.certificates_in_files().flat_map(|(_, files)| files);
    let purposes: HashMap<&Path, Purpose> =
        of_certificates().map(|(purpose, file)| (Path::new(&file.path), *purpose)).collect();
    for (key, groups) in uses {
        let mode_of_files = mode(state, key);
        for path in groups.iter().flat_map(|group| group.iter()) {
            let mode = match mode_of_files {
                Some(Mode::Every(_)) => mode_of_files,
                _ if is_url(path) => Some(Mode::Every(URL_EVERY)),
                _ => mode_of_files,
            };
            let Some(mode) = mode else { continue };
            let (keys, known) = wanted.entry(path.clone()).or_insert_with(|| (Vec::new(), mode));
            keys.push(key.clone());
            *known = match (*known, mode) {
                (Mode::Every(one), Mode::Every(other)) => Mode::Every(one.min(other)),
                _ => Mode::OnChange,
            };
        }
    }
    watched.retain(|path, _| wanted.contains_key(path));
    for (path, (keys, mode)) in wanted {
        let purpose = purposes.get(path.as_path()).copied().unwrap_or(Purpose::Data);
        let new = Watched { keys: Vec::new(), mode, purpose, stamp: None, taken: None, due: Instant::now() };
        let entry = watched.entry(path).or_insert(new);
        (entry.keys, entry.mode, entry.purpose) = (keys, mode, purpose);
    }
}

/// When the files of a resource are looked at; `None` for never.
fn mode(state: &State, key: &Key) -> Option<Mode> {
    let document = state.get(key.kind, &key.id)?.document.value();
    let (place, default) = match key.kind {
        ResourceKind::Settings => (&document["geo"]["refresh"], "on_change"),
        ResourceKind::Lists | ResourceKind::Certificates => (&document["refresh"], "on_change"),
        _ => (&document["refresh"], "manual"),
    };
    match place.as_str().unwrap_or(default) {
        "on_change" => Some(Mode::OnChange),
        "manual" => None,
        time => weir_policy::leaf::milliseconds(time).map(|ms| Mode::Every(Duration::from_millis(ms))),
    }
}

/// Looks at all paths, and captures those that have changed and are at rest.
fn look(watched: &mut BTreeMap<PathBuf, Watched>, objects: &Objects) -> Vec<Found> {
    let mut found = Vec::new();
    for (path, watched) in watched {
        if let Mode::Every(time) = watched.mode {
            if watched.due > Instant::now() {
                continue;
            }
            watched.due = Instant::now() + time;
        }
        if is_url(path) {
            let fetched = objects.capture(path, MAX_LIST_BYTES).map(|file| file.sha256);
            found.push((path.clone(), Stamp::default(), fetched.map_err(|error| error.to_string())));
            continue;
        }
        let Ok(stamp) = Stamp::of(path) else {
            // Gone, or out of reach: what was captured stays. It is noticed when it is back.
            watched.stamp = None;
            continue;
        };
        let at_rest = watched.stamp.replace(stamp) == Some(stamp) || matches!(watched.mode, Mode::Every(_));
        if at_rest && watched.taken != Some(stamp) {
            let captured = match watched.purpose {
                Purpose::Data => objects.capture(path, MAX_LIST_BYTES),
                purpose => objects.capture_pem(purpose, path),
            };
            found.push((path.clone(), stamp, captured.map(|file| file.sha256).map_err(|error| error.to_string())));
        }
    }
    found
}

/// Takes the files of these resources anew; if that is refused, each resource by itself: of a hundred certificates that
/// are renewed, one may not fit its key yet. False if it could not be decided, because control is busy or the disk full.
async fn refresh(shared: &Shared, queue: &Queue, keys: Vec<Key>) -> bool {
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let submission = Submission {
        wait: Wait::Workers,
        timeout: shared.limits.timeout,
        ..Submission::by_control("refresh", Refresh::Named(keys.clone()))
    };
    let refused = match queue.submit(submission).await {
        Answer::Done { revision, changed, .. } => {
            names.iter().for_each(|name| _ = shared.stale().remove(name));
            if !changed.is_empty() {
                log::info!("revision {revision} refreshes {}", changed.join(", "));
            }
            return true;
        }
        Answer::Refused(Refusal::Invalid(faults)) => faults
            .iter()
            .take(5)
            .map(|fault| format!("{}: {}", fault.pointer, fault.message))
            .collect::<Vec<_>>()
            .join("; "),
        Answer::Undone { reasons, .. } => reasons.first().map(|(_, reason)| reason.clone()).unwrap_or_default(),
        Answer::Busy | Answer::Full(_) | Answer::Failed(_) => {
            log::warning!("the files of {} are refreshed later: control is busy, or the disk full", names.join(", "));
            return false;
        }
        other => format!("{other:?}"),
    };
    if keys.len() > 1 {
        let mut is_decided = true;
        for key in keys {
            is_decided &= Box::pin(refresh(shared, queue, vec![key])).await;
        }
        return is_decided;
    }
    log::failure!("what has changed in the files of {} is not taken: {refused}", names.join(", "));
    shared.stale().extend(names.into_iter().map(|name| (name, refused.clone())));
    true
}

fn complain(shared: &Shared, path: String, reason: String) {
    let what = if is_url(Path::new(&path)) { "cannot be downloaded" } else { "has changed and cannot be read" };
    log::failure!("{path} {what}; what was captured stays: {reason}");
    shared.stale().insert(path, reason);
}
