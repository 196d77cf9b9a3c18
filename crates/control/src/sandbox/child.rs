//! The child's side: reads tasks, compiles, answers, until its input ends.

use std::any::Any;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use weir_gateway::Patterns;
use weir_policy::Assembled;
use weir_policy::{PolicyError, Snapshot};

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
    confine::confine(hello.memory_bytes)?;
    // Rule sets stay parsed as long as somebody holds a policy that has them.
    let mut last = None;
    while let Some(task) = read::<Task>(input, MAX_JOB_BYTES)? {
        let answer = catch_unwind(AssertUnwindSafe(|| perform(&task, &mut last)));
        let answer = answer.unwrap_or_else(|panic| Answer { panic: Some(message(&*panic)), ..Answer::default() });
        write(output, &answer, MAX_ANSWER_BYTES)?;
    }
    Ok(())
}

fn perform(task: &Task, last: &mut Option<Snapshot>) -> Answer {
    let mut answer = Answer::default();
    if let Some(text) = &task.policies {
        fault_injection::perform(text);
        match Snapshot::parse(text, Path::new(Assembled::FILE)) {
            Ok(snapshot) => {
                answer.warnings = snapshot.warnings().iter().map(complaint).collect();
                *last = Some(snapshot);
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

fn complaint(error: &PolicyError) -> Complaint {
    let PolicyError { file, line, column, message, hint, excerpt: _ } = error.clone();
    Complaint { file, line, column, message, hint }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}
