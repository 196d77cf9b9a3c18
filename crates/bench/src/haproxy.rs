//! HAProxy as another bare proxy: one thread, keep-alive on both sides, no log.

use std::ffi::OsStr;

use weir_measure::child::{self, Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// Starts it in front of the origin.
pub fn start(site: &Site, name: &str) -> Result<Server, MeasureError> {
    if child::installed("haproxy").is_none() {
        return Err(MeasureError::Missing("haproxy is not installed; `scripts/setup.sh bench` installs it".into()));
    }
    let directory = site.directory_of(name)?;
    let port = weir_measure::port::free()?;
    let configuration = directory.join("haproxy.cfg");
    let text = format!(
        "global\n  nbthread 1\n  maxconn 4096\n\n\
         defaults\n  mode http\n  option http-keep-alive\n  http-reuse always\n\
         \x20 timeout connect 5s\n  timeout client 300s\n  timeout server 300s\n  timeout http-keep-alive 300s\n\n\
         frontend entry\n  bind 127.0.0.1:{port}\n  default_backend origin\n\n\
         backend origin\n  server origin 127.0.0.1:{} pool-max-conn 64\n",
        site.origin_port
    );
    write(&configuration, &text)?;
    let child = Child::start(Launch {
        program: OsStr::new("haproxy"),
        arguments: vec!["-db".into(), "-f".into(), configuration.into_os_string()],
        environment: Vec::new(),
        core: site.placement.tested,
        nice: site.placement.nice,
        output: directory.join("haproxy.out"),
    })?;
    Server::adopt(child, port, directory, Vec::new(), false)
}
