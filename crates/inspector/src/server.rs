//! The service: starts everything, accepts connections, and ends in order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::{Address, Config};
use crate::connection::{DRAIN, Limits};
use crate::desk::Desk;
use crate::error::InspectorError;
use crate::listen::{self, Listener};
use crate::stop::ended;
use crate::{log, scrape};

/// How long nothing is accepted after the kernel had no descriptor or memory for a connection.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the files of policies are looked at.
const WATCH: Duration = Duration::from_secs(1);

/// Runs the service until SIGTERM or SIGINT.
///
/// # Errors
/// If it cannot start.
pub fn run(config: &Path) -> Result<(), InspectorError> {
    let config = Config::load(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(InspectorError::Runtime)?;
    runtime.block_on(async {
        let signals = || Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?));
        let (mut terminate, mut interrupt) = signals().map_err(InspectorError::Runtime)?;
        let service = Service::start(config).await?;
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        service.stop().await;
        Ok(())
    })
}

/// Checks a configuration and all that it names (policies, secrets, certificates), without listening.
///
/// # Errors
/// What is wrong with it.
pub fn check(config: &Path) -> Result<(), InspectorError> {
    let mut config = Config::examine(config)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(InspectorError::Runtime)?;
    runtime.block_on(async { Desk::of(&mut config).map(drop) })
}

/// A running service.
pub struct Service {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    addresses: Vec<SocketAddr>,
    sockets: Vec<std::path::PathBuf>,
}

impl Service {
    /// Starts the service on the runtime that is there.
    ///
    /// # Errors
    /// What is wrong with the configuration, or with a socket.
    pub async fn start(mut config: Config) -> Result<Self, InspectorError> {
        let secret = |secret: &crate::config::Secret| {
            secret.read().map_err(|reason| InspectorError::Secret { what: "token", reason })
        };
        let token = config.token.as_ref().map(secret).transpose()?;
        let acceptor = config.tls.as_ref().map(listen::acceptor).transpose()?;
        let desk = Arc::new(Desk::of(&mut config)?);
        let limits = Limits { in_flight: config.in_flight, token: token.map(|token| token.into_bytes().into()) };
        let (stop, stopped) = watch::channel(false);
        let places = Arc::new(Semaphore::new(config.connections));
        let mut service = Self { stop, tasks: JoinSet::new(), addresses: Vec::new(), sockets: Vec::new() };
        for address in &config.listen {
            let listener = Listener::bind(address, acceptor.as_ref()).await?;
            service.addresses.extend(listener.address());
            if let Address::Unix(path) = address {
                service.sockets.push(path.clone());
            }
            let accepting = accept(listener, Arc::clone(&desk), limits.clone(), Arc::clone(&places), stopped.clone());
            service.tasks.spawn(accepting);
        }
        if let Some(address) = config.metrics {
            let failed = |source| InspectorError::Listen { address: address.to_string(), source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            service.addresses.extend(listener.local_addr().ok());
            service.tasks.spawn(scrape::serve(listener, Arc::clone(&desk), stopped.clone()));
        }
        let hangup = signal(SignalKind::hangup()).map_err(InspectorError::Runtime)?;
        service.tasks.spawn(watch_policies(desk, hangup, stopped));
        let names: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
        log::info!("ready on {}", names.join(", "));
        Ok(service)
    }

    /// Addresses of TCP sockets: those of the configuration in its order, then that of the metrics.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Says goodbye to gateways, answers what they have asked, and ends.
    pub async fn stop(mut self) {
        log::info!("stopping");
        let _ = self.stop.send(true);
        self.sockets.iter().for_each(|path| _ = std::fs::remove_file(path));
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // What is not done by then is dropped with the set.
        let _ = tokio::time::timeout(DRAIN + DRAIN, all).await;
    }
}

async fn accept(
    listener: Listener,
    desk: Arc<Desk>,
    limits: Limits,
    places: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let serving = stop.clone();
    loop {
        tokio::select! {
            () = ended(&mut stop) => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {
                desk.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            }
            accepted = listener.accept() => {
                let Ok(accepted) = accepted else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    desk.metrics.refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                desk.metrics.connections.fetch_add(1, Ordering::Relaxed);
                connections.spawn(listen::serve(accepted, Arc::clone(&desk), limits.clone(), serving.clone(), place));
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Loads policies again when their files change, and all of them at SIGHUP.
async fn watch_policies(desk: Arc<Desk>, mut hangup: Signal, mut stop: watch::Receiver<bool>) {
    loop {
        let all = tokio::select! {
            () = ended(&mut stop) => return,
            _ = hangup.recv() => true,
            () = tokio::time::sleep(WATCH) => false,
        };
        let desk = Arc::clone(&desk);
        // Compiling takes as long as it takes; questions are answered meanwhile.
        let _ = tokio::task::spawn_blocking(move || reload(&desk, all)).await;
    }
}

fn reload(desk: &Desk, all: bool) {
    for policy in desk.detectors().iter().filter_map(|(_, detector)| detector.policy()) {
        if all || policy.has_changed() {
            let count = if policy.reload() { &desk.metrics.reloads } else { &desk.metrics.failed_reloads };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
