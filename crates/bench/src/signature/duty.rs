//! Whether a row verifies signatures and has the other rules, seen before each of its turns.

use super::requests::{Maker, SignedRequest};
use super::variants::{Engine, Variant};
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client};

/// A way to change a valid request, and the status of the answer to it from all but bare nginx.
struct Case {
    what: &'static str,
    change: fn(&mut SignedRequest, &Variant),
    status: u16,
}

const CASES: &[Case] = &[
    Case { what: "a signed request", change: |_, _| {}, status: 200 },
    Case {
        what: "a request changed after it was signed",
        change: |request, row| request.tamper(row.client),
        status: 401,
    },
    Case {
        what: "an unsigned request",
        change: |request, _| keep(request, &["content-type", "x-app-id"]),
        status: 401,
    },
    Case { what: "a form", change: |request, _| form(request), status: 200 },
    Case {
        what: "a form without X-App-Id",
        change: |request, _| {
            form(request);
            keep(request, &["content-type"]);
        },
        status: 401,
    },
    Case { what: "a request with the method PUT", change: |request, _| request.method = "PUT", status: 405 },
    Case {
        what: "an unsigned request that no selector matches",
        change: |request, _| {
            keep(request, &["content-type"]);
            request.target = "/orders".into();
        },
        status: 200,
    },
];

fn keep(request: &mut SignedRequest, names: &[&str]) {
    request.headers.retain(|(name, _)| names.contains(&name.as_str()));
}

fn form(request: &mut SignedRequest) {
    keep(request, &["x-app-id"]);
    request.headers.push(("content-type".into(), "application/x-www-form-urlencoded".into()));
}

/// Sends all cases and compares the answers.
pub fn check(name: &str, variant: &Variant, port: u16) -> Result<(), MeasureError> {
    let mut maker = Maker::new(variant.client);
    for Case { what, change, status } in CASES {
        let mut request = maker.make()?;
        change(&mut request, variant);
        let answer = Client::new(Address::local(port)).exchange(&request.bytes());
        let got = answer.map_err(|error| MeasureError::wrong(name, format!("{what} got no answer: {error}")))?.status;
        let wanted = if variant.engine == Engine::Nginx { 200 } else { *status };
        if got != wanted {
            return Err(MeasureError::wrong(name, format!("{what} was answered with {got}, expected {wanted}")));
        }
    }
    Ok(())
}
