//! `weir rules`: what rules there are, and what one of them is.
//!
//! The answer is put together from three places that cannot disagree with what runs: the loader's
//! form of the rule (what it looks at and does), the compiled program (how the engine runs it
//! under the policy's settings) and the policy (what it leaves out).

mod chosen;
mod explain;
mod list;
mod own;
pub(crate) mod said;
pub(crate) mod words;
pub(crate) mod written;

pub(crate) use chosen::{Chosen, Use, refused};

use crate::Failure;
use crate::arguments::Rules;

pub(crate) fn run(rules: &Rules) -> Result<(), Failure> {
    match rules {
        Rules::Explain { id, source, json } => explain::run(id, &Chosen::load(source)?, *json),
        Rules::List { tag, file, source, json } => {
            list::run(&Chosen::load(source)?, tag, file.as_deref(), *json);
            Ok(())
        }
    }
}
