//! Compiles the BPF programs. They come as C, since only clang writes the relocations that fit them to each kernel,
//! and as one object in the binary, so that nothing has to be installed where Weir runs.
//!
//! By clang itself and not by `libbpf-cargo`, which would build libbpf and a command-line parser a second time to do
//! the same.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "bpf/sample.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-env-changed=WEIR_CLANG");
    let clang = env::var("WEIR_CLANG").unwrap_or_else(|_| "clang".into());
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("sample.bpf.o");
    if Command::new(&clang).arg("--version").output().is_err() {
        fail(&format!(
            "`{clang}` does not start. Install clang 11 or newer (apt-get install clang), or set WEIR_CLANG."
        ));
    }
    if !Path::new("/usr/include/linux/bpf.h").exists() {
        fail(
            "/usr/include/linux/bpf.h is missing. Install the kernel's headers for user space (apt-get install linux-libc-dev).",
        );
    }
    let mut command = Command::new(&clang);
    command.args(["-target", "bpf", "-g", "-O2", "-Wall", "-Werror", "-fno-stack-protector"]);
    command.args(["-c", SOURCE, "-o"]).arg(&object).args(target_arguments());
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!("{SOURCE} does not compile: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => fail(&format!("`{clang}` does not start: {error}")),
    }
}

/// The machine whose registers are read, libbpf's headers, and where Debian and its like keep `asm/types.h`: clang looks
/// there only for the machine it compiles for, which is BPF.
fn target_arguments() -> Vec<String> {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let libbpf = env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let kernels_name = match architecture.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => other,
    };
    let mut arguments = vec![format!("-D__TARGET_ARCH_{kernels_name}"), format!("-I{libbpf}")];
    // The same source is the same object wherever it is compiled.
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    arguments.extend([(here, "."), (libbpf, "libbpf")].map(|(from, to)| format!("-fdebug-prefix-map={from}={to}")));
    let directory = format!("/usr/include/{architecture}-linux-gnu");
    if Path::new(&directory).is_dir() {
        arguments.push(format!("-I{directory}"));
    }
    arguments
}

fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    panic!("the BPF programs of weir-sample were not built: {message}");
}
