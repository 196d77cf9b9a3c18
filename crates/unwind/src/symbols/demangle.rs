//! Rust and C++ names as in the source.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Maximum length of a name to demangle, in bytes; longer ones stay as they are.
const MAX_MANGLED: usize = 4096;
/// Maximum length of the result, in bytes: mangled names refer to their own parts and may unfold exponentially.
const MAX_DEMANGLED: usize = 16 * 1024;

/// The name as in the source: without hash for Rust, without parameters for C++ (so that overloads
/// are one function, as in `perf`).
pub(crate) fn demangled(name: &str) -> String {
    if name.len() > MAX_MANGLED {
        return name.to_owned();
    }
    // Parts that the compiler has split off keep its suffix: `main.cold`.
    let mut out = BoundedText(String::new());
    let written = if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(out, "{rust:#}").is_ok()
    } else if name.starts_with("_Z") {
        let options = DemangleOptions::new().no_params().no_return_type();
        Symbol::new(name).is_ok_and(|symbol| symbol.structured_demangle(&mut out, &options).is_ok())
    } else {
        false
    };
    if written && !out.0.is_empty() { out.0 } else { name.to_owned() }
}

/// Text that refuses to exceed [`MAX_DEMANGLED`], so that its writer stops there.
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
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
        assert_eq!(demangled("_Z1fI1PIiiES0_IS1_S1_EEvv"), "f<P<int, int>, P<P<int, int>, P<int, int> > >");
        // S_ is f, S0_ is P, S1_ is P<int, int>, and each further one is a P of two of its predecessor.
        let mut doubling = "_Z1fI1PIiiE".to_owned();
        for before in "123456789ABCDEFGHIJKLMNOPQRSTUV".chars() {
            doubling.push_str(&format!("S0_IS{before}_S{before}_E"));
        }
        doubling.push_str("Evv");
        assert_eq!(demangled(&doubling), doubling);
    }
}
