//! The access log: one JSON object per request, a writer per field.
//!
//! Names and what precedes them are put together once; a line is then a walk over the writers,
//! each of which copies from where nginx or the transaction already has the value.

use nginx_sys::{ngx_http_request_t, ngx_http_upstream_state_t, ngx_msec_t};
use weir_http::header_hash;
use weir_log::access::LogField;
use weir_log::json;

use super::writer::LogFile;
use crate::transaction::Inspection;
use crate::{ffi, worker};

type Out = Vec<u8>;

/// Writes the value of one field.
type Writer = fn(&mut Out, &RequestFacts<'_>);

/// The request that a line describes.
pub struct RequestFacts<'a> {
    r: *mut ngx_http_request_t,
    /// The inspection.
    pub inspection: &'a Inspection,
    now_ms: u64,
    upstream: Option<&'a ngx_http_upstream_state_t>,
}

/// An access log: a file and the fields of its lines.
pub struct AccessLog {
    /// The file.
    pub file: *mut LogFile,
    fields: Vec<(Box<[u8]>, Writer)>,
}

impl AccessLog {
    /// A log of these fields.
    pub fn new(file: *mut LogFile, fields: &[LogField]) -> Self {
        let prefixed = fields.iter().enumerate().map(|(place, field)| {
            let mut prefix = vec![if place == 0 { b'{' } else { b',' }];
            prefix.extend_from_slice(field.info().fragment.as_bytes());
            (prefix.into_boxed_slice(), writer(*field))
        });
        Self { file, fields: prefixed.collect() }
    }

    /// Writes one line.
    pub fn write(&self, out: &mut Out, facts: &RequestFacts<'_>) {
        for (prefix, write) in &self.fields {
            out.extend_from_slice(prefix);
            write(out, facts);
        }
        out.push(b'}');
    }
}

impl<'a> RequestFacts<'a> {
    /// Collects the facts when the request has ended.
    ///
    /// # Safety
    /// `r` is live and `inspection` its own.
    pub unsafe fn new(r: *mut ngx_http_request_t, inspection: &'a Inspection) -> Self {
        // SAFETY: upstream_states is null or an array in the request's pool.
        let states = unsafe { (*r).upstream_states.as_ref() };
        // SAFETY: as above, and its elements are of that type.
        let states = states.map_or(&[][..], |states| unsafe { states.as_slice::<ngx_http_upstream_state_t>() });
        Self { r, inspection, now_ms: ffi::now_ms(), upstream: states.iter().rev().find(|state| !state.peer.is_null()) }
    }

    fn request(&self) -> &ngx_http_request_t {
        // SAFETY: `new` was given a live request, and nothing writes to it while a line is made.
        unsafe { &*self.r }
    }

    fn connection(&self) -> &nginx_sys::ngx_connection_t {
        // SAFETY: a live request has its connection.
        unsafe { &*self.request().connection }
    }

    fn head(&self) -> &weir_http::Head<'static> {
        &self.inspection.transaction.head
    }

    fn header(&self, name: &'static [u8], hash: u64) -> &[u8] {
        self.inspection.transaction.header(name, hash).unwrap_or_default()
    }

    /// Writes the time at which the request ended.
    pub fn time(&self, out: &mut Out) {
        worker::timestamps().write(out, self.now_ms);
    }

    /// Status of the response, or 0.
    pub fn status(&self) -> u64 {
        let r = self.request();
        match (r.err_status, r.headers_out.status) {
            (0, status) => status as u64,
            (status, _) => status as u64,
        }
    }

    fn request_time_us(&self) -> u64 {
        let (ticks, ms) = self.inspection.seen;
        let before = ms.saturating_sub(self.head().received_ms);
        before * 1000 + worker::ns(worker::ticks().saturating_sub(ticks)) / 1000
    }

    fn upstream_ms(&self, out: &mut Out, time: fn(&ngx_http_upstream_state_t) -> ngx_msec_t) {
        let time = self.upstream.map(time).filter(|time| *time != ngx_msec_t::MAX);
        optional(out, time.map(|time| time as u64));
    }

    /// The rule that decided.
    pub fn rule(&self) -> Option<&weir_policy::RuleLabel> {
        self.inspection.outcome.decided_by.and_then(|rule| self.inspection.rule(rule))
    }

    /// The policy of the rule that decided. Of a rule in a rule set, which many policies may share, it
    /// is the one that runs the set here.
    pub fn policy(&self, decided: Option<&'a weir_policy::RuleLabel>) -> &'a [u8] {
        let outcome = &self.inspection.outcome;
        let by = |finding: &&weir_engine::Finding| outcome.decided_by.is_none_or(|rule| rule == finding.rule);
        let via = outcome.findings.iter().find(by).and_then(|finding| self.inspection.rule(finding.via?));
        via.or(decided).map_or(b"", |rule| rule.policy.as_bytes())
    }
}

/// Writes a number or `null`.
fn optional(out: &mut Out, number: Option<u64>) {
    match number {
        Some(number) => json::number(out, number),
        None => out.extend_from_slice(b"null"),
    }
}

/// Writes the value of a header with its hash worked out beforehand.
macro_rules! header {
    ($name:literal) => {
        |out, facts| json::string(out, facts.header($name, const { header_hash($name) }))
    };
}

