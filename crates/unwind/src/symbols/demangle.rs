//! Names of Rust and C++ as people write them.

use cpp_demangle::{DemangleOptions, Symbol};

/// Longest name that is demangled, in bytes; longer ones stay as they are.
const MAX_MANGLED: usize = 4096;
/// Longest result, in bytes: mangled names refer to their own parts and may unfold without end.
const MAX_DEMANGLED: usize = 16 * 1024;

/// The name as it is in the source: without hash for Rust, without parameters for C++ (so that
/// overloads are one function, as `perf` shows them).
pub(crate) fn demangled(name: &str) -> String {
    if name.len() > MAX_MANGLED {
        return name.to_owned();
    }
    // Parts that the compiler has split off keep its suffix: `main.cold`.
    let result = if let Ok(rust) = rustc_demangle::try_demangle(name) {
        Some(format!("{rust:#}"))
    } else if name.starts_with("_Z") {
        let options = DemangleOptions::new().no_params().no_return_type();
        Symbol::new(name).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok())
    } else {
        None
    };
    result.filter(|text| !text.is_empty() && text.len() <= MAX_DEMANGLED).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let cases = [
            ("ngx_http_core_run_phases", "ngx_http_core_run_phases"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_ZN3foo3barEi", "foo::bar"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
            ("", ""),
            ("main.cold", "main.cold"),
        ];
        for (mangled, expected) in cases {
            assert_eq!(demangled(mangled), expected, "{mangled}");
        }
        let long = format!("_Z{}", "N".repeat(10_000));
        assert_eq!(demangled(&long), long);
    }
}
