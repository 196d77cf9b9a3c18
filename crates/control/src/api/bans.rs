//! Bans: who is banned, and banning and unbanning by operators.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, Uri, header, request};
use serde_json::{Value, json};
use weir_bans::{Entry, Network, Origin, Remedy};
use weir_policy::check::Checker;
use weir_policy::document;
use weir_policy::error::Reporter;
use weir_policy::source::Source;
use weir_policy::table::{Form, Key, Kind, Need, Resource};
use weir_policy::{Fault, pointer};

use super::change::check;
use super::context::Context;
use super::query::Arguments;
use super::{PREFIX, Problem, body, resource};
use crate::auth::{Peer, Role};
use crate::bans::{BanError, LONGEST_S, Note};
use crate::shared::now_ms;
use crate::store::StoredBan;

/// Bans of a page, unless `?limit` says otherwise, and at most.
const PAGE: (u64, u64) = (100, 1_000);

/// Longest body, in bytes: a ban has four short texts.
const MAX_BODY: usize = 16 << 10;

static NETWORK: Form = Form {
    name: "network",
    describe: "an address or a network, such as 192.0.2.7 or 2001:db8::/32",
    pattern: r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
    max_bytes: 49,
    check: |text| match text.parse::<Network>() {
        Ok(_) => Ok(()),
        Err(weir_bans::NetworkError::Syntax) => Err(None),
        Err(weir_bans::NetworkError::Everybody) => {
            Err(Some("this would ban everybody; a rule with `when: \"true\"` and `block` does that"))
        }
    },
};

static REASON: Form = Form {
    name: "reason",
    describe: "one line of text",
    pattern: r"^[^\u0000-\u001f\u007f]+$",
    max_bytes: 256,
    check: |text| if text.is_empty() || text.contains(char::is_control) { Err(None) } else { Ok(()) },
};

static BAN: Resource = Resource {
    name: "ban",
    article: "a ban",
    doc: "A ban by an operator.",
    short: None,
    one_of: &[],
    keys: &[
        Key { name: "address", kind: Kind::Form(&NETWORK), need: Need::Required, doc: "Who is banned." },
        Key { name: "for", kind: Kind::Duration(1_000, LONGEST_S * 1_000), need: Need::Required, doc: "How long." },
        Key {
            name: "as",
            kind: Kind::Choice(&[
                ("ban", "refuse requests"),
                ("captcha", "ask for a captcha"),
                ("throttle", "slow down"),
                ("other", "what rules make of it"),
            ]),
            need: Need::Default("ban"),
            doc: "What rules see in `ip.ban`.",
        },
        Key {
            name: "force",
            kind: Kind::Flag,
            need: Need::Value("false"),
            doc: "Whether the network may be wider than /8 of IPv4 or /16 of IPv6.",
        },
        Key { name: "reason", kind: Kind::Form(&REASON), need: Need::Default("none"), doc: "Why." },
    ],
};

pub(super) async fn list(State(context): State<Arc<Context>>, uri: Uri) -> Result<Response<Body>, Problem> {
    let arguments = Arguments::parse(uri.query(), &["limit", "after", "origin", "address"])?;
    let limit = arguments.limit(PAGE.0, PAGE.1)?;
    let after = arguments.get("after").map(network).transpose()?;
    let of_origin = |text: &str| {
        text.parse::<Origin>()
            .map_err(|()| Problem::malformed(format!("?origin={text} is neither operator nor crowdsec")))
    };
    let origin = arguments.get("origin").map(of_origin).transpose()?;
    let of_address = |text: &str| {
        text.parse::<IpAddr>().map_err(|_| Problem::malformed(format!("?address={text} is not an address")))
    };
    let address = arguments.get("address").map(of_address).transpose()?;
    let bans = context.bans.clone();
    let work = move || {
        let listed = bans.list(after, origin, address, usize::try_from(limit).unwrap_or(usize::MAX));
        (listed, Origin::ALL.iter().map(|origin| bans.count(*origin)).sum::<usize>())
    };
    let (listed, total) = tokio::task::spawn_blocking(work).await.map_err(Problem::failed)?;
    let next = listed.last().filter(|_| listed.len() as u64 >= limit).map(|(last, _)| last.network.to_string());
    let rows: Vec<Value> = listed.iter().map(|(entry, note)| row(entry, note.as_ref())).collect();
    let mut response = answer(&context, &json!({"bans": rows, "total": total}));
    if let Some(last) = next {
        // The arguments that narrow the list hold for the next page too.
        let others = ["origin", "address"].map(|name| arguments.get(name).map(|value| format!("&{name}={value}")));
        let others = others.into_iter().flatten().collect::<String>();
        let link = format!("<{PREFIX}/bans?limit={limit}&after={}{others}>; rel=\"next\"", last.replace('/', "%2F"));
        response.headers_mut().extend(HeaderValue::from_str(&link).ok().map(|link| (header::LINK, link)));
    }
    Ok(response)
}

