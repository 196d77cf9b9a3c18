//! The child's side: reads tasks, compiles, answers, until its input ends.

use std::any::Any;
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use weir_gateway::resource::{ContentHash, ResourceKind};
use weir_gateway::{Documents, Patterns};
use weir_policy::{Fault, PolicyError, Snapshot, Trial};

use super::wire::{Answer, Complaint, Hello, MAX_ANSWER_BYTES, MAX_JOB_BYTES, Task, read, write};
use super::{confine, fault_injection};

/// The body of the hidden subcommand `weir sandbox`.
///
/// Standard input and output carry the protocol of [`super::wire`]; errors of the sandbox itself go to standard error,
/// whose last words the parent repeats.
#[must_use]
pub fn child_main() -> ExitCode {
    match serve(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sandbox: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let Some(hello) = read::<Hello>(input, MAX_JOB_BYTES)? else { return Ok(()) };
    if !hello.files.is_empty() {
        weir_policy::confine_files(&hello.files);
    }
    confine::confine(hello.memory_bytes)?;
    let mut kept = Kept::default();
    while let Some(task) = read::<Task>(input, MAX_JOB_BYTES)? {
        let answer = catch_unwind(AssertUnwindSafe(|| perform(&task, &mut kept)));
        let answer = answer.unwrap_or_else(|panic| Answer { panic: Some(message(&*panic)), ..Answer::default() });
        write(output, &answer, MAX_ANSWER_BYTES)?;
    }
    Ok(())
}

/// What a child keeps for later tasks.
#[derive(Default)]
struct Kept {
    /// The last good policies: rule sets stay parsed as long as somebody holds policies that have them.
    last: Option<Snapshot>,
    /// Policies that compiled; they are not compiled again.
    compiled: HashSet<ContentHash>,
}

fn perform(task: &Task, kept: &mut Kept) -> Answer {
    let mut answer = Answer::default();
    if let Some(all) = &task.documents {
        fault_injection::perform(all);
        let mut documents = Documents::default();
        for (kind, document) in all {
            documents.set(*kind, &document.id, Some((document.clone(), 0)));
        }
        match Snapshot::build(&documents, Path::new(""), Trial::Each(&mut kept.compiled)) {
            Ok(snapshot) => {
                answer.warnings = snapshot.warnings().iter().map(complaint).collect();
                kept.last = Some(snapshot);
            }
            Err(errors) => {
                answer.errors = errors.errors().iter().map(complaint).collect();
                answer.more = errors.more();
            }
        }
    }
    for (index, pattern) in task.patterns.iter().enumerate() {
        if let Err(message) = Patterns::compile(pattern) {
            answer.patterns.push((index, message));
        }
    }
    answer
}

/// What is no document's is the settings'.
fn complaint(error: &PolicyError) -> Complaint {
    let alone = || (ResourceKind::Settings, "", Fault { message: error.to_string(), ..Fault::default() });
    let (kind, id, Fault { pointer, message, hint, .. }) = error.in_document().unwrap_or_else(alone);
    Complaint { kind, id: id.to_owned(), pointer, message, hint }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
