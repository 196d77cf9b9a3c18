//! From marks in the code to a level of optimisation.
//!
//! Measured on stripped x86-64 binaries: nginx 1.22.1 built at each level by GCC 12.2
//! and clang 14, and what distributions build at `-O2`. Shares of functions that spill arguments at once, of
//! instructions with memory on the stack, of last calls that are jumps, of registers cleared by `xor`:
//!
//! | binary | spill | stack | tail | xor |
//! | --- | --- | --- | --- | --- |
//! | nginx, GCC `-O0` (with and without frame pointer) | 0.99 | 0.32 | 0.00 | 0.00 |
//! | nginx, clang `-O0` | 0.99 | 0.39 | 0.00 | 1.00 |
//! | nginx, GCC `-O1`, `-Og` | 0.08 to 0.09 | 0.07 to 0.08 | 0.00 | 0.00 |
//! | nginx, GCC `-O1 -fno-omit-frame-pointer` | 0.13 | 0.06 | 0.00 | 0.00 |
//! | nginx, clang `-O1` | 0.05 | 0.07 | 0.00 | 0.99 |
//! | nginx, GCC `-O2`, `-O3`, `-Os`, `-O2 -fno-omit-frame-pointer` | 0.06 to 0.08 | 0.06 to 0.08 | 0.86 to 0.88 | 1.00 |
//! | nginx, GCC `-O2 -fno-optimize-sibling-calls` | 0.06 to 0.08 | 0.06 to 0.08 | 0.02 | 1.00 |
//! | nginx, clang `-O2` | 0.05 | 0.07 | 0.88 | 0.99 |
//! | Debian's nginx, LuaJIT, libc, libssl, libcrypto, libz, PCRE2, HAProxy, bash, git, Python | 0.04 to 0.13 | 0.06 to 0.12 | 0.83 to 1.00 | 0.99 to 1.00 |
//! | Rust, `-O` (rustup, Weir) | 0.08 to 0.09 | 0.12 to 0.13 | 0.82 to 0.85 | 0.97 |
//!
//! What cannot be told apart: `-O1` and `-Og`; `-O2`, `-O3` and `-Os`; clang's `-O1` and GCC's `-O2` without tail calls,
//! unless `.comment` names the compiler. A binary made of parts of different levels (a module's objects with a
//! static OpenSSL) lies in between, and is then not judged.

use super::{BuildFacts, CodeStatistics, Optimisation, OptimisationLevel, OptimisationSource, Producer, TailCalls};

/// Minimum share of spilling functions at `-O0`: between 0.13 and 0.98, nearer to the healthy
/// values so that a few optimised objects do not hide it.
const O0_SPILLS: f64 = 0.5;
/// The corresponding share of instructions on the stack: between 0.15 and 0.31.
const O0_STACK: f64 = 0.2;
/// Maximum share of jumps without tail calls: between 0.02 and 0.82.
const NO_TAILS: f64 = 0.1;
/// Minimum share of jumps with tail calls.
const TAILS: f64 = 0.5;
/// Maximum share of `xor` with GCC below `-O2`: between 0.00 and 0.97.
const O1_XOR: f64 = 0.2;
/// Minimum share of `xor` in other builds.
const O2_XOR: f64 = 0.8;
/// Minimum number of calls, registers or functions for a judgement.
const FEWEST: u64 = 20;

/// Maximum confidence of judgements by compiler flags, and by code.
const SURE_BY_WORDS: f64 = 0.99;
const SURE_BY_CODE: f64 = 0.97;
const SURE_OF_LEVEL_ONLY: f64 = 0.6;

/// Judges a binary by the flags in its debug information if there are any, otherwise by its code.
#[must_use]
pub fn classify(build: &BuildFacts) -> Optimisation {
    by_words(&build.producers).unwrap_or_else(|| match &build.code {
        Some(code) => by_code(code, &build.compilers),
        None => Optimisation { reason: build.remark.clone(), ..Optimisation::default() },
    })
}

