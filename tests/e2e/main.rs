//! The product: real nginx with the Weir module, real origins, real clients.
//!
//! All tests are one binary, so that it links once. Each module covers one promise to users; the name
//! of a test states what must hold.
#![allow(clippy::unwrap_used)]

mod authentication;
mod backup;
mod bans;
mod beside;
mod body_kinds;
mod body_limits;
mod bounds;
mod captured;
mod certificate_files;
mod chaos;
mod client_certificates;
mod clients;
mod configuration;
mod consumers;
mod control_api;
mod cost_changes;
mod cost_history;
mod crs;
mod evaluated_once;
mod faults;
mod federation;
mod gateway_locations;
mod gateway_protocols;
mod gateway_routes;
mod gateway_tls;
mod gateway_upstreams;
mod harness_itself;
mod headers;
mod hostile;
mod inspector_faults;
mod inspectors;
mod live;
mod logs;
mod messages;
mod messages_crowd;
mod messages_faults;
mod messages_rights;
mod nginx_unchanged;
mod nonces;
mod planted;
mod power_cut;
mod protocols;
mod rate_limits;
mod reload;
mod repeated;
mod request_ids;
mod response_signatures;
mod rotation;
mod round_trip;
mod rule_sets;
mod runtime_directory;
mod silence;
mod streams;
mod upgrade;
mod verdicts;

/// A policy that searches all inputs for `attack-` and a word.
const LOOKS_EVERYWHERE: &str = r#"
policies:
  - id: waf
    rules:
      - {id: path, when: 'http.request.uri.path contains "attack-path"', message: In the path, score: 5, action: block}
      - {id: args, when: 'any(http.request.uri.args.values[*] matches "(?i)union\s+select")', message: SQL injection, score: 5, action: block}
      - {id: header, when: 'any(http.request.headers["x-probe"][*] contains "attack-header")', message: In a header, score: 4, action: block}
      - {id: cookie, when: 'any(http.request.cookies.values[*] contains "attack-cookie")', message: In a cookie, score: 3, action: block}
      - {id: referer, when: 'http.referer contains "attack-referer"', message: In the referer, score: 2, action: block}
      - {id: agent, when: 'http.user_agent contains "attack-agent"', message: A scanner, score: 1, action: block}
      - {id: form, when: 'any(http.request.body.form.values[*] contains "attack-form")', message: In a form, score: 5, action: block}
      - {id: raw, when: 'http.request.body.raw contains "attack-body"', message: In the body, score: 5, action: block}
"#;

/// A policy that reads every body and searches it for `attack-body`.
const READS_BODIES: &str = r#"
policies:
  - id: bodies
    rules:
      - {id: raw, when: 'http.request.body.raw contains "attack-body"', action: block}
"#;
