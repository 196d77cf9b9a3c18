//! From a checked document to the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use weir_policy::check::{Checker, Fields, Item, Value};
use weir_policy::document::{self, Node};
use weir_policy::error::Reporter;
use weir_policy::source::Source;
use weir_policy::{PolicyErrors, Snapshot, nearest};

use super::model::{Address, Config, PolicyConfig, Secret, TlsFiles};
use super::table;
use crate::error::InspectorError;
use crate::{listen, policy};

/// What to know of files that are not there.
const NAMES: &str = "names of files are relative to the configuration";

/// Reads a configuration; `examines` is whether what it names is read, too.
pub(super) fn parse(text: &str, path: &Path, examines: bool) -> Result<Config, PolicyErrors> {
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
    let config = Builder { source: &source, reporter: &mut reporter, folder, examines }.config(&root);
    reporter.finish(Some(config))
}

/// Makes the parts, and reports what the table cannot say.
pub(super) struct Builder<'b> {
    pub source: &'b Source,
    pub reporter: &'b mut Reporter,
    pub folder: &'b Path,
    /// Whether what the configuration names is read.
    pub examines: bool,
}

impl Builder<'_> {
    fn config(&mut self, root: &Fields<'_>) -> Config {
        let tls = root.fields("tls").map(|fields| self.tls(fields));
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

    fn tls(&mut self, fields: &Fields<'_>) -> TlsFiles {
        let files = TlsFiles { certificate: self.file(fields, "certificate"), key: self.file(fields, "key") };
        if self.examines
            && let Err(error) = listen::acceptor(&files)
        {
            let is_key = matches!(&error, InspectorError::Tls { file, .. } if *file == files.key);
            let item = fields.get(if is_key { "key" } else { "certificate" });
            self.fault(item.map_or(fields.node, |item| item.node), error.to_string(), NAMES);
        }
        files
    }

    fn secret(&mut self, fields: &Fields<'_>) -> Option<Secret> {
        let of = |key: &str| fields.text(key).map(str::to_owned);
        let secret = of("value")
            .map(Secret::Value)
            .or_else(|| of("env").map(Secret::Environment))
            .or_else(|| fields.text("file").map(|_| Secret::File(self.file(fields, "file"))))?;
        if let Some(reason) = self.examines.then(|| secret.read().err()).flatten() {
            self.fault(
                fields.node,
                format!("there is no token: {reason}"),
                "gateways have to send one that is not empty",
            );
        }
        Some(secret)
    }

    /// Reports what is wrong with the policy of a detector that has counters of these ids.
    pub fn examine(&mut self, fields: &Fields<'_>, config: &PolicyConfig, counters: &[String]) {
        let Some(item) = fields.get("policy").filter(|_| self.examines) else { return };
        if let Err(error) = std::fs::metadata(&config.policy) {
            return self.fault(item.node, format!("{}: {error}", config.policy.display()), NAMES);
        }
        let snapshot = match Snapshot::load(&config.policy) {
            Ok(snapshot) => snapshot,
            Err(errors) => return errors.errors().iter().for_each(|error| self.reporter.push(error.clone())),
        };
        for item in fields.items("apply") {
            let Value::Text(name) = item.value else { continue };
            if let Err(error) = snapshot.plan(&[name]) {
                self.fault(item.node, error.to_string(), "`apply` names policies of the file");
            }
        }
        if let Some((message, hint)) = policy::unknown_counter(&snapshot, config, counters) {
            self.fault(item.node, message, hint);
        }
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
