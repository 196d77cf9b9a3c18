//! The sandbox with a real child: this program is both, as `weir` is. It has no test harness, because a harness would
//! write to the standard output that the child's answers go to.

// A test, though the compiler cannot tell without the harness.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_control::metrics::Metrics;
use weir_control::objects::Objects;
use weir_control::sandbox::{Job, Limits, Rejected, Sandbox, child_main};
use weir_control::state::Key;
use weir_gateway::Documents;
use weir_gateway::resource::{Document, Resource, ResourceKind, Settings};
use weir_resource::Fault;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("sandbox") {
        return child_main();
    }
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("WEIR_TESTING", "1") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    type Case = (&'static str, fn(&tokio::runtime::Runtime));
    let cases: [Case; 9] = [
        ("good policies and patterns pass, and the child stays", good),
        ("errors have pointers into documents", errors),
        ("files are read, and the Core Rule Set is quick the second time", files),
        ("bad patterns have the pointers they came with", patterns),
        ("a job that hangs is killed, and the next one is served", hang),
        ("a job that sleeps is killed by the clock", sleep),
        ("a job that eats memory, aborts or panics is a fault", crashes),
        ("a child cannot make a socket", socket),
        ("a child that is killed while it waits is replaced", killed),
    ];
    for (name, case) in cases {
        print!("{name} ... ");
        std::io::stdout().flush().unwrap();
        case(&runtime);
        println!("ok");
    }
    ExitCode::SUCCESS
}

struct Scene {
    sandbox: Sandbox,
    metrics: Arc<Metrics>,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new(limits: Limits) -> Self {
        let metrics = Arc::new(Metrics::new());
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&folder.path().join("state"), &folder.path().join("run"), &[]).unwrap();
        let exe = std::env::current_exe().unwrap();
        let sandbox = Sandbox::new(limits, exe, Arc::new(objects), Arc::clone(&metrics));
        Self { sandbox, metrics, folder }
    }

    /// Checks a policy of one rule, and a list of that name.
    async fn policy(&self, when: &str, list: &str) -> Result<(), Vec<Fault>> {
        let policy = json!({"rules": [{"id": "one", "when": when, "action": "block"}]});
        let list_document = json!({"strings": ["a"]});
        let job = Job { documents: documents(&policy, list, &list_document), patterns: vec![] };
        self.sandbox.check(&job).await.map(|_| ()).map_err(told)
    }

    async fn only_fault(&self, list: &str) -> String {
        let faults = self.policy("true", list).await.unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].hint.is_some(), "{faults:?}");
        faults[0].message.clone()
    }
}

fn told(rejected: Rejected) -> Vec<Fault> {
    match rejected {
        Rejected::Faults(faults) => faults,
        Rejected::Busy | Rejected::Full(_) => panic!("nothing else is under way, and there is space"),
    }
}

fn documents(policy: &Value, list: &str, list_document: &Value) -> Option<Documents> {
    let document = |id: &str, json: &Value| Document::new(id, json.to_string());
    let all = [Resource::Policy(document("demo", policy)), Resource::List(document(list, list_document))];
    Some(all.into_iter().collect())
}

const QUICK: Limits =
    Limits { memory_bytes: 512 << 20, cpu: Duration::from_millis(300), wall: Duration::from_millis(1500) };

const GOOD: &str = "http.request.uri.path eq \"/a\"";

fn good(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let scene = Scene::new(Limits::default());
        scene.policy(GOOD, "names").await.unwrap();
        let child = scene.sandbox.child().await.unwrap();
        let start = Instant::now();
        for _ in 0..20 {
            let patterns = vec![("^/a/(.*)$".to_owned(), "/routes/a/path/regex".to_owned())];
            scene.sandbox.check(&Job { documents: None, patterns }).await.unwrap();
        }
        print!("(a warm job takes {:?}) ", start.elapsed() / 20);
        assert_eq!(scene.sandbox.child().await, Some(child));
        assert_eq!((scene.metrics.sandbox_jobs.get(), scene.metrics.sandbox_kills.get()), (21, 0));
    });
}

fn errors(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let faults = Scene::new(Limits::default()).policy("pathh == 1", "names").await.unwrap_err();
        assert!(faults.iter().any(|fault| fault.pointer == "/policies/demo/rules/0/when"), "{faults:?}");
        let rules = json!({"rules": "SecRule ARGS \"@rx x\" \"id:1,phase:2,deny\"\n\nSecRul x"});
        let own = Resource::RuleSet(Document::new("own", rules.to_string()));
        let trusted = json!({"client_address": {"trusted": ["x"]}});
        let compiled = Some(Document::new("", trusted.to_string()));
        let settings = Resource::Settings(Settings { compiled, ..Settings::default() });
        for (resource, pointer, message) in
            [(own, "/rule_sets/own/rules", "line 3: "), (settings, "/settings/client_address/trusted/0", "expected ")]
        {
            let job = Job { documents: Some([resource].into_iter().collect()), patterns: vec![] };
            let faults = told(Scene::new(Limits::default()).sandbox.check(&job).await.unwrap_err());
            assert_eq!(faults[0].pointer, pointer);
            assert!(faults[0].message.starts_with(message), "{faults:?}");
        }
    });
}

