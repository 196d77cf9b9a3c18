//! Named lists: entries in the policy itself, or one a line in a file.
//!
//! Files are read as a whole and their lines parsed as bytes in one pass; a million networks
//! load in well under a second (`tests/large.rs`).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ipnet::IpNet;
use weir_engine::{AddressSet, List, StringSet};
use weir_gateway::resource::Sha256Hash;
use weir_rules::{ListKind, ListKinds};

use crate::build::Builder;
use crate::check::{Fields, Item, Value};
use crate::document::quoted;
use crate::files::Content;
use crate::leaf;
use crate::loaded::Loaded;

/// Most entries in one list: ten times the largest public block lists, 200 MB as addresses.
pub const MAX_LIST_ENTRIES: usize = 10_000_000;
/// Largest list file.
pub const MAX_LIST_BYTES: u64 = 1 << 30;
/// Longest string in a list.
pub const MAX_STRING_BYTES: usize = 8 << 10;

/// The kinds of lists, with the keys that name them.
const KINDS: [(&str, ListKind); 3] =
    [("addresses", ListKind::Addresses), ("strings", ListKind::Strings), ("integers", ListKind::Integers)];

/// Names and kinds of all lists, for the expression checker.
#[derive(Default)]
pub(crate) struct Kinds(HashMap<String, ListKind>);

impl Kinds {
    /// Learns a list's kind, as far as it is known, even if its content is faulty: expressions
    /// that use it are then not reported as well.
    pub fn learn(&mut self, name: &str, fields: &Fields<'_>) {
        let inline = KINDS.iter().find(|(key, _)| fields.key_node(key).is_some());
        let named = KINDS.iter().find(|(key, _)| fields.choice("kind") == Some(key));
        if let Some((_, kind)) = inline.or(named) {
            self.0.insert(name.to_owned(), *kind);
        }
    }
}

impl ListKinds for Kinds {
    fn kind(&self, name: &str) -> Option<ListKind> {
        self.0.get(name).copied()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.keys().cloned().collect();
        names.sort_unstable();
        names
    }
}

/// Entries while they are read.
enum Entries {
    Addresses(Vec<IpNet>),
    Strings(Vec<Vec<u8>>),
    /// Strings of a file: where each begins, and its length.
    Lines(Vec<(u32, u32)>),
    Integers(Vec<i64>),
}

impl Entries {
    fn new(kind: &str) -> Option<Self> {
        match kind {
            "addresses" => Some(Self::Addresses(Vec::new())),
            "strings" => Some(Self::Strings(Vec::new())),
            "integers" => Some(Self::Integers(Vec::new())),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Addresses(entries) => entries.len(),
            Self::Strings(entries) => entries.len(),
            Self::Lines(entries) => entries.len(),
            Self::Integers(entries) => entries.len(),
        }
    }

    fn item(&mut self, item: &Item<'_>) {
        match (self, &item.value) {
            (Self::Addresses(entries), Value::Network(network)) => entries.push(*network),
            (Self::Strings(entries), Value::Text(text)) => entries.push(text.as_bytes().to_vec()),
            (Self::Integers(entries), Value::Integer(number)) => entries.push(*number),
            _ => {}
        }
    }

    /// Takes a line of a file that begins at `start`; gives what was expected if it is none.
    fn line(&mut self, line: &[u8], start: usize) -> Result<(), &'static str> {
        match self {
            Self::Lines(entries) if line.len() <= MAX_STRING_BYTES => entries.push((start as u32, line.len() as u32)),
            Self::Lines(_) | Self::Strings(_) => return Err("a string of at most 8192 bytes"),
            Self::Addresses(entries) => entries.push(network(line).ok_or("an address or a network")?),
            Self::Integers(entries) => {
                let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
                entries.push(number.ok_or("an integer")?);
            }
        }
        Ok(())
    }

    /// The list; `content` is that of the file, if there is one.
    fn finish(self, content: Option<Content>) -> List {
        match self {
            Self::Addresses(entries) => List::Addresses(Arc::new(AddressSet::from_networks(entries))),
            Self::Strings(entries) => List::Strings(Arc::new(StringSet::from_strings(entries))),
            Self::Lines(entries) => {
                let content = content.unwrap_or(Content::Read(Vec::new()));
                List::Strings(Arc::new(StringSet::within(Arc::new(content), entries)))
            }
            Self::Integers(mut entries) => {
                entries.sort_unstable();
                entries.dedup();
                List::Integers(Arc::new(entries))
            }
        }
    }
}

