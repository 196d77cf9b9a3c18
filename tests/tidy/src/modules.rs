//! The modules of a crate: which file each is in, what it defines, and what it names. Modules and
//! items under `#[cfg(test)]` are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tokens::{Token, tokens};

/// Segments of a path, such as `crate`, `store`, `Key`.
pub type Segments = Vec<String>;

/// What a module's text says.
#[derive(Debug, Default)]
pub struct Module {
    /// Index of the file.
    pub file: usize,
    /// Items that it defines.
    pub items: BTreeSet<String>,
    /// Names that it imports, and whether others may see them.
    pub imports: BTreeMap<String, (Segments, bool)>,
    /// Modules of which it imports everything, and whether others may see that.
    pub globs: Vec<(Segments, bool)>,
    /// Paths in its code, and single words.
    pub mentions: BTreeSet<Segments>,
}

/// The modules of one crate root.
#[derive(Debug, Default)]
pub struct Modules {
    /// Files, relative to the repository.
    pub files: Vec<PathBuf>,
    /// Modules by path; the root's is empty.
    pub modules: BTreeMap<Segments, Module>,
}

/// Words after which the name of an item stands.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

impl Modules {
    /// Reads the crate whose root file is given.
    pub fn read(root: &Path) -> Self {
        let mut all = Self::default();
        let dir = root.parent().unwrap_or(Path::new("")).to_owned();
        all.file(root.to_owned(), dir, Vec::new());
        all
    }

    /// Reads the file of module `path`, whose children's files are in `dir`.
    fn file(&mut self, file: PathBuf, dir: PathBuf, path: Segments) {
        let tokens = tokens(&crate::read(&file));
        self.files.push(file);
        let number = self.files.len() - 1;
        self.modules.insert(path.clone(), Module { file: number, ..Module::default() });
        let mut reader = Reader { tokens: &tokens, at: 0, all: self, file: number };
        reader.module(&dir, &path);
    }
}

struct Reader<'t, 'm> {
    tokens: &'t [Token],
    at: usize,
    all: &'m mut Modules,
    file: usize,
}

