//! All binaries of a process, with their builds, and the strings by which some identify themselves.

use std::fs::File;
use std::io::{self, Read, Seek};

use object::{Object, ObjectSymbol};

use super::build::{BinaryKind, BuildFacts, build_facts_of};
use super::mapped::{Mapped, binaries};
use super::nginx::NginxBinary;
use super::root::Root;

/// Maximum number of binaries whose code is analysed.
const MAX_LOOKED_AT: usize = 64;
/// Maximum size of a binary that is searched for strings.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Binaries of a process.
#[derive(Debug, Default)]
pub(super) struct Binaries {
    /// Sorted: the executable, nginx modules, LuaJIT, others.
    pub builds: Vec<BuildFacts>,
    /// Data from nginx's own strings.
    pub nginx: Option<NginxBinary>,
    /// Path and bytes of the binary that contains LuaJIT.
    pub luajit: Option<(String, Vec<u8>)>,
}

impl Binaries {
    /// Analyses the binaries of a process.
    pub fn of(pid: u32, exe: &str, root: &Root, remarks: &mut Vec<String>) -> Self {
        let mapped = match binaries(pid) {
            Ok(mapped) => mapped,
            Err(error) => {
                remarks.push(format!("binaries of process {pid} cannot be read: {error}; CAP_SYS_PTRACE is needed"));
                return Self::default();
            }
        };
        let mut all = Self::default();
        for mapped in mapped.iter().take(MAX_LOOKED_AT) {
            if let Err(error) = all.add(mapped, pid, exe, root) {
                remarks.push(format!("{} was not analysed: {error}", mapped.path));
            }
            if mapped.replaced {
                remarks.push(format!(
                    "{} was replaced on disk after the process started; the process runs the old file",
                    mapped.path
                ));
            }
        }
        if mapped.len() > MAX_LOOKED_AT {
            remarks.push(format!("only {MAX_LOOKED_AT} of {} binaries were analysed", mapped.len()));
        }
        all.builds.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
        all
    }

    fn add(&mut self, mapped: &Mapped, pid: u32, exe: &str, root: &Root) -> io::Result<()> {
        let mut file = mapped.open(pid, root)?;
        let mut kind = kind(&mapped.path, exe);
        let name = mapped.path.rsplit('/').next().unwrap_or("");
        // LuaJIT may be part of a library whose name contains lua, or of the program.
        if kind == BinaryKind::Executable || name.contains("lua") {
            let bytes = texts(&mut file)?;
            if kind == BinaryKind::Executable {
                self.nginx = NginxBinary::of(&bytes);
            }
            if self.luajit.is_none() && holds_luajit(&bytes) {
                self.luajit = Some((mapped.path.clone(), bytes));
                kind = if kind == BinaryKind::Library { BinaryKind::LuaJit } else { kind };
            }
        }
        let mut build = build_facts_of(file, &mapped.path, kind, Some(root))?;
        if let (BinaryKind::Executable, Some(nginx)) = (kind, &self.nginx) {
            build.configured_flags = nginx.argument("--with-cc-opt").unwrap_or("").to_owned();
        }
        self.builds.push(build);
        Ok(())
    }

    /// The program.
    pub fn executable(&self) -> Option<&BuildFacts> {
        self.builds.iter().find(|build| build.kind == BinaryKind::Executable)
    }

    /// Paths of all.
    pub fn paths(&self) -> Vec<String> {
        self.builds.iter().map(|build| build.path.clone()).collect()
    }
}

fn kind(path: &str, exe: &str) -> BinaryKind {
    let name = path.rsplit('/').next().unwrap_or("");
    if path == exe {
        BinaryKind::Executable
    } else if name.starts_with("ngx_") || name.starts_with("ndk_") {
        BinaryKind::NginxModule
    } else {
        BinaryKind::Library
    }
}

/// Whether the binary contains LuaJIT itself, rather than referring to it: it defines a function of
/// LuaJIT's API. A stripped program with LuaJIT linked in and no exports is not recognised.
fn holds_luajit(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    symbols.any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(b"luaJIT_setmode"))
}

fn texts(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.by_ref().take(MAX_TEXT_BYTES).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(bytes)
}
