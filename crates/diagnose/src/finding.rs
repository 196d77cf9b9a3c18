//! What a rule has to say: a sentence, why it may be believed, what to do, and how to see that it helped.
//!
//! Evidence is typed, not text, so that the terminal, JSON and the bench's report each show it in
//! their own way and nobody parses sentences.

use std::fmt;

use serde::Serialize;

/// How much it matters. The order is that of the report among findings of equal share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing breaks and little is lost.
    Note,
    /// Costs CPU or time that could be had back.
    Warning,
    /// Requests are lost or late, or a large part of the CPU goes to something avoidable.
    Serious,
}

/// How sure a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One sign, which could have another cause.
    Possible,
    /// Signs from one side: stacks without the configuration, or the other way round.
    Likely,
    /// Counted exactly, or signs from two sides agree.
    Certain,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Evidence {
    /// Where time goes: a piece of a stack, its caller first.
    Stack {
        /// Part of the profile's time, 0 to 1.
        share: f64,
        /// Frames as people read them, outermost first.
        frames: Vec<String>,
    },
    /// A line of a configuration or of a program.
    Place {
        /// Path as the process sees it.
        file: String,
        /// Line, from 1.
        line: u32,
        /// What stands there.
        text: String,
    },
    /// A figure with its name and unit.
    Figure {
        /// What was counted or measured.
        name: String,
        /// The figure with its unit, as shown.
        value: String,
    },
}

/// A diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Id of the rule that says it.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// Part of the process's CPU time that it explains, 0 to 1; `None` if it is not about CPU.
    pub share: Option<f64>,
    /// What is wrong, in a sentence.
    pub sentence: String,
    /// Why that is so; the strongest first.
    pub evidence: Vec<Evidence>,
    /// What to do: prose, or lines of configuration.
    pub fix: String,
    /// A command that shows whether it helped.
    pub verify: String,
}

impl Finding {
    /// A finding with no evidence yet: a warning, likely, of no known share.
    #[must_use]
    pub fn new(rule: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            rule,
            severity: Severity::Warning,
            confidence: Confidence::Likely,
            share: None,
            sentence: sentence.into(),
            evidence: Vec::new(),
            fix: String::new(),
            verify: String::new(),
        }
    }

    /// Sets how much it matters.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets how sure it is.
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets the part of the CPU that it explains.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }

    /// Adds evidence.
    #[must_use]
    pub fn with(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Adds a figure to the evidence.
    #[must_use]
    pub fn figure(self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.with([Evidence::Figure { name: name.into(), value: value.to_string() }])
    }

    /// Sets what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Sets the command that shows whether it helped.
    #[must_use]
    pub fn verify(mut self, verify: impl Into<String>) -> Self {
        self.verify = verify.into();
        self
    }
}

/// A part as people read it: `12.3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
