//! Finds what `weir up` runs: nginx, the module, the initial configuration.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::run_dir::RunDir;
use crate::Failure;
use crate::arguments::Up;

/// File name of the module.
const MODULE: &str = "libngx_http_weir_module.so";
/// Where distributions keep nginx's modules.
const MODULE_DIR: &str = "/usr/lib/nginx/modules";
/// The initial configuration: routes, and the policy in front of them.
const DEMO: [(&str, &str); 2] = [
    ("gateway.yaml", include_str!("../../../../examples/gateway.yaml")),
    ("demo.yaml", include_str!("../../../../examples/demo.yaml")),
];
/// What the demo site serves as files: a page, and the client that it uses.
const PAGES: [(&str, &str); 2] = [
    ("counter.html", include_str!("../../../../examples/counter.html")),
    ("weir-messages.js", include_str!("../../../messages/client/weir-messages.js")),
];
/// The directory that the example names.
pub(super) const DEMO_DIR: &str = "/tmp/weir-8080";

/// The nginx and the module that `weir up` runs.
pub(super) struct Installation {
    pub nginx: PathBuf,
    pub module: PathBuf,
    /// A policy for nginx itself, without control.
    pub policy: Option<PathBuf>,
}

impl Installation {
    pub fn find(up: &Up) -> Result<Self, Failure> {
        let nginx = match &up.nginx {
            Some(path) => existing(path, "nginx", "set --nginx or NGINX_BIN to its path")?,
            None => in_path("nginx").ok_or_else(|| {
                Failure::new("nginx is not installed").hint("`make setup` installs it; --nginx sets another path")
            })?,
        };
        let module = match &up.module {
            Some(path) => existing(path, "module", "`make build` builds it; --module or WEIR_MODULE sets its path")?,
            None => built_module().ok_or_else(|| {
                Failure::new("Weir's nginx module is not built")
                    .hint("`make build` builds it; --module sets another path")
            })?,
        };
        let policy = match &up.policy {
            Some(path) => Some(existing(path, "policy", "set --policy to its path")?),
            None => None,
        };
        Ok(Self { nginx, module, policy })
    }

    /// The files that the gateway begins with; the example is written to the run directory first.
    pub fn state(&self, dir: &RunDir, up: &Up) -> Result<Vec<PathBuf>, Failure> {
        if !up.apply.is_empty() {
            return up.apply.iter().map(|path| existing(path, "file", "--apply names it")).collect();
        }
        let folder = dir.path().to_str().expect("the run directory was checked to be text");
        for (name, text) in &PAGES {
            let path = dir.pages().join(name);
            write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).map_err(|error| failed(&path, &error))?;
        }
        let state = |(name, text): &(&str, &str)| {
            let path = dir.path().join(name);
            write(&path, &text.replace(DEMO_DIR, folder)).map(|()| path)
        };
        DEMO.iter().map(state).collect()
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn existing(path: &Path, what: &str, hint: &str) -> Result<PathBuf, Failure> {
    fs::canonicalize(path).map_err(|error| Failure::new(format!("{what} {}: {error}", path.display())).hint(hint))
}

/// `/usr/sbin` too, which is not in the PATH of plain users.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    dirs.map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

fn built_module() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let dirs = [program.parent()?.to_owned(), PathBuf::from(MODULE_DIR)];
    dirs.iter().map(|dir| dir.join(MODULE)).find(|candidate| candidate.is_file())
}
