//! Rules that need only samples: cases with and without a finding, and the code they name.

mod asked;

use asked::{all_text, ask, folded, profile, speak};
use weir_diagnose::facts::Facts;
use weir_profile::{Builder, Frame, Health, Origin, ProfileKind, Thread};

/// A rule, stacks with a finding, text that the finding must contain, and stacks without one.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "lua-string-interning",
        "nginx;access.lua:read_vars:42;lua_pushlstring;lj_str_new 40\nnginx;other 960",
        "access.lua:read_vars:42",
        "nginx;access.lua:read_vars:42;lua_pushlstring;lj_str_new 15\nnginx;other 985",
    ),
    (
        "lua-table-growth",
        "nginx;log.lua:fields:7;lj_tab_newkey;rehashtab;lj_tab_resize 50\nnginx;other 950",
        "log.lua:fields:7",
        "nginx;log.lua:fields:7;lj_tab_newkey;rehashtab;lj_tab_resize 9\nnginx;other 991",
    ),
    (
        "lua-variable-copying",
        "nginx;ngx_http_lua_run_thread;access.lua:all:9;ngx_http_lua_ffi_var_get 90\nnginx;other 910",
        "access.lua:all:9",
        "nginx;ngx_http_lua_run_thread;access.lua:all:9;ngx_http_lua_ffi_var_get 20\nnginx;other 980",
    ),
    (
        "lua-gc",
        "nginx;a.lua:f:1;lj_gc_step;gc_onestep;propagatemark 100\nnginx;other 900",
        "a.lua:f:1",
        "nginx;a.lua:f:1;lj_gc_step;gc_onestep 40\nnginx;other 960",
    ),
    (
        "lua-table-sort",
        "nginx;sign.lua:tokens:31;table.sort;auxsort;lua_lessthan 200\nnginx;other 800",
        "sign.lua:tokens:31",
        "nginx;sign.lua:tokens:31;table.sort;auxsort;lua_lessthan 20\nnginx;other 980",
    ),
    (
        "lua-trace-aborts",
        "nginx;a.lua:f:1;lj_trace_ins;trace_state;lj_record_ins 50\nnginx;other 950",
        "a.lua:f:1",
        "nginx;a.lua:f:1;lj_trace_ins;trace_state;lj_record_ins 10\nnginx;lj_trace_exit 90\nnginx;other 900",
    ),
    (
        "lua-code-cache-off",
        "nginx;ngx_http_lua_cache_loadfile;luaL_loadbuffer;lua_loadx;lj_parse 90\nnginx;other 910",
        "ngx_http_lua_cache_loadfile",
        "nginx;ngx_http_lua_cache_loadfile 5\nnginx;other 995",
    ),
    (
        "lua-regex-no-compile-once",
        "nginx;a.lua:route:5;ngx_http_lua_ffi_compile_regex;pcre_compile2 40\nnginx;other 960",
        "\\\"jo\\\"",
        "nginx;a.lua:route:5;ngx_http_lua_ffi_exec_regex;pcre_exec 40\nnginx;other 960",
    ),
    (
        "regex-no-jit",
        "nginx;ngx_http_rewrite_handler;pcre_exec;match;match 80\nnginx;other 920",
        "pcre_jit on",
        // Compiled patterns run outside of the library.
        "nginx;ngx_http_rewrite_handler;pcre_exec;_pcre_jit_exec;[jit] 80\nnginx;other 920",
    ),
    (
        "debug-logging",
        "nginx;ngx_http_process_request;ngx_log_error_core;write 50\nnginx;other 950",
        "error log",
        "nginx;ngx_http_process_request;ngx_log_error_core;write 10\nnginx;other 990",
    ),
    (
        "access-log-unbuffered",
        "nginx;ngx_http_free_request;ngx_http_log_handler;write;ksys_write_[k] 100\nnginx;other 900",
        "buffer=64k",
        "nginx;ngx_http_free_request;ngx_http_log_handler;write;ksys_write_[k] 55\nnginx;other 945",
    ),
    (
        "tls-no-resumption",
        "nginx;ngx_ssl_handshake;SSL_do_handshake;EVP_PKEY_sign 400\nnginx;other 600",
        "ssl_session_cache",
        // Handshakes with an upstream are not clients' sessions, even after their first round trip.
        "nginx;ngx_event_connect_peer;ngx_ssl_handshake;SSL_do_handshake 400\n\
         nginx;ngx_ssl_handshake_handler;SSL_do_handshake;ossl_statem_connect;tls_process_server_hello 300\nnginx;other 300",
    ),
    (
        "dns-at-request-time",
        "nginx;ngx_http_upstream_init;ngx_resolve_name;ngx_resolver_send_query 50\nnginx;other 950",
        "upstream block",
        "nginx;ngx_http_upstream_init;ngx_resolve_name 5\nnginx;other 995",
    ),
    (
        "temp-file-bodies",
        "nginx;ngx_http_do_read_client_request_body;ngx_write_chain_to_temp_file;pwrite64 40\nnginx;other 960",
        "client_body_buffer_size",
        "nginx;ngx_http_do_read_client_request_body;recv 40\nnginx;other 960",
    ),
    (
        "modsecurity-share",
        "nginx;ngx_http_modsecurity_pre_access_handler;msc_process_request_headers 300\nnginx;other 700",
        "ngx_http_modsecurity_pre_access_handler",
        "nginx;ngx_http_modsecurity_pre_access_handler 50\nnginx;other 950",
    ),
    (
        "weir-share",
        "nginx;weir_nginx::phase;weir_engine::plan::run 300\nnginx;other 700",
        "weir cost",
        "nginx;weir_nginx::phase;weir_engine::plan::run 30\nnginx;other 970",
    ),
    (
        "allocation-share",
        "app;main;build;malloc;_int_malloc 100\napp;main;drop;cfree 60\napp;other 840",
        "build",
        "app;main;build;malloc 60\napp;other 940",
    ),
    (
        "memory-copying",
        "app;main;encode;__memmove_avx_unaligned_erms 150\napp;other 850",
        "encode",
        "app;main;encode;__memmove_avx_unaligned_erms 20\napp;other 980",
    ),
    (
        "lock-contention",
        "app;work;pthread_mutex_lock;__x64_sys_futex_[k];futex_wait_[k] 80\napp;other 920",
        "pthread_mutex_lock",
        "app;work;pthread_mutex_lock 30\napp;other 970",
    ),
    (
        "build-no-tail-calls",
        "nginx;ngx_http_output_filter;ngx_http_range_body_filter;ngx_http_copy_filter;ngx_http_charset_body_filter;\
         ngx_http_ssi_body_filter;ngx_http_postpone_filter;ngx_http_gzip_body_filter;ngx_http_write_filter 100\nnginx;other 900",
        "-O2",
        "nginx;ngx_http_output_filter;ngx_http_copy_filter;ngx_http_chunked_body_filter;ngx_http_write_filter 100\nnginx;other 900",
    ),
];

