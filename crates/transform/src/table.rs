//! The table of transformations, from which parser, reference page and engine are derived.

use bumpalo::Bump;

use crate::byteset::ByteSet;
use crate::{
    base64, case, command_line, comments, css, digest, escape_sequence, hexadecimal, html_entity, js, length, nulls,
    parity, path, sql_hex, url, url_unicode, utf8, whitespace,
};

/// The page that contains the anchor [`TransformationInfo::reference`].
pub const MANUAL: &str = "https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x)";

/// Maximum output bytes per input byte of any transformation, apart from [`MAX_FIXED_OUTPUT`].
pub const MAX_GROWTH: usize = 4;

/// The longest output that does not depend on the length of the input: `sha1` and `length`.
pub const MAX_FIXED_OUTPUT: usize = 20;

/// Description of a transformation.
#[derive(Debug)]
pub struct TransformationInfo {
    /// The name in SecLang, as in ModSecurity's manual; case-insensitive.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// Description, in one or two sentences.
    pub doc: &'static str,
    /// The anchor of its entry in [`MANUAL`].
    pub reference: &'static str,
    triggers: ByteSet,
    changes_empty: bool,
    run: for<'a> fn(&'a Bump, &'a [u8]) -> &'a [u8],
}

/// Reads `Variant "name" ["alias"...] triggers, function, "doc";`.
macro_rules! transformations {
    ($($variant:ident $name:literal [$($alias:literal),*] $reference:literal, $triggers:expr, $run:path, $doc:literal;)*) => {
        /// A transformation, named after its entry. SecLang's `none` is not included: it empties a
        /// rule's list of transformations.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Transformation {
            $(#[doc = $doc] $variant,)*
        }

        impl Transformation {
            /// All transformations, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            const TABLE: &[TransformationInfo] = &[$(TransformationInfo {
                name: $name,
                aliases: &[$($alias),*],
                doc: $doc,
                reference: $reference,
                triggers: $triggers,
                changes_empty: matches!(Self::$variant, Self::Length | Self::Md5 | Self::Sha1),
                run: $run,
            }),*];
        }
    };
}

const ANY: ByteSet = ByteSet::ALL;

