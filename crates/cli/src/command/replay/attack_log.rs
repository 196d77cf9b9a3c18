//! Lines of Weir's attack log, and what can be made of a request from one.
//!
//! The log keeps what explains a finding, not the request: no body, and of the header only what
//! rules matched. What they matched is put back where they found it, so that most findings come
//! back; everything that was made up is said.

use weir_log::attack::{AttackLine, FindingLine};

use super::har::encode;
use super::recorded::Recorded;

/// Bytes after which the log cuts a value.
const LOG_CUTS_AT: usize = 8 * 1024;
/// Sent by nearly every client; rules find it odd if they are not there.
const USUAL: [(&str, &str); 2] = [("User-Agent", "Mozilla/5.0 (replayed by weir)"), ("Accept", "*/*")];

/// The request that a line tells of, as far as the log has it.
pub(super) fn request_of(line: &AttackLine) -> Recorded {
    let place = format!("request {}", line.request_id);
    let mut request = Recorded::new(line.method.as_bytes(), line.uri.as_bytes(), weir_http::Version::Http11, place);
    request.client = line.client.parse().ok();
    request.push("Host", line.host.as_bytes());
    let mut made_up = Vec::new();
    let mut form: Vec<String> = Vec::new();
    for found in &line.findings {
        let Some((part, name)) = part_of(&found.variable) else { continue };
        let known = |request: &Recorded| request.header(name).is_some();
        let pair = format!("{}={}", encode(name), encode(value(found)));
        match part {
            Part::Header if !known(&request) => {
                request.push(name, value(found).as_bytes());
                made_up.push(format!("header {name}"));
            }
            Part::Cookie if !known_cookie(&request, name) => {
                request.push("Cookie", format!("{name}={}", value(found)).into_bytes());
                made_up.push(format!("cookie {name}"));
            }
            Part::Argument if !in_query(&line.uri, name) && !form.iter().any(|one| same_name(one, &pair)) => {
                form.push(pair);
                made_up.push(format!("body field {name}"));
            }
            _ => {}
        }
    }
    let logged: Vec<String> = line.findings.iter().map(|found| found.rule.clone()).collect();
    for (name, value) in USUAL {
        if request.header(name).is_none() {
            request.push(name, value);
            made_up.push(format!("header {name}"));
        }
    }
    if !form.is_empty() {
        request.body = form.join("&").into_bytes();
        request.push("Content-Type", "application/x-www-form-urlencoded");
    }
    if !form.is_empty() || !matches!(line.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "DELETE") {
        request.push("Content-Length", request.body.len().to_string());
    }
    request.missing.push("the log has no body and not all of the header".to_owned());
    if !made_up.is_empty() {
        request.missing.push(format!("reconstructed from the findings or assumed: {}", made_up.join(", ")));
    }
    for found in line.findings.iter().filter(|found| !found.key.is_empty()) {
        request.missing.push(format!("logged over the rate limit of {}, key {}", found.rule, found.key));
    }
    if line.uri.len() >= LOG_CUTS_AT {
        request.missing.push("the log has cut the target".to_owned());
    }
    request.logged = Some(logged);
    request.settle_host();
    request
}

fn in_query(uri: &str, name: &str) -> bool {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.split('=').next() == Some(&*encode(name)) || pair.split('=').next() == Some(name))
}

fn same_name(one: &str, other: &str) -> bool {
    one.split('=').next() == other.split('=').next()
}

fn known_cookie(request: &Recorded, name: &str) -> bool {
    let begin = format!("{name}=").into_bytes();
    request.headers.iter().any(|(field, value)| field == b"Cookie" && value.starts_with(&begin))
}

/// The whole value, if the rule wrote it as CRS's do, else what matched.
fn value(found: &FindingLine) -> &str {
    let within = format!("found within {}: ", found.variable);
    found.log_data.split_once(&within).map_or(found.matched.as_str(), |(_, value)| value)
}

/// Parts of a request that a finding can give back.
#[derive(Debug, PartialEq)]
enum Part {
    Header,
    Cookie,
    Argument,
}

/// Which part a variable is, and the member's name.
fn part_of(variable: &str) -> Option<(Part, &str)> {
    let seclang = [
        ("REQUEST_HEADERS:", Part::Header),
        ("REQUEST_COOKIES:", Part::Cookie),
        ("ARGS:", Part::Argument),
        ("ARGS_POST:", Part::Argument),
    ];
    let expression = [
        ("http.request.headers[\"", Part::Header),
        ("http.request.cookies[\"", Part::Cookie),
        ("http.request.body.form[\"", Part::Argument),
    ];
    for (prefix, part) in seclang {
        if let Some(name) = variable.strip_prefix(prefix) {
            return Some((part, name));
        }
    }
    for (prefix, part) in expression {
        if let Some(name) = variable.strip_prefix(prefix) {
            return Some((part, name.strip_suffix("\"]")?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"request_id":"r1","time":"t","client":"192.0.2.7","host":"x","method":"POST",
        "uri":"/a?q=1","status":403,"action":"block","policy":"p","revision":"r","rule_ids":["942100","913100"],
        "findings":[{"rule":"942100","message":"m","variable":"ARGS:c d","matched":"or","score":5,"via":"crs",
        "policy":"p","log_data":"Matched Data: or found within ARGS:c d: a or b"},
        {"rule":"941100","message":"m","variable":"ARGS:q","matched":"1"},
        {"rule":"913100","message":"m","variable":"REQUEST_HEADERS:User-Agent","matched":"nikto"},
        {"rule":"login","message":"m","variable":"","matched":"","key":"ip:192.0.2.7"}],
        "score":10,"tags":[]}"#;

    #[test]
    fn what_rules_matched_is_put_back() {
        let request = request_of(&AttackLine::parse(LINE.as_bytes()).expect("parses"));
        assert_eq!(request.body, b"c+d=a+or+b");
        assert_eq!(request.header("user-agent"), Some(&b"nikto"[..]));
        assert_eq!(request.header("content-length"), Some(&b"10"[..]));
        assert_eq!(request.client, "192.0.2.7".parse().ok());
        assert!(request.missing[0].contains("no body"), "{:?}", request.missing);
        let said = "reconstructed from the findings or assumed: body field c d, header User-Agent, header Accept";
        assert_eq!(request.missing[1], said);
        assert_eq!(request.missing[2], "logged over the rate limit of login, key ip:192.0.2.7");
        assert_eq!(request.logged.expect("rules"), ["942100", "941100", "913100", "login"]);
    }

    #[test]
    fn variables_of_both_languages_are_known() {
        for (variable, want) in [
            ("ARGS:x", Some((Part::Argument, "x"))),
            ("http.request.headers[\"x-y\"]", Some((Part::Header, "x-y"))),
            ("REQUEST_URI", None),
        ] {
            assert_eq!(part_of(variable), want);
        }
    }
}
