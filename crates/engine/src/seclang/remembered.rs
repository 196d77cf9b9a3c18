//! Patterns with macros in them, by the text that the macros have come to.
//!
//! Mostly it is the same text in every request, which the settings of a site decide: it is compiled when the site is
//! built. Where it depends on the request, compiling is charged as work, and the last few are kept.

use std::sync::{Arc, Mutex, PoisonError};

use weir_http::Work;
use weir_rules::seclang::pattern::Pattern;

use super::matcher::Matcher;

/// Texts kept for one operator.
const MAX_TEXTS: usize = 16;
/// Units of work to compile a pattern, and for each byte of it.
const COMPILE: u64 = 100_000;
const COMPILE_BYTE: u64 = 2_000;

/// The patterns of one operator, the oldest first. One that does not compile matches nothing.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Vec<Known>>);

/// A text and its pattern.
type Known = (Box<[u8]>, Option<Arc<Matcher>>);

impl Remembered {
    /// The pattern of a text; `None` too where there is no work left to compile it.
    pub(crate) fn get(&self, text: &[u8], work: &Work) -> Option<Arc<Matcher>> {
        let known =
            |known: &[Known]| known.iter().find(|(known, _)| **known == *text).map(|(_, matcher)| matcher.clone());
        if let Some(matcher) = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return matcher;
        }
        if !work.charge(COMPILE + COMPILE_BYTE * text.len() as u64) {
            return None;
        }
        let pattern = Pattern::parse(&String::from_utf8_lossy(text)).ok();
        let matcher = pattern.and_then(|pattern| Matcher::new(&pattern).ok()).map(Arc::new);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_TEXTS {
            all.remove(0);
        }
        all.push((text.into(), matcher.clone()));
        matcher
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiles_a_text_once_and_keeps_the_last_few() {
        let (remembered, work) = (Remembered::default(), Work::default());
        assert!(remembered.get(b"a+", &work).is_some() && remembered.get(b"(", &work).is_none());
        let spent = work.spent();
        assert!(remembered.get(b"a+", &work).is_some() && remembered.get(b"(", &work).is_none());
        assert_eq!(work.spent(), spent, "both are known");
        let unbounded = Work::unbounded();
        (0..100).for_each(|number| assert!(remembered.get(format!("x{number}").as_bytes(), &unbounded).is_some()));
        assert_eq!(remembered.0.lock().unwrap().len(), MAX_TEXTS);
        assert!(remembered.get(&[b'y'; 4000], &work).is_none() && work.take_refusal(), "too long to compile here");
    }
}
