//! The engines that can be asked, how nginx is configured for each, and how its log is read.
//!
//! Both run with CRS as Debian packages it, or with that of a checkout, paranoia 4, detection only, as
//! CRS's own CI does, on the same nginx: everything that is not about the engine is alike.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use weir_measure::child::{Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::{Site, write};

/// Where Debian's `modsecurity-crs` puts the rules.
pub const CRS: &str = "/usr/share/modsecurity-crs";
/// Where it puts CRS's settings.
pub const SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";
/// Best fits of `%uHHHH`, as Debian packages them for nginx.
const UNICODE_MAP: &str = "/etc/nginx/unicode.mapping";
const MODSECURITY_MODULE: &str = "ngx_http_modsecurity_module.so";
const ACCESS_LOG: &str = "conformance-access.log";
const ERROR_LOG: &str = "conformance-error.log";
const ATTACK_LOG: &str = "conformance-attack.log";

/// The engine under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Weir's own
    Weir,
    /// ModSecurity v3, Debian's package
    Modsecurity,
    /// None: how many cases bare nginx passes
    Nginx,
}

/// The rules that an engine reported for one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineReport {
    /// Ids of the rules that matched, sorted.
    pub rules: Vec<u64>,
    /// Why nginx refused the request by itself, in its own words.
    pub refused: Option<String>,
}

impl Engine {
    /// Its name, as typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Weir => "weir",
            Self::Modsecurity => "modsecurity",
            Self::Nginx => "nginx",
        }
    }

    /// Starts nginx with it and with these rules, before an origin that answers 200.
    pub fn start(self, site: &Site, rules: &RuleSource, paranoia: u8) -> Result<Server, MeasureError> {
        let directory = site.directory_of(self.name())?;
        let setup = directory.join("crs-setup.conf");
        if self != Self::Nginx {
            write(&setup, &rules.setup(paranoia)?)?;
        }
        let mut parts = NginxParts { directory: directory.clone(), ..NginxParts::default() };
        parts.http = format!(
            "  error_log {ERROR_LOG} info;\n\
             \x20 log_format conformance '$remote_port $connection {id}';\n",
            id = if self == Self::Weir { "$weir_request_id" } else { "-" }
        );
        parts.server = format!("    access_log {ACCESS_LOG} conformance;\n    keepalive_timeout 0;\n");
        match self {
            Self::Weir => weir(site, rules, &setup, paranoia, &mut parts)?,
            Self::Modsecurity => modsecurity(site, rules, &setup, &mut parts)?,
            Self::Nginx => {}
        }
        nginx::start_proxy(site, self.name(), parts)
    }

    /// What it said about each connection, by the client's port. To be asked when nginx has ended.
    pub fn said(self, directory: &Path) -> Result<HashMap<u16, EngineReport>, MeasureError> {
        let text = |name: &str| {
            let path = directory.join(name);
            let bytes = std::fs::read(&path).map_err(MeasureError::file(&path))?;
            Ok::<_, MeasureError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (access, errors) = (text(ACCESS_LOG)?, text(ERROR_LOG)?);
        let attacks = if self == Self::Weir { text(ATTACK_LOG)? } else { String::new() };
        Ok(read_logs(&access, &errors, &attacks))
    }
}

/// The rules that an engine runs.
#[derive(Clone, Debug)]
pub struct RuleSource {
    /// Directory with `rules/`.
    pub directory: PathBuf,
    is_checkout: bool,
}

impl RuleSource {
    /// CRS 3 as Debian packages it.
    #[must_use]
    pub fn packaged() -> Self {
        Self { directory: CRS.into(), is_checkout: false }
    }

