//! From the checked document of an upstream or member to what workers get.

use weir_gateway::resource::{
    ActiveHealth, Balance, CheckKind, HostHeader, KeepAlive, Member, PassiveHealth, Protocol, Resource, ResourceKind,
    Upstream, UpstreamTls,
};
use weir_policy::check::Fields;

use crate::convert::{Converter, hash_key};

impl Converter<'_> {
    pub(super) fn upstream(&mut self, fields: &Fields<'_>) {
        let protocol = match fields.choice_or("protocol") {
            "https" => Protocol::Https,
            "grpc" => Protocol::Grpc,
            "grpcs" => Protocol::Grpcs,
            _ => Protocol::Http,
        };
        let upstream = Upstream {
            id: self.id.to_owned(),
            balance: self.balance(fields),
            protocol,
            keepalive: fields.switch("keepalive", keepalive),
            passive: fields.fields_or("health", |health| health.switch("passive", passive)),
            active: fields.fields_or("health", |health| health.switch("active", active)),
            tls: self.upstream_tls(fields, protocol),
            host: match fields.text_or("host") {
                "preserve" => HostHeader::Preserve,
                "member" => HostHeader::Member,
                name => HostHeader::Is(name.to_ascii_lowercase()),
            },
            slow_start_ms: fields.ms_or("slow_start"),
            resolve_every_ms: fields.ms_or("resolve"),
            fallback: self.fallback(fields),
        };
        self.put(Resource::Upstream(upstream));
    }

    pub(super) fn member(&mut self, fields: &Fields<'_>) {
        let address = fields.text_or("address");
        let member = Member {
            id: self.id.to_owned(),
            address: address.to_owned(),
            socket: address.parse().ok(),
            weight: fields.u32_or("weight"),
            backup: fields.flag_or("backup"),
            drain: fields.flag_or("drain"),
        };
        self.put(Resource::Member { upstream: self.parent.to_owned(), member });
    }

    fn balance(&mut self, fields: &Fields<'_>) -> Balance {
        let key = fields.text("hash_key");
        let balance = match (fields.choice_or("balance"), key) {
            ("hash", key) => Balance::Hash(hash_key(key.unwrap_or("ip"))),
            ("least_connections", _) => Balance::LeastConnections,
            ("ewma", _) => Balance::Ewma,
            _ => Balance::RoundRobin,
        };
        match (&balance, fields.key_node("hash_key")) {
            (Balance::Hash(_), None) if fields.lacks(&["hash_key"]) => {
                let node = fields.get("balance").map_or(fields.node, |item| item.node);
                self.fault(
                    node,
                    "`balance: hash` needs `hash_key`",
                    Some("to go by the client's address, write `hash_key: ip`"),
                );
            }
            (Balance::Hash(_), _) | (_, None) => {}
            (_, Some(node)) => self.fault(node, "`hash_key` goes with `balance: hash`", None),
        }
        balance
    }

    fn upstream_tls(&mut self, fields: &Fields<'_>, protocol: Protocol) -> UpstreamTls {
        if let (Protocol::Http | Protocol::Grpc, Some(node)) = (protocol, fields.key_node("tls")) {
            self.fault(
                node,
                "`tls` is for upstreams that speak TLS",
                Some("write `protocol: https` or `grpcs`, or leave it out"),
            );
        }
        fields.fields_or("tls", |tls| {
            if let Some(item) = tls.get("authorities")
                && let Err(fault) = crate::pem::authorities(tls.text_or("authorities"))
            {
                self.fault(item.node, fault.message, fault.hint);
            }
            UpstreamTls {
                verify: tls.flag_or("verify"),
                server_name: tls.text("server_name").map(str::to_ascii_lowercase),
                authorities: tls.text("authorities").map(str::to_owned),
                certificate: self.reference(tls, "certificate", ResourceKind::Certificates),
            }
        })
    }

    fn fallback(&mut self, fields: &Fields<'_>) -> Option<String> {
        let id = self.reference(fields, "fallback", ResourceKind::Upstreams)?;
        if id == self.id {
            let node = fields.get("fallback").map_or(fields.node, |item| item.node);
            self.fault(node, "an upstream cannot be its own `fallback`", None);
        }
        Some(id)
    }
}

fn keepalive(fields: &Fields<'_>) -> KeepAlive {
    KeepAlive {
        connections: fields.u32_or("connections"),
        requests: fields.u32_or("requests"),
        idle_ms: fields.ms_or("idle"),
    }
}

fn passive(fields: &Fields<'_>) -> PassiveHealth {
    PassiveHealth {
        failures: fields.u32_or("failures"),
        window_ms: fields.ms_or("window"),
        eject_ms: fields.ms_or("eject"),
    }
}

fn active(fields: &Fields<'_>) -> ActiveHealth {
    let http = |http: &Fields<'_>| CheckKind::Http {
        path: http.text_or("path").to_owned(),
        host: http.text("host").map(str::to_ascii_lowercase),
        expect: http.statuses_or("expect"),
    };
    ActiveHealth {
        kind: fields.fields("http").map_or(CheckKind::Tcp, http),
        interval_ms: fields.ms_or("interval"),
        timeout_ms: fields.ms_or("timeout"),
        healthy: fields.u32_or("healthy"),
        unhealthy: fields.u32_or("unhealthy"),
    }
}
