//! `weir control`: the daemon that holds the policy.

use std::path::{Path, PathBuf};

use weir_control::listen::{Bind, Tls};
use weir_control::{Options, sandbox};

use crate::Failure;
use crate::arguments::Control;

/// Where files of policies usually are: Weir's own, CRS and ModSecurity, and databases of `geoipupdate`.
const FILES: [&str; 5] =
    ["/etc/weir", "/etc/modsecurity", "/usr/share/modsecurity-crs", "/usr/share/GeoIP", "/var/lib/GeoIP"];

pub(crate) fn run(runtime: &Path, control: &Control) -> Result<(), Failure> {
    crate::survive_broken_pipes();
    let executable = std::env::current_exe()?;
    let options = Options {
        state: control.state.clone(),
        runtime: runtime.to_owned(),
        listen: listen(runtime, control),
        executable,
        files: FILES.into_iter().map(PathBuf::from).chain(control.files.iter().cloned()).collect(),
        sandbox: sandbox::Limits {
            memory_bytes: control.sandbox_memory << 20,
            cpu: std::time::Duration::from_secs(control.sandbox_cpu),
            wall: std::time::Duration::from_secs(control.sandbox_cpu.saturating_mul(2)),
        },
        limits: weir_control::Limits {
            cost_interval: std::time::Duration::from_secs(control.cost_interval),
            ..weir_control::Limits::default()
        },
        level: control.log,
    };
    weir_control::run(&options).map_err(Failure::new)
}

fn listen(runtime: &Path, control: &Control) -> Vec<Bind> {
    let socket = control.socket.clone().unwrap_or_else(|| runtime.join(crate::api::SOCKET));
    let tls = control.tls_certificate.as_ref().zip(control.tls_key.as_ref()).map(|(certificate, key)| Tls {
        certificate: certificate.clone(),
        key: key.clone(),
        client_authorities: control.client_authorities.clone(),
    });
    let tcp = control.listen.map(|address| Bind::Tcp { address, tls, insecure: control.insecure });
    std::iter::once(Bind::Unix(socket)).chain(tcp).collect()
}
