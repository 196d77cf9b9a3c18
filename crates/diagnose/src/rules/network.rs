//! `kernel-somaxconn`, `kernel-port-range`, `conntrack-full`: kernel limits that reject connections
//! before nginx sees them.

use super::nginx::{configuration, place};
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, Severity, percent};

pub(super) const LISTEN_QUEUE: Rule = Rule {
    id: "kernel-somaxconn",
    title: "The queue of new connections overflows",
    needs: RuleNeeds::All(&[FactSource::Kernel]),
    looks_at: "`ListenOverflows` and `ListenDrops` of the network namespace, `net.core.somaxconn`, `listen ... backlog=`",
    threshold: "from the first overflow in the window: each is a client that waits a second and tries again; and when a \
                configured backlog is larger than somaxconn, which silently limits it",
    check: listen_queue,
};

pub(super) const PORT_RANGE: Rule = Rule {
    id: "kernel-port-range",
    title: "Ports for connections to an upstream run out",
    needs: RuleNeeds::All(&[FactSource::Process, FactSource::Kernel]),
    looks_at: "connections and TIME_WAIT for each remote address, against `ip_local_port_range`",
    threshold: "from half of the range for one address: from there on the kernel searches for free ports one by one, and finally refuses",
    check: port_range,
};

pub(super) const CONNTRACK: Rule = Rule {
    id: "conntrack-full",
    title: "The connection tracking table fills up",
    needs: RuleNeeds::All(&[FactSource::Kernel]),
    looks_at: "entries of connection tracking against `nf_conntrack_max`",
    threshold: "from 80 %: a burst takes the rest in seconds, and packets of new connections are dropped when it is full",
    check: conntrack,
};

fn listen_queue(facts: &Facts) -> Option<Finding> {
    let kernel = facts.kernel.as_ref()?;
    let overflows = kernel.grown("TcpExt.ListenOverflows").unwrap_or(0);
    let most = kernel.setting("net.core.somaxconn");
    let larger = configuration(facts).and_then(|configuration| {
        let backlog = |word: &String| word.strip_prefix("backlog=")?.parse::<u64>().ok();
        let listens = configuration.all("listen").into_iter();
        listens
            .filter_map(|one| Some((one, one.arguments.iter().find_map(backlog)?)))
            .find(|(_, want)| most.is_some_and(|most| *want > most))
    });
    if overflows == 0 && larger.is_none() {
        return None;
    }
    let sentence = match larger {
        _ if overflows > 0 => {
            format!("{overflows} connections were dropped because the queue of a listening socket was full.")
        }
        Some((_, want)) => {
            format!("A backlog of {want} is configured, but net.core.somaxconn limits it to {}.", most.unwrap_or(0))
        }
        None => return None,
    };
    let shown = |value: Option<u64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    Some(
        Finding::new(LISTEN_QUEUE.id, sentence)
            // The kernel counts for the network namespace: the full queue may belong to another server in it.
            .severity(if overflows > 0 { Severity::Warning } else { Severity::Note })
            .confidence(if overflows > 0 { Confidence::Possible } else { Confidence::Certain })
            .with(larger.map(|(directive, _)| place(directive)))
            .figure("TcpExt.ListenOverflows", format!("+{overflows} in {:.0} s (network namespace)", facts.seconds))
            .figure("TcpExt.ListenDrops", format!("+{}", kernel.grown("TcpExt.ListenDrops").unwrap_or(0)))
            .figure("net.core.somaxconn", shown(most))
            .fix(
                "sysctl -w net.core.somaxconn=65535\nlisten ADDRESS:PORT backlog=65535;   # 511 is nginx's default; reuseport gives each \
                 worker its own queue",
            )
            .verify("nstat -az TcpExtListenOverflows TcpExtListenDrops"),
    )
}

fn port_range(facts: &Facts) -> Option<Finding> {
    let (first, last) = facts.kernel.as_ref()?.port_range()?;
    let ports = u64::from(last.saturating_sub(first)) + 1;
    let sockets = &facts.process.as_ref()?.sockets;
    // TIME_WAIT sockets have no owner: only addresses to which this process has connections matter here.
    let own = sockets.remotes.iter().filter(|remote| remote.established > 0);
    let fullest = own.max_by_key(|remote| remote.established + remote.time_wait)?;
    let used = fullest.established + fullest.time_wait;
    #[allow(clippy::cast_precision_loss, reason = "at most 65536 ports, and sockets")]
    let share = used as f64 / ports as f64;
    if share < 0.5 {
        return None;
    }
    let reuse = facts
        .kernel
        .as_ref()
        .and_then(|kernel| kernel.settings.get("net.ipv4.tcp_tw_reuse"))
        .cloned()
        .unwrap_or_default();
    Some(
        Finding::new(PORT_RANGE.id, format!("{} of the ports for connections to {} are in use.", percent(share.min(1.0)), fullest.address))
            .severity(if share >= 0.8 { Severity::Serious } else { Severity::Warning })
            .confidence(Confidence::Certain)
            .figure(&fullest.address, format!("{} established, {} in TIME_WAIT", fullest.established, fullest.time_wait))
            .figure("net.ipv4.ip_local_port_range", format!("{first} to {last}: {ports} ports"))
            .figure("net.ipv4.tcp_tw_reuse", reuse)
            .fix(
                "keep connections to the upstream alive (see upstream-no-keepalive): each closed one holds its port for a minute; \
                 then sysctl -w net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1",
            )
            .verify(format!("ss -Htan dst {} | wc -l", fullest.address)),
    )
}

fn conntrack(facts: &Facts) -> Option<Finding> {
    let table = facts.kernel.as_ref()?.conntrack.filter(|table| table.max > 0)?;
    #[allow(clippy::cast_precision_loss, reason = "entries of a table in memory")]
    let share = table.count as f64 / table.max as f64;
    (share >= 0.8).then(|| {
        Finding::new(CONNTRACK.id, format!("{} of the connection tracking table is in use.", percent(share)))
            .severity(if share >= 0.95 { Severity::Serious } else { Severity::Warning })
            .confidence(Confidence::Certain)
            .figure("entries", format!("{} of {}", table.count, table.max))
            .fix(
                "sysctl -w net.netfilter.nf_conntrack_max=1048576 (and the hash size, /sys/module/nf_conntrack/parameters/hashsize, to a \
                 quarter of it), or do not track nginx's ports (nft: notrack)",
            )
            .verify("sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max; dmesg | grep 'table full'")
    })
}