    /// A checkout of CRS 4.
    #[must_use]
    pub fn checkout(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), is_checkout: true }
    }

    /// CRS's settings as they come, the paranoia level, what CRS's CI sets and some cases rely on, and the
    /// code page of ModSecurity's recommended configuration.
    pub fn setup(&self, paranoia: u8) -> Result<String, MeasureError> {
        if !self.directory.join("rules").exists() {
            let place = self.directory.display();
            return Err(MeasureError::Missing(format!("{place} is not there; `scripts/setup.sh` installs it")));
        }
        let file = if self.is_checkout { self.directory.join("crs-setup.conf.example") } else { SETUP.into() };
        let own = std::fs::read_to_string(&file).map_err(MeasureError::file(&file))?;
        let map = Some(UNICODE_MAP).filter(|it| Path::new(it).exists());
        let map = map.map_or_else(String::new, |it| format!("SecUnicodeMapFile {it} 20127"));
        let set = if self.is_checkout { CHECKOUT_SETTINGS } else { PACKAGED_SETTINGS };
        let set: Vec<String> = set.iter().map(|name| format!("setvar:tx.{name}")).collect();
        let set = set.join(",").replace("PARANOIA", &paranoia.to_string());
        Ok(format!("{own}\n{map}\nSecAction \"id:900005,phase:1,nolog,pass,t:none,{set}\"\n"))
    }
}

/// What the container of CRS 3's CI sets.
const PACKAGED_SETTINGS: &[&str] =
    &["paranoia_level=PARANOIA", "executing_paranoia_level=PARANOIA", "combined_file_sizes=65535"];
/// What the cases of CRS 4 ask for (tests/regression/README.md).
const CHECKOUT_SETTINGS: &[&str] = &[
    "blocking_paranoia_level=PARANOIA",
    "detection_paranoia_level=PARANOIA",
    "crs_validate_utf8_encoding=1",
    "arg_name_length=100",
    "arg_length=400",
    "total_arg_length=64000",
    "max_num_args=255",
    "max_file_size=64100",
    "combined_file_sizes=65535",
];

/// Starts albedo, the origin of CRS 4's cases: it answers what a request asks it to.
pub fn start_albedo(site: &Site, program: &Path) -> Result<Server, MeasureError> {
    let directory = site.directory_of("origin")?;
    let child = Child::start(Launch {
        program: OsStr::new(program),
        arguments: ["--bind", "127.0.0.1", "--port", &site.origin_port.to_string()].map(Into::into).to_vec(),
        environment: Vec::new(),
        core: site.placement.load,
        nice: site.placement.nice,
        output: directory.join("albedo.out"),
    })?;
    Server::adopt(child, site.origin_port, directory, Vec::new(), false)
}

fn weir(
    site: &Site,
    rules: &RuleSource,
    setup: &Path,
    paranoia: u8,
    parts: &mut NginxParts,
) -> Result<(), MeasureError> {
    parts.modules.push(site.weir_module()?);
    let policy = site.write_policy("crs", &weir_policy(rules, setup, paranoia), &[])?;
    let runtime = parts.directory.join("run");
    parts.http += &format!("  weir_policy {};\n  weir_runtime {};\n", policy.display(), runtime.display());
    let log = parts.directory.join(ATTACK_LOG);
    parts.server += &format!(
        "    weir on;\n    weir_apply crs;\n    weir_body_limit 16m;\n    weir_attack_log {} buffer=64k flush=1s;\n",
        log.display()
    );
    Ok(())
}

/// A policy that runs CRS and changes nothing.
#[must_use]
pub fn weir_policy(rules: &RuleSource, setup: &Path, paranoia: u8) -> String {
    // Only CRS 4 has cases about the bodies of responses.
    let more = if rules.is_checkout { ", response_body: true" } else { "" };
    format!(
        "policies:\n  - id: crs\n    mode: detect\n    rules:\n      - id: crs\n        when: \"true\"\n        \
         action: {{crs: {{path: {}, setup: {}, paranoia: {paranoia}, inbound_threshold: 5, outbound_threshold: 4{more}}}}}\n",
        rules.directory.display(),
        setup.display()
    )
}

fn modsecurity(site: &Site, rules: &RuleSource, setup: &Path, parts: &mut NginxParts) -> Result<(), MeasureError> {
    parts.modules.extend(site.nginx_modules(&[MODSECURITY_MODULE])?);
    let file = parts.directory.join("rules.conf");
    write(&file, &modsecurity_rules("DetectionOnly", &rules.directory, setup))?;
    parts.server += &format!("    modsecurity on;\n    modsecurity_rules_file {};\n", file.display());
    Ok(())
}

