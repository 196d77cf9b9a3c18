//! SecLang rule sets (OWASP CRS) compiled to a program and run over a transaction.
//!
//! A rule set is a program with state: rules set variables that later rules read, skip others,
//! and remove each other. ModSecurity interprets it, 800 rules for each request, and spends nine
//! tenths of its time outside the regex engine. Weir evaluates ahead of time what does not depend
//! on the request (`template.rs`), finds with one filter pass which of the other rules can match
//! at all (`sift.rs`), and interprets only those, exactly and in order (`run.rs`).

mod automaton;
mod bits;
mod clock;
mod collections;
mod compile;
mod expand;
mod explain;
mod factor;
mod gate;
mod locate;
mod matched;
mod matcher;
mod names;
mod need;
mod number;
mod operator;
mod pipeline;
mod profile;
mod program;
mod remembered;
mod response_body;
mod run;
mod scratch;
mod sift;
mod state;
mod template;
mod values;
mod variable;

pub use collections::{Collections, StoredChange};
pub use explain::{ByteNeeds, Execution, Explanation, Needs};
pub use profile::{Exclusion, Profile, RuleChoice, Tuning};
pub use program::{Program, ProgramError, RuleInfo, SETTINGS_MARKER};
pub(crate) use run::Run;
pub(crate) use sift::Sifter;
