//! A whole policy in one transaction, from an empty one until all workers serve it.

use std::time::{Duration, Instant};

use super::contender::{Contender, Turn};
use super::policy::{self, MemberPlacement, PolicySize};
use super::stage::Stage;
use super::timings::Figures;
use super::weir::{Weir, transact};
use weir_measure::error::MeasureError;
use weir_measure::http::Client;
use weir_measure::interrupt::check_interrupted;

/// Nothing at all.
const EMPTY: PolicySize = PolicySize { members: 0, sites: 0, routes: 0 };

struct Transaction {
    weir: Weir,
    client: Client,
    put: String,
    delete: String,
}

/// A gateway of its own, empty between turns.
pub fn start(stage: &Stage<'_>, name: &'static str, size: PolicySize) -> Result<Box<dyn Contender>, MeasureError> {
    let weir = Weir::start(stage, name, EMPTY, MemberPlacement::NOWHERE)?;
    let documents = policy::documents(size, MemberPlacement::NOWHERE);
    let client = weir.client();
    Ok(Box::new(Transaction { weir, client, put: policy::put(&documents), delete: policy::delete(&documents) }))
}

impl Contender for Transaction {
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError> {
        let began = Instant::now();
        let (mut each_ns, mut held_us) = (Vec::new(), 0.0_f64);
        while each_ns.is_empty() || began.elapsed() < length {
            check_interrupted()?;
            self.weir.take_held_us()?;
            let took = self.weir.seats.as_client(|| transact(&mut self.client, &self.put))?;
            each_ns.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            held_us = held_us.max(self.weir.take_held_us()?);
            transact(&mut self.client, &self.delete)?;
        }
        let (count, total) = (each_ns.len() as u64, each_ns.iter().sum());
        let figures = Figures::of(each_ns, count, Duration::from_nanos(total));
        let figures = figures.expect("at least one transaction was made");
        Ok(Turn { held_us: Some(held_us), ..Turn::from(figures) })
    }
}
