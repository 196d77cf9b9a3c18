//! The child's side: reads tasks, compiles, answers, until its input ends.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use weir_gateway::resource::{ContentHash, ResourceKind};
use weir_gateway::{Documents, Patterns};
use weir_policy::files::{Capture, Captured};
use weir_policy::{Fault, PolicyError, Snapshot, Trial, written};

use super::wire::{Answer, Complaint, Granted, Hello, MAX_ANSWER_BYTES, MAX_JOB_BYTES, Said, Task, Uses, read, write};
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
    let objects = File::open(&hello.objects).ok();
    // Whatever opens a file by its path fails.
    weir_policy::confined::confine(&[]);
    confine::confine(hello.memory_bytes)?;
    let mut kept = Kept::default();
    while let Some(task) = read::<Task>(input, MAX_JOB_BYTES)? {
        let pipes = RefCell::new((&mut *input, &mut *output));
        let capture = |path: &Path, max_bytes: u64| {
            let (input, output) = &mut *pipes.borrow_mut();
            write(*output, &Said::Want { path: path.to_owned(), max_bytes }, MAX_ANSWER_BYTES)?;
            let granted = read::<Granted>(*input, MAX_JOB_BYTES)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            granted.map_err(io::Error::other)
        };
        let objects = objects.as_ref().map(File::as_fd);
        let answer = catch_unwind(AssertUnwindSafe(|| perform(&task, &mut kept, objects, &capture)));
        let answer = answer.unwrap_or_else(|panic| Answer { panic: Some(message(&*panic)), ..Answer::default() });
        write(output, &Said::Done(answer), MAX_ANSWER_BYTES)?;
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

fn perform(task: &Task, kept: &mut Kept, objects: Option<BorrowedFd<'_>>, capture: &Capture<'_>) -> Answer {
    let mut answer = Answer::default();
    if let Some(all) = &task.documents {
        fault_injection::perform(all);
        let mut documents = Documents::default();
        for (kind, document) in all {
            documents.set(*kind, &document.id, Some((document.clone(), 0)));
        }
        let files = Captured::new(&documents, objects, Some(capture));
        match Snapshot::build(&documents, &files, Path::new(""), Trial::Each(&mut kept.compiled)) {
            Ok(snapshot) => {
                (answer.groups, answer.uses) = uses(&documents, files.into_uses());
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

/// What each document depends on, each group of paths once.
fn uses(documents: &Documents, noted: Vec<(usize, Arc<[PathBuf]>)>) -> (Vec<Vec<PathBuf>>, Vec<Uses>) {
    let mut places: HashMap<Arc<[PathBuf]>, usize> = HashMap::new();
    let mut of: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (document, paths) in noted {
        let next = places.len();
        of.entry(document).or_default().insert(*places.entry(paths).or_insert(next));
    }
    let mut groups = vec![Vec::new(); places.len()];
    for (paths, place) in places {
        groups[place] = paths.to_vec();
    }
    let named = written(documents).enumerate().filter_map(|(number, (kind, document))| {
        Some((kind, document.id.clone(), of.get(&number)?.iter().copied().collect()))
    });
    (groups, named.collect())
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