/// Debian's recommended configuration with the engine set to `mode`, nothing written to the audit
/// log, and CRS of a directory with the given settings.
#[must_use]
pub fn modsecurity_rules(mode: &str, crs: &Path, setup: &Path) -> String {
    let recommended = std::fs::read_to_string("/etc/nginx/modsecurity.conf").unwrap_or_default();
    let kept = recommended.lines().filter(|line| !line.starts_with("SecUnicodeMapFile"));
    format!(
        "{}\nSecRuleEngine {mode}\nSecAuditEngine Off\nSecUnicodeMapFile {UNICODE_MAP} 20127\n\
         Include {}\nInclude {}/rules/*.conf\n",
        kept.collect::<Vec<_>>().join("\n"),
        setup.display(),
        crs.display()
    )
}

/// Joins the three logs: port and connection from the access log, rules by connection (error log)
/// or by request id (attack log).
fn read_logs(access: &str, errors: &str, attacks: &str) -> HashMap<u16, EngineReport> {
    let (mut by_connection, refused) = connections(errors);
    let mut by_request = requests(attacks);
    let mut said: HashMap<u16, EngineReport> = HashMap::new();
    for line in access.lines() {
        let mut fields = line.split(' ');
        let (Some(port), Some(connection)) = (fields.next().and_then(|it| it.parse().ok()), fields.next()) else {
            continue;
        };
        let one: &mut EngineReport = said.entry(port).or_default();
        one.rules.extend(by_connection.remove(connection).unwrap_or_default());
        one.rules.extend(fields.next().and_then(|id| by_request.remove(id)).unwrap_or_default());
        one.rules.sort_unstable();
        one.rules.dedup();
        one.refused = refused.get(connection).map(|&words| words.to_owned());
    }
    said
}

/// From nginx's error log: rules that ModSecurity reported, and why nginx refused a request, by
/// the connection's number.
fn connections(errors: &str) -> (HashMap<&str, Vec<u64>>, HashMap<&str, &str>) {
    let (mut rules, mut refused): (HashMap<&str, Vec<u64>>, HashMap<&str, &str>) = Default::default();
    for line in errors.lines() {
        // "... [info] 12#12: *34 message"
        let Some((connection, message)) = line.split_once(": *").and_then(|(_, rest)| rest.split_once(' ')) else {
            continue;
        };
        if message.starts_with("ModSecurity: ") {
            if let Some(id) = message.split_once("[id \"").and_then(|(_, rest)| rest.split('"').next()?.parse().ok()) {
                rules.entry(connection).or_default().push(id);
            }
        } else if message.starts_with("client sent") {
            refused.insert(connection, message.split(", client: ").next().unwrap_or(message));
        }
    }
    (rules, refused)
}

/// From Weir's attack log: the rules of each request, by its id. Rule ids are numbers or texts;
/// those of rules that are no SecLang rules are not numbers and left out.
fn requests(attacks: &str) -> HashMap<String, Vec<u64>> {
    let mut found: HashMap<String, Vec<u64>> = HashMap::new();
    for line in attacks.lines() {
        let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let Some(id) = entry["request_id"].as_str() else { continue };
        let number = |value: &serde_json::Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
        let rules = entry["rule_ids"].as_array().into_iter().flatten().filter_map(number);
        found.entry(id.to_owned()).or_default().extend(rules);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_find_their_way_from_either_log_to_the_clients_port() {
        let access = "40001 7 abc\n40002 8 def\n40003 9 -\nbroken\n";
        let errors = "2026/11/22 00:00:00 [info] 5#5: *7 ModSecurity: Warning. Matched \"x [id\" [file \"f\"] [id \"942100\"] [msg \"m\"]\n\
            2026/11/22 00:00:00 [info] 5#5: *7 ModSecurity: Warning. [id \"920350\"]\n\
            2026/11/22 00:00:00 [info] 5#5: *9 client sent invalid method while reading client request line, client: 127.0.0.1\n\
            2026/11/22 00:00:00 [notice] 5#5: exit\n";
        let attacks = "{\"request_id\":\"def\",\"rule_ids\":[\"crs\",\"920270\",949110]}\nnot json\n";
        let said = read_logs(access, errors, attacks);
        assert_eq!(said[&40001], EngineReport { rules: vec![920_350, 942_100], refused: None });
        assert_eq!(said[&40002].rules, [920_270, 949_110]);
        let words = "client sent invalid method while reading client request line";
        assert_eq!(said[&40003], EngineReport { rules: vec![], refused: Some(words.into()) });
    }
}
