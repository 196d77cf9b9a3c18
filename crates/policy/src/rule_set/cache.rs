//! Programs that this process has compiled, found again by the content of their files.
//!
//! `nginx -s reload` loads the policy anew in the same master process, while the old one still
//! serves. Parsing and compiling the Core Rule Set costs a good part of a second; reading and
//! hashing its two megabytes costs milliseconds. So what a program was made of is remembered with
//! it, weakly: when the last policy that uses it goes, it goes.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sha2::{Digest, Sha256};
use weir_engine::seclang::{Program, ProgramError};
use weir_gateway::resource::Sha256Hash;
use weir_rules::seclang::ir::Engine;
use weir_rules::seclang::{Diagnostic, Files, Options, RuleSource, Severity};

use super::RuleSetNeeds;
use crate::PolicyError;
use crate::files::{FileSource, listing};
use crate::source::Source;

/// Largest file of which errors show a line.
const EXCERPT_FILE_BYTES: usize = 1 << 20;

type Hash = [u8; 32];

/// A hash of what was asked for: roots and options.
pub(super) type Key = Hash;

/// A program with what is to be said of it.
#[derive(Clone)]
pub(super) struct LoadedRules {
    pub program: Arc<Program>,
    pub warnings: Arc<[PolicyError]>,
    pub needs: RuleSetNeeds,
    /// Hash of everything that was read.
    pub digest: Hash,
    /// All files and folders that were read or looked for.
    pub paths: Arc<[PathBuf]>,
}

/// A program that may still live.
struct Known {
    key: Key,
    seen: Seen,
    paths: Arc<[PathBuf]>,
    program: Weak<Program>,
    warnings: Arc<[PolicyError]>,
    needs: RuleSetNeeds,
}

/// What loading looked at: each file and folder once, with a hash of what was in it. Folders
/// count because a pattern such as `*.conf` may match more files next time.
#[derive(Default)]
struct Seen {
    files: Vec<(PathBuf, usize, Hash)>,
    folders: Vec<(PathBuf, Hash)>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The key of what is asked for.
pub(super) fn key(roots: &[RuleSource], options: &Options) -> Key {
    let mut hash = Sha256::new();
    hash.update(format!("{options:?}"));
    for root in roots {
        hash.update(format!("{root:?}\n"));
    }
    hash.finalize().into()
}

/// The program of these files: the one that lives already if nothing has changed.
pub(super) fn load(
    key: Key,
    roots: &[RuleSource],
    options: &Options,
    disk: &dyn FileSource,
) -> Result<LoadedRules, Vec<PolicyError>> {
    if let Some(found) = find(&key, disk) {
        return Ok(found);
    }
    let recorder = Recorder { disk, seen: RefCell::default() };
    let error_of = |diagnostic| error_of(diagnostic, disk);
    let loaded = weir_rules::seclang::load_from(roots, options, &recorder).map_err(|all| {
        all.into_iter().filter(|one| one.severity == Severity::Error).map(error_of).collect::<Vec<_>>()
    })?;
    let files = &loaded.set.files;
    let program = Program::compile(&loaded.set)
        .map_err(|errors| errors.into_iter().map(|error| uncompiled(error, files)).collect::<Vec<_>>())?;
    let program = Arc::new(program);
    let needs = RuleSetNeeds::of(&loaded.set);
    let warnings = loaded.warnings.into_iter().filter(|warning| warning.severity != Severity::Note);
    let warnings: Arc<[PolicyError]> = warnings.map(error_of).chain(only_detects(&program)).collect();
    let seen = recorder.seen.into_inner();
    let (digest, paths) = (seen.digest(&key), seen.paths());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|known| known.program.strong_count() > 0);
    known.push(Known {
        key,
        seen,
        paths: Arc::clone(&paths),
        program: Arc::downgrade(&program),
        warnings: Arc::clone(&warnings),
        needs,
    });
    Ok(LoadedRules { program, warnings, needs, digest, paths })
}

/// A program that lives, was asked for in the same way, and whose files are what they were.
fn find(key: &Key, disk: &dyn FileSource) -> Option<LoadedRules> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter().filter(|known| known.key == *key).find_map(|known| {
        let program = known.program.upgrade()?;
        let Known { seen, warnings, needs, paths, .. } = known;
        let found = || LoadedRules {
            program,
            warnings: Arc::clone(warnings),
            needs: *needs,
            digest: seen.digest(key),
            paths: Arc::clone(paths),
        };
        seen.is_unchanged(disk).then(found)
    })
}

