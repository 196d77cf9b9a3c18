//! Reads files, and the files that they include, to drafts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cursor::Cursor;
use super::diagnostic::{Report, SourceLocation, SourceText, shown};
use super::draft::Draft;
use super::source::{Files, expand, is_pattern};
use super::table::directive::{DIRECTIVES, DirectiveKind};
use super::table::variable::refusal;
use super::table::{Row, Status, find, guess};
use crate::confined;

/// The state of reading a tree of files.
pub(super) struct Reader<'f> {
    pub(super) files: &'f dyn Files,
    pub(super) report: Report,
    pub(super) draft: Draft,
    /// Index of the source being read.
    pub(super) root: usize,
    /// Directory of the file being read.
    pub(super) directory: PathBuf,
    /// Whether `@geoLookup` has a database.
    pub(super) geo: bool,
    /// Number of rules so far.
    pub(super) rules: usize,
    /// Stack of open files, each including the next.
    open: Vec<PathBuf>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(files: &'f dyn Files, report: Report, geo: bool) -> Self {
        let (draft, directory) = (Draft::default(), PathBuf::new());
        Self { files, report, draft, root: 0, directory, geo, rules: 0, open: Vec::new() }
    }

    /// Reads a source that is a file or a pattern of names.
    pub(super) fn root_file(&mut self, path: &Path) {
        let name = path.to_string_lossy();
        let spot = SourceLocation { file: self.next_file(), offset: 0 };
        let before = self.report.texts.len();
        self.paths(&name, path, false, spot);
        if self.report.texts.len() == before {
            // Nothing was read, so errors refer to the source itself.
            self.report.texts.push(SourceText::new(name.into_owned(), Vec::new()));
        }
        self.root += 1;
    }

    /// Reads a source that is inline text.
    pub(super) fn root_text(&mut self, name: &str, text: &str) {
        if self.report.spend(text.len(), SourceLocation { file: self.next_file(), offset: 0 }) {
            self.text(name.to_owned(), text.as_bytes().to_vec());
        }
        self.root += 1;
    }

    fn next_file(&self) -> u32 {
        u32::try_from(self.report.texts.len()).unwrap_or(u32::MAX)
    }

    /// Reads the files that a name or pattern matches.
    pub(super) fn paths(&mut self, name: &str, path: &Path, optional: bool, spot: SourceLocation) {
        if !is_pattern(name) {
            self.file(path, optional, spot);
            return;
        }
        let found = expand(self.files, path);
        if found.is_empty() && !optional {
            let hint = "use IncludeOptional if there may be none";
            self.report.error(spot, name, format!("no file matches `{}`", path.display()), Some(hint));
        }
        for path in found {
            self.file(&path, optional, spot);
        }
    }

    fn file(&mut self, path: &Path, optional: bool, spot: SourceLocation) {
        let name = path.to_string_lossy().into_owned();
        let limits = self.report.limits;
        if self.report.texts.len() >= limits.files {
            self.report.error(spot, &name, format!("more than {} files", limits.files), None);
            return;
        }
        let identity = self.files.identity(path);
        if self.open.contains(&identity) {
            let hint = "a file cannot include itself, directly or indirectly";
            self.report.error(spot, &name, format!("`{name}` is already being read"), Some(hint));
            return;
        }
        if self.open.len() > limits.include_depth {
            let message = format!("Include is nested deeper than {}", limits.include_depth);
            self.report.error(spot, &name, message, None);
            return;
        }
        let bytes = match self.files.read(path, limits.file_bytes) {
            Ok(bytes) => bytes,
            Err(error) if optional && error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                self.report.error(spot, &name, format!("cannot read `{name}`: {}", confined::reason(&error)), None);
                return;
            }
        };
        if !self.report.spend(bytes.len(), spot) {
            return;
        }
        let directory = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let outside = std::mem::replace(&mut self.directory, directory);
        self.open.push(identity);
        self.text(name, bytes);
        self.open.pop();
        self.directory = outside;
    }

    /// Reads a text, directive by directive.
    fn text(&mut self, name: String, bytes: Vec<u8>) {
        let file = self.next_file();
        let text = SourceText::new(name, bytes);
        let bytes = Arc::clone(&text.bytes);
        self.report.texts.push(text);
        let mut cursor = Cursor::new(&bytes, SourceLocation { file, offset: 0 });
        // A byte order mark left by an editor.
        if cursor.rest().starts_with(b"\xef\xbb\xbf") {
            cursor.at += 3;
        }
        while cursor.peek().is_some() {
            cursor.blanks();
            match cursor.peek() {
                None => break,
                Some(b'#') => self.comment(&mut cursor),
                Some(b'\n' | b'\r') => cursor.at += 1,
                Some(_) => {
                    self.directive(&mut cursor);
                    self.rest_of_line(&mut cursor);
                }
            }
        }
    }

    /// A comment is one line, but a rule that was commented out continues after its backslashes.
    fn comment(&mut self, cursor: &mut Cursor<'_>) {
        let text = cursor.rest()[1..].trim_ascii_start();
        let is_rule = ["SecRule", "SecAction"].iter().any(|name| text.starts_with(name.as_bytes()));
        if !is_rule {
            cursor.take_while(|byte| byte != b'\n');
            return;
        }
        loop {
            let line = cursor.take_while(|byte| byte != b'\n').trim_ascii_end();
            if !line.ends_with(b"\\") || cursor.peek().is_none() {
                return;
            }
            cursor.at += 1;
            let next = cursor.rest().trim_ascii_start();
            if next.starts_with(b"Sec") {
                let hint = "the comment's last line ends with a backslash";
                self.report.warn(cursor.spot(), "", "this line is still part of the comment above", Some(hint));
            }
        }
    }

    fn directive(&mut self, cursor: &mut Cursor<'_>) {
        let spot = cursor.spot();
        if cursor.peek() == Some(b'<') {
            let line = shown(cursor.take_while(|byte| byte != b'\n').trim_ascii_end());
            let message = format!("expected a directive, found Apache's `{line}`");
            let hint =
                "SecLang has no sections: choose where rules apply in the policy, and remove the lines of the section";
            self.report.error(spot, &line, message, Some(hint));
            return;
        }
        let name = cursor.name();
        let Some(row) = find(DIRECTIVES, name) else {
            let start = cursor.at - name.len();
            cursor.take_while(|byte| !byte.is_ascii_whitespace());
            let found = shown(&cursor.bytes[start..cursor.at]);
            let message = format!("expected a directive, found `{found}`");
            self.report.error(spot, &found, message, guess(DIRECTIVES, name).as_deref());
            cursor.next_line();
            return;
        };
        if let Some(why) = refusal(row) {
            self.report.unsupported(spot, row.name, why);
            cursor.next_line();
            return;
        }
        cursor.blanks();
        if self.interpret(row, spot, cursor).is_none() {
            cursor.next_line();
        }
    }

    /// Interprets a directive; `None` if the rest of its line is to be skipped.
    fn interpret(
        &mut self,
        row: &'static Row<DirectiveKind>,
        spot: SourceLocation,
        cursor: &mut Cursor<'_>,
    ) -> Option<()> {
        if let Status::NoEffect(why) = row.status {
            self.report.note(spot, row.name, format!("`{}` has no effect: {why}", row.name));
        }
        match row.kind {
            DirectiveKind::Rule => self.rule(spot, cursor),
            DirectiveKind::Action => self.action(spot, cursor),
            DirectiveKind::DefaultAction => self.default_action(spot, cursor),
            DirectiveKind::Marker => self.marker(cursor),
            DirectiveKind::Include(optional) => self.include(optional, cursor),
            DirectiveKind::RemoveById => self.remove_by_id(spot, cursor),
            DirectiveKind::RemoveByTag => self.remove_by_tag(spot, cursor),
            DirectiveKind::RemoveByMsg => self.remove_by_message(spot, cursor),
            DirectiveKind::UpdateTargetById
            | DirectiveKind::UpdateTargetByTag
            | DirectiveKind::UpdateTargetByMsg
            | DirectiveKind::UpdateActionById => self.update(row.kind, spot, cursor),
            DirectiveKind::Ignored => None,
            _ => self.setting(row, spot, cursor),
        }
    }

    fn include(&mut self, optional: bool, cursor: &mut Cursor<'_>) -> Option<()> {
        let (name, spot) = self.argument(cursor)?;
        let path = self.directory.join(&name);
        self.paths(&name, &path, optional, spot);
        Some(())
    }

    /// Only a comment may follow a directive.
    fn rest_of_line(&mut self, cursor: &mut Cursor<'_>) {
        if cursor.at > 0 && cursor.bytes[cursor.at - 1] == b'\n' {
            return;
        }
        cursor.blanks();
        if !cursor.at_line_end() && cursor.peek() != Some(b'#') {
            let line = cursor.rest().split(|&byte| byte == b'\n').next().unwrap_or_default();
            let found = shown(line.trim_ascii());
            let hint = "put parameters with blanks in \"...\"";
            self.report.error(cursor.spot(), &found, format!("unexpected `{found}` after the directive"), Some(hint));
        }
        cursor.next_line();
    }
}
