//! Interleaved rounds: all contenders of a comparison take turns, in a new random order in each round.
//!
//! Machines drift: a neighbour starts a build, the clock is throttled. A comparison that runs one
//! contender for a minute and then the next compares minutes. Here contenders are compared within
//! a round, a few seconds apart, and medians over rounds are reported.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::error::MeasureError;
use crate::interrupt::check_interrupted;
use crate::random::Random;

/// What a turn takes beyond its seconds: starting a load generator, reading /proc, emptying logs.
const OVERHEAD: Duration = Duration::from_millis(250);

/// The contenders of a comparison, which take turns.
pub trait Turns {
    /// The result of a turn.
    type Turn;
    /// The contenders of a round by number, in their order; one may have several turns.
    fn order(&mut self, random: &mut Random) -> Vec<usize>;
    /// The name of a contender, for the display of progress.
    fn name(&self, index: usize) -> String;
    /// Takes a contender's turn: its first of the round if `copy` is 0.
    fn take(&mut self, index: usize, copy: usize) -> Result<Self::Turn, MeasureError>;
    /// Called at the end of each round.
    fn end_round(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }
    /// Whether finished rounds, two at least, are a result when the user interrupts the others.
    fn keeps_finished_rounds(&self) -> bool {
        false
    }
}

/// The turns of a round: number of the contender, and result.
pub type Round<T> = Vec<(usize, T)>;

/// Runs `count` rounds; a turn takes about `seconds`, which only the display of the remaining time needs.
pub fn run<T: Turns>(
    turns: &mut T,
    count: u32,
    seconds: u32,
    random: &mut Random,
) -> Result<Vec<Round<T::Turn>>, MeasureError> {
    let mut rounds = Vec::new();
    let mut progress = Progress { started: Instant::now(), done: 0, live: std::io::stderr().is_terminal() };
    for number in 1..=count {
        match round(turns, (number, count), seconds, random, &mut progress) {
            Err(MeasureError::Interrupted) if turns.keeps_finished_rounds() && rounds.len() > 1 => {
                progress.clear();
                eprintln!(
                    "interrupted: the result is that of the {} of {count} rounds that are finished",
                    rounds.len()
                );
                break;
            }
            round => rounds.push(round?),
        }
        turns.end_round()?;
    }
    progress.clear();
    Ok(rounds)
}

fn round<T: Turns>(
    turns: &mut T,
    (number, count): (u32, u32),
    seconds: u32,
    random: &mut Random,
    progress: &mut Progress,
) -> Result<Round<T::Turn>, MeasureError> {
    let order = turns.order(random);
    let mut round: Round<T::Turn> = Vec::with_capacity(order.len());
    for &index in &order {
        check_interrupted()?;
        let left = (order.len() - round.len()) + order.len() * (count - number) as usize;
        progress.step(&format!("round {number}/{count}"), &turns.name(index), left, seconds, round.is_empty());
        let copy = round.iter().filter(|(other, _)| *other == index).count();
        round.push((index, turns.take(index, copy)?));
    }
    Ok(round)
}

/// Remaining time, on stderr: a line that is written anew on a terminal, else a line for each round.
struct Progress {
    started: Instant,
    done: u32,
    live: bool,
}

impl Progress {
    fn step(&mut self, round: &str, name: &str, turns_left: usize, seconds: u32, begins: bool) {
        // From the second turn on, what the earlier ones took says more than the plan.
        let each = match self.done {
            0 => Duration::from_secs(u64::from(seconds)) + OVERHEAD,
            done => self.started.elapsed() / done,
        };
        let left = (each * u32::try_from(turns_left).unwrap_or(u32::MAX)).as_secs();
        let left = format!("{} min {:02} s left", left / 60, left % 60);
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K{round}  {name:<20} {left}");
        } else if begins {
            eprintln!("{round}  {left}");
        }
        self.done += 1;
    }

    fn clear(&self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Everyone(Vec<&'static str>, u32);

    impl Turns for Everyone {
        type Turn = (usize, u32);

        fn order(&mut self, random: &mut Random) -> Vec<usize> {
            let twice: Vec<usize> = random.order(self.0.len()).into_iter().flat_map(|index| [index; 2]).collect();
            twice
        }

        fn name(&self, index: usize) -> String {
            self.0[index].to_owned()
        }

        fn take(&mut self, _index: usize, copy: usize) -> Result<Self::Turn, MeasureError> {
            Ok((copy, self.1))
        }

        fn end_round(&mut self) -> Result<(), MeasureError> {
            self.1 += 1;
            Ok(())
        }
    }

    /// The user interrupts the third round.
    struct Interrupted(bool, u32);

    impl Turns for Interrupted {
        type Turn = u32;

        fn order(&mut self, _random: &mut Random) -> Vec<usize> {
            vec![0, 1]
        }

        fn name(&self, _index: usize) -> String {
            "it".into()
        }

        fn take(&mut self, _index: usize, _copy: usize) -> Result<u32, MeasureError> {
            self.1 += 1;
            if self.1 == 6 { Err(MeasureError::Interrupted) } else { Ok(self.1) }
        }

        fn keeps_finished_rounds(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn finished_rounds_are_kept_where_they_are_a_result() {
        let interrupted = |keeps, turns| run(&mut Interrupted(keeps, turns), 5, 1, &mut Random::new(1));
        assert_eq!(interrupted(true, 0).unwrap(), [[(0, 1), (1, 2)], [(0, 3), (1, 4)]]);
        assert!(matches!(interrupted(false, 0), Err(MeasureError::Interrupted)));
        assert!(matches!(interrupted(true, 2), Err(MeasureError::Interrupted)), "one round has no intervals");
    }

    #[test]
    fn everyone_takes_every_turn_of_every_round() {
        let rounds = run(&mut Everyone(vec!["a", "b", "c"], 0), 3, 1, &mut Random::new(1)).unwrap();
        for (number, round) in rounds.iter().enumerate() {
            for index in 0..3 {
                let own: Vec<_> = round.iter().filter(|(other, _)| *other == index).map(|(_, turn)| *turn).collect();
                assert_eq!(own, [(0, number as u32), (1, number as u32)]);
            }
        }
    }
}
