//! `debug-logging`, `access-log-unbuffered`: excessive messages, or one write per line.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::{Configuration, Directive, Facts};
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const DEBUG: Rule = Rule {
    id: "debug-logging",
    title: "nginx writes to its error log constantly",
    needs: RuleNeeds::Any(&[FactSource::Profile, FactSource::Configuration]),
    looks_at: "`error_log ... debug` in an nginx that was built `--with-debug`, and time in `ngx_log_error_core`",
    threshold: "when debug is configured and compiled in; otherwise from 2 % of the CPU, because errors should be rare",
    check: debug,
};

pub(super) const ACCESS_UNBUFFERED: Rule = Rule {
    id: "access-log-unbuffered",
    title: "The access log is written line by line",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in `write()` of lines of the access log, and `access_log` without `buffer=`",
    threshold: "from 8 % of the CPU: one unbuffered log costs 5 to 6 % even for the smallest proxied requests at 30,000 per second, \
                so more means several logs, long lines or a slow file system",
    check: access_unbuffered,
};

const LOG: &[&str] = &["ngx_log_error_core", "ngx_log_error", "ngx_log_debug_core", "ngx_http_log_error_handler"];
const WRITE: &[&str] =
    &["write", "__write", "__libc_write", "__GI___libc_write", "__GI___write", "ksys_write", "__x64_sys_write"];
const OF_LOG: &[&str] =
    &["ngx_http_log_handler", "ngx_http_log_write", "ngx_http_log_request", "ngx_http_free_request"];

fn debug(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref());
    let writing = stacks.as_ref().map(|stacks| {
        let log = stacks.named(LOG);
        (stacks.under(&log), stacks.callers(&log, 2))
    });
    let nginx = facts.nginx.as_ref();
    let compiled_in =
        nginx.is_some_and(|nginx| nginx.configure_arguments.iter().any(|argument| argument == "--with-debug"));
    let asked = configuration(facts).and_then(debug_level).filter(|_| compiled_in);
    let busy = writing.as_ref().is_some_and(|(part, _)| part.reaches(0.02, 8));
    if asked.is_none() && !busy {
        return None;
    }
    let share = writing.as_ref().map_or(0.0, |(part, _)| part.share);
    let sentence = match asked {
        Some(_) => format!("error_log has level debug, which costs {} of the CPU.", percent(share)),
        None => format!("{} of the CPU goes to messages in the error log.", percent(share)),
    };
    let finding = Finding::new(DEBUG.id, sentence)
        .severity(if share >= 0.1 { Severity::Serious } else { Severity::Warning })
        .confidence(if asked.is_some() { Confidence::Certain } else { Confidence::Likely })
        .with(asked.map(place))
        .with(writing.map(|(_, stacks)| stacks).unwrap_or_default())
        .fix(match asked {
            Some(directive) => format!("error_log {} warn;   # and reload", directive.value()),
            None => "read the messages and fix their cause, or raise the level: error_log FILE error;".to_owned(),
        })
        .verify(again(facts, DEBUG.id));
    Some(if share > 0.0 { finding.share(share) } else { finding })
}

fn debug_level(configuration: &Configuration) -> Option<&Directive> {
    let is_debug = |directive: &&Directive| directive.arguments.get(1).is_some_and(|level| level.starts_with("debug"));
    configuration.all("error_log").into_iter().find(is_debug)
}

fn access_unbuffered(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let (log, write) = (stacks.named(OF_LOG), stacks.named(WRITE));
    let part = stacks.part(|stack| log.any(stack) && write.any(stack));
    if !part.reaches(0.08, 10) {
        return None;
    }
    let configuration = configuration(facts);
    let logs: Vec<&Directive> = configuration.map(unbuffered).unwrap_or_default();
    if configuration.is_some() && logs.is_empty() {
        return None;
    }
    Some(
        Finding::new(
            ACCESS_UNBUFFERED.id,
            format!("{} of the CPU goes to writing the access log line by line.", percent(part.share)),
        )
        .confidence(if logs.is_empty() { Confidence::Likely } else { Confidence::Certain })
        .share(part.share)
        .with(logs.iter().take(3).copied().map(place))
        .with(stacks.call_paths_where(&write, |stack| log.any(stack), 1))
        .fix(match logs.first() {
            Some(one) => format!("access_log {} buffer=64k flush=1s;", one.arguments.join(" ")),
            None => "access_log FILE FORMAT buffer=64k flush=1s;".to_owned(),
        })
        .verify(again(facts, ACCESS_UNBUFFERED.id)),
    )
}

/// Access logs to files without a buffer.
fn unbuffered(configuration: &Configuration) -> Vec<&Directive> {
    let to_file = |directive: &&Directive| {
        let to = directive.value();
        to != "off"
            && !to.starts_with("syslog:")
            && !directive.arguments.iter().any(|one| one.starts_with("buffer=") || one.starts_with("gzip"))
    };
    configuration.all("access_log").into_iter().filter(to_file).collect()
}
