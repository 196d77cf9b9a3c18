//! One line on the terminal while samples are taken: how long still, how many there are.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use weir_sample::Progress;

use weir_cli::table::counted;
use weir_cli::table::grouped;
use weir_cli::terminal::shown;

/// Width of the bar.
const CELLS: usize = 24;
/// How often the line is written.
const EVERY: Duration = Duration::from_millis(200);
/// Characters of the title.
const MAX_TITLE: usize = 40;

pub(super) struct ProgressLine {
    title: String,
    duration: Duration,
    start: Instant,
    written: Option<Instant>,
    terminal: bool,
}

impl ProgressLine {
    pub fn new(title: &str, duration: Duration) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { title: shown(title, MAX_TITLE), duration, start: Instant::now(), written: None, terminal }
    }

    pub fn show(&mut self, progress: &Progress) {
        if !self.terminal || self.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.written = Some(Instant::now());
        let text = line(self.start.elapsed(), self.duration, progress.samples, progress.lost);
        // Nothing depends on the line: an error of the terminal is not one of the profile.
        let _ = write!(std::io::stderr(), "\r\x1b[K{}  {text}", self.title);
    }

    pub fn clear(&mut self) {
        if self.written.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(passed: Duration, whole: Duration, samples: u64, lost: u64) -> String {
    let part = (passed.as_secs_f64() / whole.as_secs_f64().max(0.001)).min(1.0);
    // At most CELLS.
    let full = (part * CELLS as f64) as usize;
    let remaining = whole.saturating_sub(passed).as_secs_f64().ceil();
    let lost = if lost > 0 { format!(", {} lost", grouped(lost)) } else { String::new() };
    format!(
        "{}{} {remaining:.0} s left, {}{lost} (Ctrl-C ends early)",
        "█".repeat(full),
        "░".repeat(CELLS - full),
        counted(samples, "sample")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_still() {
        let seconds = Duration::from_secs;
        let half = line(seconds(5), seconds(10), 1234, 0);
        assert!(half.starts_with(&"█".repeat(CELLS / 2)) && half.contains("5 s left, 1,234 samples ("), "{half}");
        assert!(line(seconds(11), seconds(10), 0, 7).contains(" 0 s left, 0 samples, 7 lost"));
    }
}