transformations! {
    Base64Decode "base64Decode" [] "base64decode", ANY, base64::decode,
        "Decodes base64. Invalid input becomes empty.";
    Base64DecodeExt "base64DecodeExt" [] "base64decodeext", ANY, base64::decode_forgiving,
        "Decodes base64 and skips invalid characters.";
    Base64Encode "base64Encode" [] "base64encode", ANY, base64::encode,
        "Encodes as base64, with padding.";
    CmdLine "cmdLine" [] "cmdline", command_line::TRIGGERS, command_line::command_line,
        "Normalises shell commands: removes quotes, backslashes and carets, replaces separators with one space, makes letters lower case.";
    CompressWhitespace "compressWhitespace" [] "compresswhitespace", whitespace::SPACE, whitespace::compress,
        "Replaces each run of white space with one space.";
    CssDecode "cssDecode" [] "cssdecode", css::BACKSLASH, css::decode,
        "Decodes the escapes of CSS 2.";
    EscapeSeqDecode "escapeSeqDecode" [] "escapeseqdecode", css::BACKSLASH, escape_sequence::decode,
        "Decodes the escapes of ANSI C. Unknown ones lose their backslash.";
    HexDecode "hexDecode" [] "hexdecode", ANY, hexadecimal::decode,
        "Decodes each pair of hexadecimal digits to a byte.";
    HexEncode "hexEncode" [] "hexencode", ANY, hexadecimal::encode,
        "Writes each byte as two hexadecimal digits, in lower case.";
    HtmlEntityDecode "htmlEntityDecode" [] "htmlentitydecode", html_entity::AMPERSAND, html_entity::decode,
        "Decodes numeric entities of HTML, and quot, amp, lt, gt and nbsp, with or without a semicolon.";
    JsDecode "jsDecode" [] "jsdecode", css::BACKSLASH, js::decode,
        "Decodes the escapes of JavaScript. Full-width forms become ASCII.";
    Length "length" [] "length", ANY, length::length,
        "The number of bytes, in decimal.";
    Lowercase "lowercase" [] "lowercase", case::UPPER, case::lowercase,
        "Makes ASCII letters lower case.";
    Md5 "md5" [] "md5", ANY, digest::md5,
        "The MD5 digest, sixteen raw bytes.";
    NormalisePath "normalisePath" ["normalizePath"] "normalisepath", path::UNIX, path::normalise,
        "Resolves repeated slashes and references to the same or the upper directory.";
    NormalisePathWin "normalisePathWin" ["normalizePathWin"] "normalisepathwin", path::WINDOWS, path::normalise_windows,
        "Like normalisePath, after replacing backslashes with slashes.";
    ParityEven7bit "parityEven7bit" [] "parityeven7bit", parity::UNEVEN, parity::even,
        "Sets the eighth bit so that the parity is even.";
    ParityOdd7bit "parityOdd7bit" [] "parityodd7bit", parity::UNODD, parity::odd,
        "Sets the eighth bit so that the parity is odd.";
    ParityZero7bit "parityZero7bit" [] "parityzero7bit", parity::HIGH, parity::zero,
        "Clears the eighth bit.";
    RemoveComments "removeComments" [] "removecomments", comments::OPENERS, comments::remove,
        "Removes C and HTML comments, and everything after -- or #.";
    RemoveCommentsChar "removeCommentsChar" [] "removecommentschar", comments::MARKS, comments::remove_marks,
        "Removes the marks of comments and keeps what they enclose.";
    RemoveNulls "removeNulls" [] "removenulls", nulls::NULL, nulls::remove,
        "Removes zero bytes.";
    RemoveWhitespace "removeWhitespace" [] "removewhitespace", whitespace::SPACE_OR_NBSP, whitespace::remove,
        "Removes white space, and the bytes A0 and C2.";
    ReplaceComments "replaceComments" [] "replacecomments", comments::SLASH, comments::replace,
        "Replaces each C comment, even an unclosed one, with a space.";
    ReplaceNulls "replaceNulls" [] "replacenulls", nulls::NULL, nulls::replace,
        "Replaces zero bytes with spaces.";
    Sha1 "sha1" [] "sha1", ANY, digest::sha1,
        "The SHA-1 digest, twenty raw bytes.";
    SqlHexDecode "sqlHexDecode" [] "sqlhexdecode", ANY, sql_hex::decode,
        "Decodes SQL hexadecimal literals, such as 0x414243.";
    Trim "trim" [] "trim", whitespace::SPACE, whitespace::trim,
        "Removes white space from both ends.";
    TrimLeft "trimLeft" [] "trimleft", whitespace::SPACE, whitespace::trim_left,
        "Removes white space from the beginning.";
    TrimRight "trimRight" [] "trimright", whitespace::SPACE, whitespace::trim_right,
        "Removes white space from the end.";
    Uppercase "uppercase" [] "uppercase", case::LOWER, case::uppercase,
        "Makes ASCII letters upper case.";
    UrlDecode "urlDecode" [] "urldecode", url::ESCAPES, url::decode,
        "Decodes %HH and +. Invalid escapes are kept.";
    UrlDecodeUni "urlDecodeUni" [] "urldecodeuni", url::ESCAPES, url_unicode::decode,
        "Like urlDecode, and decodes %uHHHH to its low byte, full-width forms to ASCII.";
    UrlDecodeUniMapped "urlDecodeUni with code page 20127" [] "urldecodeuni", url::ESCAPES, url_unicode::decode_us_ascii,
        "Like urlDecodeUni, with the best-fit mapping of code page 20127; replaces urlDecodeUni once SecUnicodeMapFile is set.";
    UrlEncode "urlEncode" [] "urlencode", url::ENCODED, url::encode,
        "Encodes all but ASCII letters, digits and * as %HH, and a space as +.";
    Utf8ToUnicode "utf8toUnicode" [] "utf8tounicode", utf8::TRIGGERS, utf8::to_unicode,
        "Writes UTF-8 sequences as %uHHHH.";
}

