//! Cycles of files in a crate: files that cannot be read, moved or tested without each other, because
//! each uses the next by an import or a path.
//!
//! An edge leads to the file that defines an item, not to one that re-exports it. A file that uses
//! what its parent modules define adds no edge: a parent holds what its children share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::modules::{Module, Modules, Segments};

/// The longest chain of re-exports that is followed.
const MAX_HOPS: usize = 16;

/// The cycles of one crate.
#[derive(Debug)]
pub struct Cycles {
    name: String,
    /// The files of each cycle, each with the files of the cycle that it uses.
    cycles: Vec<BTreeMap<PathBuf, Vec<PathBuf>>>,
}

impl Cycles {
    /// The cycles of `crates/NAME`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let dir = Path::new("crates").join(name).join("src");
        let roots = ["lib.rs", "main.rs"].map(|root| dir.join(root));
        let present = roots.iter().filter(|root| crate::root().join(root).is_file());
        let cycles = present.flat_map(|root| cycles(&Modules::read(root), &dir)).collect();
        Self { name: name.to_owned(), cycles }
    }

    /// The number of files in cycles. Unlike the number of cycles it never grows when a cycle is cut
    /// in two.
    #[must_use]
    pub fn files(&self) -> usize {
        self.cycles.iter().map(BTreeMap::len).sum()
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {} cycles, {} files", self.name, self.cycles.len(), self.files())?;
        for (number, cycle) in self.cycles.iter().enumerate() {
            writeln!(out, "  cycle {} of {} files", number + 1, cycle.len())?;
            for (file, uses) in cycle {
                let uses: Vec<String> = uses.iter().map(|used| used.display().to_string()).collect();
                writeln!(out, "    {} uses {}", file.display(), uses.join(", "))?;
            }
        }
        Ok(())
    }
}

fn cycles(all: &Modules, dir: &Path) -> Vec<BTreeMap<PathBuf, Vec<PathBuf>>> {
    let edges = edges(all);
    let reach: Vec<BTreeSet<usize>> = (0..all.files.len()).map(|from| reachable(&edges, from)).collect();
    let name = |file: usize| all.files[file].strip_prefix(dir).unwrap_or(&all.files[file]).to_owned();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for file in 0..all.files.len() {
        let cycle: BTreeSet<usize> =
            reach[file].iter().copied().filter(|other| reach[*other].contains(&file)).collect();
        if cycle.len() > 1 && seen.insert(cycle.clone()) {
            let uses = |file: usize| edges[&file].intersection(&cycle).map(|used| name(*used)).collect();
            found.push(cycle.iter().map(|file| (name(*file), uses(*file))).collect());
        }
    }
    found
}

/// The files that can be reached from a file; itself only if there is a way back.
fn reachable(edges: &BTreeMap<usize, BTreeSet<usize>>, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = vec![from];
    while let Some(file) = left.pop() {
        left.extend(edges.get(&file).into_iter().flatten().filter(|used| found.insert(**used)));
    }
    found
}

/// Which file uses which.
fn edges(all: &Modules) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (path, module) in &all.modules {
        let named = |name: &String| module.mentions.iter().any(|segments| segments.first() == Some(name));
        // A re-export alone is not a use.
        let imports = module.imports.iter().filter(|(name, (_, public))| !public || named(name));
        let globs = module.globs.iter().filter(|(_, public)| !public);
        let paths = module.mentions.iter().filter(|segments| segments.len() > 1);
        let used = imports
            .map(|(_, (segments, _))| segments)
            .chain(paths)
            .filter_map(|segments| all.definition(path, segments));
        let spread =
            globs.filter_map(|(segments, _)| all.modules.get(&all.module(path, segments)?)).map(|module| module.file);
        let parents = (0..path.len()).filter_map(|end| all.modules.get(&path[..end]));
        let parents: BTreeSet<usize> = parents.map(|module| module.file).collect();
        let files = used.chain(spread).filter(|file| *file != module.file && !parents.contains(file));
        edges.entry(module.file).or_default().extend(files);
    }
    edges
}

/// The target of a path.
enum Target {
    Module(Segments),
    /// The file that defines an item.
    Item(usize),
}

impl Modules {
    /// The file that defines the item that a path in module `from` names; `None` for modules and for
    /// items of other crates.
    fn definition(&self, from: &Segments, path: &[String]) -> Option<usize> {
        match self.resolve(from, path, MAX_HOPS)? {
            Target::Item(file) => Some(file),
            Target::Module(_) => None,
        }
    }

    /// The module that a path in module `from` names.
    fn module(&self, from: &Segments, path: &[String]) -> Option<Segments> {
        match self.resolve(from, path, MAX_HOPS)? {
            Target::Module(module) => Some(module),
            Target::Item(_) => None,
        }
    }

    fn resolve(&self, from: &Segments, path: &[String], hops: usize) -> Option<Target> {
        let hops = hops.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Segments::new(),
            "self" => from.clone(),
            "super" => from.split_last()?.1.to_vec(),
            name => match self.member(from, name, hops)? {
                Target::Module(module) => module,
                item @ Target::Item(_) => return Some(item),
            },
        };
        for name in rest {
            at = match (name.as_str(), self.modules.get(&at)?) {
                ("super", _) => at.split_last()?.1.to_vec(),
                (name, module) => match self.member(&at, name, hops) {
                    Some(Target::Module(module)) => module,
                    Some(item @ Target::Item(_)) => return Some(item),
                    // A macro defines the item.
                    None => return Some(Target::Item(module.file)),
                },
            };
        }
        Some(Target::Module(at))
    }

    /// The target of `name` in module `at`.
    fn member(&self, at: &Segments, name: &str, hops: usize) -> Option<Target> {
        let hops = hops.checked_sub(1)?;
        let child = [at.clone(), vec![name.to_owned()]].concat();
        let module: &Module = self.modules.get(at)?;
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(module.file));
        }
        if let Some((path, _)) = module.imports.get(name) {
            return self.resolve(at, path, hops);
        }
        module.globs.iter().find_map(|(path, _)| match self.resolve(at, path, hops)? {
            Target::Module(other) if other != *at => self.member(&other, name, hops),
            Target::Module(_) | Target::Item(_) => None,
        })
    }
}
