//! Commands about probes, with a real JVM and the agent's jar; without them the tests say so and pass.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The jar and the libraries of the program, which `make probe` builds and fetches.
fn class_path() -> (PathBuf, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = || root.join("probe/agent/target/weir-probe.jar");
    let jar = std::env::var_os("WEIR_PROBE_JAR").map_or_else(built, PathBuf::from);
    let maven = PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".m2/repository");
    let libraries = [
        "ch/qos/logback/logback-classic/1.2.13/logback-classic-1.2.13.jar",
        "ch/qos/logback/logback-core/1.2.13/logback-core-1.2.13.jar",
        "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar",
    ];
    let libraries = libraries.map(|library| maven.join(library));
    let missing = libraries.iter().chain([&jar]).find(|path| !path.is_file());
    assert!(missing.is_none(), "there is no {}: `make probe` makes it", missing.expect("is some").display());
    (jar, libraries.map(|path| path.display().to_string()).join(":"))
}

/// A JVM with the probe that serves requests.
struct Jvm {
    dir: tempfile::TempDir,
    /// Where it registers.
    probes: PathBuf,
    child: Child,
    port: u16,
}

impl Jvm {
    fn start() -> Self {
        Self::beside(None)
    }

    /// One that registers where another one does.
    fn beside(other: Option<&Self>) -> Self {
        let (jar, libraries) = class_path();
        let dir = tempfile::tempdir().expect("temp dir");
        let probes = other.map_or_else(|| dir.path().join("probes"), |other| other.probes.clone());
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probe/Shop.java");
        let compiled = Command::new("javac").args(["-cp", &libraries, "-d"]).arg(dir.path()).arg(source).status();
        assert!(compiled.expect("runs").success());
        let mut child = Command::new("java")
            .arg(format!("-javaagent:{}=app=shop", jar.display()))
            .args(["-Xmx128m", "-cp", &format!("{}:{libraries}", dir.path().display()), "Shop"])
            .arg(dir.path().join("shop.log"))
            .env("WEIR_PROBE_DIR", &probes)
            .current_dir(dir.path()) // where shadow.log is made
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("is piped")).read_line(&mut line).expect("reads");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("a port was expected: {line:?}"));
        Self { dir, probes, child, port }
    }

    fn weir(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.env_remove("WEIR_CONTROL").env("WEIR_RUNTIME", self.dir.path().join("run"));
        command.env("WEIR_PROBE_DIR", &self.probes).args(arguments).output().expect("runs")
    }

    /// Standard output of a command that must end with 0.
    fn good(&self, arguments: &[&str]) -> String {
        let output = self.weir(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("is UTF-8")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.good(arguments)).expect("is JSON")
    }

    fn request(&self) {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("writes");
        stream.read_to_end(&mut Vec::new()).expect("reads");
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn probes_are_listed_switched_and_ranked_without_control() {
    let jvm = Jvm::start();
    let listed = jvm.good(&["probes"]);
    assert!(listed.contains("shop") && listed.contains("disarmed") && listed.contains("logback"), "{listed}");
    let pid = jvm.child.id().to_string();
    assert_eq!(jvm.good(&["probes", "arm", "--pid", &pid]), format!("shop-{pid}: armed: by request\n"));
    (0..20).for_each(|_| jvm.request());
    let cost = jvm.json(&["cost", "--probe", "--json"]);
    let rows = cost["rows"].as_array().expect("rows");
    let business = rows.iter().find(|row| row["plugin"] == "logback" && row["traffic"] == "business").expect("a row");
    assert!(business["calls"].as_u64().is_some_and(|calls| calls >= 19), "{cost:#}");
    let table = jvm.good(&["cost", "--probe", "--by", "plugin"]);
    assert!(table.contains("TRAFFIC") && table.contains("business"), "{table}");
    assert_eq!(jvm.good(&["probes", "silence", "logback"]), format!("shop-{pid}: logback is silent: by request\n"));
    assert!(jvm.good(&["cost", "--probe"]).contains(" silent "));
    let refused = jvm.weir(&["probes", "arm"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("not armed: logback: it is silent"), "{error}");
    assert_eq!(jvm.good(&["probes", "wake", "logback"]), format!("shop-{pid}: logback is on\n"));
    assert_eq!(jvm.good(&["probes", "silence"]), format!("shop-{pid}: silent: by request\n"));
    assert_eq!(jvm.json(&["probes", "--json"])["probes"][0]["state"], "silent");
    let other = Jvm::beside(Some(&jvm));
    for arguments in [&["probes", "arm", "--pid", &other.child.id().to_string()][..], &["probes"]] {
        let note = String::from_utf8(jvm.weir(arguments).stderr).expect("is UTF-8");
        assert!(note.contains(&format!("as business traffic: shop-{pid}\n")), "{arguments:?}: {note}");
    }
}

#[test]
fn shadow_configurations_are_set_without_control() {
    let jvm = Jvm::start();
    let file = jvm.dir.path().join("shadow.yaml");
    fs::write(&file, "logback: {suffix: .b}\n").expect("writes");
    let set = ["probes", "shadow", "--app", "shop", file.to_str().expect("is text")];
    assert!(jvm.good(&set).contains("disarmed; `weir probes arm` checks"));
    let shown = jvm.good(&["probes", "shadow", "--app", "shop"]);
    fs::write(&file, &shown).expect("writes");
    jvm.good(&set);
    assert_eq!(jvm.json(&["probes", "shadow", "--app", "shop"])["logback"]["suffix"], ".b", "what is shown can be set");
    let refused = |arguments: &[&str]| String::from_utf8_lossy(&jvm.weir(arguments).stderr).into_owned();
    assert!(refused(&["probes", "shadow", set[4]]).contains("--app"));
    let shadow =
        |password: &str| format!("jdbc: [{{business: '*', shadow: {{url: u, user: a, password: {password}}}}}]\n");
    for (text, expected) in [
        ("logback: {sufix: .b}".to_owned(), "shadow.logback.sufix: there is no such key"),
        (shadow("\"s3cret"), ":1:"),
        (shadow("*s3cret"), ":1:"),
        (shadow("[s3cret]"), "password is a list: expected a text"),
        ("s3cret".to_owned(), "not an object in YAML or JSON"),
        (String::new(), "not an object in YAML or JSON"),
    ] {
        fs::write(&file, &text).expect("writes");
        let said = refused(&set);
        assert!(said.contains(expected) && !said.contains("s3cret"), "{text}: {said}");
    }
    jvm.good(&["probes", "arm"]);
    fs::write(&file, "logback: {suffix: /x}").expect("writes");
    let said = refused(&set);
    assert!(said.contains("in force, and the probe disarmed: logback: the shadow log"), "{said}");
}

#[test]
fn an_ablation_measures_each_plugin_and_wakes_it_again() {
    let jvm = Jvm::start();
    let url = format!("http://127.0.0.1:{}/", jvm.port);
    let options = ["ablate", "--probe", "--url", &url, "--rounds", "2", "--seconds", "0.2", "--connections", "2"];
    let refused = jvm.weir(&options);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not armed"), "{refused:?}");
    jvm.good(&["probes", "arm"]);
    let json = jvm.dir.path().join("out.json");
    let said = jvm.good(&[&options[..], &["--json", json.to_str().expect("is text")]].concat());
    assert!(
        said.contains("logback") && (said.contains("dearest: ") || said.contains("no plugin costs more")),
        "{said}"
    );
    let outcome: Value = serde_json::from_slice(&fs::read(json).expect("is written")).expect("is JSON");
    let parts = outcome["parts"].as_array().expect("parts");
    assert!(parts.iter().any(|part| part["name"] == "logback"), "{outcome:#}");
    assert!(outcome["requests"].as_u64().is_some_and(|requests| requests > 10), "{outcome:#}");
    assert!(outcome["all"]["value"].as_f64().is_some_and(|us| us > 1.0), "{outcome:#}");
    assert_eq!(jvm.json(&["probes", "--json"])["probes"][0]["ready"], true, "a plugin stays silent");
    // Without an edge, nothing counts the requests of a link.
    let link = jvm.weir(&["cost", "--probe", "--link"]);
    assert!(String::from_utf8_lossy(&link.stderr).contains("nothing counts requests"), "{link:?}");
}

#[test]
fn without_probes_commands_say_so() {
    let dir = tempfile::tempdir().expect("temp dir");
    let weir = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.env_remove("WEIR_CONTROL").env("WEIR_RUNTIME", dir.path()).env("WEIR_PROBE_DIR", dir.path());
        command.args(arguments).output().expect("runs")
    };
    assert!(weir(&["probes"]).status.success());
    for (arguments, code, expected) in [
        (&["probes", "arm"][..], 1, "there is no JVM with a probe"),
        (&["probes", "disarm", "--app", "shop"], 1, "there is no JVM with a probe of that --app or --pid"),
        (&["cost", "--probe"], 1, "there is no JVM with a probe"),
        (&["cost", "--probe", "--by", "lane"], 1, "a probe has no policies and lanes"),
        (&["cost", "--app", "shop"], 1, "--app, --pid and --probe-dir are for probes"),
        (&["ablate", "--probe"], 1, "there is no JVM with a probe"),
        (&["ablate", "--policy", "rs", "--edges"], 1, "--edges are for probes"),
        (&["cost", "--link"], 2, "--probe"),
        (&["ablate", "--probe", "--live"], 2, "cannot be used with"),
        (&["probes", "dance"], 2, "dance"),
    ] {
        let output = weir(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
