//! From the child's answer to faults with places in documents.

use weir_resource::Fault;

use super::Job;
use super::wire::{Answer, Complaint};
use crate::state::Key;

/// The warnings of a good answer.
///
/// # Errors
/// The faults of a bad one.
pub(super) fn verdict(job: &Job, answer: Answer) -> Result<Vec<Fault>, Vec<Fault>> {
    let Answer { errors, more, warnings, patterns, panic, groups: _, uses: _ } = answer;
    let mut faults: Vec<Fault> = errors.into_iter().map(placed).collect();
    for (index, message) in patterns {
        // An index that was never sent has no place, but is a fault all the same.
        let (found, pointer) = job.patterns.get(index).cloned().unwrap_or_default();
        faults.push(Fault { pointer, message, found: Some(found), ..Fault::default() });
    }
    if let Some(panic) = panic {
        faults.push(Fault {
            message: format!("compiling it met a fault of Weir itself: {panic}"),
            hint: Some("nothing was changed; please report it together with the policies".to_owned()),
            ..Fault::default()
        });
    }
    if more > 0 {
        let message = format!("and {}", weir_policy::counted(more, "more error"));
        faults.push(Fault { message, ..Fault::default() });
    }
    if faults.is_empty() { Ok(warnings.into_iter().map(placed).collect()) } else { Err(faults) }
}

/// A complaint as a fault, whose pointer begins with the document's.
fn placed(Complaint { kind, id, pointer, message, hint }: Complaint) -> Fault {
    // Ids have neither `/` nor `~`, so there is nothing to escape.
    Fault { pointer: format!("{}{pointer}", Key::new(kind, &id)), message, hint, ..Fault::default() }
}
