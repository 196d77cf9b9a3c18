//! Compiles the BPF programs. They come as C, since only clang writes the relocations that fit them to each kernel,
//! and as one object in the binary, so that nothing has to be installed where Weir runs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_cargo::SkeletonBuilder;

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
    let mut builder = SkeletonBuilder::new();
    builder.source(SOURCE).obj(&object).clang(&clang).clang_args(include_arguments());
    if let Err(error) = builder.build() {
        fail(&format!("{SOURCE} does not compile: {error:?}"));
    }
}

/// Where Debian and its like keep `asm/types.h`: clang looks there only for the machine it compiles for, which is BPF.
fn include_arguments() -> Vec<String> {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let directory = format!("/usr/include/{architecture}-linux-gnu");
    let mut arguments = vec!["-Wall".to_owned(), "-Werror".to_owned()];
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
