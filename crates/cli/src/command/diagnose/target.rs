//! What `weir diagnose` is pointed at: a file, a process by its id, or a process by its name.

use std::fs;
use std::path::Path;

use crate::Failure;

/// Processes that are named in an error.
const NAMED: usize = 8;

pub(super) enum Target<'t> {
    File(&'t Path),
    Pid(u32),
    Name(&'t str),
}

impl<'t> Target<'t> {
    /// A number is a process, even if a file is called so: `./4711` is the file.
    pub fn of(text: &'t str) -> Self {
        match text.parse() {
            Ok(pid) => Self::Pid(pid),
            Err(_) if text.contains('/') || Path::new(text).is_file() => Self::File(Path::new(text)),
            Err(_) => Self::Name(text),
        }
    }
}

/// The process of a name; of several with a common parent, such as an nginx and its workers, that parent.
pub(in crate::command) fn pid_of(name: &str) -> Result<u32, Failure> {
    let found = processes(|comm| comm == name.get(..15).unwrap_or(name));
    let pids: Vec<u32> = found.iter().map(|&(pid, _)| pid).collect();
    let tops: Vec<u32> = found.iter().filter(|(_, parent)| !pids.contains(parent)).map(|&(pid, _)| pid).collect();
    match tops[..] {
        [pid] => Ok(pid),
        [] => {
            Err(Failure::new(format!("there is no file and no process called {name}"))
                .hint("weir diagnose PID|NAME|FILE"))
        }
        _ => {
            let shown: Vec<String> = tops.iter().take(NAMED).map(u32::to_string).collect();
            Err(Failure::new(format!("several processes are called {name}: {}", shown.join(", ")))
                .hint("name one by its id"))
        }
    }
}

/// Id and parent of each process whose name passes a test.
fn processes(wanted: impl Fn(&str) -> bool) -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may itself have some: the last one ends it.
        let (before, after) = stat.rsplit_once(')')?;
        let comm = before.split_once('(')?.1;
        let parent = after.split_whitespace().nth(1)?.parse().ok()?;
        wanted(comm).then_some((pid, parent))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_processes_and_paths_are_files() {
        let cases = [("4711", "pid"), ("./4711", "file"), ("profiles/x.folded", "file"), ("nginx", "name")];
        for (text, want) in cases {
            let is = match Target::of(text) {
                Target::File(_) => "file",
                Target::Pid(_) => "pid",
                Target::Name(_) => "name",
            };
            assert_eq!(is, want, "{text}");
        }
    }

    #[test]
    fn a_process_is_found_with_its_parent() {
        let me = std::process::id();
        let comm = fs::read_to_string("/proc/self/comm").expect("Linux");
        let found = processes(|name| name == comm.trim_end());
        assert!(found.iter().any(|&(pid, parent)| pid == me && parent > 0), "{found:?}");
        assert!(pid_of("no such process").is_err());
    }
}
