//! Every limit of the language, each with its reason.

/// Maximum length of an expression, in bytes. Sixteen times Cloudflare's limit; anything longer is
/// a list that belongs in a file.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Maximum nesting of parentheses, `not`, `xor` and function calls. Every walk over an expression
/// recurses at most this deep, which fits the smallest thread stack easily.
pub const MAX_DEPTH: usize = 128;

/// Maximum number of entries of a list in braces. Longer lists belong in a named list, which is
/// stored in a trie or a hash set shared by all rules. An expression of 64 KiB reaches its own
/// limit first; this one matters if that limit grows.
pub const MAX_SET_ITEMS: usize = 100_000;

/// Maximum number of function arguments; the engine reads no more.
pub const MAX_ARGUMENTS: usize = 64;

/// Maximum length of a `matches` pattern, in bytes; the longest in the OWASP CRS has 7 KiB.
pub const MAX_PATTERN_BYTES: usize = 32 * 1024;

/// Maximum automaton size of a pattern in bytes, estimated from above: `(\w{500}){500}` is short as
/// text but has a quarter of a million states. The engine applies the same bound when it compiles,
/// so that a pattern accepted here compiles there.
pub const MAX_AUTOMATON_BYTES: usize = 2 << 20;

/// Maximum nesting of groups and repetitions in a pattern.
pub const MAX_PATTERN_DEPTH: u32 = 200;

/// Maximum number of errors reported for one expression; text with more is not an expression.
pub const MAX_ERRORS: usize = 20;

/// Maximum number of columns shown around an error.
pub const MAX_EXCERPT_COLUMNS: usize = 120;
