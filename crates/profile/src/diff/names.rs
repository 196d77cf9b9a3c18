//! Function names that are independent of the build.
//!
//! Compilers give clones and parts of a function suffixes, and Rust's old mangling ends in a hash
//! of the crate. None of these identifies the function, and which clones exist depends on the
//! optimiser, so a comparison of two builds has to ignore them.

/// Suffixes of clones or parts of a function: GCC's, Clang's, and those of link-time optimisation.
const CLONES: &[&str] = &["constprop", "isra", "part", "cold", "lto_priv", "llvm", "localalias", "clone"];

/// Number of digits in the hash after a Rust symbol.
const RUST_HASH: usize = 16;

/// A function's name without suffixes that depend on the build.
pub(super) fn plain(name: &str) -> &str {
    let mut name = name;
    while let Some(shorter) = without_clone(name) {
        name = shorter;
    }
    without_hash(name)
}

/// `ngx_strcmp.constprop.0` without its last `.constprop.0`.
fn without_clone(name: &str) -> Option<&str> {
    let (before, last) = name.rsplit_once('.')?;
    let numbered = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, suffix) = if numbered { before.rsplit_once('.')? } else { (before, last) };
    (CLONES.contains(&suffix) && !rest.is_empty()).then_some(rest)
}

/// `alloc::vec::push::h0123456789abcdef` without its hash.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == RUST_HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => before,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn suffixes_of_clones_are_not_part_of_a_name() {
        let cases = [
            ("ngx_http_parse", "ngx_http_parse"),
            ("ngx_http_parse.isra.0", "ngx_http_parse"),
            ("ngx_http_parse.part.3.constprop.12", "ngx_http_parse"),
            ("ngx_http_parse.cold", "ngx_http_parse"),
            ("core::str::parse::h0123456789abcdef", "core::str::parse"),
            ("core::str::parse::hello", "core::str::parse::hello"),
            ("core::f::h0123456789abcdef.llvm.99", "core::f"),
            ("access.lua:part", "access.lua:part"),
            ("main.main", "main.main"),
            (".cold", ".cold"),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(super::plain(name), expected, "{name}");
        }
    }
}
