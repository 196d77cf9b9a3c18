//! Sites.

use weir_gateway::op::Op;
use weir_gateway::resource::{Resource, Site, SiteTls, TlsVersion};

use super::Maker;
use crate::Kind;
use weir_policy::check::{Fields, Value};

impl Maker<'_> {
    pub(super) fn site(&mut self, fields: &Fields<'_>) {
        let hosts = self.hosts(fields);
        let tls = fields.fields_or("tls", |tls| SiteTls {
            certificate: self.reference(tls, "certificate", Kind::Certificates),
            min_version: if tls.choice_or("min_version") == "1.3" { TlsVersion::V1_3 } else { TlsVersion::V1_2 },
            redirect: tls.flag_or("redirect"),
        });
        let policies = self.policies(fields);
        self.checked.op = Some(Op::Put(Resource::Site(Site { id: self.id.to_owned(), hosts, tls, policies })));
    }

    fn hosts(&mut self, fields: &Fields<'_>) -> Vec<String> {
        let items = fields.items("hosts");
        let mut hosts = Vec::with_capacity(items.len());
        let mut seen = std::collections::HashSet::with_capacity(items.len());
        for item in items {
            let Value::Text(host) = item.value else { continue };
            let host = host.to_ascii_lowercase();
            if !seen.insert(host.clone()) {
                self.fault(item.node, format!("the host `{host}` is given twice"), Some("keep one of them"));
                continue;
            }
            self.unique(format!("the host `{host}`"), format!("host {host}"), item.node);
            hosts.push(host);
        }
        hosts
    }
}
