//! `removeComments`, `removeCommentsChar`, `replaceComments`: comments of C, HTML and SQL.

use bumpalo::Bump;
use memchr::memmem::find;
use memchr::{memchr, memchr2};

use crate::byteset::ByteSet;
use crate::edit::{Edit, edit};

pub(crate) const OPENERS: ByteSet = ByteSet::from_list(b"/<-#");
pub(crate) const MARKS: ByteSet = ByteSet::from_list(b"/*<-#");
pub(crate) const SLASH: ByteSet = ByteSet::from_list(b"/");

/// Removes `/*...*/` and `<!--...-->`, and everything from `--` or `#` on.
///
/// As in ModSecurity, either end closes either kind, the byte after a closed comment is copied
/// unexamined (a zero byte if the input ends there), and an unclosed comment leaves a space.
pub(crate) fn remove<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let next = |rest: &[u8]| rest.iter().position(|&byte| OPENERS.contains(byte));
    edit(arena, input, next, |rest| {
        let opened = match rest {
            [b'/', b'*', ..] => 2,
            [b'<', b'!', b'-', b'-', ..] => 4,
            [b'-', b'-', ..] | [b'#', ..] => return Edit::Drop(rest.len()),
            _ => return Edit::Keep(1),
        };
        match close(&rest[opened..]) {
            None => Edit::Byte(b' ', rest.len()),
            Some(closed) => match rest.get(opened + closed) {
                Some(&byte) => Edit::Byte(byte, opened + closed + 1),
                None => Edit::Byte(0, rest.len()),
            },
        }
    })
}

/// The offset after the first `*/` or `-->`.
fn close(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'*', b'-', &text[at..])?;
        match &text[at..] {
            [b'*', b'/', ..] => return Some(at + 2),
            [b'-', b'-', b'>', ..] => return Some(at + 3),
            _ => at += 1,
        }
    }
}

/// Removes the marks that open or close a comment and keeps the text between them.
pub(crate) fn remove_marks<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let next = |rest: &[u8]| rest.iter().position(|&byte| MARKS.contains(byte));
    edit(arena, input, next, |rest| match rest {
        [b'<', b'!', b'-', b'-', ..] => Edit::Drop(4),
        [b'-', b'-', b'>', ..] => Edit::Drop(3),
        [b'/', b'*', ..] | [b'*', b'/', ..] | [b'-', b'-', ..] => Edit::Drop(2),
        [b'#', ..] => Edit::Drop(1),
        _ => Edit::Keep(1),
    })
}

/// Replaces each `/*...*/` with one space; an unclosed comment extends to the end.
pub(crate) fn replace<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(
        arena,
        input,
        |rest| memchr(b'/', rest),
        |rest| match rest {
            [b'/', b'*', body @ ..] => Edit::Byte(b' ', find(body, b"*/").map_or(rest.len(), |at| at + 4)),
            _ => Edit::Keep(1),
        },
    )
}