#[test]
fn each_rule_speaks_of_what_it_is_about_and_not_of_less() {
    for (id, ill, must_say, well) in CASES {
        let finding = ask(id, &folded(ill)).unwrap_or_else(|| panic!("{id} is silent"));
        assert!(all_text(&finding).contains(must_say), "{id}: {must_say} is not in {finding:?}");
        assert!(
            !finding.fix.is_empty() && !finding.verify.is_empty() && finding.sentence.ends_with('.'),
            "{finding:?}"
        );
        assert!(finding.share.is_some_and(|share| share > 0.0 && share <= 1.0), "{finding:?}");
        assert_eq!(ask(id, &folded(well)), None, "{id} speaks of {well}");
    }
}

#[test]
fn a_share_of_few_samples_is_chance() {
    for (id, ill, _, _) in CASES {
        let few =
            ill.lines().map(|line| line.rsplit_once(' ').expect("a count").0.to_owned() + " 1\n").collect::<String>();
        assert_eq!(ask(id, &folded(&few)), None, "{id}");
    }
}

#[test]
fn names_that_luajit_shares_with_others_count_only_where_it_is() {
    let cases = [
        ("lua-trace-aborts", "nginx;f.lua:f:1;asm_head 100\nnginx;lj_vm 1\nnginx;other 900", true),
        ("lua-trace-aborts", "app;work;asm_exc_page_fault_[k] 100\napp;other 900", false),
        ("lua-trace-aborts", "nginx;lj_vm 1\nnginx;work;asm_exc_page_fault_[k] 100\nnginx;other 900", false),
        ("lua-gc", "nginx;lj_vm 1\nnginx;gc_sweep 100\nnginx;other 900", true),
        ("lua-gc", "php-fpm;gc_collect 100\nphp-fpm;other 900", false),
        ("memory-copying", "app;read;memcpy_[k] 300\napp;other 700", false),
    ];
    for (id, stacks, speaks) in cases {
        assert_eq!(ask(id, &folded(stacks)).is_some(), speaks, "{id}: {stacks}");
    }
}

/// Recorded from nginx 1.22.1 of Debian (stripped) at full load, with perf; kernel frames past the fifth are cut.
const HEALTHY: [(&str, &str); 2] =
    [("keepalive", include_str!("profiles/keepalive.folded")), ("static", include_str!("profiles/static.folded"))];