pub(super) async fn add(State(context): State<Arc<Context>>, request: Request) -> Result<Response<Body>, Problem> {
    let (head, body) = request.into_parts();
    let refused = |problem| refused(&context, &head, problem);
    let actor = editor(&head).map_err(refused)?;
    let bytes = body::collect(body, MAX_BODY).await.map_err(refused)?;
    let given = body::json(&head.headers, &bytes).map_err(refused)?;
    let given =
        given.ok_or_else(|| Problem::malformed("there is no body; one in JSON was expected")).map_err(refused)?;
    let ban = read(&given, &actor).map_err(refused)?;
    let (bans, made) = (context.bans.clone(), ban.clone());
    let done = tokio::task::spawn_blocking(move || bans.ban(made)).await.map_err(Problem::failed)?;
    done.map_err(failed).map_err(refused)?;
    let entry = Entry { network: ban.network, remedy: ban.remedy, origin: Origin::Operator, expires_s: ban.expires_s };
    let note = Note { actor, reason: ban.reason, made_ms: ban.made_ms };
    Ok(answer(&context, &row(&entry, Some(&note))))
}

pub(super) async fn remove(
    State(context): State<Arc<Context>>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let (head, _) = request.into_parts();
    let refused = |problem| refused(&context, &head, problem);
    let actor = editor(&head).map_err(refused)?;
    let network = network(&named).map_err(refused)?;
    let bans = context.bans.clone();
    let work = move || bans.unban(network, &actor).map(|before| (before, bans.is_decided(network)));
    let done = tokio::task::spawn_blocking(work).await.map_err(Problem::failed)?;
    let (before, is_decided) = done.map_err(failed).map_err(refused)?;
    match before {
        Some((entry, note)) => Ok(answer(&context, &row(&entry, Some(&note)))),
        None => {
            let missing = Problem::new(StatusCode::NOT_FOUND, format!("no operator has banned {network}"));
            let hint = if is_decided {
                "CrowdSec has: `cscli decisions delete` ends that"
            } else {
                "`weir bans` lists all bans; a network is named as it was banned"
            };
            Err(refused(missing.hint(hint)))
        }
    }
}

/// The client, if it may change bans.
fn editor(head: &request::Parts) -> Result<String, Problem> {
    let peer = head.extensions.get::<Peer>();
    check(peer.map(|peer| peer.role), Role::Edit)?;
    Ok(peer.map_or_else(|| "?".to_owned(), |peer| peer.actor.to_string()))
}

/// Notes a refused request in the audit.
fn refused(context: &Context, head: &request::Parts, problem: Problem) -> Problem {
    let actor = head.extensions.get::<Peer>().map_or_else(|| "?".to_owned(), |peer| peer.actor.to_string());
    let what = format!("{} {PREFIX}{}", head.method, head.uri.path());
    context.shared.audit(&actor, &what, problem.status().as_u16(), &problem.line());
    problem
}

fn failed(error: BanError) -> Problem {
    let status = match &error {
        BanError::TooMany => {
            return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
                .hint("ban networks instead of their addresses, or use a list");
        }
        error if error.is_full() => StatusCode::INSUFFICIENT_STORAGE,
        BanError::Store(_) | BanError::Table(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.to_string())
}

fn network(text: &str) -> Result<Network, Problem> {
    text.parse().map_err(|error| Problem::malformed(format!("`{}`: {error}", text.escape_debug())))
}

/// A ban as the body of a request says it.
fn read(body: &Value, actor: &str) -> Result<StoredBan, Problem> {
    let text = body.to_string();
    let source = Source::new(".json".to_owned(), &text);
    let root = document::parse(&source).map_err(|error| Problem::malformed(error.message))?;
    let mut reporter = Reporter::of_document();
    let fields = Checker { source: &source, reporter: &mut reporter, alternatives: true }.resource(&root, &BAN);
    let made_ms = now_ms();
    let ban = fields.as_ref().and_then(|fields| {
        // A ban holds at least as long as it says.
        let expires_s = (made_ms + fields.milliseconds("for")?).div_ceil(1_000);
        Some(StoredBan {
            network: fields.text("address")?.parse().ok()?,
            remedy: fields.choice("as").map_or(Ok(Remedy::Ban), str::parse).ok()?,
            made_ms,
            expires_s,
            actor: actor.to_owned(),
            reason: fields.text("reason").map(str::to_owned),
        })
    });
    if let (Some(ban), Some(fields)) = (&ban, &fields)
        && let Some(item) = fields.get("address").filter(|_| ban.network.is_wide() && !fields.flag_or("force"))
    {
        let hint = "`--force` of `weir ban`, or `\"force\": true`, bans it all the same".to_owned();
        let message = format!("{} is wider than /8 of IPv4 or /16 of IPv6", ban.network);
        reporter.at(&source, item.node.at, message, Some(hint));
    }
    ban.filter(|_| !reporter.has_faults()).ok_or_else(|| {
        let invalid = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "the ban is not valid");
        let located = |(at, fault)| Fault { pointer: pointer::of(&root, at), ..fault };
        reporter.into_faults().into_iter().map(located).fold(invalid, Problem::fault)
    })
}

fn row(entry: &Entry, note: Option<&Note>) -> Value {
    let mut row = json!({
        "address": entry.network.to_string(), "as": entry.remedy.as_str(), "origin": entry.origin.as_str(),
        "until_ms": entry.expires_s.saturating_mul(1_000),
    });
    if let Some(note) = note {
        row["by"] = note.actor.as_str().into();
        row["made_ms"] = note.made_ms.into();
        row["reason"] = note.reason.as_deref().unwrap_or_default().into();
    }
    row
}

fn answer(context: &Context, value: &Value) -> Response<Body> {
    let revision = context.shared.state().revision();
    resource::json(value.to_string(), revision)
}
