//! From the child's answer to faults with places in documents.

use weir_policy::{PolicyError, PolicyErrors};
use weir_resource::Fault;

use super::Job;
use super::wire::{Answer, Complaint};
use crate::state::Key;

/// The warnings of a good answer.
///
/// # Errors
/// The faults of a bad one.
pub(super) fn verdict(job: &Job, answer: Answer) -> Result<Vec<Fault>, Vec<Fault>> {
    let Answer { errors, more, warnings, patterns, panic } = answer;
    let mut faults = placed(job, errors);
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
        faults.push(Fault { message: format!("{more} more errors are not shown"), ..Fault::default() });
    }
    if faults.is_empty() { Ok(placed(job, warnings)) } else { Err(faults) }
}

/// Complaints as faults, each with its place in a document. What is no document's, such as an error in a rule file that is
/// named, names its file and has the settings' pointer.
fn placed(job: &Job, complaints: Vec<Complaint>) -> Vec<Fault> {
    let Some(policies) = &job.policies else { return Vec::new() };
    let error = |Complaint { file, line, column, message, hint }| PolicyError {
        file,
        line,
        column,
        message,
        hint,
        excerpt: String::new(),
    };
    let errors = PolicyErrors::told(complaints.into_iter().map(error).collect(), 0);
    let placed = policies.faults(&errors).into_iter().map(|(kind, id, mut fault)| {
        // Ids have neither `/` nor `~`, so there is nothing to escape.
        fault.pointer.insert_str(0, &Key::new(kind, &id).to_string());
        fault
    });
    placed.collect()
}
