//! The engines under comparison: each reports the rules that match a request.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::request::Request;
use weir_measure::error::MeasureError;

/// The peer's source, as it lies in `bench/peers/modsecurity`.
const SOURCE: &str = include_str!("../../../../bench/peers/modsecurity/rules.c");

/// One side of the comparison. A closure will do.
pub trait Engine {
    /// Ids of the rules that matched and log, in any order.
    fn rules(&mut self, request: &Request) -> Result<Vec<u64>, MeasureError>;
}

impl<F: FnMut(&Request) -> Vec<u64>> Engine for F {
    fn rules(&mut self, request: &Request) -> Result<Vec<u64>, MeasureError> {
        Ok(self(request))
    }
}

/// libmodsecurity in a process of its own, which ends when its input does.
#[derive(Debug)]
pub struct ModSecurity {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ModSecurity {
    /// Compiles the peer into `directory` and starts it with a file of rules.
    pub fn start(directory: &Path, rules: &Path) -> Result<Self, MeasureError> {
        let (source, program) = (directory.join("rules.c"), directory.join("rules"));
        weir_measure::site::write(&source, SOURCE)?;
        let compiler = Command::new("cc").arg("-O2").arg("-o").args([&program, &source]).arg("-lmodsecurity").output();
        let compiler = compiler.map_err(|error| MeasureError::Missing(format!("cc cannot be started: {error}")))?;
        if !compiler.status.success() {
            return Err(MeasureError::Missing(format!(
                "the peer does not compile; `scripts/setup.sh bench` installs libmodsecurity-dev\n{}",
                String::from_utf8_lossy(&compiler.stderr)
            )));
        }
        let failed = |error: std::io::Error| MeasureError::program("rules", error.to_string());
        let mut process =
            Command::new(&program).arg(rules).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (input, output) = process.stdin.take().zip(process.stdout.take()).expect("both are pipes");
        Ok(Self { process, input, output: BufReader::new(output) })
    }
}

impl Engine for ModSecurity {
    fn rules(&mut self, request: &Request) -> Result<Vec<u64>, MeasureError> {
        let failed = |error: std::io::Error| {
            MeasureError::program("rules", format!("{error}, asked about:\n{}", request.shown()))
        };
        self.input.write_all(&request.encoded()).and_then(|()| self.input.flush()).map_err(failed)?;
        let mut line = String::new();
        if self.output.read_line(&mut line).map_err(failed)? == 0 {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        line.split_whitespace()
            .map(|id| id.parse().map_err(|_| MeasureError::program("rules", format!("{id:?} is not a rule id"))))
            .collect()
    }
}

impl Drop for ModSecurity {
    fn drop(&mut self) {
        // A dead or killed process cannot be killed again, which is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