/// GCC writes its flags into the debug information; clang, rustc and assemblers do not.
fn by_words(producers: &[Producer]) -> Option<Optimisation> {
    // Without recorded switches (-gno-record-gcc-switches) the producer says nothing about them.
    let gcc = || producers.iter().filter(|producer| is_gcc(&producer.text) && producer.text.contains(" -"));
    let all: u32 = producers.iter().filter(|producer| !producer.text.starts_with("GNU AS")).map(|one| one.units).sum();
    let most = gcc().max_by_key(|producer| producer.units)?;
    // Other compilers record no flags: the judgement uses flags only if most units have them.
    if gcc().map(|producer| producer.units).sum::<u32>() * 2 < all {
        return None;
    }
    let level = level_of_flags(&most.text);
    let jumps = level == OptimisationLevel::O2OrHigher && !most.text.contains("-fno-optimize-sibling-calls")
        || most.text.contains(" -foptimize-sibling-calls");
    let reason = format!("the debug information of {} of {all} units states: {}", most.units, most.text);
    let tail_calls = if jumps { TailCalls::Optimised } else { TailCalls::Missing };
    Some(Optimisation {
        level,
        tail_calls,
        confidence: SURE_BY_WORDS,
        source: OptimisationSource::DebugInformation,
        reason,
    })
}

/// `GNU C17 12.2.0 -mtune=generic -O2`, `GNU C++17 ...`, also for link-time optimisation (`GNU GIMPLE`).
fn is_gcc(producer: &str) -> bool {
    ["GNU C", "GNU GIMPLE", "GNU Fortran", "GNU Ada"].iter().any(|prefix| producer.starts_with(prefix))
}

fn level_of_flags(flags: &str) -> OptimisationLevel {
    let last = flags.split_whitespace().filter_map(|word| word.strip_prefix("-O")).next_back();
    match last {
        None | Some("0") => OptimisationLevel::O0,
        Some("" | "1" | "g") => OptimisationLevel::O1,
        Some(_) => OptimisationLevel::O2OrHigher,
    }
}

fn by_code(code: &CodeStatistics, compilers: &[String]) -> Optimisation {
    let last_calls = code.tail_jumps + code.missed_tail_calls;
    let tail_calls = match code.tail_share() {
        _ if last_calls < FEWEST => TailCalls::Unknown,
        share if share <= NO_TAILS => TailCalls::Missing,
        share if share >= TAILS => TailCalls::Optimised,
        _ => TailCalls::Unknown,
    };
    let level = level(code, tail_calls, compilers);
    // No compiler turns calls into jumps at these levels, even if there are too few calls to measure.
    let below = matches!(level, OptimisationLevel::O0 | OptimisationLevel::O1) && tail_calls == TailCalls::Unknown;
    let tail_calls = if below { TailCalls::Missing } else { tail_calls };
    let sure = match (level, tail_calls) {
        (OptimisationLevel::Unknown, TailCalls::Unknown) => 0.0,
        (OptimisationLevel::O0, _) => SURE_BY_CODE * weight(code.sampled),
        (OptimisationLevel::O1 | OptimisationLevel::O2OrHigher, TailCalls::Unknown) => {
            SURE_OF_LEVEL_ONLY * weight(code.sampled)
        }
        _ => SURE_BY_CODE * weight(last_calls),
    };
    let source = if sure > 0.0 { OptimisationSource::Code } else { OptimisationSource::Nothing };
    Optimisation { level, tail_calls, confidence: sure, source, reason: reason(code) }
}

fn level(code: &CodeStatistics, tail_calls: TailCalls, compilers: &[String]) -> OptimisationLevel {
    if code.sampled < FEWEST {
        return OptimisationLevel::Unknown;
    }
    if code.spill_share() >= O0_SPILLS && code.stack_share() >= O0_STACK {
        return OptimisationLevel::O0;
    }
    let cleared = code.cleared_by_xor + code.cleared_by_mov;
    let only = |name: &str| !compilers.is_empty() && compilers.iter().all(|compiler| compiler.contains(name));
    match tail_calls {
        _ if cleared < FEWEST => OptimisationLevel::Unknown,
        TailCalls::Optimised | TailCalls::Unknown if code.xor_share() >= O2_XOR => OptimisationLevel::O2OrHigher,
        TailCalls::Missing | TailCalls::Unknown if code.xor_share() <= O1_XOR => OptimisationLevel::O1,
        // Either GCC at -O2 with -fno-optimize-sibling-calls, or clang at -O1.
        TailCalls::Missing if only("GCC") => OptimisationLevel::O2OrHigher,
        TailCalls::Missing if compilers.iter().any(|compiler| compiler.contains("clang")) => OptimisationLevel::O1,
        _ => OptimisationLevel::Unknown,
    }
}

/// Close to 1 for large numbers, 0.5 for ten.
fn weight(number: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a count of functions or calls")]
    let number = number as f64;
    number / (number + 10.0)
}

