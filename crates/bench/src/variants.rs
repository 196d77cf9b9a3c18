//! Everything that is compared, one row each: a new peer is one new row.

use std::path::Path;

use crate::conformance::engine::{CRS, SETUP, modsecurity_rules};
use crate::log_fields;
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::workload;

/// What a variant promises to do, which is checked before it is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Passes everything on.
    Pass,
    /// Blocks the attack of every rule, the listed address and the blocked country.
    Policy,
    /// Blocks what the CRS calls an attack.
    Crs,
}

/// A row of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in the results.
    pub name: &'static str,
    /// The work that it promises to do.
    pub duty: Duty,
    /// Whether it writes a log of 33 fields named `access.log`.
    pub logs: bool,
    /// nginx modules that it loads: file names in nginx's module directory.
    modules: &'static [&'static str],
    kind: Program,
}

#[derive(Clone, Copy, Debug)]
enum Program {
    Origin,
    Haproxy,
    Nginx(fn(&Site, &mut NginxParts)),
    Weir(fn(&Site, &mut NginxParts)),
}

const LUA: &[&str] = &["ndk_http_module.so", "ngx_http_lua_module.so", "ngx_http_geoip2_module.so"];
const MODSECURITY: &[&str] = &["ngx_http_modsecurity_module.so"];

/// The name of the row that all ratios refer to.
pub const BASELINE: &str = "nginx";

/// The table.
pub const VARIANTS: &[Variant] = &[
    row("direct", Duty::Pass, false, &[], Program::Origin),
    row(BASELINE, Duty::Pass, false, &[], Program::Nginx(|_, _| {})),
    row("nginx-json-log", Duty::Pass, true, &[], Program::Nginx(json_log)),
    row("haproxy", Duty::Pass, false, &[], Program::Haproxy),
    row("lua-before", Duty::Policy, true, LUA, Program::Nginx(|site, parts| lua(site, parts, "before"))),
    row("lua-after", Duty::Policy, true, LUA, Program::Nginx(|site, parts| lua(site, parts, "after"))),
    row("modsecurity-crs", Duty::Crs, false, MODSECURITY, Program::Nginx(modsecurity)),
    row("weir-silent", Duty::Pass, false, &[], Program::Weir(|site, parts| weir(site, parts, "weir_apply rs;"))),
    row("weir-idle", Duty::Pass, false, &[], Program::Weir(|site, parts| weir(site, parts, "weir_apply none;"))),
    row("weir-rs", Duty::Policy, false, &[], Program::Weir(weir_rs)),
    row("weir-rs-log", Duty::Policy, true, &[], Program::Weir(weir_rs_log)),
];

