//! Rules about builds, limits, workers and the kernel.

mod asked;

use asked::{all_text, ask, folded, kernel, nginx, process};
use weir_diagnose::baseline::Comparison;
use weir_diagnose::facts::build::{Optimisation, OptimisationLevel, OptimisationSource, TailCalls};
use weir_diagnose::facts::lua::LuaFacts;
use weir_diagnose::facts::nginx::DirectivePosition;
use weir_diagnose::facts::{
    BinaryKind, BuildFacts, CgroupFacts, Conntrack, Counter, Facts, KernelFacts, Limit, ProcessFacts, RemoteSockets,
    Role, SocketFacts, WorkerFacts,
};

fn built(level: OptimisationLevel, tail_calls: TailCalls, confidence: f64) -> Facts {
    let optimisation = Optimisation {
        level,
        tail_calls,
        confidence,
        source: OptimisationSource::Code,
        reason: "93 % of functions".into(),
    };
    let build = BuildFacts {
        path: "/usr/sbin/nginx".into(),
        kind: BinaryKind::Executable,
        optimisation,
        ..BuildFacts::default()
    };
    Facts { binaries: vec![build], ..folded("nginx;work 1000") }
}

#[test]
fn builds_are_told_apart() {
    use OptimisationLevel::{O0, O1, O2OrHigher, Unknown};
    use TailCalls::{Missing, Optimised};
    // (level, tail calls, confidence, unoptimised, no tail calls)
    let cases = [
        (O0, Missing, 0.95, true, false),
        (O1, Missing, 0.9, false, true),
        (O2OrHigher, Optimised, 0.99, false, false),
        (O0, Missing, 0.5, false, false),
        (Unknown, TailCalls::Unknown, 0.0, false, false),
    ];
    for (level, tail_calls, confidence, unoptimised, no_tail_calls) in cases {
        let facts = built(level, tail_calls, confidence);
        assert_eq!(ask("build-unoptimised", &facts).is_some(), unoptimised, "{level:?}");
        assert_eq!(ask("build-no-tail-calls", &facts).is_some(), no_tail_calls, "{level:?}");
    }
    let text = all_text(&ask("build-unoptimised", &built(O0, Missing, 0.95)).expect("speaks"));
    assert!(text.contains("/usr/sbin/nginx") && text.contains("93 % of functions") && text.contains("-O2"), "{text}");
}

#[test]
fn a_library_without_cpu_time_may_be_built_as_it_likes() {
    let mut facts = built(OptimisationLevel::O0, TailCalls::Missing, 0.95);
    facts.binaries[0].kind = BinaryKind::Library;
    assert_eq!(ask("build-unoptimised", &facts), None);
}

fn workers(loads: &[u64]) -> ProcessFacts {
    let worker = |(index, &load): (usize, &u64)| WorkerFacts {
        pid: 100 + u32::try_from(index).expect("few"),
        title: "nginx: worker process".into(),
        user_us: load * 100_000,
        accepted: Some(load),
        ..WorkerFacts::default()
    };
    ProcessFacts {
        pid: 99,
        role: Role::NginxMaster,
        workers: loads.iter().enumerate().map(worker).collect(),
        ..ProcessFacts::default()
    }
}

#[test]
fn imbalance_matters_when_a_worker_is_full() {
    // Percent of a CPU over 10 s.
    let cases: [(&[u64], bool); 4] = [(&[98, 20], true), (&[98, 90], false), (&[40, 2], false), (&[99], false)];
    for (loads, speaks) in cases {
        assert_eq!(ask("accept-imbalance", &process(workers(loads))).is_some(), speaks, "{loads:?}");
    }
    // After a reload: a worker that is shutting down accepts no more connections.
    let mut reloaded = workers(&[98, 5]);
    reloaded.workers[1].title.push_str(" is shutting down");
    let (before, after) = (process(workers(&[98])), process(reloaded));
    assert_eq!(ask("accept-imbalance", &after), None);
    assert!(Comparison::of(&before, &after).same_context(), "{}", Comparison::of(&before, &after).text());
    let mut facts = process(workers(&[98, 20]));
    let advice = |facts: &Facts| ask("accept-imbalance", facts).expect("speaks").fix;
    assert!(advice(&facts).contains("reuseport"));
    facts.nginx = Some(nginx("1.22.1", "events { multi_accept on; }\nhttp { server { listen 80; } }"));
    assert!(advice(&facts).contains("multi_accept off"));
    facts.nginx = Some(nginx("1.22.1", "events { }\nhttp { server { listen 80 reuseport; } }"));
    assert!(advice(&facts).contains("remove reuseport"));
}

fn limits(used: u64, connections: u64) -> Facts {
    let limit = Limit { soft: 1024, hard: 524_288, used };
    let configuration = format!("events {{ worker_connections {connections}; }}\nhttp {{ }}");
    Facts {
        nginx: Some(nginx("1.22.1", &configuration)),
        ..process(ProcessFacts { nofile: Some(limit), ..ProcessFacts::default() })
    }
}

