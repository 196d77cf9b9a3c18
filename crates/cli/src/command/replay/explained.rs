//! `weir explain URL`: the rules that a request to a URL gets, and what they make of its bodies: whether nginx reads the
//! request's body before the origin gets any of it, whether it holds the response back, and which rule is the reason.

use bumpalo::Bump;
use serde_json::{Value, json};
use weir_directives::DEFAULT_BODY_LIMIT;
use weir_engine::{Context, Decision, Outcome, Plan, RuleIndex};
use weir_http::Version;
use weir_rules::Phase;

use super::policies::Policies;
use super::recorded::Recorded;
use super::run::Replayer;
use super::stopwatch::Stopwatch;
use crate::Failure;
use crate::arguments::{Bounds, Explain};
use crate::command::rules::Chosen;
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::terminal::shown;

/// The bodies that are looked at if the command line has no `Content-Type`.
const KINDS: [&str; 4] = ["application/x-www-form-urlencoded", "multipart/form-data", "application/json", "text/plain"];
/// The media types of responses that are looked at.
const RESPONSES: [&str; 4] = ["text/html", "text/plain", "application/json", "application/octet-stream"];

/// What happens to a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// No rule reads it.
    Unread,
    /// It passes while this rule reads its first bytes.
    Observed(RuleIndex, usize),
    /// It waits until this rule has read its first bytes.
    Awaited(RuleIndex, usize),
}

impl Fate {
    fn of(reader: Option<(RuleIndex, usize)>, only_detects: bool) -> Self {
        match reader {
            None => Self::Unread,
            Some((rule, limit)) if only_detects => Self::Observed(rule, limit),
            Some((rule, limit)) => Self::Awaited(rule, limit),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Observed(..) => "observed",
            Self::Awaited(..) => "awaited",
        }
    }
}

/// The fate of the bodies of each media type.
type Fates = Vec<(String, Fate)>;

struct Explained {
    policies: Policies,
    /// Status of the answer if a rule refuses the request by its head.
    refused: Option<(u16, Option<RuleIndex>)>,
    /// The fate of the body that the request announces.
    fate: Fate,
    /// The fates of bodies that it may have.
    request: Fates,
    response: Fates,
}

pub(crate) fn run(explain: &Explain) -> Result<(), Failure> {
    let chosen = Chosen::load(&explain.source)?;
    let replayer = Replayer::of(&chosen, &explain.policy_id, explain.client, Bounds::Closed);
    let request = request(explain)?;
    let kinds = match request.header("content-type") {
        Some(kind) => vec![String::from_utf8_lossy(kind).into_owned()],
        None => KINDS.map(str::to_owned).to_vec(),
    };
    let mut explained = look(&replayer, &request, explain.detect)?;
    for kind in kinds {
        let mut request = request.clone();
        if request.header("content-type").is_none() {
            request.push("Content-Type", kind.as_bytes());
        }
        explained.request.push((kind, look(&replayer, &request, explain.detect)?.fate));
    }
    if explain.json {
        println!("{}", as_value(&replayer, &explained));
    } else {
        let line = format!("{} {}", explain.method, explain.url);
        print!("{}", as_text(&replayer, &line, &explained, Style::of(Stream::Out)));
    }
    Ok(())
}

fn request(explain: &Explain) -> Result<Recorded, Failure> {
    let url = explain.url.as_bytes();
    let mut request = Recorded::new(explain.method.as_bytes(), url, Version::Http11, String::new());
    if request.host.is_empty() {
        return Err(Failure::new(format!("`{}` is no URL", explain.url)).hint("expected http://HOST/PATH"));
    }
    let host = request.host.clone();
    request.push("Host", host);
    for field in &explain.header {
        let Some((name, value)) = field.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
            return Err(Failure::new(format!("`{field}` is no header field")).hint("expected \"NAME: VALUE\""));
        };
        request.push(name.trim(), value.trim().as_bytes());
    }
    Ok(request)
}

