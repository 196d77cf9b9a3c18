//! "Did you mean": the nearest valid name.

use crate::{FIELDS, FUNCTIONS, OPERATORS, Operator};

/// Longest text for which suggestions are sought; the cost is quadratic in its length.
const MAX_NAME_BYTES: usize = 80;

/// Longest text that a message quotes.
const MAX_QUOTED_CHARS: usize = 40;

/// Most characters that may differ: a suggestion further away would be a guess.
const MAX_DISTANCE: usize = 3;

/// The candidate nearest to `text`, ignoring case, if at most a third of `text` and no more than
/// three characters differ. Swapped neighbours count as one difference.
#[must_use]
pub fn nearest<'c>(text: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if text.len() > MAX_NAME_BYTES {
        return None;
    }
    let text = text.to_lowercase();
    let allowed = (text.chars().count() / 3).clamp(1, MAX_DISTANCE);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&text, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Fields under the names that they have elsewhere: older Cloudflare rules, Wireshark, nginx, ModSecurity.
const ELSEWHERE: &[(&str, &str)] = &[
    ("ip.banned", "ip.ban"),
    ("ip.src.ban", "ip.ban"),
    ("ip.geoip.country", "ip.src.country"),
    ("ip.geoip.continent", "ip.src.continent"),
    ("ip.geoip.asnum", "ip.src.asnum"),
    ("ip.src.asn", "ip.src.asnum"),
    ("ip.addr", "ip.src"),
    ("ip.remote_addr", "ip.src"),
    ("remote_addr", "ip.src"),
    ("cf.edge.server_ip", "ip.dst"),
    ("cf.edge.server_port", "tcp.dstport"),
    ("cf.edge.client_tcp", "tcp.srcport"),
    ("cf.tls_version", "tls.version"),
    ("cf.tls_cipher", "tls.cipher"),
    ("cf.ray_id", "weir.request_id"),
    ("http.request.body", "http.request.body.raw"),
    ("http.request.path", "http.request.uri.path"),
    ("http.request.query", "http.request.uri.query"),
    ("http.request.host", "http.host"),
    ("http.request.user_agent", "http.user_agent"),
    ("http.response.status", "http.response.code"),
    ("http.status", "http.response.code"),
    ("request_uri", "http.request.uri"),
    ("request_method", "http.request.method"),
    ("request_body", "http.request.body.raw"),
    ("query_string", "http.request.uri.query"),
    ("args", "http.request.uri.args"),
    ("cookies", "http.request.cookies"),
    ("headers", "http.request.headers"),
    ("response.code", "http.response.code"),
];

/// The field that `text` was probably meant to be.
pub(crate) fn field(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, name)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == lower) {
        return Some(name);
    }
    nearest(text, FIELDS.iter().map(|row| row.name)).or_else(|| {
        // The last components alone, as in `uri.path` or `user_agent`.
        let ending = |name: &str| name.strip_suffix(text).is_some_and(|rest| rest.ends_with('.'));
        FIELDS.iter().map(|row| row.name).filter(|name| ending(name)).min_by_key(|name| name.len())
    })
}

/// The function that `text` was probably meant to be.
pub(crate) fn function(text: &str) -> Option<&'static str> {
    nearest(text, FUNCTIONS.iter().map(|row| row.name).chain(["any", "all"]))
}

/// The operator that `text` was probably meant to be.
pub(crate) fn operator(text: &str) -> Option<Operator> {
    nearest(text, OPERATORS.iter().map(|row| row.name)).and_then(Operator::from_text)
}

/// The boolean that `text` was probably meant to be.
pub(crate) fn boolean(text: &str) -> Option<&'static str> {
    nearest(text, ["true", "false"])
}

/// `text`, shortened if it is too long for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// A number of things, whose plural ends in `s`: `1 rule`, `2 rules`.
#[must_use]
pub fn counted(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::operator::MISSPELLINGS;

    #[test]
    fn names_from_elsewhere_are_not_ours_and_lead_to_ours() {
        for (elsewhere, ours) in ELSEWHERE {
            assert!(Field::from_name(elsewhere).is_none(), "{elsewhere}");
            assert!(Field::from_name(ours).is_some(), "{ours}");
        }
        for (wrong, _) in MISSPELLINGS {
            assert!(Operator::from_text(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "rule")), ["0 rules", "1 rule", "2 rules"]);
    }

    #[test]
    fn near_names_are_near() {
        let cases = [
            ("http.request.uri.pth", Some("http.request.uri.path")),
            ("http.reqeust.uri", Some("http.request.uri")),
            ("HTTP.User_Agent", Some("http.user_agent")),
            ("user_agent", Some("http.user_agent")),
            ("uri.args.names", Some("http.request.uri.args.names")),
            ("completely.different.thing", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(field(text), expected, "{text}");
        }
    }

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["selectors", "rules", "mode", "id", "user_agent"];
        for (written, expected) in [
            ("selector", Some("selectors")),
            ("ruels", Some("rules")),
            ("Mode", Some("mode")),
            ("di", Some("id")),
            ("user_agnet", Some("user_agent")),
            ("banana", None),
            ("qqqqqq", None),
        ] {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }
}
