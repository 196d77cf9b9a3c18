//! nginx with two workers, as the rows of this scenario need it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;

use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// Workers, for everyone: a change is live when both have it.
pub const WORKERS: usize = 2;
/// Name of the configuration in the server's directory.
pub const CONFIGURATION: &str = "nginx.conf";
/// Connections that one worker may hold, if nothing else is said.
const WORKER_CONNECTIONS: u32 = 4096;

/// What differs between configurations.
#[derive(Clone, Debug, Default)]
pub struct Directives {
    /// Directives before the blocks.
    pub main: String,
    /// Directives and servers of the http block.
    pub http: String,
    /// Worker processes; [`WORKERS`] if 0.
    pub workers: usize,
    /// Connections that one worker may hold; [`WORKER_CONNECTIONS`] if 0.
    pub connections: u32,
}

/// Writes the configuration and starts nginx, which must serve `port`.
pub fn start(
    site: &Site,
    name: &str,
    port: u16,
    environment: &[(&'static str, String)],
    block: &Directives,
) -> Result<Server, MeasureError> {
    let directory = site.directory_of(name)?;
    let file = directory.join(CONFIGURATION);
    let modules: Vec<PathBuf> =
        if block.http.contains("weir_") { site.module.iter().cloned().collect() } else { vec![] };
    write(&file, &render(&modules, block))?;
    let child = Child::start(Launch {
        program: OsStr::new(&weir_measure::nginx::binary()),
        arguments: vec!["-p".into(), directory.clone().into_os_string(), "-c".into(), file.into_os_string()],
        environment: environment.to_vec(),
        core: None,
        nice: site.placement.nice,
        output: directory.join("nginx.out"),
    })?;
    Server::adopt(child, port, directory, Vec::new(), true)
}

/// The text of a configuration.
#[must_use]
pub fn render(modules: &[PathBuf], block: &Directives) -> String {
    let workers = if block.workers == 0 { WORKERS } else { block.workers };
    let connections = if block.connections == 0 { WORKER_CONNECTIONS } else { block.connections };
    let mut text = format!("daemon off;\nworker_processes {workers};\npid nginx.pid;\nerror_log error.log warn;\n");
    // SAFETY: geteuid only reads a number of the process.
    if unsafe { libc::geteuid() } == 0 {
        text.push_str("user root;\n");
    }
    for module in modules {
        let _ = writeln!(text, "load_module {};", module.display());
    }
    let _ = write!(
        text,
        "{}events {{ worker_connections {connections}; }}\n\
         http {{\n  access_log off;\n  keepalive_timeout 300s;\n  keepalive_requests 100000000;\n\
         \x20 client_body_temp_path body_temp;\n  proxy_temp_path proxy_temp;\n  fastcgi_temp_path fastcgi_temp;\n\
         \x20 uwsgi_temp_path uwsgi_temp;\n  scgi_temp_path scgi_temp;\n{}}}\n",
        block.main, block.http
    );
    text
}
