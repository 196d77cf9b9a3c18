//! A question as a request of `ext_authz`, and its response as an answer.

use std::collections::HashMap;

use weir_inspect::own::ReceivedQuestion;
use weir_inspect::{Advice, Answer, OwnedField};

use super::proto::{
    Address, AttributeContext, CheckRequest, CheckResponse, HeaderValueOption, HttpRequest, HttpResponse, Peer,
    Request, SocketAddress, TlsSession,
};

/// Status of a refusal that does not say one.
const FORBIDDEN: u16 = 403;

/// The request; nothing if the question has no client's address.
pub(super) fn request(question: &ReceivedQuestion, with_body: bool) -> Option<CheckRequest> {
    let address = Address { socket_address: Some(SocketAddress { address: question.client?.to_string() }) };
    let body = if with_body { &question.body[..] } else { &[] };
    // Bytes that are not UTF-8 go where bytes may be.
    let (body, raw_body) = match std::str::from_utf8(body) {
        Ok(text) => (text.to_owned(), Vec::new()),
        Err(_) => (String::new(), body.to_vec()),
    };
    let http = HttpRequest {
        id: text(&question.request_id),
        method: text(&question.method),
        headers: headers(question),
        path: text(&question.target),
        host: text(authority(question)),
        scheme: text(&question.scheme),
        size: i64::try_from(question.body_bytes).unwrap_or(-1),
        protocol: text(&question.protocol),
        body,
        raw_body,
    };
    let sni = question.tls.iter().find(|(name, _)| name == "sni").map(|(_, value)| TlsSession { sni: text(value) });
    let tenant = Some(("tenant".to_owned(), question.tenant.clone())).filter(|(_, tenant)| !tenant.is_empty());
    Some(CheckRequest {
        attributes: Some(AttributeContext {
            source: Some(Peer { address: Some(address), principal: question.consumer.clone() }),
            request: Some(Request { http: Some(http) }),
            context_extensions: tenant.into_iter().collect(),
            tls_session: sni,
        }),
    })
}

/// Header fields as Envoy sends them: names in lower case, values of one name joined, and those of HTTP/2 that begin
/// with a colon.
fn headers(question: &ReceivedQuestion) -> HashMap<String, String> {
    let pseudo = [
        (":method", &question.method[..]),
        (":scheme", &question.scheme),
        (":authority", authority(question)),
        (":path", &question.target),
    ];
    let mut all: HashMap<String, String> =
        pseudo.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
    for (name, value) in &question.headers {
        let value = text(value);
        all.entry(text(name).to_ascii_lowercase())
            .and_modify(|joined| {
                joined.push(',');
                joined.push_str(&value);
            })
            .or_insert(value);
    }
    all
}

/// The host with its port, as far as the gateway sends the field.
fn authority(question: &ReceivedQuestion) -> &[u8] {
    let sent = question.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    sent.map_or(&question.host, |(_, value)| value)
}

/// The answer.
pub(super) fn answer(question: &ReceivedQuestion, response: CheckResponse) -> Answer {
    let status = response.status.unwrap_or_default();
    let mut answer = Answer { reason: status.message, ..Answer::default() };
    match (status.code, response.http_response) {
        (0, Some(HttpResponse::Ok(response))) => {
            answer.set_headers = response.headers.into_iter().filter_map(|field| appended(question, field)).collect();
            answer.remove_headers = response.headers_to_remove.into_iter().map(String::into_bytes).collect();
        }
        // As Envoy has it, the status decides, whatever else there is.
        (0, Some(HttpResponse::Denied(_)) | None) => {}
        (_, Some(HttpResponse::Denied(response))) => {
            answer.advice = Advice::Refuse;
            let code = response.status.map_or(0, |status| status.code);
            answer.status = u16::try_from(code).ok().filter(|code| (200..600).contains(code)).unwrap_or(FORBIDDEN);
            answer.response_headers = response.headers.into_iter().filter_map(field).collect();
            answer.body = response.body.into_bytes();
        }
        (_, Some(HttpResponse::Ok(_)) | None) => {
            answer.advice = Advice::Refuse;
            answer.status = FORBIDDEN;
        }
    }
    answer
}

fn field(option: HeaderValueOption) -> Option<OwnedField> {
    let header = option.header?;
    let value = if header.raw_value.is_empty() { header.value.into_bytes() } else { header.raw_value };
    Some((header.key.into_bytes(), value))
}

/// A field of the request to set: if it is to be appended, with the values that are there.
fn appended(question: &ReceivedQuestion, option: HeaderValueOption) -> Option<OwnedField> {
    let appends = option.append == Some(true);
    let (name, value) = field(option)?;
    let there = question.headers.iter().filter(|(known, _)| appends && known.eq_ignore_ascii_case(&name));
    let values: Vec<&[u8]> = there.map(|(_, value)| &value[..]).chain([&value[..]]).collect();
    Some((name, values.join(&b","[..])))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