/// Runs the rules of the request's head, and asks which rules want the bodies.
fn look(replayer: &Replayer<'_>, request: &Recorded, detect: bool) -> Result<Explained, Failure> {
    let arena = Bump::new();
    let (policies, transaction) = replayer.place(request, &arena)?;
    let plan: &Plan = &policies.plan;
    let mut outcome = Outcome::default();
    let meter = &mut Stopwatch::new(replayer.clock(), false);
    let mut context = Context { detect, request_id: b"explain", now_ms: 0, ..Context::new(meter) };
    let decision = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    let only_detects = detect || plan.only_detects();
    let reader = plan.has(Phase::Body).then(|| plan.wants_body(&transaction, &outcome)).flatten();
    let fate = Fate::of(reader.map(|rule| (rule, DEFAULT_BODY_LIMIT)), only_detects);
    let of_kind = |kind: &str| {
        let reader = outcome.wants_response_body(kind.as_bytes()).map(|(limit, rule)| (rule, limit));
        (kind.to_owned(), Fate::of(reader, only_detects))
    };
    let response = RESPONSES.map(of_kind).to_vec();
    let refused = match decision {
        Decision::Continue | Decision::Verify | Decision::Inspect => None,
        Decision::Respond(response) => Some((response.status, outcome.decided_by)),
    };
    Ok(Explained { policies, refused, fate, request: Vec::new(), response })
}

fn rule(replayer: &Replayer<'_>, rule: RuleIndex) -> String {
    let label = replayer.label(rule);
    label.map_or_else(String::new, |label| {
        format!("rule {} of policy {}", shown(&label.id, 64), shown(&label.policy, 64))
    })
}

fn as_text(replayer: &Replayer<'_>, line: &str, explained: &Explained, style: Style) -> String {
    let mut out = format!("{}\n", style.bold(&shown(line, 160)));
    let mut say = |what: &str, text: &str| out.push_str(&format!("  {} {text}\n", style.dim(&format!("{what:<14}"))));
    let policies = &explained.policies;
    let all = || if policies.names.is_empty() { "none".to_owned() } else { policies.names.join(", ") };
    say("policies", &shown(&policies.sentence().unwrap_or_else(all), 300));
    if let Some(note) = &policies.note {
        say("note", &shown(note, 300));
    }
    if let Some((status, by)) = explained.refused {
        let by = by.map(|by| format!(" by {}", rule(replayer, by))).unwrap_or_default();
        say("request head", &format!("answered with {status}{by}; what follows holds for requests that pass"));
    }
    for (what, fates) in [("request body", &explained.request), ("response body", &explained.response)] {
        for (kinds, fate) in grouped(fates) {
            let all = kinds.len() == fates.len() && kinds.len() > 1;
            let kinds = if all { String::new() } else { format!("{}: ", shown(&kinds.join(", "), 120)) };
            let fate = match fate {
                Fate::Unread => "passes; no rule reads it".to_owned(),
                Fate::Observed(by, limit) => {
                    format!(
                        "passes; {} sees its first {} and refuses nothing",
                        rule(replayer, by),
                        counted(limit as u64, "byte")
                    )
                }
                Fate::Awaited(by, limit) => {
                    let (by, limit) = (rule(replayer, by), counted(limit as u64, "byte"));
                    match what {
                        "request body" => format!(
                            "read completely before the origin gets any of it, whatever proxy_request_buffering says: \
                             {by} reads its first {limit}, and the policies may refuse the request"
                        ),
                        _ => format!(
                            "held until it ends or has {limit}, before the client gets any of it: {by} reads it, and \
                             the policies may refuse it"
                        ),
                    }
                }
            };
            say(what, &format!("{kinds}{fate}"));
        }
    }
    out
}

/// Media types with the same fate, together.
fn grouped(fates: &Fates) -> Vec<(Vec<&str>, Fate)> {
    let mut groups: Vec<(Vec<&str>, Fate)> = Vec::new();
    for (kind, fate) in fates {
        match groups.iter_mut().find(|(_, known)| known == fate) {
            Some((kinds, _)) => kinds.push(kind),
            None => groups.push((vec![kind], *fate)),
        }
    }
    groups
}

fn as_value(replayer: &Replayer<'_>, explained: &Explained) -> Value {
    let id = |rule: RuleIndex| replayer.label(rule).map(|label| json!({"rule": label.id, "policy": label.policy}));
    let of = |fates: &Fates| -> Vec<Value> {
        let one = |(kind, fate): &(String, Fate)| match fate {
            Fate::Unread => json!({"content_type": kind, "body": fate.name()}),
            Fate::Observed(by, limit) | Fate::Awaited(by, limit) => {
                json!({"content_type": kind, "body": fate.name(), "bytes": limit, "because": id(*by)})
            }
        };
        fates.iter().map(one).collect()
    };
    let policies = &explained.policies;
    json!({
        "policies": policies.names, "site": policies.site, "route": policies.route, "note": policies.note,
        "refused": explained.refused.map(|(status, by)| json!({"status": status, "by": by.and_then(id)})),
        "request": of(&explained.request), "response": of(&explained.response),
    })
}
