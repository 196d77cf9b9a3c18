//! Configuration directives.

use super::cursor::Cursor;
use super::diagnostic::{SourceLocation, shown};
use super::reader::Reader;
use super::table::Row;
use super::table::directive::DirectiveKind;

/// The only code page whose best-fit table is built in: US-ASCII.
const CODE_PAGE: u32 = 20_127;

impl Reader<'_> {
    pub(super) fn setting(
        &mut self,
        row: &'static Row<DirectiveKind>,
        spot: SourceLocation,
        cursor: &mut Cursor<'_>,
    ) -> Option<()> {
        if let DirectiveKind::Bare(set) = row.kind {
            set(&mut self.draft.settings);
            return Some(());
        }
        if let DirectiveKind::Words(set) = row.kind {
            let line = cursor.take_while(|byte| byte != b'\n' && byte != b'#');
            let line = String::from_utf8_lossy(line);
            set(&mut self.draft.settings, line.split_whitespace().map(str::to_owned).collect());
            return Some(());
        }
        let (text, at) = self.argument(cursor)?;
        match row.kind {
            DirectiveKind::Choice(known) => {
                let Some((_, set)) = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text)) else {
                    let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
                    return self.wrong(row, &words.join(" or "), &text, at);
                };
                set(&mut self.draft.settings);
            }
            DirectiveKind::Number(set) => match text.parse() {
                Ok(number) => set(&mut self.draft.settings, number),
                Err(_) => return self.wrong(row, "a number", &text, at),
            },
            DirectiveKind::Text(set) => set(&mut self.draft.settings, text),
            DirectiveKind::ArgumentSeparator => match text.as_bytes() {
                [byte] => self.draft.settings.argument_separator = Some(*byte),
                _ => return self.wrong(row, "one byte", &text, at),
            },
            DirectiveKind::UnicodeMap => return self.unicode_map(row, cursor),
            DirectiveKind::OffOnly if text.eq_ignore_ascii_case("off") || text == "0" => {}
            DirectiveKind::OffOnly => {
                self.report.unsupported(spot, &format!("{} {text}", row.name), "only `Off` (or 0) is accepted");
            }
            _ => {}
        }
        Some(())
    }

    fn unicode_map(&mut self, row: &Row<DirectiveKind>, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.blanks();
        let (text, at) = self.argument(cursor)?;
        match text.parse() {
            Ok(CODE_PAGE) => self.draft.settings.unicode_map = Some(CODE_PAGE),
            Ok(_) => self.report.unsupported(at, &text, "the only code page is 20127, US-ASCII"),
            Err(_) => return self.wrong(row, "the number of a code page", &text, at),
        }
        Some(())
    }

    fn wrong(&mut self, row: &Row<DirectiveKind>, expected: &str, text: &str, at: SourceLocation) -> Option<()> {
        let message = format!("expected {expected} for `{}`, found `{}`", row.name, shown(text.as_bytes()));
        self.report.error(at, text, message, None);
        None
    }
}