/// A line as a network.
fn network(line: &[u8]) -> Option<IpNet> {
    leaf::network(std::str::from_utf8(line).ok()?).ok()
}

/// The list that the resource describes, or `None` after reporting what is wrong.
pub(crate) fn build(name: &str, fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<List> {
    let given: Vec<&str> = KINDS.iter().map(|(key, _)| *key).filter(|key| fields.key_node(key).is_some()).collect();
    let file = fields.key_node("file");
    match (given.as_slice(), file) {
        ([kind], None) => {
            if let Some(node) = fields.key_node("kind") {
                let hint = format!("`{kind}:` already says the kind");
                builder.fault(node, "`kind` goes with `file`", Some(hint));
            }
            let mut entries = Entries::new(kind)?;
            fields.items(kind).iter().for_each(|item| entries.item(item));
            fields.get(kind).map(|_| entries.finish(None))
        }
        ([], Some(_)) => {
            if fields.key_node("kind").is_none() {
                let message = format!("the list `{name}` needs `kind` beside `file`");
                builder.fault(fields.node, message, Some("expected `addresses`, `strings` or `integers`".to_owned()));
            }
            from_file(fields, builder)
        }
        _ => {
            let message =
                format!("the list `{name}` needs one of `addresses`, `strings`, `integers`, or `kind` and `file`");
            let found: Vec<&str> = given.iter().copied().chain(file.map(|_| "file")).collect();
            let hint = (!found.is_empty()).then(|| format!("found {} of them: {}", found.len(), found.join(", ")));
            builder.fault(fields.node, message, hint);
            None
        }
    }
}

fn from_file(fields: &Fields<'_>, builder: &mut Builder<'_>) -> Option<List> {
    let (kind, _) = KINDS.iter().find(|(kind, _)| fields.choice("kind") == Some(kind))?;
    let mut entries = match Entries::new(kind)? {
        Entries::Strings(_) => Entries::Lines(Vec::new()),
        entries => entries,
    };
    let item = fields.get("file")?;
    builder.point_at(item.node);
    let file = builder.named(item, "list", MAX_LIST_BYTES)?;
    if let Some(list) = loaded(file.hash, kind) {
        return Some(list);
    }
    let (content, hash) = builder.read(&file)?;
    let good = read_lines(&file.path, &content, &mut entries, builder);
    let list = entries.finish(Some(content));
    if good {
        match &list {
            List::Addresses(set) => ADDRESSES.keep(hash, kind, set),
            List::Strings(set) => STRINGS.keep(hash, kind, set),
            List::Integers(set) => INTEGERS.keep(hash, kind, set),
        }
    }
    Some(list)
}

static ADDRESSES: Loaded<AddressSet> = Loaded::new();
static STRINGS: Loaded<StringSet> = Loaded::new();
static INTEGERS: Loaded<Vec<i64>> = Loaded::new();

/// The list of a content, if it is loaded.
fn loaded(hash: Option<Sha256Hash>, kind: &'static str) -> Option<List> {
    let addresses = || ADDRESSES.get(hash, kind).map(List::Addresses);
    let strings = || STRINGS.get(hash, kind).map(List::Strings);
    addresses().or_else(strings).or_else(|| INTEGERS.get(hash, kind).map(List::Integers))
}

/// Reads a file's lines; false if one of them is wrong.
fn read_lines(path: &Path, content: &[u8], entries: &mut Entries, builder: &mut Builder<'_>) -> bool {
    let mut good = true;
    let file = path.display().to_string();
    let is_text = matches!(entries, Entries::Lines(_));
    let begin = content.as_ptr() as usize;
    let content = content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content);
    for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        // In lists of strings `#` inside a line may be part of the string.
        let end = if is_text { line.len() } else { line.iter().position(|byte| *byte == b'#').unwrap_or(line.len()) };
        let entry = if line.starts_with(b"#") { b"" } else { line[..end].trim_ascii_end() };
        if entry.is_empty() {
            continue;
        }
        if entries.len() >= MAX_LIST_ENTRIES {
            let message = format!("more than {MAX_LIST_ENTRIES} entries in a list");
            builder.reporter.line(&file, index as u32 + 1, message, Some("split it into several lists".to_owned()));
            return false;
        }
        if let Err(expected) = entries.line(entry, entry.as_ptr() as usize - begin) {
            let found = quoted(&String::from_utf8_lossy(entry));
            builder.reporter.line(&file, index as u32 + 1, format!("expected {expected}, found {found}"), None);
            good = false;
        }
    }
    good
}
