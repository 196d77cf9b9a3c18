//! The table of transformations: parser, reference page and engine come from it.

use bumpalo::Bump;

use crate::byteset::ByteSet;
use crate::{
    base64, case, command_line, comments, css, digest, escape_sequence, hexadecimal, html_entity, js, length, nulls,
    parity, path, sql_hex, url, url_unicode, utf8, whitespace,
};

/// The page that [`Info::reference`] is an anchor of.
pub const MANUAL: &str = "https://github.com/owasp-modsecurity/ModSecurity/wiki/Reference-Manual-(v3.x)";

/// No transformation makes more than this many bytes of one, but for [`MAX_FIXED_OUTPUT`].
pub const MAX_GROWTH: usize = 4;

/// The longest output that does not depend on the input's length: of `sha1` and `length`.
pub const MAX_FIXED_OUTPUT: usize = 20;

/// What is known of a transformation.
#[derive(Debug)]
pub struct Info {
    /// Its name in SecLang, as ModSecurity's manual writes it; any case is accepted.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it does, in one or two sentences.
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
        /// A transformation, by the name of its entry. SecLang's `none` is not one of them: it
        /// empties a rule's list of transformations.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Transformation {
            $(#[doc = $doc] $variant,)*
        }

        impl Transformation {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            const TABLE: &[Info] = &[$(Info {
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
        "Decodes base64. What is not valid becomes empty.";
    Base64DecodeExt "base64DecodeExt" [] "base64decodeext", ANY, base64::decode_forgiving,
        "Decodes base64 and skips characters that are none.";
    Base64Encode "base64Encode" [] "base64encode", ANY, base64::encode,
        "Encodes as base64, with padding.";
    CmdLine "cmdLine" [] "cmdline", command_line::TRIGGERS, command_line::command_line,
        "Makes shell commands comparable: quotes, backslashes and carets go, separators become one space, letters lower case.";
    CompressWhitespace "compressWhitespace" [] "compresswhitespace", whitespace::SPACE, whitespace::compress,
        "Replaces each run of white space by one space.";
    CssDecode "cssDecode" [] "cssdecode", css::BACKSLASH, css::decode,
        "Decodes the escapes of CSS 2.";
    EscapeSeqDecode "escapeSeqDecode" [] "escapeseqdecode", css::BACKSLASH, escape_sequence::decode,
        "Decodes the escapes of ANSI C. Unknown ones lose their backslash.";
    HexDecode "hexDecode" [] "hexdecode", ANY, hexadecimal::decode,
        "Makes a byte of each two hexadecimal digits.";
    HexEncode "hexEncode" [] "hexencode", ANY, hexadecimal::encode,
        "Writes each byte as two hexadecimal digits, in lower case.";
    HtmlEntityDecode "htmlEntityDecode" [] "htmlentitydecode", html_entity::AMPERSAND, html_entity::decode,
        "Decodes numeric entities of HTML, and quot, amp, lt, gt and nbsp, with or without a semicolon.";
    JsDecode "jsDecode" [] "jsdecode", css::BACKSLASH, js::decode,
        "Decodes the escapes of JavaScript. Full-width forms become plain.";
    Length "length" [] "length", ANY, length::length,
        "The number of bytes, in decimal.";
    Lowercase "lowercase" [] "lowercase", case::UPPER, case::lowercase,
        "Makes ASCII letters lower case.";
    Md5 "md5" [] "md5", ANY, digest::md5,
        "The MD5 digest, sixteen raw bytes.";
    NormalisePath "normalisePath" ["normalizePath"] "normalisepath", path::UNIX, path::normalise,
        "Resolves repeated slashes and references to the same or the upper directory.";
    NormalisePathWin "normalisePathWin" ["normalizePathWin"] "normalisepathwin", path::WINDOWS, path::normalise_windows,
        "Like normalisePath, after making backslashes slashes.";
    ParityEven7bit "parityEven7bit" [] "parityeven7bit", parity::UNEVEN, parity::even,
        "Sets the eighth bit so that the parity is even.";
    ParityOdd7bit "parityOdd7bit" [] "parityodd7bit", parity::UNODD, parity::odd,
        "Sets the eighth bit so that the parity is odd.";
    ParityZero7bit "parityZero7bit" [] "parityzero7bit", parity::HIGH, parity::zero,
        "Clears the eighth bit.";
    RemoveComments "removeComments" [] "removecomments", comments::OPENERS, comments::remove,
        "Removes comments of C and HTML, and everything after -- or #.";
    RemoveCommentsChar "removeCommentsChar" [] "removecommentschar", comments::MARKS, comments::remove_marks,
        "Removes the marks of comments and keeps what they enclose.";
    RemoveNulls "removeNulls" [] "removenulls", nulls::NULL, nulls::remove,
        "Removes zero bytes.";
    RemoveWhitespace "removeWhitespace" [] "removewhitespace", whitespace::SPACE_OR_NBSP, whitespace::remove,
        "Removes white space, and the bytes A0 and C2.";
    ReplaceComments "replaceComments" [] "replacecomments", comments::SLASH, comments::replace,
        "Replaces each comment of C by a space, one that is not closed too.";
    ReplaceNulls "replaceNulls" [] "replacenulls", nulls::NULL, nulls::replace,
        "Replaces zero bytes by spaces.";
    Sha1 "sha1" [] "sha1", ANY, digest::sha1,
        "The SHA-1 digest, twenty raw bytes.";
    SqlHexDecode "sqlHexDecode" [] "sqlhexdecode", ANY, sql_hex::decode,
        "Decodes hexadecimal literals of SQL, such as 0x414243.";
    Trim "trim" [] "trim", whitespace::SPACE, whitespace::trim,
        "Removes white space from both ends.";
    TrimLeft "trimLeft" [] "trimleft", whitespace::SPACE, whitespace::trim_left,
        "Removes white space from the beginning.";
    TrimRight "trimRight" [] "trimright", whitespace::SPACE, whitespace::trim_right,
        "Removes white space from the end.";
    Uppercase "uppercase" [] "uppercase", case::LOWER, case::uppercase,
        "Makes ASCII letters upper case.";
    UrlDecode "urlDecode" [] "urldecode", url::ESCAPES, url::decode,
        "Decodes %HH and +. What is not valid stays.";
    UrlDecodeUni "urlDecodeUni" [] "urldecodeuni", url::ESCAPES, url_unicode::decode,
        "Like urlDecode, and decodes %uHHHH to its low byte, full-width forms to plain ones.";
    UrlDecodeUniMapped "urlDecodeUni with code page 20127" [] "urldecodeuni", url::ESCAPES, url_unicode::decode_us_ascii,
        "Like urlDecodeUni, with the look-alikes of code page 20127: what urlDecodeUni means once SecUnicodeMapFile is set.";
    UrlEncode "urlEncode" [] "urlencode", url::ENCODED, url::encode,
        "Encodes all but ASCII letters, digits and * as %HH, and a space as +.";
    Utf8ToUnicode "utf8toUnicode" [] "utf8tounicode", utf8::TRIGGERS, utf8::to_unicode,
        "Writes UTF-8 sequences as %uHHHH.";
}

impl Transformation {
    /// The transformation that a rule calls `name`, in any case. `urlDecodeUni` is the one
    /// without a map; see [`Self::with_unicode_map`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_named = |info: &Info| {
            info.name.eq_ignore_ascii_case(name) || info.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        Self::ALL.iter().copied().find(|&one| one != Self::UrlDecodeUniMapped && is_named(one.info()))
    }

    /// What it becomes where `SecUnicodeMapFile unicode.mapping 20127` is in force.
    #[must_use]
    pub const fn with_unicode_map(self) -> Self {
        match self {
            Self::UrlDecodeUni => Self::UrlDecodeUniMapped,
            other => other,
        }
    }

    /// Name, documentation and reference.
    #[must_use]
    pub const fn info(self) -> &'static Info {
        &Self::TABLE[self as usize]
    }

    /// The bytes of which a value must have one for the transformation to change it;
    /// [`ByteSet::ALL`] where that cannot be said. The empty value, which has none, is changed by
    /// `length`, `md5` and `sha1`: [`Self::may_change`] knows that.
    #[must_use]
    pub const fn triggers(self) -> &'static ByteSet {
        &self.info().triggers
    }

    /// Whether it could change a value made of these bytes (all that occur in it, or more).
    #[must_use]
    #[inline]
    pub const fn may_change(self, occurring: &ByteSet) -> bool {
        let info = self.info();
        info.changes_empty || info.triggers.intersects(occurring)
    }

    /// Applies it, in time linear in the input. Returns `input` itself (same pointer and length)
    /// if nothing changes, a part of it if only ends go, and else bytes in `arena`: at most
    /// [`MAX_GROWTH`] times the input or [`MAX_FIXED_OUTPUT`], whichever is more.
    #[must_use]
    pub fn apply<'a>(self, arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
        (self.info().run)(arena, input)
    }
}