fn reason(code: &CodeStatistics) -> String {
    format!(
        "of {} analysed functions (of {}) {:.0} % store their arguments on the stack at once; {:.0} % of all instructions \
         use stack memory; {} of {} final calls are jumps; {:.0} % of {} cleared registers are cleared by xor",
        code.sampled,
        code.functions,
        code.spill_share() * 100.0,
        code.stack_share() * 100.0,
        code.tail_jumps,
        code.tail_jumps + code.missed_tail_calls,
        code.xor_share() * 100.0,
        code.cleared_by_xor + code.cleared_by_mov,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spills, stack, jumps, missed, xor: of 1,000 functions with 100,000 instructions and 1,000 cleared registers.
    fn code(figures: [u64; 5]) -> CodeStatistics {
        let [spills, stack, tail_jumps, missed_tail_calls, cleared_by_xor] = figures;
        CodeStatistics {
            functions: 1000,
            sampled: 1000,
            instructions: 100_000,
            stack,
            spills,
            tail_jumps,
            missed_tail_calls,
            cleared_by_xor,
            cleared_by_mov: 1000 - cleared_by_xor,
        }
    }

    #[test]
    fn what_was_measured_is_judged_right() {
        use {OptimisationLevel as L, TailCalls as T};
        let (gcc, clang) = ("GCC: (Debian 12.2.0-14) 12.2.0", "Debian clang version 14.0.6");
        let cases = [
            ("gcc -O0", [989, 31_900, 0, 268, 1], "", L::O0, T::Missing),
            ("clang -O0", [985, 38_700, 0, 207, 1000], "", L::O0, T::Missing),
            ("gcc -O1", [86, 8200, 0, 234, 1], "", L::O1, T::Missing),
            ("gcc -O1, frame pointer", [128, 6200, 0, 203, 1], "", L::O1, T::Missing),
            ("gcc -O2", [63, 7700, 393, 62, 996], "", L::O2OrHigher, T::Optimised),
            ("gcc -O2, no tail calls", [63, 7700, 7, 394, 996], gcc, L::O2OrHigher, T::Missing),
            ("the same, without .comment", [63, 7700, 7, 394, 996], "", L::Unknown, T::Missing),
            ("clang -O1", [46, 6800, 0, 238, 990], clang, L::O1, T::Missing),
            ("rust", [94, 13_100, 1351, 245, 969], "", L::O2OrHigher, T::Optimised),
            ("parts of two levels", [400, 15_000, 100, 200, 600], "", L::Unknown, T::Unknown),
            ("nearly no calls", [63, 7700, 2, 3, 996], "", L::O2OrHigher, T::Unknown),
        ];
        for (name, figures, compiler, level, tail_calls) in cases {
            let compilers: Vec<String> =
                [compiler].iter().filter(|name| !name.is_empty()).map(|&name| name.into()).collect();
            let judged = by_code(&code(figures), &compilers);
            assert_eq!((judged.level, judged.tail_calls), (level, tail_calls), "{name}: {judged:?}");
            assert!((0.0..=1.0).contains(&judged.confidence), "{name}");
        }
        assert_eq!(by_code(&CodeStatistics::default(), &[]).source, OptimisationSource::Nothing);
    }

    #[test]
    fn words_go_before_code() {
        let one = |text: &str, units| Producer { text: text.into(), units };
        let cases = [
            ("GNU C17 12.2.0 -mtune=generic -O2 -g", OptimisationLevel::O2OrHigher, TailCalls::Optimised),
            ("GNU C17 12.2.0 -O -g", OptimisationLevel::O1, TailCalls::Missing),
            ("GNU C17 12.2.0 -g", OptimisationLevel::O0, TailCalls::Missing),
            ("GNU C17 12.2.0 -O2 -O0", OptimisationLevel::O0, TailCalls::Missing),
            ("GNU C17 12.2.0 -Os -fno-optimize-sibling-calls", OptimisationLevel::O2OrHigher, TailCalls::Missing),
            ("GNU C17 12.2.0 -Og", OptimisationLevel::O1, TailCalls::Missing),
        ];
        for (text, level, tail_calls) in cases {
            let judged = by_words(&[one(text, 3), one("GNU AS 2.40", 9)]).expect("has words");
            assert_eq!((judged.level, judged.tail_calls), (level, tail_calls), "{text}");
        }
        assert_eq!(by_words(&[one("Debian clang version 14.0.6", 9), one("GNU C17 -O2", 1)]), None);
        assert_eq!(by_words(&[one("GNU C17 12.2.0", 9)]), None, "it was told to keep its switches to itself");
        assert_eq!(by_words(&[]), None);
    }
}
