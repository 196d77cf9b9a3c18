//! The daemon: opens everything, starts everything, and ends it in order.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{broadcast, mpsc, watch};
use weir_gateway::resource::CapturedFile;
use weir_resource::{Fault, ResourceKind};

use crate::api::Context;
use crate::auth::{Access, Denied};
use crate::backup::TemporaryDir;
use crate::bans::{self, Bans, crowdsec};
use crate::error::ControlError;
use crate::findings::upgrade;
use crate::listen::Bind;
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::options::Options;
use crate::probes::Probes;
use crate::publish::captured::captured;
use crate::publish::{Publisher, Queue};
use crate::sandbox::Sandbox;
use crate::shared::{Shared, now_ms};
use crate::state::{State, expand};
use crate::store::{Flusher, Loaded, Store};
use crate::{api, health, history, listen, log, lost_pages, refresh};

/// Revisions that a watcher may be behind before it reads them from the store.
const EVENTS: usize = 1_024;
/// Findings of the health checker that wait.
const FINDINGS: usize = 1_024;

/// Runs the daemon until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot start.
pub fn run(options: &Options) -> Result<(), ControlError> {
    log::set(options.level);
    lost_pages::survive();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(ControlError::io("start tokio for", &options.runtime))?;
    runtime.block_on(async {
        let failed = ControlError::io("listen for signals in", &options.runtime);
        let signals = (|| Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)))();
        let (mut terminate, mut interrupt) = signals.map_err(failed)?;
        serve(options, async move {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        })
        .await
    })
}

/// As [`run`], on the runtime that is there, until `end`.
///
/// # Errors
/// If it cannot start.
pub async fn serve(options: &Options, end: impl Future<Output = ()>) -> Result<(), ControlError> {
    let started = Instant::now();
    make_runtime_dir(options)?;
    let metrics = Arc::new(Metrics::new());
    let (mut store, loaded) = Store::open(&options.state, now_ms())?;
    TemporaryDir::remove_old(&options.state);
    if let Some(recovered) = &loaded.recovered {
        log::failure!("the store was corrupt: {recovered}");
    }
    let objects = Objects::open(&options.state, &options.runtime, &options.files);
    let objects = Arc::new(objects.map_err(ControlError::io("make the directory of objects in", &options.state))?);
    check_certificates(&objects, &loaded);
    let state = restore(&loaded, &objects)?;
    if !store.is_marked(upgrade::MARK)? {
        upgrade::differences(&state).iter().for_each(|line| log::warning!("differs from earlier versions: {line}"));
        store.mark(upgrade::MARK)?;
    }
    check_objects(&objects, &state);
    captured(&state).for_each(|file| objects.remember(&file));
    let flusher = Arc::new(Flusher::start(&store, metrics.clone())?);
    let shared = Shared {
        state: Arc::new(Mutex::new(state)),
        store: Arc::new(Mutex::new(store)),
        flusher,
        sandbox: Arc::new(
            Sandbox::new(options.sandbox, options.executable.clone(), objects.clone(), metrics.clone())
                .with_folder(options.runtime.clone()),
        ),
        objects,
        uses: Arc::default(),
        stale: Arc::default(),
        metrics: metrics.clone(),
        events: broadcast::channel(EVENTS).0,
        limits: options.limits.clone(),
    };
    let (output, findings) = mpsc::channel(FINDINGS);
    let supervisor = health::start(output, metrics.clone())
        .map_err(ControlError::io("start the health checker for", &options.runtime))?;
    let mut publisher = Publisher::new(shared.clone(), &options.runtime, supervisor, loaded.snapshot)?;
    if loaded.recovered.is_some() {
        publisher.snapshot_now();
    }
    // The publisher has the lock of the journal, and with it the right to write the table.
    let bans = Bans::open(shared.clone(), &options.runtime)?;
    let (queue, submitted) = Queue::new(options.limits.waiting);
    let refresher = queue.clone();
    let (stopper, stop) = watch::channel(false);
    let context = Arc::new(Context {
        shared: shared.clone(),
        queue,
        regions: publisher.regions(),
        bans: bans.clone(),
        probes: Probes::default(),
        runtime: options.runtime.clone(),
        state_dir: options.state.clone(),
        recovered: loaded.recovered,
        started,
        stop: stop.clone(),
    });
    let router = api::router(context);
    let audited = shared.clone();
    let audit = move |denied: Denied| {
        let who = denied.actor.as_deref().unwrap_or("?");
        let what = format!("{} {} from {}", denied.method, denied.path, denied.remote);
        audited.audit(who, &what, denied.status, &denied.reason);
    };
    let refresh = refresh::watch(shared.clone(), refresher, stop.clone());
    let access = Arc::new(Access::new(&options.state, metrics, Box::new(audit)));
    let mut servers = vec![tokio::spawn(history::watch(shared.clone(), options.runtime.clone(), stop.clone()))];
    servers.push(tokio::spawn(refresh));
    servers.push(tokio::spawn(bans::watch(bans.clone(), stop.clone())));
    servers.push(tokio::spawn(crowdsec::follow(bans, shared.clone(), stop.clone())));
    for bind in &options.listen {
        let listener = listen::bind(bind).await.map_err(|error| ControlError::Listen(error.to_string()))?;
        servers.push(tokio::spawn(listen::serve(listener, router.clone(), access.clone(), stop.clone())));
        if let Bind::Unix(path) = bind {
            let again = listen::keep(path.clone(), router.clone(), access.clone(), stop.clone());
            servers.push(tokio::spawn(again));
        }
    }
    drop((router, access));
    let (publisher_stop, publisher_stopped) = watch::channel(false);
    let mut publishing = tokio::spawn(publisher.run(submitted, findings, publisher_stopped));
    let (revision, ms) = (shared.state().revision(), started.elapsed().as_millis());
    log::info!("revision {revision} of {}, ready after {ms} ms", options.state.display());
    tokio::select! {
        () = end => {}
        // Whoever started us starts us again; workers do not notice.
        failed = &mut publishing => return Err(ControlError::Publisher(format!("{failed:?}"))),
    }
    log::info!("stopping");
    let _ = stopper.send(true);
    for server in servers {
        let _ = server.await;
    }
    let _ = publisher_stop.send(true);
    if publishing.await.is_ok_and(|flushed| flushed) {
        shared.store().end();
    }
    Ok(())
}

