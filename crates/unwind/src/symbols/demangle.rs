//! Names of Rust and C++ as people write them.

use std::fmt::{self, Write};

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
    let mut out = Bounded(String::new());
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

/// Text that refuses to become longer than [`MAX_DEMANGLED`], so that whoever writes it stops there.
struct Bounded(String);

impl Write for Bounded {
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
        // S_ is f, S0_ is P, S1_ is P<int, int>, and each after it is a P of two of the one before.
        let mut doubling = "_Z1fI1PIiiE".to_owned();
        for before in "123456789ABCDEFGHIJKLMNOPQRSTUV".chars() {
            doubling.push_str(&format!("S0_IS{before}_S{before}_E"));
        }
        doubling.push_str("Evv");
        assert_eq!(demangled(&doubling), doubling);
    }
}
