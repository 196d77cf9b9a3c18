//! From a checked document to the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use weir_policy::check::{Checker, Fields, Item, Value};
use weir_policy::document::{self, Node};
use weir_policy::error::Reporter;
use weir_policy::source::Source;
use weir_policy::{PolicyErrors, nearest};

use super::model::{Address, Config, Secret, TlsFiles};
use super::table;

/// Reads a configuration.
pub(super) fn parse(text: &str, path: &Path) -> Result<Config, PolicyErrors> {
    let source = Source::new(path.display().to_string(), text);
    let mut reporter = Reporter::default();
    let node = match document::parse(&source) {
        Ok(node) => node,
        Err(error) => {
            reporter.syntax(&source, error);
            return reporter.finish(None);
        }
    };
    let root = Checker { source: &source, reporter: &mut reporter, alternatives: true }.resource(&node, &table::ROOT);
    let Some(root) = root else { return reporter.finish(None) };
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = Builder { source: &source, reporter: &mut reporter, folder }.config(&root);
    reporter.finish(Some(config))
}

/// Makes the parts, and reports what the table cannot say.
pub(super) struct Builder<'b> {
    pub source: &'b Source,
    pub reporter: &'b mut Reporter,
    pub folder: &'b Path,
}

impl Builder<'_> {
    fn config(&mut self, root: &Fields<'_>) -> Config {
        let tls = root
            .fields("tls")
            .map(|fields| TlsFiles { certificate: self.file(fields, "certificate"), key: self.file(fields, "key") });
        let token = root.fields("token").and_then(|fields| self.secret(fields));
        let is_open = tls.is_none() && token.is_none() && !root.flag_or("insecure");
        let listen = root.items("listen").iter().filter_map(|item| self.address(item, is_open)).collect();
        let detectors: BTreeMap<_, _> = root
            .map("detectors")
            .iter()
            .filter_map(|(_, name, item)| Some(((*name).to_owned(), self.detector(item.as_fields()?)?)))
            .collect();
        let names: Vec<&str> = root.map("detectors").iter().map(|(_, name, _)| *name).collect();
        let tenants = root
            .map("tenants")
            .iter()
            .filter_map(|(_, name, item)| Some(((*name).to_owned(), self.switched_off(item.as_fields()?, &names))));
        Config {
            listen,
            tls,
            token,
            tenants: tenants.collect(),
            metrics: root.get("metrics").and_then(|item| self.metrics(item)),
            connections: root.u32_or("connections") as usize,
            in_flight: root.u32_or("in_flight") as usize,
            detectors,
        }
    }

    /// Reports what is wrong with a node.
    pub fn fault(&mut self, node: &Node, message: impl Into<String>, hint: impl Into<String>) {
        self.reporter.at(self.source, node.at, message, Some(hint.into()));
    }

    /// A file, relative to the configuration.
    pub fn file(&self, fields: &Fields<'_>, key: &str) -> PathBuf {
        self.folder.join(fields.text(key).unwrap_or_default())
    }

    fn secret(&self, fields: &Fields<'_>) -> Option<Secret> {
        let of = |key: &str| fields.text(key).map(str::to_owned);
        of("value")
            .map(Secret::Value)
            .or_else(|| of("env").map(Secret::Environment))
            .or_else(|| fields.text("file").map(|_| Secret::File(self.file(fields, "file"))))
    }

    fn address(&mut self, item: &Item<'_>, is_open: bool) -> Option<Address> {
        let Value::Text(text) = item.value else { return None };
        if let Some(path) = text.strip_prefix("unix:") {
            return Some(Address::Unix(path.into()));
        }
        if is_open && !is_loopback(text) {
            let hint = "add `token` or `tls`; `insecure: true` allows it as it is";
            self.fault(item.node, format!("anybody who can reach {text} could ask questions"), hint);
        }
        Some(Address::Tcp(text.to_owned()))
    }

    fn metrics(&mut self, item: &Item<'_>) -> Option<SocketAddr> {
        let Value::Text(text) = item.value else { return None };
        let address = text.parse().ok();
        if address.is_none() {
            self.fault(
                item.node,
                format!("{} is not an address with a port", document::quoted(text)),
                "127.0.0.1:7332",
            );
        }
        address
    }

    /// The detectors that a tenant does not have.
    fn switched_off(&mut self, tenant: &Fields<'_>, names: &[&str]) -> BTreeSet<String> {
        let mut off = BTreeSet::new();
        for (node, name, item) in tenant.map("detectors") {
            if !names.contains(name) {
                let hint = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the detectors are {}", names.join(", ")),
                };
                self.fault(node, format!("there is no detector {}", document::quoted(name)), hint);
            }
            if matches!(item.value, Value::Choice("off")) {
                off.insert((*name).to_owned());
            }
        }
        off
    }
}

/// Whether only this machine reaches an address.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}
