//! Rules that also use the configuration: their quotations from it, and cases without a finding.

mod asked;

use asked::{all_text, ask, folded, nginx};
use weir_diagnose::facts::Facts;
use weir_diagnose::finding::{Confidence, Finding};
use weir_profile::SystemCall;

const CONNECTING: &str = "nginx;ngx_http_upstream_init;ngx_event_connect_peer;__libc_connect;__sys_connect_[k] 430\n\
                          nginx;ngx_close_connection;__GI___close;tcp_close_[k] 200\n\
                          nginx;ngx_http_close_connection;ngx_close_connection;tcp_close_[k] 20\n\
                          nginx;work 350\n";
const SERVING: &str = "nginx;ngx_http_upstream_init;ngx_event_connect_peer;__libc_connect 3\n\
                       nginx;ngx_http_close_connection;ngx_close_connection;tcp_close_[k] 90\n\
                       nginx;accept4;inet_csk_accept_[k] 60\nnginx;work 847\n";

fn http(body: &str) -> String {
    format!("events {{ }}\nhttp {{\n{body}\n}}\n")
}

fn with(stacks: &str, version: &str, configuration: &str) -> Facts {
    Facts { nginx: Some(nginx(version, configuration)), ..folded(stacks) }
}

fn keepalive(stacks: &str, version: &str, body: &str) -> Option<Finding> {
    ask("upstream-no-keepalive", &with(stacks, version, &http(body)))
}

const NO_KEEPALIVE: &str =
    "upstream app {\n server 127.0.0.1:9000;\n}\nserver { location / { proxy_pass http://app; } }";
const KEEPALIVE: &str = "upstream app { server 127.0.0.1:9000; keepalive 64; }\n\
                         server { proxy_http_version 1.1; proxy_set_header Connection \"\";\nlocation / { proxy_pass http://app; } }";

#[test]
fn an_upstream_without_keepalive_is_shown_with_what_it_lacks() {
    let finding = keepalive(CONNECTING, "1.22.1", NO_KEEPALIVE).expect("speaks");
    assert_eq!(finding.confidence, Confidence::Certain);
    assert!((finding.share.expect("a share") - 0.63).abs() < 1e-9, "clients' connections are not counted: {finding:?}");
    let text = all_text(&finding);
    for want in [
        "upstream app has no keepalive",
        "line: 3",
        "upstream app { ... }",
        "keepalive 64;",
        "proxy_http_version 1.1;",
        "server 127.0.0.1:9000;",
    ] {
        assert!(text.contains(want), "{want} is not in {text}");
    }
}

/// The stacks do not show which of them has the traffic.
#[test]
fn of_several_upstreams_without_keepalive_none_is_accused_alone() {
    let two = "upstream quiet { server 127.0.0.1:9000; }\nupstream busy { server 127.0.0.1:9001; }\n\
               server { location / { proxy_pass http://quiet; } location /b { proxy_pass http://busy; } }";
    let finding = keepalive(CONNECTING, "1.22.1", two).expect("speaks");
    assert_eq!(finding.confidence, Confidence::Likely);
    for name in ["quiet", "busy"] {
        assert!(finding.sentence.contains(&format!("upstream {name} has no keepalive")), "{}", finding.sentence);
    }
}

#[test]
fn keepalive_that_works_is_left_alone() {
    assert_eq!(keepalive(SERVING, "1.22.1", KEEPALIVE), None);
    // Nor is a file server, nor are clients that connect for each request, whatever the
    // configuration lacks.
    assert_eq!(keepalive(SERVING, "1.22.1", NO_KEEPALIVE), None);
    assert_eq!(
        keepalive(
            "nginx;ngx_http_close_connection;ngx_close_connection;tcp_close_[k] 400\nnginx;accept4 300\nnginx;work 300\n",
            "1.22.1",
            "server { root /srv; }"
        ),
        None
    );
}

