//! What the rows of a run share: its directory, and gateways that several rows change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::policy::{MemberPlacement, PolicySize};
use super::seats::Seats;
use super::traffic::Shared;
use super::weir::Weir;
use weir_measure::child;
use weir_measure::error::MeasureError;
use weir_measure::site::Site;

/// What the contenders of a run share.
pub struct Stage<'s> {
    /// The run's directory, module and placement.
    pub site: &'s Site,
    /// The cores of the processes.
    pub seats: Seats,
    gateways: RefCell<HashMap<PolicySize, Rc<Weir>>>,
    traffic: RefCell<Option<Rc<Shared>>>,
}

impl<'s> Stage<'s> {
    /// An empty one.
    #[must_use]
    pub fn new(site: &'s Site) -> Self {
        Self { site, seats: Seats::of(site.placement), gateways: RefCell::default(), traffic: RefCell::default() }
    }

    /// The gateway with a policy of that size, started if this is the first row to ask.
    pub fn gateway(&self, name: &str, size: PolicySize) -> Result<Rc<Weir>, MeasureError> {
        if let Some(weir) = self.gateways.borrow().get(&size) {
            return Ok(Rc::clone(weir));
        }
        let weir = Rc::new(Weir::start(self, name, size, MemberPlacement::NOWHERE)?);
        self.gateways.borrow_mut().insert(size, Rc::clone(&weir));
        Ok(weir)
    }

    /// What the rows with data traffic share, made by the first of them.
    pub fn traffic(&self, make: impl FnOnce() -> Result<Shared, MeasureError>) -> Result<Rc<Shared>, MeasureError> {
        if let Some(shared) = self.traffic.borrow().as_ref() {
            return Ok(Rc::clone(shared));
        }
        let shared = Rc::new(make()?);
        self.traffic.replace(Some(Rc::clone(&shared)));
        Ok(shared)
    }

    /// Where `program` is installed; an error that skips the row if it is not.
    pub fn needs(&self, program: &str) -> Result<PathBuf, MeasureError> {
        child::installed(program)
            .ok_or_else(|| MeasureError::Missing(format!("{program} is not installed: `scripts/setup.sh bench`")))
    }
}
