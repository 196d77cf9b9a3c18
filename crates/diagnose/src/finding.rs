//! A finding: a sentence, its evidence, a fix, and a way to verify the fix.
//!
//! Evidence is typed, not text, so that the terminal, JSON and the bench's report can each display
//! it in their own way without parsing sentences.

use std::fmt;

use serde::Serialize;

/// Importance. The order is that of the report among findings with equal share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Information; nothing fails and little is lost.
    Note,
    /// Wastes CPU or time.
    Warning,
    /// Requests are lost or late, or a large part of the CPU is wasted.
    Serious,
}

/// The confidence of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One sign, which may have another cause.
    Possible,
    /// Signs of one kind: stacks without the configuration, or the reverse.
    Likely,
    /// Counted exactly, or signs of two kinds agree.
    Certain,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Evidence {
    /// A part of a stack in which time is spent, its caller first.
    Stack {
        /// Share of the profile's time, 0 to 1.
        share: f64,
        /// Frames in display form, outermost first.
        frames: Vec<String>,
    },
    /// A line of a configuration or of a program.
    Place {
        /// Path as the process sees it.
        file: String,
        /// Line, from 1.
        line: u32,
        /// The text of the line.
        text: String,
    },
    /// A figure with its name and unit.
    Figure {
        /// The name of the figure.
        name: String,
        /// The figure with its unit, as shown.
        value: String,
    },
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Id of its rule.
    pub rule: &'static str,
    /// Importance.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// Share of the process's CPU time that it explains, 0 to 1; `None` if it does not concern CPU time.
    pub share: Option<f64>,
    /// The problem, in a sentence.
    pub sentence: String,
    /// Evidence, the strongest first.
    pub evidence: Vec<Evidence>,
    /// The fix: prose, or lines of configuration.
    pub fix: String,
    /// A command that shows whether the fix worked.
    pub verify: String,
}

impl Finding {
    /// A finding without evidence yet: a likely warning of unknown share.
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

    /// Sets the importance.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the confidence.
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets the share of CPU time that it explains.
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

    /// Sets the fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// Sets the command that verifies the fix.
    #[must_use]
    pub fn verify(mut self, verify: impl Into<String>) -> Self {
        self.verify = verify.into();
        self
    }
}

/// A share in display form: `12.3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