impl Seen {
    /// Whether all of it is as it was.
    fn is_unchanged(&self, disk: &dyn FileSource) -> bool {
        let same_file = |(path, limit, hash): &(PathBuf, usize, Hash)| match disk.known_hash(path, *limit as u64) {
            Some(Sha256Hash(known)) => known == *hash,
            None => of_file(&disk.read(path, *limit)) == *hash,
        };
        let same_folder = |(path, hash): &(PathBuf, Hash)| of_folder(&disk.list(path)) == *hash;
        self.folders.iter().all(same_folder) && self.files.iter().all(same_file)
    }

    fn paths(&self) -> Arc<[PathBuf]> {
        let folders = self.folders.iter().map(|(path, _)| listing(path));
        self.files.iter().map(|(path, ..)| path.clone()).chain(folders).collect()
    }

    fn digest(&self, key: &Key) -> Hash {
        let mut hash = Sha256::new();
        hash.update(key);
        self.files.iter().for_each(|(_, _, content)| hash.update(content));
        hash.finalize().into()
    }
}

fn of_file(content: &io::Result<Vec<u8>>) -> Hash {
    content.as_ref().map_or([0; 32], |content| Sha256::digest(content).into())
}

fn of_folder(names: &io::Result<Vec<String>>) -> Hash {
    let Ok(names) = names else { return [0; 32] };
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    Sha256::digest(names.join("\n")).into()
}

/// The files, remembering what was seen.
struct Recorder<'d> {
    disk: &'d dyn FileSource,
    seen: RefCell<Seen>,
}

impl Files for Recorder<'_> {
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let content = self.disk.read(path, limit);
        let mut seen = self.seen.borrow_mut();
        if !seen.files.iter().any(|(known, _, _)| known == path) {
            seen.files.push((path.to_owned(), limit, of_file(&content)));
        }
        content
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let names = self.disk.list(directory);
        let mut seen = self.seen.borrow_mut();
        if !seen.folders.iter().any(|(known, _)| known == directory) {
            seen.folders.push((directory.to_owned(), of_folder(&names)));
        }
        names
    }

    fn identity(&self, path: &Path) -> PathBuf {
        self.disk.identity(path)
    }
}

fn error_of(diagnostic: Diagnostic, disk: &dyn FileSource) -> PolicyError {
    let excerpt = excerpt(&diagnostic, disk);
    let Diagnostic { file, line, column, message, hint, .. } = diagnostic;
    PolicyError { file, line, column, message, hint, excerpt, document: None }
}

/// The line with a caret below the place; nothing for texts that stand in no file.
fn excerpt(diagnostic: &Diagnostic, disk: &dyn FileSource) -> String {
    let Ok(content) = disk.read(Path::new(&diagnostic.file), EXCERPT_FILE_BYTES) else { return String::new() };
    let source = Source::new(diagnostic.file.clone(), &String::from_utf8_lossy(&content));
    source.excerpt(source.offset_of(diagnostic.line, diagnostic.column))
}

/// A warning if the rules' own files keep them from blocking, which a policy does not show.
fn only_detects(program: &Program) -> Option<PolicyError> {
    let engine = match program.settings().engine? {
        Engine::On => return None,
        Engine::DetectionOnly => "DetectionOnly",
        Engine::Off => "Off",
    };
    Some(PolicyError {
        file: program.files().first().cloned().unwrap_or_default(),
        line: 0,
        column: 0,
        message: format!("this rule set does not block: one of its files says `SecRuleEngine {engine}`"),
        hint: Some("add `SecRuleEngine On` behind it, or say `detect: true` in the policy".to_owned()),
        excerpt: String::new(),
        document: None,
    })
}

fn uncompiled(error: ProgramError, files: &[String]) -> PolicyError {
    PolicyError {
        file: files.get(error.place.file as usize).cloned().unwrap_or_default(),
        line: error.place.line,
        column: 0,
        message: format!("rule {}: {}", error.rule, error.message),
        hint: None,
        excerpt: String::new(),
        document: None,
    }
}