#[test]
fn a_healthy_loaded_nginx_has_no_finding() {
    for (name, text) in HEALTHY {
        assert_eq!(speak(&folded(text)), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn recorded_cases_are_recognised() {
    let cases = [
        (include_str!("profiles/no-keepalive.folded"), vec!["upstream-no-keepalive"]),
        (include_str!("profiles/lua-variables.folded"), vec!["lua-variable-copying"]),
        // The requested path had no file behind it, so nginx also wrote an error for each request.
        (include_str!("profiles/lua-sort.folded"), vec!["lua-table-sort", "debug-logging"]),
        (include_str!("profiles/lua-regex.folded"), vec!["lua-regex-no-compile-once", "regex-no-jit"]),
    ];
    for (text, want) in cases {
        assert_eq!(speak(&folded(text)), want);
    }
}

fn stack(builder: &mut Builder, frames: &[(&str, Origin)], count: u64) {
    let frames: Vec<_> = frames.iter().map(|(name, origin)| builder.frame(Frame::named(*name, *origin))).collect();
    let thread = builder.thread(Thread { pid: 1, tid: 1, name: "nginx".into() });
    let stack = builder.stack(&frames);
    builder.add(thread, stack, count, count * 10_000_000);
}

#[test]
fn interpreted_lua_is_told_from_compiled() {
    let build = |compiled: u64| {
        let mut builder = Builder::new(ProfileKind::OnCpu);
        let sort = [("a.lua:f", Origin::Lua), ("string.gsub", Origin::LuaBuiltin)];
        stack(&mut builder, &sort, 400 - compiled);
        stack(&mut builder, &[("a.lua:f", Origin::Lua), ("trace 3 a.lua:9", Origin::LuaTrace)], compiled.max(1));
        stack(&mut builder, &[("epoll_wait", Origin::Native)], 600);
        Facts { seconds: 10.0, ..Facts::of_profile(builder.finish()) }
    };
    let finding = ask("lua-not-compiled", &build(50)).expect("mostly interpreted");
    assert!(all_text(&finding).contains("string.gsub"), "{finding:?}");
    assert_eq!(ask("lua-not-compiled", &build(300)), None);
    // Without evidence of traces, a profile may simply lack them.
    assert_eq!(ask("lua-not-compiled", &folded("nginx;a.lua:f:1 900\nnginx;other 100")), None);
}

#[test]
fn a_lua_line_is_named_with_its_file() {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let lua = Frame { file: "/srv/lua/sign.lua".into(), line: 31, ..Frame::named("tokens", Origin::Lua) };
    let frames = [builder.frame(lua), builder.frame(Frame::named("table.sort", Origin::LuaBuiltin))];
    let (thread, stack) = (builder.thread(Thread::default()), builder.stack(&frames));
    builder.add(thread, stack, 500, 500);
    let finding = ask("lua-table-sort", &Facts::of_profile(builder.finish())).expect("speaks");
    assert!(all_text(&finding).contains("sign.lua:tokens:31"), "{finding:?}");
}

#[test]
fn a_profile_says_when_it_has_seen_too_little() {
    let with = |samples: u64, health: Health| {
        let mut profile = profile(&format!("nginx;main;work {samples}\n"));
        profile.health = health;
        Facts::of_profile(profile)
    };
    let good = Health { samples: 1000, complete: 1000, frames: 9000, lua: 100, lua_read: 99, ..Health::default() };
    assert_eq!(ask("profile-incomplete", &with(1000, good)), None);
    let cases = [
        (50, good, "only 50 samples"),
        (1000, Health { lost: 100, ..good }, "lost"),
        (1000, Health { truncated: 90, ..good }, "incomplete"),
        (1000, Health { unknown_frames: 6000, ..good }, "no name"),
        (1000, Health { lua_read: 10, ..good }, "Lua stacks"),
    ];
    for (samples, health, want) in cases {
        let finding = ask("profile-incomplete", &with(samples, health)).unwrap_or_else(|| panic!("silent on {want}"));
        assert!(finding.sentence.contains(want), "{}", finding.sentence);
    }
}

#[test]
fn a_blocked_event_loop_is_named_with_what_blocks_it() {
    let off = |blocked_ms: u64, times: u64| {
        let mut builder = Builder::new(ProfileKind::OffCpu);
        let (native, kernel) = (Origin::Native, Origin::Kernel);
        let thread = builder.thread(Thread { pid: 7, tid: 7, name: "nginx".into() });
        let mut add = |frames: &[(&str, Origin)], times: u64, ms: u64| {
            let frames: Vec<_> =
                frames.iter().map(|(name, origin)| builder.frame(Frame::named(*name, *origin))).collect();
            let stack = builder.stack(&frames);
            builder.add(thread, stack, times, ms * 1_000_000);
        };
        add(&[("ngx_epoll_process_events", native), ("epoll_wait", native), ("ep_poll", kernel)], 900, 8000);
        add(&[("[waits shorter than 1ms]", Origin::Marker)], 20_000, 900);
        add(&[("[waiting for a CPU]", Origin::Marker), ("ksys_write", kernel)], 90, 900);
        add(&[("ngx_http_handler", native), ("exit_to_user_mode_loop", kernel), ("schedule", kernel)], 500, 1900);
        add(
            &[("ngx_http_lua_run_thread", native), ("getaddrinfo", native), ("do_sys_poll_", kernel)],
            times,
            blocked_ms,
        );
        Facts { seconds: 10.0, off_cpu: Some(builder.finish()), ..Facts::default() }
    };
    let finding = ask("blocked-event-loop", &off(900, 20)).expect("blocks");
    assert!(
        finding.sentence.contains("getaddrinfo") && all_text(&finding).contains("ngx_http_lua_run_thread"),
        "{finding:?}"
    );
    assert_eq!(ask("blocked-event-loop", &off(50, 500)), None, "0.1 ms at a time and half a percent");
    assert!(ask("blocked-event-loop", &off(60, 2)).is_some(), "rarely, but 30 ms at a time");
}
