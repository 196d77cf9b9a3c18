//! HAProxy as another bare proxy: one thread, keep-alive on both sides, no log.

use std::ffi::OsStr;

use crate::child::{Child, Launch};
use crate::error::LabError;
use crate::server::Server;
use crate::site::{Site, write};

/// Starts it in front of the origin.
pub fn start(site: &Site, name: &str) -> Result<Server, LabError> {
    let directory = site.directory_of(name)?;
    let port = crate::port::free()?;
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
