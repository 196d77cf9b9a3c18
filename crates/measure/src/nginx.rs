//! Configurations of nginx: everything that is alike in all variants stands here once, so that
//! two variants differ in what they are about and in nothing else.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::{Child, Launch};
use crate::error::MeasureError;
use crate::server::Server;
use crate::site::{Site, write};

/// Connections that one worker may hold; the same for every variant.
const WORKER_CONNECTIONS: u32 = 4096;
/// Idle connections to the origin that a worker keeps, unless [`Site::upstream_keepalive`] is another number.
pub const UPSTREAM_KEEPALIVE: u32 = 64;
/// Requests on one connection before it is closed: never within a round.
const CONNECTION_REQUESTS: u32 = 100_000_000;
/// Bodies up to this size stay in memory in every variant, so that the body rows compare
/// inspection and not the disk.
const BODY_BUFFER: &str = "2m";
/// Where the origin tells its counters (`stub_status`).
pub const STATUS_PATH: &str = "/weir-measure-status";
/// What the origin answers.
const ANSWER: &str = "{\\\"status\\\":\\\"ok\\\",\\\"items\\\":[1,2,3]}\\n";

/// What a proxy does with its connections to the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connections {
    /// They are kept and used again.
    #[default]
    Kept,
    /// One for each request, as an upstream block without `keepalive` has it.
    Closed,
}

