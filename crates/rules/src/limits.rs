//! Every bound of the language in one place, each with its reason.

/// Longest expression, in bytes. Sixteen times what Cloudflare takes; a longer one is a list
/// that belongs into a file.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Deepest nesting of parentheses, `not`, `xor` and function calls. Every walk over an
/// expression recurses this deep at most, far within the smallest thread stack.
pub const MAX_DEPTH: usize = 128;

/// Most entries of a list in braces. More belong into a named list, which lives in a trie or
/// a hash set that all rules share. While a text has 64 KiB at most, that is reached first; this
/// one stands for when it grows.
pub const MAX_SET_ITEMS: usize = 100_000;

/// Most arguments of a function; the engine reads no more.
pub const MAX_ARGUMENTS: usize = 64;

/// Longest pattern of `matches`, in bytes; the longest of the OWASP CRS has 7 KiB.
pub const MAX_PATTERN_BYTES: usize = 32 * 1024;

/// Most bytes of automaton that a pattern may take, by estimate from above: `(\w{500}){500}` is
/// short as text and a quarter of a million states as a machine. The engine has the same bound
/// on what it builds, so that a pattern which passes here compiles there.
pub const MAX_AUTOMATON_BYTES: usize = 2 << 20;

/// Deepest nesting of groups and repetitions in a pattern.
pub const MAX_PATTERN_DEPTH: u32 = 200;

/// Most errors reported for one expression; a text with more is not an expression.
pub const MAX_ERRORS: usize = 20;

/// Most columns of a line that an error shows around its place.
pub const MAX_EXCERPT_COLUMNS: usize = 120;
