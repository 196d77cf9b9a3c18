//! How many requests were answered while samples were taken: as told, from nginx's `stub_status`,
//! or from the ledger of Weir's own nginx, which needs no option.

use std::path::Path;

use weir_diagnose::facts::{NginxRequests, stub_status};

use crate::answered::Answered;
use weir_cli::Failure;
use weir_cli::arguments::Record;

/// Where the number comes from, and what it was before.
pub(super) enum Requests {
    Told(u64),
    Status { url: String, before: NginxRequests, after: Option<NginxRequests> },
    Ledger(Option<Answered>),
}

impl Requests {
    /// From now on.
    pub fn begin(runtime: &Path, record: &Record) -> Result<Self, Failure> {
        if let Some(told) = record.requests {
            return Ok(Self::Told(told));
        }
        if let Some(url) = &record.requests_from {
            return Ok(Self::Status { url: url.clone(), before: first(url)?, after: None });
        }
        Ok(Self::Ledger(Answered::begin(runtime)))
    }

    /// Until now. Where nobody answers any more it is said, and the samples are kept without the number.
    pub fn end(&mut self) {
        match self {
            Self::Told(_) => {}
            Self::Status { url, after, .. } => match stub_status::read(url) {
                Ok(now) => *after = Some(now),
                Err(error) => eprintln!("\rweir: {url}: {error}: costs are not given per request"),
            },
            Self::Ledger(answered) => answered.iter_mut().for_each(Answered::end),
        }
    }

    /// Requests in between, of these processes as far as they can be told from others; `None` if that is not known.
    pub fn of(&self, processes: impl IntoIterator<Item = u32>) -> Option<u64> {
        match self {
            Self::Told(told) => Some(*told),
            Self::Status { before, after, .. } => Some((*after)?.since(*before).requests),
            Self::Ledger(answered) => answered.as_ref()?.of(processes),
        }
    }
}

fn first(url: &str) -> Result<NginxRequests, Failure> {
    stub_status::read(url).map_err(|error| {
        Failure::new(format!("{url}: {error}"))
            .hint("`location = /status { stub_status; }` in nginx's configuration serves it; or use --requests")
    })
}