/// The settings in which variants of nginx differ.
#[derive(Clone, Debug, Default)]
pub struct NginxParts {
    /// The nginx to start, if it is not the installed one.
    pub program: Option<PathBuf>,
    /// What becomes of connections to the origin.
    pub connections: Connections,
    /// Paths of the modules to load.
    pub modules: Vec<PathBuf>,
    /// Directives of the http block.
    pub http: String,
    /// Directives of the server block.
    pub server: String,
    /// Directives to add to the location that proxies.
    pub location: String,
    /// Directory of the variant, for what it keeps there.
    pub directory: PathBuf,
    /// Files written while serving.
    pub logs: Vec<PathBuf>,
    /// What is added to the environment of nginx.
    pub environment: Vec<(&'static str, String)>,
}

/// Starts a proxy in front of the origin.
pub fn start_proxy(site: &Site, name: &str, parts: NginxParts) -> Result<Server, MeasureError> {
    let (keep, header) = match parts.connections {
        Connections::Kept => (
            format!(" keepalive {}; keepalive_requests {CONNECTION_REQUESTS};", site.upstream_keepalive),
            "proxy_http_version 1.1; proxy_set_header Connection \"\"; ",
        ),
        Connections::Closed => (String::new(), ""),
    };
    let http = format!("  upstream origin {{ server 127.0.0.1:{};{keep} }}\n{}", site.origin_port, parts.http);
    let location = format!("proxy_pass http://origin; {header}proxy_set_header Host $host;{}", parts.location);
    let port = crate::port::free()?;
    start(site, name, port, site.placement.tested, &NginxParts { http, ..parts }, &location)
}

/// Starts the origin: a fixed small answer.
pub fn start_origin(site: &Site) -> Result<Server, MeasureError> {
    // A `return` leaves the body unread; nginx then discards it, as any origin reads it.
    let location = format!("default_type application/json; return 200 \"{ANSWER}\";");
    let server = format!("    location = {STATUS_PATH} {{ stub_status; }}\n");
    start(
        site,
        "origin",
        site.origin_port,
        site.placement.load,
        &NginxParts { server, ..NginxParts::default() },
        &location,
    )
}

fn start(
    site: &Site,
    name: &str,
    port: u16,
    core: Option<usize>,
    parts: &NginxParts,
    location: &str,
) -> Result<Server, MeasureError> {
    let directory = site.directory_of(name)?;
    let configuration = directory.join("nginx.conf");
    write(&configuration, &render(port, parts, location))?;
    let arguments = ["-p".into(), directory.clone().into_os_string(), "-c".into(), configuration.into_os_string()];
    let child = Child::start(Launch {
        program: &parts.program.clone().map_or_else(|| OsString::from(binary()), PathBuf::into_os_string),
        arguments: arguments.to_vec(),
        environment: parts.environment.clone(),
        core,
        nice: site.placement.nice,
        output: directory.join("nginx.out"),
    })?;
    Server::adopt(child, port, directory, parts.logs.clone(), true)
}

fn render(port: u16, parts: &NginxParts, location: &str) -> String {
    let mut text = String::from("daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log warn;\n");
    // SAFETY: geteuid only reads a number of the process.
    if unsafe { libc::geteuid() } == 0 {
        text.push_str("user root;\n");
    }
    for module in &parts.modules {
        let _ = writeln!(text, "load_module {};", module.display());
    }
    let _ = write!(
        text,
        "events {{ worker_connections {WORKER_CONNECTIONS}; }}\n\
         http {{\n  access_log off;\n  keepalive_timeout 300s;\n  keepalive_requests {CONNECTION_REQUESTS};\n\
         \x20 client_max_body_size 0;\n  client_body_buffer_size {BODY_BUFFER};\n\
         \x20 client_body_temp_path body_temp;\n  proxy_temp_path proxy_temp;\n  fastcgi_temp_path fastcgi_temp;\n\
         \x20 uwsgi_temp_path uwsgi_temp;\n  scgi_temp_path scgi_temp;\n\
         {http}  server {{\n    listen 127.0.0.1:{port};\n    server_name www.example.com;\n\
         {server}    location / {{ {location} }}\n  }}\n}}\n",
        http = parts.http,
        server = parts.server,
    );
    text
}

/// The nginx to use: `NGINX_BIN`, or the one in PATH or /usr/sbin.
#[must_use]
pub fn binary() -> String {
    let fallback = || if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx".into() } else { "nginx".into() };
    std::env::var("NGINX_BIN").unwrap_or_else(|_| fallback())
}

/// Version and module directory of the installed nginx.
pub fn describe() -> Result<(String, PathBuf), MeasureError> {
    let binary = binary();
    let output = Command::new(&binary).arg("-V").output().map_err(|error| {
        MeasureError::Missing(format!(
            "{binary} cannot be started ({error}): install nginx with `scripts/setup.sh bench`"
        ))
    })?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.lines().next().and_then(|line| line.rsplit('/').next()).unwrap_or("unknown").to_owned();
    let modules = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("--modules-path="))
        .map_or_else(|| PathBuf::from("/usr/lib/nginx/modules"), PathBuf::from);
    Ok((version, modules))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Address, Client, request};
    use crate::placement::Placement;

    #[test]
    fn parts_land_in_their_blocks() {
        let parts = NginxParts {
            modules: vec!["/m/a.so".into(), "/m/b.so".into()],
            http: "  H;\n".into(),
            server: "    S;\n".into(),
            ..NginxParts::default()
        };
        let text = render(20_001, &parts, "return 200;");
        let order = [
            "load_module /m/a.so;",
            "load_module /m/b.so;",
            "http {",
            "  H;",
            "server {",
            "    S;",
            "location / { return 200; }",
        ];
        let places: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    fn a_proxy_before_the_origin_passes_everything_and_ends_with_its_handle() {
        let (_, modules) = describe().expect("nginx is installed wherever Weir is built");
        let site = Site::create(Placement::default(), None, modules).unwrap();
        let origin = start_origin(&site).unwrap();
        let proxy = start_proxy(&site, "proxy", NginxParts::default()).unwrap();
        let answer = Client::new(Address::local(proxy.port)).exchange(&request("GET", "/", "a", "", "")).unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(proxy.workers().len(), 1);
        let ports = [proxy.port, origin.port];
        drop((proxy, origin));
        assert!(ports.iter().all(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_err()));
    }

    #[test]
    fn a_configuration_that_nginx_refuses_is_an_error_with_its_words() {
        let site = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let parts = NginxParts { http: "  no_such_directive on;\n".into(), ..NginxParts::default() };
        let words = start_proxy(&site, "broken", parts).unwrap_err().to_string();
        assert!(words.contains("no_such_directive"), "{words}");
    }

    #[test]
    fn nginx_gets_the_environment() {
        use std::os::unix::fs::PermissionsExt as _;
        let site = Site::create(Placement::default(), None, PathBuf::new()).unwrap();
        let (program, seen) = (site.path("nginx-seen"), site.path("seen"));
        let script = format!("#!/bin/sh\necho \"$GLIBC_TUNABLES\" > {}\nexec {} \"$@\"\n", seen.display(), binary());
        write(&program, &script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let environment = vec![("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=131072".to_owned())];
        let parts = NginxParts { program: Some(program), environment, ..NginxParts::default() };
        let _proxy = start_proxy(&site, "environment", parts).unwrap();
        assert_eq!(std::fs::read_to_string(seen).unwrap(), "glibc.malloc.mmap_threshold=131072\n");
    }
}