/// The table of writers.
fn writer(field: LogField) -> Writer {
    match field {
        LogField::RequestId => |out, facts| json::plain(out, facts.inspection.request_id()),
        LogField::Time => |out, facts| facts.time(out),
        LogField::Client => |out, facts| json::address(out, facts.head().client),
        LogField::ClientPort => |out, facts| json::number(out, facts.head().peer_port.into()),
        LogField::Peer => |out, facts| json::address(out, facts.head().peer),
        LogField::ServerAddr => |out, facts| json::address(out, facts.head().server),
        LogField::ServerPort => |out, facts| json::number(out, facts.head().server_port.into()),
        LogField::Host => |out, facts| json::string(out, facts.head().host),
        LogField::Method => |out, facts| json::string(out, facts.head().method),
        LogField::Uri => |out, facts| json::string(out, facts.head().target),
        LogField::Path => |out, facts| json::string(out, facts.head().path),
        LogField::Args => |out, facts| json::string(out, facts.head().query),
        LogField::Protocol => |out, facts| json::plain(out, facts.head().version.as_bytes()),
        LogField::Scheme => |out, facts| json::plain(out, if facts.head().tls.is_some() { b"https" } else { b"http" }),
        LogField::Status => |out, facts| json::number(out, facts.status()),
        LogField::BytesSent => |out, facts| json::number(out, facts.connection().sent.max(0) as u64),
        LogField::BodyBytesSent => |out, facts| {
            let header = facts.request().header_size as u64;
            json::number(out, (facts.connection().sent.max(0) as u64).saturating_sub(header));
        },
        LogField::RequestLength => |out, facts| json::number(out, facts.request().request_length.max(0) as u64),
        LogField::RequestTimeUs => |out, facts| json::number(out, facts.request_time_us()),
        LogField::UpstreamAddr => |out, facts| {
            // SAFETY: a state with a peer points to the peer's name.
            json::string(out, facts.upstream.map_or(&[], |state| unsafe { ffi::bytes(&*state.peer) }));
        },
        LogField::UpstreamStatus => |out, facts| {
            optional(out, facts.upstream.map(|state| state.status as u64).filter(|status| *status > 0));
        },
        LogField::UpstreamConnectMs => |out, facts| facts.upstream_ms(out, |state| state.connect_time),
        LogField::UpstreamHeaderMs => |out, facts| facts.upstream_ms(out, |state| state.header_time),
        LogField::UpstreamResponseMs => |out, facts| facts.upstream_ms(out, |state| state.response_time),
        LogField::UpstreamBytes => {
            |out, facts| optional(out, facts.upstream.map(|state| state.bytes_received.max(0) as u64))
        }
        LogField::UserAgent => header!(b"user-agent"),
        LogField::Referer => header!(b"referer"),
        LogField::Cookie => header!(b"cookie"),
        LogField::XForwardedFor => header!(b"x-forwarded-for"),
        LogField::ContentType => header!(b"content-type"),
        LogField::ContentLength => {
            |out, facts| optional(out, u64::try_from(facts.request().headers_in.content_length_n).ok())
        }
        LogField::ResponseContentType => {
            |out, facts| {
                // SAFETY: a string of nginx in a live request.
                json::string(out, unsafe { ffi::bytes(&facts.request().headers_out.content_type) });
            }
        }
        LogField::TlsVersion => |out, facts| json::string(out, facts.head().tls.map_or(b"", |tls| tls.version)),
        LogField::TlsCipher => |out, facts| json::string(out, facts.head().tls.map_or(b"", |tls| tls.cipher)),
        LogField::Sni => |out, facts| json::string(out, facts.head().tls.map_or(b"", |tls| tls.server_name)),
        LogField::Connection => |out, facts| json::number(out, facts.connection().number),
        LogField::ConnectionRequests => |out, facts| json::number(out, facts.connection().requests as u64),
        LogField::Pid => |out, _| json::number(out, worker::pid()),
        LogField::Country => |out, facts| json::string(out, facts.inspection.country()),
        LogField::Verdict => |out, facts| json::plain(out, facts.inspection.verdict().as_bytes()),
        LogField::Rule => |out, facts| json::string(out, facts.rule().map_or(b"", |rule| rule.id.as_bytes())),
        LogField::Policy => |out, facts| json::string(out, facts.policy(facts.rule())),
        LogField::Score => |out, facts| json::number(out, facts.inspection.outcome.score.into()),
        LogField::Tags => {
            |out, facts| json::array(out, &facts.inspection.outcome.tags, |out, tag| json::string(out, tag.as_bytes()))
        }
        LogField::InspectorsFailed => |out, facts| {
            let failed = facts.inspection.outcome.inspections.failed();
            json::array(out, failed, |out, inspector| json::string(out, inspector.id.as_bytes()));
        },
        LogField::Consumer => |out, facts| {
            let identity = facts.inspection.outcome.identity.as_ref();
            json::string(out, identity.map_or(b"", |identity| identity.consumer.id.as_bytes()));
        },
        LogField::Revision => |out, facts| json::string(out, facts.inspection.source.revision().as_bytes()),
        LogField::WeirNs => |out, facts| json::number(out, worker::ns(facts.inspection.ticks)),
    }
}
