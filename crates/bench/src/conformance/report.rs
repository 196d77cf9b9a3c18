//! What people read, and the same as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::judge::Failure;

/// The outcome of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The engine that was asked.
    pub engine: String,
    /// Paranoia level.
    pub paranoia: u8,
    /// Cases that hold.
    pub passed: usize,
    /// Cases that do not.
    pub failed: usize,
    /// Of these, how many nginx refused before any module saw them.
    pub refused_by_nginx: usize,
    /// Requests that were answered with 403, which nobody does who only detects: such a run says
    /// nothing of cases that expect a 403, nor of rules of later phases.
    pub blocked: usize,
    /// Duration in seconds.
    pub seconds: f64,
    /// The cases that do not hold, in the order of rule files.
    pub failures: Vec<Failure>,
}

impl Report {
    /// Failures by rule file, then the counts. `verbose` adds descriptions and requests.
    #[must_use]
    pub fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        let mut group = "";
        for failure in &self.failures {
            if failure.group != group {
                group = &failure.group;
                let count = self.failures.iter().filter(|other| other.group == group).count();
                let _ = writeln!(text, "\n{group}: {count} failed");
            }
            let _ = writeln!(text, "  {:<12} expected {}, saw {}", failure.title, failure.expected, failure.seen);
            if let Some(words) = &failure.refused_by_nginx {
                let _ = writeln!(text, "  {:<12} nginx refused it by itself: {words}", "");
            }
            if verbose {
                for line in failure.description.lines().chain(failure.request.lines()) {
                    let _ = writeln!(text, "  {:<12} | {line}", "");
                }
            }
        }
        let total = self.passed + self.failed;
        let _ = write!(
            text,
            "\nCRS on nginx with {} at paranoia {}: {:.1} % of {total} in {:.0} s",
            self.engine,
            self.paranoia,
            self.passed as f64 * 100.0 / total.max(1) as f64,
            self.seconds
        );
        if self.refused_by_nginx > 0 {
            let _ = write!(text, "; {} of the failures are nginx's own answers", self.refused_by_nginx);
        }
        if self.blocked > 0 {
            let _ = write!(text, "\n{} requests were BLOCKED (403) although only detection is on", self.blocked);
        }
        let _ = writeln!(text, "\n{} passed, {} failed", self.passed, self.failed);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_stand_under_their_file_and_the_counts_close_it() {
        let failure = |title: &str, group: &str, refused: Option<&str>| Failure {
            title: title.into(),
            group: group.into(),
            expected: "rule 1".into(),
            seen: "status 200, no rules".into(),
            refused_by_nginx: refused.map(str::to_owned),
            description: "why".into(),
            request: "GET / HTTP/1.1\r\n".into(),
        };
        let failures =
            vec![failure("1-1", "A", None), failure("1-2", "A", Some("client sent x")), failure("2-1", "B", None)];
        let report = Report {
            engine: "weir".into(),
            paranoia: 4,
            passed: 97,
            failed: 3,
            refused_by_nginx: 1,
            blocked: 0,
            seconds: 2.0,
            failures,
        };
        let text = report.text(false);
        assert!(
            text.contains("A: 2 failed\n  1-1 ") && text.contains("B: 1 failed\n") && !text.contains("why"),
            "{text}"
        );
        assert!(text.contains("97.0 % of 100") && text.contains("1 of the failures are nginx's own"), "{text}");
        assert!(text.ends_with("\n97 passed, 3 failed\n"), "{text}");
        assert!(Report { blocked: 2, ..report.clone() }.text(false).contains("2 requests were BLOCKED"));
        assert!(report.text(true).contains("| GET / HTTP/1.1"));
    }
}
