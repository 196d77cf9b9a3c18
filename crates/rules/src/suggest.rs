//! "Did you mean": the nearest valid name.

use crate::{FIELDS, FUNCTIONS, OPERATORS, Operator};

/// Longest text for which suggestions are sought; the cost is quadratic in its length.
const MAX_NAME_BYTES: usize = 80;

/// Longest text that a message quotes.
const MAX_QUOTED_CHARS: usize = 40;

/// The candidate nearest to `text`, if at most a third of it differs, ignoring case.
pub(crate) fn nearest<'c>(text: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    if text.len() > MAX_NAME_BYTES {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let allowed = (text.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (distance(&text, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Fields under the names that they have elsewhere: older Cloudflare rules, Wireshark, nginx, ModSecurity.
const ELSEWHERE: &[(&str, &str)] = &[
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
pub(crate) fn truth(text: &str) -> Option<&'static str> {
    nearest(text, ["true", "false"].into_iter())
}

/// `text`, shortened if it is too long for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Optimal string alignment distance: an insertion, deletion, replacement or swap of neighbours counts one.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before = vec![0; right.len() + 1];
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, &l) in left.iter().enumerate() {
        let mut row = vec![i + 1; right.len() + 1];
        for (j, &r) in right.iter().enumerate() {
            let mut best = (above[j] + usize::from(l != r)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && l == right[j - 1] && left[i - 1] == r {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
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
    fn distance_counts_edits_and_swaps() {
        for (left, right, expected) in
            [("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), expected);
            assert_eq!(distance(right, left), expected);
        }
    }
}
