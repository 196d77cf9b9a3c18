//! Tests against real libraries: the system's, stripped, and one with symbols whose path is given.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_unwind::Module;

use super::*;

/// Without these names, a profile of a stripped LuaJIT does not show the cost of strings, tables
/// and garbage collection.
const NEEDED: [&str; 4] = ["lj_str_new", "lj_gc_step", "lj_tab_newkey", "lj_tab_resize"];

fn system_library() -> PathBuf {
    ["/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2", "/usr/local/openresty/luajit/lib/libluajit-5.1.so.2"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .expect("LuaJIT is installed: `make setup`")
}

#[test]
fn functions_of_the_systems_luajit_have_names_although_it_is_stripped() {
    let folder = tempfile::tempdir().expect("a folder");
    let stripped = folder.path().join("libluajit.so");
    let strip = Command::new("strip").arg("-o").arg(&stripped).arg(system_library()).status();
    assert!(strip.expect("binutils are installed").success());
    let names = internal_names(&Module::open(&stripped).expect("opens"));
    for needed in NEEDED {
        assert!(names.iter().any(|name| name.name == needed), "{needed} is not among {names:?}");
    }
    for pair in names.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:?} overlap");
    }
}

/// `WEIR_LUAJIT_SYMBOLS=libluajit.so WEIR_LUAJIT_STRIPPED=copy.so`: the same build with and without symbols
/// (`make BUILDMODE=dynamic` in LuaJIT's sources; `strip -o copy.so src/libluajit.so`).
#[test]
#[ignore = "needs a build of LuaJIT with symbols"]
fn names_are_those_of_the_same_build_with_symbols() {
    let named = |variable| std::env::var(variable).expect("it names a library");
    let (with, without) = (named("WEIR_LUAJIT_SYMBOLS"), named("WEIR_LUAJIT_STRIPPED"));
    let (with, without) =
        (Module::open(Path::new(&with)).expect("opens"), Module::open(Path::new(&without)).expect("opens"));
    let names = internal_names(&without);
    assert!(names.len() >= NEEDED.len(), "{names:?}");
    for name in &names {
        assert_eq!(with.symbol(name.name), Some(name.start), "{}", name.name);
    }
    eprintln!("{} names agree: {:?}", names.len(), names.iter().map(|name| name.name).collect::<Vec<_>>());
    assert!(internal_names(&with).is_empty(), "a library with symbols needs none");
}

#[test]
fn a_library_that_is_no_luajit_has_no_such_names() {
    let me = std::env::current_exe().expect("this program");
    assert!(internal_names(&Module::open(&me).expect("opens")).is_empty());
}
