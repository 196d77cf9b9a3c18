//! The configuration of one nginx, composed by a test and then started or only checked.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::{Daemon, Nginx, port};

/// An nginx under construction: its own directory, a port, and pieces of configuration.
pub struct Setup {
    directory: TempDir,
    /// Port of the first server on 127.0.0.1.
    pub port: u16,
    modules: Vec<PathBuf>,
    main: String,
    http: String,
    listen: String,
    server: String,
    pub(crate) workers: u8,
    connections: u32,
    error_level: String,
    environment: Vec<(String, String)>,
    daemon: bool,
}

impl Setup {
    /// An nginx without the Weir module.
    ///
    /// # Panics
    /// If no temporary directory can be created.
    #[must_use]
    pub fn plain() -> Self {
        let directory = tempfile::Builder::new().prefix("weir-e2e-").tempdir().expect("a temporary directory");
        for name in ["body", "proxy", "fastcgi", "uwsgi", "scgi", "html", "run"] {
            fs::create_dir(directory.path().join(name)).expect("a new directory");
        }
        Self {
            directory,
            port: port::free(),
            modules: Vec::new(),
            main: String::new(),
            http: String::new(),
            listen: String::new(),
            server: String::new(),
            workers: 2,
            connections: 1024,
            error_level: "info".into(),
            environment: Vec::new(),
            daemon: false,
        }
    }

    /// An nginx with the Weir module loaded but off; its runtime directory and logs are in the prefix.
    #[must_use]
    pub fn weir() -> Self {
        let mut this = Self::plain();
        this.modules.push(module());
        let prefix = this.prefix().display().to_string();
        this.http(&format!(
            "weir_runtime {prefix}/run;\nweir_attack_log {prefix}/attack.log flush=50ms;\n\
             weir_access_log {prefix}/access.log flush=50ms;\n"
        ))
    }

    /// An nginx with the Weir module on, and this policy.
    #[must_use]
    pub fn policy(policy: &str) -> Self {
        let this = Self::weir();
        let path = this.prefix().join("policy.yaml");
        this.file("policy.yaml", policy).http(&format!("weir_policy {};\nweir on;\n", path.display()))
    }

    /// The directory of this nginx.
    #[must_use]
    pub fn prefix(&self) -> &Path {
        self.directory.path()
    }

    /// Loads another module.
    #[must_use]
    pub fn module(mut self, path: impl Into<PathBuf>) -> Self {
        self.modules.push(path.into());
        self
    }

    /// Loads this module instead of the ones so far.
    pub fn set_module(&mut self, path: impl Into<PathBuf>) {
        self.modules = vec![path.into()];
        self.write();
    }

    /// Starts nginx as a daemon and waits until it listens.
    #[must_use]
    pub fn start_daemon(mut self) -> Daemon {
        self.daemon = true;
        Daemon::start(self)
    }

    /// Adds directives to the main context.
    #[must_use]
    pub fn main(mut self, text: &str) -> Self {
        self.main.push_str(text);
        self
    }

    /// Adds directives to `http`, including complete servers.
    #[must_use]
    pub fn http(mut self, text: &str) -> Self {
        self.http.push_str(text);
        self.http.push('\n');
        self
    }

    /// Adds directives to the first server.
    #[must_use]
    pub fn server(mut self, text: &str) -> Self {
        self.server.push_str(text);
        self.server.push('\n');
        self
    }

    /// Adds `location / { proxy_pass http://ORIGIN; }`.
    #[must_use]
    pub fn proxy(self, origin: impl std::fmt::Display) -> Self {
        self.server(&format!("location / {{ proxy_pass http://{origin}; }}"))
    }

    /// Adds parameters to the first server's `listen`, such as `ssl http2`.
    #[must_use]
    pub fn listen(mut self, parameters: &str) -> Self {
        self.listen = parameters.into();
        self
    }

    /// Writes a file in the prefix.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.prefix().join(name), content).expect("the prefix is writable");
        self
    }

    /// Sets `worker_processes` instead of 2.
    #[must_use]
    pub fn workers(mut self, workers: u8) -> Self {
        self.workers = workers;
        self
    }

    /// Sets `worker_connections` instead of 1,024.
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the level of `error_log` instead of `info`.
    #[must_use]
    pub fn error_level(mut self, level: &str) -> Self {
        self.error_level = level.into();
        self
    }

    /// Sets an environment variable of nginx.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts nginx and waits until it listens.
    #[must_use]
    pub fn start(self) -> Nginx {
        Nginx::start(self)
    }

    /// Runs `nginx -t` on the configuration.
    ///
    /// # Panics
    /// If nginx cannot be run.
    #[must_use]
    pub fn check(&self) -> Output {
        self.write();
        self.command().arg("-t").output().expect("nginx is installed")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(binary());
        let prefix = self.prefix();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("-p").arg(prefix).arg("-c").arg(prefix.join("nginx.conf")).arg("-e").arg(prefix.join("error.log"));
        command
    }

    pub(crate) fn write(&self) {
        fs::write(self.prefix().join("nginx.conf"), self.text()).expect("the prefix is writable");
    }

    fn text(&self) -> String {
        let prefix = self.prefix().display();
        let mut text = String::new();
        for module in &self.modules {
            let _ = writeln!(text, "load_module {};", module.display());
        }
        // SAFETY: geteuid has no preconditions and cannot fail.
        if unsafe { libc::geteuid() } == 0 {
            // Workers of another user could not enter the temporary directory.
            text.push_str("user root;\n");
        }
        let Self { workers, connections, main, http, listen, server, port, error_level, .. } = self;
        let daemon = if self.daemon { "on" } else { "off" };
        let _ = write!(
            text,
            "daemon {daemon};\nmaster_process on;\nworker_processes {workers};\npid {prefix}/nginx.pid;\n\
             error_log {prefix}/error.log {error_level};\n{main}\n\
             events {{ worker_connections {connections}; }}\nhttp {{\n\
             client_body_temp_path {prefix}/body;\nproxy_temp_path {prefix}/proxy;\n\
             fastcgi_temp_path {prefix}/fastcgi;\nuwsgi_temp_path {prefix}/uwsgi;\nscgi_temp_path {prefix}/scgi;\n\
             access_log off;\nclient_max_body_size 64m;\n{http}\n\
             server {{\nlisten 127.0.0.1:{port} {listen};\nroot {prefix}/html;\n{server}\n}}\n}}\n"
        );
        text
    }
}

/// The nginx to test: `NGINX_BIN`, or the installed one.
fn binary() -> PathBuf {
    std::env::var_os("NGINX_BIN").map_or_else(|| "/usr/sbin/nginx".into(), PathBuf::from)
}

/// The module under test: `WEIR_MODULE`, or the one that cargo built most recently.
///
/// # Panics
/// If there is no module.
#[must_use]
pub fn module() -> PathBuf {
    if let Some(path) = std::env::var_os("WEIR_MODULE") {
        return path.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let built = ["quick", "release", "debug"].map(|profile| target.join(profile).join("libngx_http_weir_module.so"));
    let newest =
        built.iter().filter(|path| path.exists()).max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    let newest = newest.unwrap_or_else(|| panic!("the module is not built: `make build` makes {}", built[0].display()));
    newest.canonicalize().expect("it exists")
}