impl<'t> Reader<'t, '_> {
    fn word(&self, ahead: usize) -> Option<&'t str> {
        self.tokens.get(self.at + ahead)?.word()
    }

    fn sign(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead)? {
            Token::Sign(sign) => Some(*sign),
            Token::Word(_) | Token::Path => None,
        }
    }

    /// Reads a module's body up to the brace that closes it, or the end of the file.
    fn module(&mut self, dir: &Path, path: &Segments) {
        let (mut depth, mut public) = (0_usize, false);
        while self.at < self.tokens.len() {
            match self.word(0) {
                None => match self.sign(0) {
                    Some('#') => self.attribute(),
                    Some('}') if depth == 0 => return self.at += 1,
                    sign => {
                        depth = depth + usize::from(sign == Some('{')) - usize::from(sign == Some('}'));
                        self.at += 1;
                    }
                },
                Some("pub") => {
                    public = true;
                    self.at += 1;
                    if self.sign(0) == Some('(') {
                        self.skip_item();
                    }
                    continue;
                }
                Some("use") => self.import(path, public),
                Some("mod") if self.word(1).is_some() => self.child(dir, path),
                Some(word) if ITEMS.contains(&word) => {
                    let follows_keyword = self.word(1).is_some_and(|next| ITEMS.contains(&next) || next == "unsafe");
                    let name = self.word(1).or(self.word(2)).filter(|_| depth == 0 && !follows_keyword);
                    self.at_module(path).items.extend(name.map(str::to_owned));
                    self.at += if follows_keyword { 1 } else { 2 };
                }
                Some(_) => self.mention(path),
            }
            public = false;
        }
    }

    fn at_module(&mut self, path: &Segments) -> &mut Module {
        self.all.modules.get_mut(path).expect("the module that is read is known")
    }

    /// Skips an attribute, and what it stands before if that is for tests alone.
    fn attribute(&mut self) {
        let start = self.at;
        self.at += 1 + usize::from(self.sign(1) == Some('!'));
        if self.sign(0) != Some('[') {
            return;
        }
        self.skip_item();
        let words: Vec<&str> = self.tokens[start..self.at].iter().filter_map(Token::word).collect();
        if words.first() == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not") {
            self.skip_item();
        }
    }

    /// Skips to behind the next `;`, `,` or group in braces; a group in other brackets that comes
    /// first is all that is skipped.
    fn skip_item(&mut self) {
        let (start, mut depth) = (self.at, 0_usize);
        while self.at < self.tokens.len() {
            let sign = self.sign(0);
            self.at += 1;
            match sign {
                Some('{' | '(' | '[') => depth += 1,
                Some('}' | ')' | ']') if depth == 0 => return self.at -= 1,
                Some('}' | ')' | ']') => {
                    depth -= 1;
                    let opened = self.tokens.get(start);
                    let first = matches!(opened, Some(Token::Sign('(' | '[')));
                    if depth == 0 && (sign == Some('}') || first) {
                        return;
                    }
                }
                Some(';' | ',') if depth == 0 => return,
                _ => {}
            }
        }
    }

    /// `mod name;` or `mod name { … }`
    fn child(&mut self, dir: &Path, path: &Segments) {
        let name = self.word(1).unwrap_or_default().to_owned();
        let below = [path.clone(), vec![name.clone()]].concat();
        self.at += 3;
        if self.tokens.get(self.at - 1) == Some(&Token::Sign('{')) {
            let module = Module { file: self.file, ..Module::default() };
            self.all.modules.insert(below.clone(), module);
            self.module(&dir.join(&name), &below);
            return;
        }
        let (flat, nested) = (dir.join(format!("{name}.rs")), dir.join(&name).join("mod.rs"));
        let file = if crate::root().join(&flat).is_file() { flat } else { nested };
        self.all.file(file, dir.join(name), below);
    }

    /// `use …;`
    fn import(&mut self, path: &Segments, public: bool) {
        self.at += 1;
        let mut found = Vec::new();
        self.tree(&[], &mut found);
        let module = self.at_module(path);
        for (segments, name) in found {
            match name {
                Some(name) => drop(module.imports.insert(name, (segments, public))),
                None => module.globs.push((segments, public)),
            }
        }
    }

    /// One tree of an import, up to `,`, `}` or `;`: paths with the names that they get, none for `*`.
    fn tree(&mut self, prefix: &[String], found: &mut Vec<(Segments, Option<String>)>) {
        let mut path = prefix.to_vec();
        let mut name = None;
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Sign(',' | '}' | ';') => break,
                Token::Sign('{') => {
                    while matches!(self.sign(0), Some('{' | ',')) {
                        self.at += 1;
                        self.tree(&path, found);
                    }
                    return self.at += 1;
                }
                Token::Sign('*') => {
                    self.at += 1;
                    return found.push((path, None));
                }
                Token::Word(word) if word == "as" => {
                    self.at += 1;
                    name = self.word(0).map(str::to_owned);
                }
                Token::Word(word) => {
                    if word != "self" || path.is_empty() {
                        path.push(word.clone());
                    }
                    name = path.last().cloned();
                }
                Token::Sign(_) | Token::Path => {}
            }
            self.at += 1;
        }
        found.extend(name.map(|name| (path, Some(name))));
    }

    /// A path in the code.
    fn mention(&mut self, path: &Segments) {
        let mut segments = Vec::new();
        while let Some(word) = self.word(0) {
            segments.push(word.to_owned());
            self.at += 1;
            let goes_on = self.tokens.get(self.at) == Some(&Token::Path) && self.word(1).is_some();
            if !goes_on {
                break;
            }
            self.at += 1;
        }
        self.at_module(path).mentions.insert(segments);
    }
}
