//! Names, inlined functions and lines, whichever symbols were stripped or moved.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use weir_profile::{Frame, Origin};
use weir_unwind::{Module, Symbols};

use crate::support::{self, run};

/// Different chains of (name, origin, line) at all addresses of a function, innermost first.
fn chains(module: &Arc<Module>, function: &str) -> BTreeSet<Vec<(String, Origin, u32)>> {
    let mut symbols = Symbols::new();
    let mut all = BTreeSet::new();
    for address in module.symbol_range(function).unwrap() {
        let mut frames: Vec<Frame> = Vec::new();
        assert!(symbols.resolve_in(module, address, &mut frames));
        assert!(frames.iter().all(|frame| frame.line == 0 || frame.file.ends_with("inlined.c")), "{frames:?}");
        all.insert(frames.into_iter().map(|frame| (frame.name, frame.origin, frame.line)).collect());
    }
    all
}

fn compile(directory: &Path, flags: &[&str]) -> PathBuf {
    let program = directory.join("inlined");
    run(Command::new("cc").args(["-O2", "-g"]).args(flags).arg("-o").arg(&program).arg(support::source("inlined.c")));
    program
}

fn inlined_chain() -> Vec<(String, Origin, u32)> {
    let frame = |name: &str, origin, line| (name.to_owned(), origin, line);
    vec![frame("inner", Origin::Inlined, 8), frame("middle", Origin::Inlined, 12), frame("host", Origin::Native, 16)]
}

#[test]
fn inlined_functions_have_their_names_and_lines() {
    for flags in [&[][..], &["-gz"], &["-gdwarf-4"]] {
        let directory = tempfile::tempdir().unwrap();
        let module = Arc::new(Module::open(&compile(directory.path(), flags)).unwrap());
        let chains = chains(&module, "host");
        assert!(chains.contains(&inlined_chain()), "{flags:?}: {chains:#?}");
    }
}

#[test]
fn a_debug_file_is_found_by_its_link() {
    let directory = tempfile::tempdir().unwrap();
    let build_ids = ["-Wl,--build-id=sha1", "-Wl,--build-id=none"];
    for flag in build_ids {
        let program = compile(directory.path(), &[flag]);
        let debug = directory.path().join("inlined.debug");
        run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&debug));
        run(Command::new("strip").arg("--strip-all").arg(&program));
        run(Command::new("objcopy").arg(format!("--add-gnu-debuglink={}", debug.display())).arg(&program));
        let module = Arc::new(Module::open(&program).unwrap());
        assert!(chains(&module, "host").contains(&inlined_chain()), "{flag}");
        // The debug file of another build is ignored.
        let other = directory.path().join("other");
        run(Command::new("cc").args(["-O1", "-g", "-o"]).arg(&other).arg(support::source("inlined.c")));
        run(Command::new("objcopy").arg("--only-keep-debug").arg(&other).arg(&debug));
        assert_eq!(Module::open(&program).unwrap().symbol("host"), None, "{flag}");
    }
}

#[test]
fn a_packed_symbol_table_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let program = support::work(directory.path(), &["-O2", "-fomit-frame-pointer"]);
    let names = ["leaf", "chain", "recursion", "compare", "main"];
    let before = Module::open(&program).unwrap();
    let addresses: Vec<_> = names.iter().map(|name| before.symbol_range(name).unwrap()).collect();
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(at("mini")));
    run(Command::new("xz").arg("--keep").arg(at("mini")));
    run(Command::new("strip").arg("--strip-all").arg(&program));
    assert_eq!(Module::open(&program).unwrap().symbol("leaf"), None);
    let section = format!(".gnu_debugdata={}", at("mini.xz").display());
    run(Command::new("objcopy").args(["--add-section", &section]).arg(&program));
    let packed = Module::open(&program).unwrap();
    for (name, range) in names.iter().zip(addresses) {
        assert_eq!(packed.symbol_range(name).unwrap(), range, "{name}");
        assert_eq!(packed.symbol_at(range.start + 1).unwrap(), (*name, range.start));
    }
}

#[test]
fn nginx_of_the_distribution_shows_its_functions() {
    let path = Path::new("/usr/sbin/nginx");
    let module = Arc::new(Module::open(path).unwrap());
    let mut symbols = Symbols::new();
    for name in ["ngx_http_process_request", "ngx_http_core_run_phases", "ngx_process_events_and_timers", "main"] {
        let Some(range) = module.symbol_range(name) else {
            assert_eq!(name, "main", "of a stripped program");
            continue;
        };
        let mut frames = Vec::new();
        assert!(symbols.resolve_in(&module, range.start + 5, &mut frames));
        assert_eq!(frames.last().unwrap().name, name);
        assert_eq!(frames.last().unwrap().build_id, module.build_id());
        let frame = module.frame_range(range.start).unwrap();
        assert_eq!(frame.start, range.start);
    }
}

#[test]
fn sections_are_given_as_they_are() {
    let module = Module::open(&std::env::current_exe().unwrap()).unwrap();
    let text = module.section(".text").unwrap();
    assert!(text.data.len() > 10_000 && text.address != 0);
    assert_eq!(module.section_at(text.address + 10).unwrap().0, ".text");
    assert_eq!(module.bytes_at(text.address + 10).unwrap()[..20], text.data[10..30]);
    assert!(module.section(".no").is_none() && module.section_at(0).is_none());
    assert!(module.section(".bss").unwrap().data.is_empty());
}
