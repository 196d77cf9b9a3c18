//! CPU per request in slices of a tenth of a second.
//!
//! Beside a busy neighbour the same code costs 15 µs now and 30 µs a moment later, because
//! caches and memory are shared even where cores are not. Whole turns mix such moments; slices
//! tell them apart, and their lower quartile is what the code costs when it is left alone. For
//! a slice one must know how many requests it had while it runs: the origin counts them (each
//! proxied request arrives there once), its `stub_status` says so, and the origin's own CPU does
//! not count.

use std::time::{Duration, Instant};

use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::nginx::STATUS_PATH;
use weir_measure::server::Server;

/// Length of a slice.
pub const SLICE: Duration = Duration::from_millis(100);
/// Share of the slices that are taken for quiet.
pub const QUIET: f64 = 0.25;
/// Slices with fewer requests say nothing.
const LEAST_REQUESTS: u64 = 5;

/// Takes slices while a load runs.
pub struct Sampler<'s> {
    server: &'s Server,
    origin: Client,
    last: (Instant, u64, u64),
    slices: Vec<f64>,
}

impl<'s> Sampler<'s> {
    /// Begins with the present state of the process under test and of the origin.
    pub fn begin(server: &'s Server, origin_port: u16) -> Result<Self, MeasureError> {
        let origin = Client::new(Address::local(origin_port));
        let mut sampler = Self { server, origin, last: (Instant::now(), 0, 0), slices: Vec::new() };
        sampler.last = sampler.state()?;
        Ok(sampler)
    }

    /// Ends a slice if it is long enough. To be called often while the load runs.
    pub fn tick(&mut self) -> Result<(), MeasureError> {
        if self.last.0.elapsed() < SLICE {
            return Ok(());
        }
        let now = self.state()?;
        let (cpu_ns, requests) = (now.1.saturating_sub(self.last.1), now.2.saturating_sub(self.last.2));
        // The question itself is a request too.
        let requests = requests.saturating_sub(1);
        if requests >= LEAST_REQUESTS {
            self.slices.push(cpu_ns as f64 / 1e3 / requests as f64);
        }
        self.last = now;
        Ok(())
    }

    /// CPU per request of each slice, in microseconds. The first one is left out: in it the
    /// load was still starting.
    #[must_use]
    pub fn end(mut self) -> Vec<f64> {
        if !self.slices.is_empty() {
            self.slices.remove(0);
        }
        self.slices
    }

    fn state(&mut self) -> Result<(Instant, u64, u64), MeasureError> {
        let cpu_ns = self.server.cpu()?.run_ns;
        let requests = ask(&mut self.origin)?;
        Ok((Instant::now(), cpu_ns, requests))
    }
}

/// Requests that the origin has handled so far.
fn ask(origin: &mut Client) -> Result<u64, MeasureError> {
    let answer = origin.exchange(&request("GET", STATUS_PATH, "origin", "", ""))?;
    let text = String::from_utf8_lossy(&answer.body);
    parse(&text).ok_or_else(|| MeasureError::program("origin", format!("does not tell its counters, but: {text}")))
}

/// The third number of the line after `server accepts handled requests`.
fn parse(text: &str) -> Option<u64> {
    let numbers = text.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1)?;
    numbers.split_whitespace().nth(2)?.parse().ok()
}

/// The lower quartile of slices; `None` without any.
#[must_use]
pub fn quiet(slices: &[f64]) -> Option<f64> {
    let mut sorted = slices.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * QUIET) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stub_status_is_read() {
        let text = "Active connections: 291 \nserver accepts handled requests\n \
                    16630948 16630948 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        assert_eq!(parse(text), Some(31_070_465));
        assert_eq!(parse("404 Not Found"), None);
    }

    #[test]
    fn half_of_the_slices_may_be_disturbed() {
        let slices: Vec<f64> = (0..40).map(|index| if index % 2 == 0 { 15.0 } else { 30.0 }).collect();
        assert_eq!(quiet(&slices), Some(15.0));
        assert_eq!(quiet(&[]), None);
    }
}
