//! Patterns with macros in them, by the text that the macros have come to.
//!
//! Mostly it is the same text in every request, which the settings of a site decide: it is compiled when the site is
//! built, and the site keeps it. Where it depends on the request, compiling is charged as work, and the last few are kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_http::Work;
use weir_rules::seclang::pattern::Pattern;

use super::matcher::Matcher;

/// Texts of requests kept for one operator.
const MAX_TEXTS: usize = 16;
/// Units of work to compile a pattern, and for each byte of it.
const COMPILE: u64 = 100_000;
const COMPILE_BYTE: u64 = 2_000;

/// The pattern of a text; `None` if it does not compile, and then it matches nothing.
pub(crate) type Compiled = Arc<Option<Matcher>>;

/// The patterns of one operator.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Those that sites keep.
    of_sites: HashMap<Box<[u8]>, Weak<Option<Matcher>>>,
    /// Those of requests, the oldest first.
    of_requests: Vec<(Box<[u8]>, Compiled)>,
}

impl Remembered {
    /// The pattern of a text in a request; `None` if there is no work left to compile it.
    pub(crate) fn get(&self, text: &[u8], work: &Work) -> Option<Compiled> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known.find(text) {
            return Some(compiled);
        }
        if !work.charge(COMPILE + COMPILE_BYTE * text.len() as u64) {
            return None;
        }
        if known.of_requests.len() >= MAX_TEXTS {
            known.of_requests.remove(0);
        }
        let compiled = compile(text);
        known.of_requests.push((text.into(), Arc::clone(&compiled)));
        Some(compiled)
    }

    /// The pattern of a site's text, known to requests as long as it is kept.
    pub(crate) fn of_site(&self, text: Vec<u8>) -> Compiled {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.of_sites.get(&*text).and_then(Weak::upgrade).unwrap_or_else(|| {
            let compiled = compile(&text);
            known.of_sites.retain(|_, other| other.strong_count() > 0);
            known.of_sites.insert(text.into(), Arc::downgrade(&compiled));
            compiled
        })
    }
}

impl Known {
    fn find(&self, text: &[u8]) -> Option<Compiled> {
        let of_request = || self.of_requests.iter().find(|(known, _)| **known == *text).map(|(_, it)| Arc::clone(it));
        self.of_sites.get(text).and_then(Weak::upgrade).or_else(of_request)
    }
}

fn compile(text: &[u8]) -> Compiled {
    let pattern = Pattern::parse(&String::from_utf8_lossy(text)).ok();
    Arc::new(pattern.and_then(|pattern| Matcher::new(&pattern).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiles_a_text_once_and_keeps_the_last_few() {
        let (remembered, work) = (Remembered::default(), Work::default());
        let is_pattern = |text: &[u8]| remembered.get(text, &work).is_some_and(|compiled| compiled.is_some());
        assert!(is_pattern(b"a+") && !is_pattern(b"("));
        let spent = work.spent();
        assert!(is_pattern(b"a+") && !is_pattern(b"("));
        assert_eq!(work.spent(), spent, "both are known");
        let unbounded = Work::unbounded();
        (0..100).for_each(|number| assert!(remembered.get(format!("x{number}").as_bytes(), &unbounded).is_some()));
        assert_eq!(remembered.0.lock().unwrap().of_requests.len(), MAX_TEXTS);
        assert!(remembered.get(&[b'y'; 4000], &work).is_none() && work.take_refusal(), "too long to compile here");
    }

    #[test]
    fn what_sites_keep_is_known_however_many_there_are() {
        let (remembered, work) = (Remembered::default(), Work::default());
        let kept: Vec<_> = (0..50).map(|site| remembered.of_site(format!("site{site}").into_bytes())).collect();
        for site in 0..50 {
            assert!(remembered.get(format!("site{site}").as_bytes(), &work).is_some());
        }
        assert_eq!(work.spent(), 0, "nothing is compiled in a request");
        drop(kept);
        remembered.of_site(b"another".to_vec());
        assert_eq!(remembered.0.lock().unwrap().of_sites.len(), 1, "those of sites that are gone go");
    }
}