#[test]
fn what_is_missing_depends_on_the_rest_and_on_the_version() {
    let location = |before: &str| {
        format!(
            "upstream app {{ server 127.0.0.1:9000; keepalive 64; }}\nserver {{ location / {{ {before} proxy_pass http://app; }} }}"
        )
    };
    // (configuration, version, expected text, unexpected text)
    let cases = [
        (location(""), "1.22.1", "proxy_set_header Connection", "keepalive 64;\\n}"),
        (location("proxy_http_version 1.1;"), "1.22.1", "proxy_set_header Connection", "proxy_http_version 1.1;\\n"),
        (location("proxy_http_version 1.1; proxy_set_header Connection close;"), "1.29.8", "Connection", "1.0"),
        (
            "server { location / { proxy_pass http://127.0.0.1:9000; } }".into(),
            "1.22.1",
            "plain address",
            "has no keepalive",
        ),
        (
            "server { location / { proxy_pass http://127.0.0.1:9000; } }".into(),
            "1.29.8",
            "plain address",
            "proxy_http_version",
        ),
        // Since 1.29.7 an upstream block keeps connections unless configured otherwise.
        (NO_KEEPALIVE.into(), "1.29.8", "either it is too small", "has no keepalive"),
        (
            "upstream app { server 127.0.0.1:9000; keepalive 0; }\nserver { location / { proxy_pass http://app; } }"
                .into(),
            "1.29.8",
            "has no keepalive",
            "plain",
        ),
        (KEEPALIVE.into(), "1.22.1", "either it is too small", "has no keepalive"),
    ];
    for (body, version, said, not_said) in cases {
        let text = all_text(&keepalive(CONNECTING, version, &body).unwrap_or_else(|| panic!("silent on {body}")));
        assert!(text.contains(said) && !text.contains(not_said), "{version} {body}: {text}");
    }
}

#[test]
fn connections_per_request_count_where_time_alone_is_little() {
    let stacks =
        "nginx;ngx_event_connect_peer;connect 20\nnginx;ngx_close_connection;close;tcp_close_[k] 10\nnginx;work 970\n";
    let mut facts = with(stacks, "1.22.1", &http(NO_KEEPALIVE));
    assert_eq!(ask("upstream-no-keepalive", &facts), None);
    facts.requests = Some(1000);
    let calls = |calls| SystemCall { pid: 1, name: "connect".into(), calls, ..SystemCall::default() };
    facts.profile.as_mut().expect("a profile").system_calls = vec![calls(1000)];
    assert!(all_text(&ask("upstream-no-keepalive", &facts).expect("speaks")).contains("1.00 per request"));
    facts.profile.as_mut().expect("a profile").system_calls = vec![calls(20)];
    assert_eq!(ask("upstream-no-keepalive", &facts), None);
}

#[test]
fn cosockets_get_the_advice_of_cosockets() {
    let stacks = "nginx;ngx_http_lua_socket_tcp_connect;ngx_event_connect_peer;connect 100\nnginx;work 900\n";
    let finding = ask("upstream-no-keepalive", &with(stacks, "1.22.1", &http(KEEPALIVE))).expect("speaks");
    assert!(finding.fix.contains("setkeepalive"), "{finding:?}");
}

#[test]
fn a_program_that_is_no_nginx_gets_no_advice_about_nginx() {
    let finding = ask("upstream-no-keepalive", &folded("app;call;connect;__sys_connect_[k] 200\napp;work 800\n"))
        .expect("speaks");
    assert!(!finding.fix.contains("keepalive"), "{finding:?}");
}