#[test]
fn open_files_run_out_by_use_or_by_configuration() {
    // Debian's defaults, 768 of 1024, are not a finding as long as few are in use.
    let cases = [(20, 768, false), (900, 768, true), (20, 4096, true), (600, 768, true), (600, 500, false)];
    for (used, connections, speaks) in cases {
        assert_eq!(ask("nofile-limit", &limits(used, connections)).is_some(), speaks, "{used} of 1024, {connections}");
    }
}

#[test]
fn throttling_counts_from_one_period_in_twenty() {
    for (throttled, speaks) in [(0, false), (3, false), (30, true)] {
        let group = CgroupFacts {
            quota_us: Some(50_000),
            period_us: 100_000,
            periods: 100,
            throttled_periods: throttled,
            ..CgroupFacts::default()
        };
        let facts = process(ProcessFacts { cgroup: Some(group), ..ProcessFacts::default() });
        assert_eq!(ask("cgroup-throttled", &facts).is_some(), speaks, "{throttled}");
    }
}

#[test]
fn swapping_is_faults_not_swapped_memory() {
    for (swap_kib, major_faults, speaks) in
        [(0, 0, false), (500_000, 0, false), (500_000, 50, true), (0, 100, false), (0, 1000, true)]
    {
        let worker = WorkerFacts { swap_kib, major_faults, ..WorkerFacts::default() };
        let facts = process(ProcessFacts { workers: vec![worker], ..ProcessFacts::default() });
        assert_eq!(ask("swapping", &facts).is_some(), speaks, "{swap_kib} {major_faults}");
    }
}

fn kernel_with(overflows: u64, somaxconn: &str) -> KernelFacts {
    let mut facts = KernelFacts::default();
    facts.settings.insert("net.core.somaxconn".into(), somaxconn.into());
    facts.settings.insert("net.ipv4.ip_local_port_range".into(), "32768\t60999".into());
    facts.counters.insert("TcpExt.ListenOverflows".into(), Counter { before: 7, after: 7 + overflows });
    facts
}

#[test]
fn the_listen_queue_is_wrong_when_it_overflows_or_is_cut() {
    assert_eq!(ask("kernel-somaxconn", &kernel(kernel_with(0, "4096"))), None, "old overflows are past");
    assert!(
        all_text(&ask("kernel-somaxconn", &kernel(kernel_with(12, "4096"))).expect("speaks"))
            .contains("12 connections")
    );
    let configured = |somaxconn| Facts {
        nginx: Some(nginx("1.22.1", "events { }\nhttp { server { listen 80 backlog=8192; } }")),
        ..kernel(kernel_with(0, somaxconn))
    };
    assert!(ask("kernel-somaxconn", &configured("4096")).is_some());
    assert_eq!(ask("kernel-somaxconn", &configured("65535")), None);
}

#[test]
fn ports_run_out_for_one_address() {
    // Sockets in TIME_WAIT belong to other processes if this one has no connections.
    let cases = [(64, 100, false), (64, 13_000, false), (64, 20_000, true), (0, 20_000, false)];
    for (established, time_wait, speaks) in cases {
        let remote = RemoteSockets { address: "10.0.0.1:80".into(), established, time_wait };
        let sockets = SocketFacts { remotes: vec![remote], ..SocketFacts::default() };
        let facts = Facts {
            kernel: Some(kernel_with(0, "4096")),
            ..process(ProcessFacts { sockets, ..ProcessFacts::default() })
        };
        assert_eq!(ask("kernel-port-range", &facts).is_some(), speaks, "{time_wait}");
    }
}

#[test]
fn the_table_of_connections_is_full_before_its_end() {
    for (count, speaks) in [(1000, false), (230_000, true)] {
        let facts =
            kernel(KernelFacts { conntrack: Some(Conntrack { count, max: 262_144 }), ..KernelFacts::default() });
        assert_eq!(ask("conntrack-full", &facts).is_some(), speaks, "{count}");
    }
}

#[test]
fn switches_of_lua_are_quoted_with_their_place() {
    let place = DirectivePosition { file: "/etc/nginx/nginx.conf".into(), line: 12 };
    let with = |lua| Facts { lua: Some(lua), nginx: Some(nginx("1.22.1", "events { }\nhttp { }")), ..Facts::default() };
    let facts = with(LuaFacts { code_cache_off: vec![place], ..LuaFacts::default() });
    let text = all_text(&ask("lua-code-cache-off", &facts).expect("speaks"));
    assert!(text.contains("line: 12") && text.contains("lua_code_cache on;"), "{text}");
    assert_eq!(ask("lua-code-cache-off", &with(LuaFacts::default())), None);
}