/// Compares the contents of files with what the state says they are, and publishes them.
fn check_objects(objects: &Objects, state: &State) {
    let files: Vec<CapturedFile> = captured(state).collect();
    let stale = objects.verify(&files);
    stale.iter().for_each(|lost| log::failure!("{lost}: workers leave out what needs it"));
    // Those that are there, each by itself.
    for error in files.iter().filter(|file| objects.has(file)).filter_map(|file| objects.publish([file]).err()) {
        log::failure!("the content of a file cannot be published: {error}");
    }
}

/// Compares the files of certificates with what the store says they are, before the contents are needed.
fn check_certificates(objects: &Objects, loaded: &Loaded) {
    let certificates = loaded.documents().filter(|(key, _)| key.kind == ResourceKind::Certificates);
    let files: Vec<_> = certificates.flat_map(|(_, (text, _))| expand(text, &()).0.files).collect();
    for lost in objects.verify_for(files.iter().map(|(purpose, file)| (*purpose, file))) {
        log::failure!("{lost}: workers do without the certificate that needs it");
    }
}

fn make_runtime_dir(options: &Options) -> Result<(), ControlError> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&options.runtime);
    made.map_err(ControlError::io("make", &options.runtime))
}

/// The state that was stored, checked as if it came in anew.
fn restore(loaded: &Loaded, objects: &Objects) -> Result<State, ControlError> {
    State::restore(loaded.revision, loaded.documents(), objects).map_err(|faults: Vec<Fault>| {
        let first: Vec<String> =
            faults.iter().take(5).map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect();
        ControlError::State(first.join("; "))
    })
}
