//! A daemon in a directory of its own, and workers that are threads: they follow the journal as nginx's do.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::oneshot;
use weir_bus::{Address, Endpoint, Read, Reader, Region};
use weir_control::client::{Answer, Client, Method, Target};
use weir_control::listen::Bind;
use weir_control::{ControlError, Level, Limits, Options};
use weir_gateway::op::Op;
use weir_gateway::resource::Resource;
use weir_gateway::{Gateway, Patterns, Refusal};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A member at this address is refused by workers.
pub const REFUSED: &str = "192.0.2.66:80";

fn tcp(address: SocketAddr) -> Bind {
    Bind::Tcp { address, tls: None, insecure: false }
}

pub struct Daemon {
    pub dir: tempfile::TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ControlError>>>,
    pub client: Client,
}

impl Daemon {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), Limits::default())
    }

    pub fn start_in(dir: tempfile::TempDir, limits: Limits) -> Self {
        Self::listening(dir, limits, None)
    }

    /// With an address, too.
    pub fn with_address() -> (Self, SocketAddr) {
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        (Self::listening(tempfile::tempdir().unwrap(), Limits::default(), Some(address)), address)
    }

    fn listening(dir: tempfile::TempDir, limits: Limits, address: Option<SocketAddr>) -> Self {
        let runtime = dir.path().join("run");
        let socket = runtime.join("control.sock");
        let options = Options {
            state: dir.path().join("state"),
            runtime,
            listen: [Bind::Unix(socket.clone())].into_iter().chain(address.map(tcp)).collect(),
            executable: PathBuf::from("/nonexistent"),
            files: Vec::new(),
            sandbox: weir_control::sandbox::Limits::default(),
            limits,
            level: Level::Warn,
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(weir_control::serve(&options, async {
                let _ = stopped.await;
            }))
        });
        let begun = Instant::now();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(!thread.is_finished(), "{:?}", thread.join());
            assert!(begun.elapsed() < PATIENCE, "the daemon does not start");
            std::thread::sleep(Duration::from_millis(2));
        }
        Self { dir, stop: Some(stop), thread: Some(thread), client: Client::new(Target::Socket(socket)) }
    }

    pub fn runtime(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// Stops it in order, and keeps the directory.
    pub fn stop(mut self) -> tempfile::TempDir {
        self.end();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }

    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.client.call(method, &format!("/api/v1{path}"), body.as_ref()).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::Get, path, None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(Method::Put, path, Some(body)).await
    }

    /// Puts, and it must be good.
    pub async fn good(&self, path: &str, body: Value) -> u64 {
        let answer = self.put(path, body).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
        answer.body["revision"].as_u64().unwrap()
    }

    /// Every worker agrees with control.
    pub async fn all_agree(&self) {
        let workers = self.get("/workers").await.body;
        for worker in workers["workers"].as_array().unwrap() {
            assert_eq!(worker["agrees"], true, "{workers}");
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// Workers of one nginx cycle.
pub struct Workers {
    stop: Arc<AtomicBool>,
    pub paused: Arc<AtomicBool>,
    pub applied: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
    pub region: Arc<Region>,
}

impl Workers {
    pub fn start(runtime: &std::path::Path, generation: u64, count: usize) -> Self {
        let region = Arc::new(Region::create(runtime, generation, count).unwrap());
        let (stop, paused, applied) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let start = |number| {
            let (region, stop, paused, applied) = (region.clone(), stop.clone(), paused.clone(), applied.clone());
            let runtime = runtime.to_path_buf();
            std::thread::spawn(move || {
                let endpoint = region.attach(Address::Worker(number as u16)).unwrap();
                let mut worker = Worker::new(Reader::open(&runtime).unwrap());
                while !stop.load(Ordering::Relaxed) {
                    if !paused.load(Ordering::Relaxed) {
                        endpoint.receive(&mut |_| {});
                        worker.follow(&endpoint);
                        applied.store(worker.live.revision(), Ordering::Relaxed);
                    }
                    let mut poll = libc::pollfd { fd: endpoint.bell(), events: libc::POLLIN, revents: 0 };
                    // SAFETY: one `pollfd` is handed over.
                    unsafe { libc::poll(&raw mut poll, 1, 20) };
                }
            })
        };
        let threads = (0..count).map(start).collect();
        let begun = Instant::now();
        while (0..count).any(|number| region.slot(number).state() != weir_bus::State::Running) {
            assert!(begun.elapsed() < PATIENCE, "the workers do not start");
            std::thread::sleep(Duration::from_millis(1));
        }
        Self { stop, paused, applied, threads, region }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

struct Worker {
    reader: Reader,
    buffer: Vec<u8>,
    live: Gateway,
    next: Gateway,
    patterns: Patterns,
    refusal: Option<String>,
    whole: bool,
}

impl Worker {
    fn new(reader: Reader) -> Self {
        let (live, next) = (Gateway::empty(), Gateway::empty());
        Self { reader, buffer: Vec::new(), live, next, patterns: Patterns::new(), refusal: None, whole: false }
    }

    fn follow(&mut self, endpoint: &Endpoint) {
        loop {
            match self.reader.next(&mut self.buffer).unwrap() {
                None => return,
                Some(Read::Base { revision, digest, .. }) => {
                    if self.live.revision() == revision && self.live.digest() == digest && revision > 0 {
                        self.reader.skip_base();
                        continue;
                    }
                    self.whole = true;
                    self.next = Gateway::empty();
                }
                Some(Read::Op(frame)) => {
                    if let Err(reason) = apply(&mut self.next, frame, &mut self.patterns, self.whole) {
                        self.refusal.get_or_insert(reason);
                    }
                }
                Some(Read::Commit { revision, .. }) => {
                    self.whole = false;
                    if let Some(reason) = self.refusal.take() {
                        self.next = self.live.clone();
                        endpoint.refuse(revision, &reason).unwrap();
                        continue;
                    }
                    self.next.set_revision(revision);
                    self.live = self.next.clone();
                    endpoint.acknowledge(revision, self.live.digest());
                }
                Some(Read::Runtime(_)) => {}
            }
        }
    }
}

fn apply(gateway: &mut Gateway, frame: &[u8], patterns: &mut Patterns, whole: bool) -> Result<(), String> {
    let op: Op = serde_json::from_slice(frame).unwrap();
    if let (Op::Put(Resource::Member { member, .. }), false) = (&op, whole)
        && member.address == REFUSED
    {
        return Err("a member that nobody wants".to_owned());
    }
    loop {
        match gateway.apply(frame, op.clone(), patterns) {
            Err(Refusal::NeedsPattern(pattern)) => patterns.insert(&pattern, Patterns::compile(&pattern)?),
            // What a refused revision would have made is not there to be deleted by its inverse.
            Err(Refusal::Unknown { .. }) => return Ok(()),
            other => return other.map_err(|refusal| refusal.to_string()),
        }
    }
}