impl Transformation {
    /// The transformation that SecLang calls `name`, ignoring case. `urlDecodeUni` is the variant
    /// without a map; see [`Self::with_unicode_map`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |info: &TransformationInfo| {
            info.name.eq_ignore_ascii_case(name) || info.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        Self::ALL.iter().copied().find(|&one| one != Self::UrlDecodeUniMapped && is_named(one.info()))
    }

    /// The variant used when `SecUnicodeMapFile unicode.mapping 20127` is in force.
    #[must_use]
    pub const fn with_unicode_map(self) -> Self {
        match self {
            Self::UrlDecodeUni => Self::UrlDecodeUniMapped,
            other => other,
        }
    }

    /// Name, documentation and reference.
    #[must_use]
    pub const fn info(self) -> &'static TransformationInfo {
        &Self::TABLE[self as usize]
    }

    /// A value must contain one of these bytes for the transformation to change it;
    /// [`ByteSet::ALL`] if there is no such condition. `length`, `md5` and `sha1` also change the
    /// empty value, which [`Self::may_change`] takes into account.
    #[must_use]
    pub const fn triggers(self) -> &'static ByteSet {
        &self.info().triggers
    }

    /// Whether it could change a value in which at most these bytes occur.
    #[must_use]
    #[inline]
    pub const fn may_change(self, occurring: &ByteSet) -> bool {
        let info = self.info();
        info.changes_empty || info.triggers.intersects(occurring)
    }

    /// The simpler transformation that does the same to a value in which at most these bytes occur; itself mostly.
    #[must_use]
    #[inline]
    pub const fn simplest(self, occurring: &ByteSet) -> Self {
        match self {
            Self::CmdLine if !command_line::BESIDES_CASE.intersects(occurring) => Self::Lowercase,
            other => other,
        }
    }

    /// Bytes that at most occur in what it makes of a value in which at most these do, and whether all of them do if that
    /// is so of the value; `None` if that is not known without a look.
    #[must_use]
    #[inline]
    pub const fn bytes_after(self, occurring: &ByteSet) -> Option<(ByteSet, bool)> {
        match self {
            Self::Lowercase => Some((case::lowered(occurring), true)),
            Self::CmdLine => Some((command_line::bytes_after(occurring), false)),
            Self::RemoveNulls => Some((occurring.minus(&ByteSet::EMPTY.with(0)), true)),
            Self::RemoveWhitespace => Some((occurring.minus(&whitespace::SPACE_OR_NBSP), true)),
            Self::CompressWhitespace if whitespace::SPACE.intersects(occurring) => {
                Some((occurring.minus(&whitespace::SPACE).with(b' '), true))
            }
            Self::NormalisePath => Some((*occurring, false)),
            _ => None,
        }
    }

    /// Whether it certainly makes nothing of a value that has all of these bytes and no others.
    #[must_use]
    #[inline]
    pub const fn empties(self, occurring: &ByteSet) -> bool {
        matches!(self, Self::Base64Decode) && !occurring.contains(0) && !occurring.is_subset(&base64::READ)
    }

    /// Applies it, in time linear in the input. Returns `input` itself (same pointer and length) if
    /// nothing changes, a slice of it if only the ends are cut, and otherwise bytes in `arena`: at
    /// most [`MAX_GROWTH`] times the input or [`MAX_FIXED_OUTPUT`], whichever is more.
    #[must_use]
    pub fn apply<'a>(self, arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
        (self.info().run)(arena, input)
    }
}
