//! nginx from its packaged sources at a chosen level of optimisation.
//!
//! The same sources and the same filters as the distribution's, so that a case differs from the
//! healthy one by the compiler's options alone; stripped, so that a diagnosis cannot read them in
//! debug information. Built once, below `.build/`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_measure::error::MeasureError;

/// Where `scripts/nginx-package.sh` puts the sources; `nginx-dev` has only headers.
const PACKAGED: &str = ".build/nginx-package";
/// What `configure` is asked for besides its defaults: filters that stack up.
const OPTIONS: &[&str] = &["--with-http_gunzip_module", "--with-http_sub_module", "--with-http_addition_module"];

/// Path of an nginx built with `-LEVEL`; builds it if there is none.
pub fn nginx(level: &str) -> Result<PathBuf, MeasureError> {
    let sources = std::env::var_os("NGINX_SOURCE_DIR").map_or_else(|| PathBuf::from(PACKAGED), PathBuf::from);
    if !sources.join("src/core/nginx.c").exists() {
        return Err(MeasureError::Missing(format!(
            "{} holds no sources of nginx: `scripts/nginx-package.sh` fetches them, or NGINX_SOURCE_DIR names some",
            sources.display()
        )));
    }
    // Steps run in other directories.
    let sources = std::path::absolute(sources).map_err(MeasureError::file("."))?;
    let target = std::path::absolute(format!(".build/nginx-{level}")).map_err(MeasureError::file("."))?;
    let program = target.join("nginx");
    if program.exists() {
        return Ok(program);
    }
    eprintln!("building nginx with -{level} in {}", target.display());
    let work = target.join("work");
    // What an interrupted build has left would be taken for up to date.
    let _ = fs::remove_dir_all(&target);
    fs::create_dir_all(&target).map_err(MeasureError::file(&target))?;
    step("cp", ["-r".into(), sources.into_os_string(), work.clone().into_os_string()], &target)?;
    let options = ["./configure".into(), format!("--with-cc-opt=-{level}")];
    let options = options.into_iter().chain(OPTIONS.iter().map(ToString::to_string)).map(OsString::from);
    step("sh", options, &work)?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    step("make", ["-f", "objs/Makefile", &format!("-j{jobs}"), "binary"].map(OsString::from), &work)?;
    step("strip", ["--strip-all".into(), work.join("objs/nginx").into_os_string()], &work)?;
    let built = work.join("objs/nginx");
    fs::rename(&built, &program).map_err(MeasureError::file(&built))?;
    fs::remove_dir_all(&work).map_err(MeasureError::file(&work))?;
    Ok(program)
}

fn step(program: &str, arguments: impl IntoIterator<Item = OsString>, directory: &Path) -> Result<(), MeasureError> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|error| MeasureError::program(program, format!("cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let end: Vec<&str> = said.lines().rev().take(20).collect();
    let end = end.into_iter().rev().collect::<Vec<_>>().join("\n");
    Err(MeasureError::program(program, format!("{} in {}\n{end}", output.status, directory.display())))
}
