//! The planted faults: one entry for each case, with the rules of `weir diagnose` that must fire.

use std::rc::Rc;

use super::{checked, compiled};
use crate::choice;
use crate::variants::{Duty, VARIANTS};
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, Connections, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::{Generator, Traffic};

/// A story and its cases.
#[derive(Debug)]
pub struct Story {
    /// Name of the scenario and of its results.
    pub name: &'static str,
    /// What its report is headed with.
    pub title: &'static str,
    cases: &'static [Case],
}

/// A program with or without a planted fault.
#[derive(Debug)]
pub struct Case {
    /// Its name in the results.
    pub name: &'static str,
    /// The case that its ratio refers to.
    pub baseline: &'static str,
    /// The planted fault, as a phrase.
    pub planted: &'static str,
    /// Ids of the rules that must fire.
    pub expected: &'static [&'static str],
    /// Whether nothing but these may fire.
    pub only: bool,
    /// Its load.
    pub traffic: Traffic,
    program: Program,
}

#[derive(Debug)]
enum Program {
    /// The origin, without a proxy before it.
    Origin,
    /// The installed nginx as a proxy.
    Proxy(Connections),
    /// An nginx compiled at this level of optimisation, stripped, as a proxy that keeps connections.
    Compiled(&'static str),
    /// A row of the comparison `rs`.
    Variant(&'static str),
    /// A check of signatures in Lua.
    Signature,
}

/// All stories.
pub const STORIES: &[Story] = &[LUA_WAF, NO_KEEPALIVE, TABLE_SORT];

const FORM: Traffic = Traffic {
    kind: None,
    requests: None,
    body_bytes: None,
    sites: None,
    refused_percent: 0,
    slow: false,
    generator: Generator::Wrk,
    port: None,
};
const GET: Traffic = Traffic { kind: Some("get"), ..FORM };
const SIGNED: Traffic = Traffic { kind: Some("signed"), ..FORM };

/// A gateway that lost most of its throughput and looked healthy.
const NO_KEEPALIVE: Story = Story {
    name: "no-keepalive",
    title: "A gateway that lost most of its throughput and looked healthy",
    cases: &[
        Case { name: "direct", planted: "nothing: the upstream alone", only: true, ..case("direct", Program::Origin) },
        Case {
            planted: "no keepalive in the upstream block",
            expected: &["upstream-no-keepalive"],
            ..case("no-keepalive", Program::Proxy(Connections::Closed))
        },
        Case {
            planted: "nothing: a healthy proxy",
            only: true,
            ..case("keepalive", Program::Proxy(Connections::Kept))
        },
        Case {
            planted: "built with -O0, stripped",
            expected: &["build-unoptimised"],
            ..case("O0", Program::Compiled("O0"))
        },
        Case {
            planted: "built with -O1, stripped: tail calls are not optimised",
            expected: &["build-no-tail-calls"],
            ..case("O1", Program::Compiled("O1"))
        },
    ],
};

/// A WAF engine that spends its CPU on copying variables into Lua.
const LUA_WAF: Story = Story {
    name: "lua-waf",
    title: "A WAF engine in Lua that spends its CPU on copying variables",
    cases: &[
        Case {
            planted: "nothing: a healthy proxy",
            traffic: FORM,
            only: true,
            ..rs("nginx", Program::Variant("nginx"))
        },
        Case {
            planted: "all variables copied into Lua, strings grown by `..`",
            traffic: FORM,
            expected: &["lua-variable-copying", "lua-string-interning"],
            ..rs("lua-before", Program::Variant("lua-before"))
        },
        Case { planted: "the same with the fixes", traffic: FORM, ..rs("lua-after", Program::Variant("lua-after")) },
    ],
};

/// A signature check that cost three quarters of a gateway.
const TABLE_SORT: Story = Story {
    name: "table-sort",
    title: "A signature check in Lua that costs three quarters of a gateway",
    cases: &[
        Case {
            planted: "nothing: a healthy proxy",
            traffic: SIGNED,
            only: true,
            ..rs("nginx", Program::Variant("nginx"))
        },
        Case {
            planted: "table.sort of characters, with a comparison in Lua",
            traffic: SIGNED,
            expected: &["lua-table-sort"],
            ..rs("lua-signature", Program::Signature)
        },
    ],
};

const fn case(name: &'static str, program: Program) -> Case {
    Case { name, baseline: "keepalive", planted: "", expected: &[], only: false, traffic: GET, program }
}

const fn rs(name: &'static str, program: Program) -> Case {
    Case { baseline: "nginx", ..case(name, program) }
}

impl Story {
    /// The chosen cases in the table's order, always with what their ratios refer to; all if none is chosen.
    pub fn chosen(&self, only: &[String]) -> Result<Vec<&'static Case>, MeasureError> {
        choice::chosen(self.cases, only, "case", |case| case.name, |case| case.name == case.baseline)
    }
}

impl Case {
    /// Starts it and checks that it does its work.
    pub fn start(&self, site: &Site, origin: &Rc<Server>) -> Result<Rc<Server>, MeasureError> {
        let parts = NginxParts { directory: site.directory_of(self.name)?, ..NginxParts::default() };
        match self.program {
            Program::Origin => Ok(Rc::clone(origin)),
            Program::Proxy(connections) => {
                let server = nginx::start_proxy(site, self.name, NginxParts { connections, ..parts })?;
                checked(self.name, Duty::Pass, server)
            }
            Program::Compiled(level) => {
                let program = Some(compiled::nginx(level)?);
                let server = nginx::start_proxy(site, self.name, NginxParts { program, ..parts })?;
                checked(self.name, Duty::Pass, server)
            }
            Program::Variant(name) => {
                let variant =
                    VARIANTS.iter().find(|variant| variant.name == name).expect("cases name rows of the table");
                let server = variant.start(site, variant.name)?.expect("no case names the origin's row");
                checked(self.name, variant.duty, server)
            }
            Program::Signature => checked(
                self.name,
                Duty::Pass,
                crate::variants::start_lua(site, self.name, "require('signature.access')", "")?,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_baseline_and_says_what_was_planted() {
        for story in STORIES {
            for case in story.cases {
                assert!(story.cases.iter().any(|other| other.name == case.baseline), "{} {}", story.name, case.name);
                assert!(!case.planted.is_empty(), "{}", case.name);
            }
        }
    }

    #[test]
    fn what_is_expected_is_a_rule_of_the_table() {
        for id in STORIES.iter().flat_map(|story| story.cases.iter()).flat_map(|case| case.expected) {
            assert!(weir_diagnose::rules::RULES.iter().any(|rule| rule.id == *id), "{id}");
        }
    }

    #[test]
    fn a_choice_keeps_the_baseline_and_refuses_unknown_names() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            STORIES[1].chosen(&only).map(|cases| cases.iter().map(|case| case.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["O1"]).unwrap(), ["keepalive", "O1"]);
        assert_eq!(names(&[]).unwrap().len(), 5);
        assert!(names(&["O9"]).unwrap_err().to_string().contains("no-keepalive"));
    }
}