const fn row(name: &'static str, duty: Duty, logs: bool, modules: &'static [&'static str], kind: Program) -> Variant {
    Variant { name, duty, logs, modules, kind }
}

impl Variant {
    /// Whether it runs Weir.
    #[must_use]
    pub fn is_weir(&self) -> bool {
        matches!(self.kind, Program::Weir(_))
    }

    /// Starts it under the name of a row; `None` for the origin, which runs in any case.
    /// [`MeasureError::Missing`] if it is not installed here.
    pub fn start(&self, site: &Site, name: &str) -> Result<Option<Server>, MeasureError> {
        let modules = site.nginx_modules(self.modules)?;
        let mut parts = NginxParts { modules, directory: site.directory_of(name)?, ..NginxParts::default() };
        if self.logs {
            parts.logs.push(parts.directory.join("access.log"));
        }
        match self.kind {
            Program::Origin => return Ok(None),
            Program::Haproxy => return crate::haproxy::start(site, name).map(Some),
            Program::Nginx(fill) => fill(site, &mut parts),
            Program::Weir(fill) => {
                parts.modules.push(site.module_of(name)?);
                fill(site, &mut parts);
            }
        }
        let server = nginx::start_proxy(site, name, parts)?;
        if self.name == "weir-silent" {
            crate::silence::set(&server.directory.join("run"))?;
        }
        Ok(Some(server))
    }
}

fn json_log(_: &Site, parts: &mut NginxParts) {
    parts.http = log_fields::log_format();
    parts.server = "    access_log access.log rs buffer=64k flush=1s;\n".into();
}

/// The client's address as a Lua product behind a load balancer gets it: nginx's realip module.
const REAL_ADDRESS: &str = "  set_real_ip_from 127.0.0.0/8;\n  real_ip_header X-Forwarded-For;\n";

/// A Lua peer in front of the origin: the expression `peer` loads it, `setup` is called on it at the start, such as
/// `.configure {}`, and its `run` for each request.
pub fn start_lua(site: &Site, name: &str, peer: &str, setup: &str) -> Result<Server, MeasureError> {
    let parts = NginxParts {
        modules: site.nginx_modules(&LUA[..2])?,
        http: format!(
            "  lua_package_path '{}/?.lua;;';\n  init_by_lua_block {{ require 'resty.core'; {peer}{setup} }}\n",
            site.path("lua").display()
        ),
        server: format!("    access_by_lua_block {{ return {peer}.run() }}\n"),
        directory: site.directory_of(name)?,
        ..NginxParts::default()
    };
    nginx::start_proxy(site, name, parts)
}

fn lua(site: &Site, parts: &mut NginxParts, flavour: &str) {
    parts.http = format!(
        "{REAL_ADDRESS}  geoip2 {database} {{ $geoip2_country_code source=$remote_addr country iso_code; }}\n\
         \x20 lua_package_path '{lua}/?.lua;;';\n  lua_regex_cache_max_entries 4096;\n\
         \x20 init_by_lua_block {{ require 'resty.core'; require '{flavour}.access' }}\n\
         \x20 init_worker_by_lua_block {{ require('{flavour}.log').open('{log}') }}\n",
        database = workload::country_database(site).display(),
        lua = site.path("lua").display(),
        log = parts.logs[0].display(),
    );
    parts.server = format!(
        "    access_by_lua_block {{ return require('{flavour}.access').run() }}\n\
         \x20   log_by_lua_block {{ require('{flavour}.log').run() }}\n"
    );
}

/// Debian's recommended configuration and CRS as they are, with three changes: the engine
/// blocks instead of only detecting, nothing goes to the audit log, and the scratch files lie
/// in our directory.
fn modsecurity(_: &Site, parts: &mut NginxParts) {
    let rules = modsecurity_rules("On", Path::new(CRS), Path::new(SETUP));
    // A failure shows when nginx does not find the file.
    let path = parts.directory.join("rules.conf");
    let _ = weir_measure::site::write(&path, &rules);
    parts.server = format!("    modsecurity on;\n    modsecurity_rules_file {};\n", path.display());
}

/// Starts nginx with Weir and a policy named `rs` from another file, without logs.
pub fn start_weir(site: &Site, name: &str, policy: &Path) -> Result<Server, MeasureError> {
    let mut parts =
        NginxParts { modules: vec![site.weir_module()?], directory: site.directory_of(name)?, ..NginxParts::default() };
    weir_with(policy, &mut parts, "weir_apply rs;");
    // The body rows want a megabyte inspected, not waved through.
    parts.server.push_str("    weir_body_limit 2m;\n");
    nginx::start_proxy(site, name, parts)
}

/// The soak's configuration: the RS policy with every log.
pub fn weir_soak(site: &Site, parts: &mut NginxParts) -> Result<(), MeasureError> {
    parts.modules.push(site.weir_module()?);
    weir(site, parts, "weir_apply rs;");
    for (directive, file) in [("weir_access_log", "access.log"), ("weir_attack_log", "attack.log")] {
        let path = parts.directory.join(file);
        parts.server.push_str(&format!("    {directive} {};\n", path.display()));
        parts.logs.push(path);
    }
    let heartbeat = parts.directory.join("heartbeat.log");
    parts.http.push_str(&format!("  weir_heartbeat_log {} interval=1s;\n", heartbeat.display()));
    parts.logs.push(heartbeat);
    Ok(())
}

fn weir(site: &Site, parts: &mut NginxParts, apply: &str) {
    weir_with(&site.policy(workload::NAME), parts, apply);
}

fn weir_with(policy: &Path, parts: &mut NginxParts, apply: &str) {
    let runtime = parts.directory.join("run");
    parts.http = format!("  weir_policy {};\n  weir_runtime {};\n", policy.display(), runtime.display());
    parts.server = format!("    weir on;\n    {apply}\n");
}

/// The whole pipeline: as the Lua peers do, it tells the origin the request id.
fn weir_rs(site: &Site, parts: &mut NginxParts) {
    weir(site, parts, "weir_apply rs;");
    parts.location = " proxy_set_header X-Request-Id $weir_request_id;".into();
}

/// The 33 fields that the Lua peers write too; Weir's own default has more.
const LOG_FIELDS: &str = "time,request_id,client,country,server_addr,server_port,host,method,path,args,uri,protocol,\
    scheme,status,bytes_sent,body_bytes_sent,request_length,request_time_us,upstream_addr,upstream_status,\
    upstream_response_ms,upstream_connect_ms,upstream_header_ms,user_agent,referer,cookie,x_forwarded_for,\
    content_type,content_length,connection,connection_requests,verdict,rule";

fn weir_rs_log(site: &Site, parts: &mut NginxParts) {
    weir_rs(site, parts);
    let path = parts.logs[0].display();
    parts.server.push_str(&format!("    weir_access_log {path} fields={LOG_FIELDS} buffer=64k flush=1s;\n"));
}