/// A rule, stacks, a configuration with a finding, the text that it must quote, and a configuration
/// without one.
const CASES: &[(&str, &str, &str, &str, &str)] = &[
    (
        "gzip-level",
        "nginx;ngx_http_gzip_body_filter;deflate;deflate_slow;longest_match 300\nnginx;work 700",
        "gzip_comp_level 9;",
        "gzip_comp_level 9;",
        "gzip_comp_level 4;",
    ),
    (
        "tls-no-resumption",
        "nginx;ngx_ssl_handshake;SSL_do_handshake;EVP_PKEY_sign 200\nnginx;work 800",
        "server { listen 443 ssl; ssl_session_cache none; ssl_session_tickets off; }",
        "ssl_session_tickets off;",
        "server { listen 443 ssl; ssl_session_cache shared:SSL:10m; ssl_session_tickets off; }",
    ),
    (
        "access-log-unbuffered",
        "nginx;ngx_http_free_request;write 100\nnginx;work 900",
        "access_log /var/log/a.log;",
        "access_log /var/log/a.log buffer=64k flush=1s;",
        "access_log /var/log/a.log combined buffer=64k;",
    ),
    (
        "dns-at-request-time",
        "nginx;ngx_resolve_name;ngx_resolver_copy 50\nnginx;work 950",
        "resolver 127.0.0.53 valid=1s; server { location / { set $to http://x.example; proxy_pass $to; } }",
        "resolver 127.0.0.53 valid=1s;",
        "",
    ),
];

#[test]
fn the_configuration_is_quoted_where_it_is_to_blame() {
    for (id, stacks, ill, quoted, well) in CASES {
        let finding = ask(id, &with(stacks, "1.22.1", &http(ill))).unwrap_or_else(|| panic!("{id} is silent"));
        assert!(all_text(&finding).contains(quoted), "{id}: {quoted} is not in {finding:?}");
        if !well.is_empty() {
            assert_eq!(ask(id, &with(stacks, "1.22.1", &http(well))), None, "{id} speaks of {well}");
        }
    }
}

#[test]
fn handshakes_that_may_be_with_an_upstream_accuse_nobody() {
    let stacks = "nginx;ngx_ssl_handshake_handler;SSL_do_handshake 200\nnginx;work 800";
    let without = "server { listen 443 ssl; ssl_session_tickets off; location / { proxy_pass SCHEME://app; } }";
    for (scheme, speaks) in [("http", true), ("https", false)] {
        let facts = with(stacks, "1.22.1", &http(&without.replace("SCHEME", scheme)));
        assert_eq!(ask("tls-no-resumption", &facts).is_some(), speaks, "{scheme}");
    }
}

#[test]
fn debug_in_the_configuration_counts_only_where_it_is_compiled_in() {
    let mut facts = with("nginx;work 1000", "1.22.1", "error_log /var/log/e.log debug;\nevents { }\nhttp { }\n");
    assert_eq!(ask("debug-logging", &facts), None);
    facts.nginx.as_mut().expect("nginx").configure_arguments = vec!["--with-debug".into()];
    let finding = ask("debug-logging", &facts).expect("speaks");
    assert!(
        all_text(&finding).contains("error_log /var/log/e.log debug;") && finding.fix.contains("warn"),
        "{finding:?}"
    );
}

#[test]
fn the_switch_of_pcre_is_quoted() {
    let stacks = "nginx;ngx_http_rewrite_handler;pcre_exec;match 80\nnginx;other 920";
    let finding = ask("regex-no-jit", &with(stacks, "1.22.1", &http(""))).expect("speaks");
    assert!(all_text(&finding).contains("not set (default: off)"), "{finding:?}");
}

#[test]
fn a_cache_that_is_filled_is_no_body_that_does_not_fit() {
    let stacks = "nginx;ngx_event_pipe;ngx_write_chain_to_temp_file;pwrite64 40\nnginx;other 960";
    let configured = |cache: &str| {
        with(stacks, "1.22.1", &http(&format!("server {{ location / {{ {cache} proxy_pass http://10.0.0.1; }} }}")))
    };
    assert!(ask("temp-file-bodies", &configured("proxy_cache off;")).is_some());
    assert_eq!(ask("temp-file-bodies", &configured("proxy_cache pages;")), None);
}