fn files(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let Scene { sandbox, folder, .. } = Scene::new(Limits::default());
        let path = folder.path().join("names.txt");
        std::fs::write(&path, "a\nb\n").unwrap();
        let list = json!({"kind": "strings", "file": path});
        let installed = std::path::Path::new("/usr/share/modsecurity-crs").is_dir();
        let action = if installed { json!({"crs": {"path": "/usr/share/modsecurity-crs"}}) } else { json!("block") };
        let policy = json!({"rules": [{"id": "one", "when": "true", "action": action}]});
        for _ in 0..3 {
            let job = Job { documents: documents(&policy, "names", &list), patterns: vec![] };
            let report = sandbox.check(&job).await.unwrap();
            print!("({:?}, {} files) ", report.wall, report.captured.len());
            assert!(report.captured.iter().any(|file| file.path == path.to_str().unwrap() && file.size == 4));
            let paths = |kind, id| report.uses[&Key::new(kind, id)].iter().flat_map(|group| group.iter()).count();
            assert_eq!(paths(ResourceKind::Lists, "names"), 1);
            assert!(!installed || paths(ResourceKind::Policies, "demo") > 20, "all rule files");
        }
        // What was captured is compiled, whatever is at the path now.
        let mut captured = documents(&policy, "names", &list).unwrap();
        let report = sandbox.check(&Job { documents: Some(captured.clone()), patterns: vec![] }).await.unwrap();
        for file in report.captured {
            captured.set(ResourceKind::Files, &file.id(), Some((file.document(), 1)));
        }
        std::fs::remove_file(&path).unwrap();
        let report = sandbox.check(&Job { documents: Some(captured), patterns: vec![] }).await.unwrap();
        assert_eq!(report.captured, []);
        for (file, reason) in [("/nowhere/missing.txt", "no such file"), ("names.txt", "absolute path")] {
            let list = json!({"kind": "strings", "file": file});
            let job = Job { documents: documents(&policy, "names", &list), patterns: vec![] };
            let faults = told(sandbox.check(&job).await.unwrap_err());
            assert_eq!(faults[0].pointer, "/lists/names/file", "{faults:?}");
            assert!(faults[0].message.contains(reason), "{faults:?}");
        }
    });
}

fn patterns(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let patterns = ["a(b", "fine", "(?=x)"].map(|pattern| (pattern.to_owned(), format!("/routes/{pattern}")));
        let job = Job { documents: None, patterns: patterns.to_vec() };
        let faults = told(Scene::new(Limits::default()).sandbox.check(&job).await.unwrap_err());
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/routes/a(b", "/routes/(?=x)"]);
    });
}

fn hang(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let scene = Scene::new(QUICK);
        assert_eq!(scene.only_fault("weir-test-hang").await, "compiling took more than 0.3 s of CPU");
        assert_eq!(scene.sandbox.child().await, None);
        scene.policy(GOOD, "names").await.unwrap();
        assert_eq!(scene.metrics.sandbox_kills.get(), 1);
    });
}

fn sleep(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        assert_eq!(Scene::new(QUICK).only_fault("weir-test-sleep").await, "compiling took more than 1.5 s");
    });
}

fn crashes(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let patient = Limits { cpu: Duration::from_secs(5), wall: Duration::from_secs(60), ..QUICK };
        let scene = Scene::new(patient);
        // A used child gets a second chance in a fresh one; both must end in the same sentence.
        for _ in 0..2 {
            assert_eq!(scene.only_fault("weir-test-memory").await, "compiling needed more than 512 MiB of memory");
            scene.policy(GOOD, "names").await.unwrap();
        }
        let message = scene.only_fault("weir-test-abort").await;
        assert!(message.starts_with("compiling crashed the sandbox (signal: 6 (SIGABRT)"), "{message}");
        let message = scene.only_fault("weir-test-panic").await;
        assert_eq!(message, "compiling it met a fault of Weir itself: asked for by a test");
        scene.policy(GOOD, "names").await.unwrap();
    });
}

fn socket(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        Scene::new(Limits::default()).policy(GOOD, "weir-test-socket").await.unwrap();
    });
}

fn killed(runtime: &tokio::runtime::Runtime) {
    runtime.block_on(async {
        let scene = Scene::new(Limits::default());
        for _ in 0..3 {
            scene.policy(GOOD, "names").await.unwrap();
            let child = i32::try_from(scene.sandbox.child().await.unwrap()).unwrap();
            // SAFETY: a plain system call; the process is a child of ours that was not waited for.
            assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        }
        scene.policy(GOOD, "names").await.unwrap();
        assert_eq!(scene.metrics.sandbox_kills.get(), 3);
    });
}
