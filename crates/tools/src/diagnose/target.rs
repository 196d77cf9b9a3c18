//! What `weir diagnose` is pointed at: a file, a process by its id, or a process by its name.

use std::path::Path;

use weir_sample::SampleError;

use weir_cli::Failure;

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
pub(crate) fn pid_of(name: &str) -> Result<u32, Failure> {
    let found = weir_sample::roots(name).map_err(|error| match error {
        SampleError::NoSuchName { .. } => {
            Failure::new(format!("there is no file and no process called {name}")).hint("weir diagnose PID|NAME|FILE")
        }
        other => Failure::new(other),
    })?;
    if let [pid] = found[..] {
        return Ok(pid);
    }
    let shown: Vec<String> = found.iter().take(NAMED).map(u32::to_string).collect();
    Err(Failure::new(format!("several processes are called {name}: {}", shown.join(", "))).hint("name one by its id"))
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
    fn a_name_must_be_that_of_one_process() {
        let directory = tempfile::tempdir().expect("temp dir");
        let program = directory.path().join("weir-sleeper");
        // By a process of its own: a copy open for writing in this one is inherited by what other tests start meanwhile,
        // and then it cannot be run.
        assert!(std::process::Command::new("cp").arg("/bin/sleep").arg(&program).status().expect("runs").success());
        let sleeper = || std::process::Command::new(&program).arg("60").spawn().expect("starts");
        let mut one = sleeper();
        let alone = pid_of("weir-sleeper");
        let mut other = sleeper();
        let both = pid_of("weir-sleeper");
        for child in [&mut one, &mut other] {
            child.kill().expect("ends");
            child.wait().expect("our own child");
        }
        assert_eq!(alone.expect("is there"), one.id());
        assert!(both.expect_err("there are two").to_string().contains("several processes are called"));
        assert!(pid_of("weir-sleeper").is_err());
    }
}
