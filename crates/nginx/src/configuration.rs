//! Configuration: what the directives say, inherited from outer to inner levels, and what it
//! comes to for each location.
//!
//! The policy is loaded once per configuration, before nginx merges its levels, so that each
//! location can be given its compiled plan. Everything lives in the cycle's pool: when the last
//! process is done with a cycle, its policy, plans and mappings are freed with it.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::{ngx_conf_t, ngx_int_t, ngx_shm_zone_t};
use weir_bus::streams::Streams;
use weir_collections::{Counts, Table};
use weir_directives::{DEFAULT_BODY_LIMIT, DEFAULT_MESSAGES_ZONE_BYTES, DEFAULT_RUNTIME, DEFAULT_SAMPLE};
use weir_engine::seclang::Collections;
use weir_engine::{NonceTable, Plan, RateTable};
use weir_http::header_hash;
use weir_ledger::{Control, Ledger};

use crate::diagnostic::Level;
use crate::live::Link;
use crate::log::{AccessLog, Heartbeat, LogFile};
use crate::policy::{Needs, Placed, Policies};
use crate::{
    abi, bans, body_filter, directive, fault, ffi, gateway, header_filter, log, phase, policy, request_filter, shared,
    upgraded, variable,
};

/// Whether a location is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    #[default]
    Off,
    /// Actions are carried out.
    On,
    /// Actions are only logged.
    Detect,
}

/// The response to faults, and to requests that rules cannot read completely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailMode {
    /// The request passes.
    #[default]
    Open,
    /// The request is refused.
    Closed,
}

/// The fault that a test wants: where there is a panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nowhere.
    #[default]
    Never,
    /// While the request's header is evaluated.
    Request,
    /// While its body is.
    Body,
    /// While the response is.
    Response,
    /// While the logs are written.
    Log,
    /// No panic: memory of a request that has ended is read.
    #[cfg(weir_asan)]
    UseAfterEnd(crate::planted::Memory),
}

/// Set, at nginx's start, to honour `weir_inject_panic`.
const TESTING: &str = "WEIR_TESTING";

/// The request header that may bring a request id.
pub struct InboundId {
    /// Header name in lower case.
    pub name: Vec<u8>,
    /// Hash of the name.
    pub hash: u64,
    /// Whether every peer may set the id, not only trusted proxies.
    pub from_any: bool,
}

impl InboundId {
    /// Takes the header's name in upper or lower case.
    pub fn new(name: &str, from_any: bool) -> Self {
        let name = name.to_ascii_lowercase().into_bytes();
        Self { hash: header_hash(&name), name, from_any }
    }
}

/// The configuration of `http`, and what belongs to the whole cycle.
#[derive(Default)]
pub struct Main {
    /// `weir_policy`
    pub policy_path: Option<PathBuf>,
    /// `weir_runtime`
    pub runtime: Option<PathBuf>,
    /// `weir_log_level`
    pub log_level: Option<Level>,
    /// `weir_rate_limit_zone`
    pub zone_bytes: Option<usize>,
    /// `weir_collections_zone`
    pub collections_bytes: Option<usize>,
    /// `weir_nonce_zone`
    pub nonce_bytes: Option<usize>,
    /// `weir_messages_zone`; `Some(None)` is `off`.
    pub messages_zone: Option<Option<usize>>,
    /// `weir_sample`
    pub sample: Option<u32>,
    /// `weir_request_id_header`
    pub inbound_id: Option<InboundId>,
    /// `weir_heartbeat_log`
    pub heartbeat: Option<Option<Heartbeat>>,
    /// The policy of `weir_policy`, with every plan that some location uses.
    pub policies: Option<Policies>,
    /// Whether some server is a gateway: its policies come from control, while nginx runs.
    pub gateway: bool,
    /// Whether logs read our own address, which may cost a system call per connection.
    pub reads_server_address: bool,
    /// Whether any location is evaluated.
    pub evaluates: bool,
    /// Whether any location evaluates or changes responses.
    pub touches_response: bool,
    /// Whether any location writes an access log.
    pub logs: bool,
    /// Whether `weir_inject_panic` is honoured.
    pub testing: bool,
    /// Every log file, for the last flush.
    pub files: Vec<*mut LogFile>,
    /// Shared memory of the rate limits, if there are any.
    pub zone: Option<ptr::NonNull<ngx_shm_zone_t>>,
    /// The table in it, once a worker has asked for it.
    pub rates: OnceCell<Option<RateTable<'static>>>,
    /// Shared memory of the collections of rule sets, if there are any.
    pub collections_zone: Option<ptr::NonNull<ngx_shm_zone_t>>,
    /// The table in it, once a worker has asked for it.
    pub collections: OnceCell<Option<Table<'static>>>,
    /// Shared memory of the nonces, if an action refuses replays.
    pub nonce_zone: Option<ptr::NonNull<ngx_shm_zone_t>>,
    /// The table in it, once a worker has asked for it.
    pub nonces: OnceCell<Option<NonceTable<'static>>>,
    /// The losses that the error log has reported, and when.
    pub losses_said: Cell<(u64, Counts)>,
    /// Whether a rule set may want to see bodies of responses.
    pub holds_responses: bool,
    /// The journal of what control wants, and the bus, of a gateway.
    pub link: Option<Link>,
    /// Who is banned; `None` if the table could not be opened, which has been logged.
    pub bans: Option<bans::Table>,
    /// Messages for clients; `None` if they are off or their memory could not be had, which has been logged.
    pub messages: Option<Arc<Streams>>,
    /// Counters and switches; `None` if they could not be opened, which has been logged.
    pub control: Option<Arc<Control>>,
    /// The ledger of this cycle.
    pub ledger: Option<Arc<Ledger>>,
}

impl Main {
    /// The directory of counters and switches.
    pub fn runtime_dir(&self) -> &Path {
        self.runtime.as_deref().unwrap_or(Path::new(DEFAULT_RUNTIME))
    }

    /// Every how many requests one is timed.
    pub fn sample_every(&self) -> u32 {
        self.sample.unwrap_or(DEFAULT_SAMPLE)
    }

    /// The size of the memory for messages; `None` if there is to be none.
    pub fn messages_bytes(&self) -> Option<usize> {
        self.messages_zone.unwrap_or(Some(DEFAULT_MESSAGES_ZONE_BYTES))
    }

    /// The revision of `weir_policy`, or nothing.
    pub fn revision(&self) -> &str {
        self.policies.as_ref().map_or("", |policies| policies.snapshot().revision())
    }

    /// The table of rate limits.
    pub fn rate_table(&self) -> Option<&RateTable<'static>> {
        let zone = self.zone?;
        self.rates.get_or_init(|| shared::table(zone)).as_ref()
    }

    /// The table of nonces.
    pub fn nonce_table(&self) -> Option<&NonceTable<'static>> {
        let zone = self.nonce_zone?;
        self.nonces.get_or_init(|| shared::nonces(zone)).as_ref()
    }

    /// The collections of rule sets.
    pub fn collections(&self) -> Option<&dyn Collections> {
        Some(self.collections_table()?)
    }

    /// The table behind [`Self::collections`], for reports.
    pub fn collections_table(&self) -> Option<&Table<'static>> {
        let zone = self.collections_zone?;
        self.collections.get_or_init(|| shared::collections(zone)).as_ref()
    }
}

/// The directives of one level; `None` inherits.
#[derive(Clone, Default)]
pub struct Settings {
    /// `weir`
    pub mode: Option<Mode>,
    /// `weir_apply`; empty for `none`
    pub apply: Option<Vec<String>>,
    /// `weir_fail`
    pub fail: Option<FailMode>,
    /// `weir_bounds`
    pub bounds: Option<FailMode>,
    /// `weir_body_limit`
    pub body_limit: Option<usize>,
    /// `weir_access_log`
    pub access_log: Option<Option<Rc<AccessLog>>>,
    /// `weir_attack_log`
    pub attack_log: Option<Option<*mut LogFile>>,
    /// `weir_inject_panic`
    pub inject: Option<InjectedFault>,
}

impl Settings {
    /// Takes from the outer level what this one does not set. Destructured, so that no field is forgotten.
    fn inherit(&mut self, outer: &Self) {
        let Self { mode, apply, fail, bounds, body_limit, access_log, attack_log, inject } = outer;
        self.mode = self.mode.or(*mode);
        self.apply = self.apply.take().or_else(|| apply.clone());
        self.fail = self.fail.or(*fail);
        self.bounds = self.bounds.or(*bounds);
        self.body_limit = self.body_limit.or(*body_limit);
        self.access_log = self.access_log.take().or_else(|| access_log.clone());
        self.attack_log = self.attack_log.or(*attack_log);
        self.inject = self.inject.or(*inject);
    }
}

/// The configuration of one location, server or `http`.
#[derive(Default)]
pub struct Location {
    /// As written and inherited.
    pub settings: Settings,
    /// Whether it is evaluated.
    pub mode: Mode,
    /// The rules that are evaluated.
    pub rules: LocationRules,
    /// The response to faults.
    pub fail: FailMode,
    /// The response to requests that rules cannot read completely.
    pub bounds: FailMode,
    /// Bytes of a body that rules see.
    pub body_limit: usize,
    /// Access log.
    pub access_log: Option<Rc<AccessLog>>,
    /// Attack log.
    pub attack_log: Option<*mut LogFile>,
    /// The injected fault.
    pub inject: InjectedFault,
}

/// The rules that are evaluated in a location.
#[derive(Default)]
pub enum LocationRules {
    /// Nothing.
    #[default]
    None,
    /// Policies of `weir_policy`.
    Fixed(Placed),
    /// The policies of the route: one of the locations that `weir_gateway` makes.
    OfRoute,
    /// The policies of the host's site: another location of a server with `weir_gateway`.
    OfHost,
}

/// nginx's `preconfiguration`: makes sure that this is the nginx we were built for, and makes our variables known.
pub unsafe extern "C" fn prepare(cf: *mut ngx_conf_t) -> ngx_int_t {
    fault::install_hook();
    // SAFETY: nginx's core comes before other modules.
    if let Some(Err(message)) = fault::contain("comparison of structures", || unsafe { abi::check(cf) }) {
        directive::refuse(cf, &message);
        return ffi::code::ERROR;
    }
    variable::add_all(cf)
}

/// nginx's `create_main_conf`.
pub unsafe extern "C" fn create_main(cf: *mut ngx_conf_t) -> *mut c_void {
    let main = Main { testing: std::env::var_os(TESTING).is_some(), ..Main::default() };
    // SAFETY: the cycle's pool.
    unsafe { ffi::keep((*cf).pool, main) }.map_or(ptr::null_mut(), |main| main.cast())
}

/// nginx's `create_loc_conf`.
pub unsafe extern "C" fn create_location(cf: *mut ngx_conf_t) -> *mut c_void {
    // SAFETY: the cycle's pool.
    unsafe { ffi::keep((*cf).pool, Location::default()) }.map_or(ptr::null_mut(), |location| location.cast())
}

/// nginx's `init_main_conf`: everything in `http` has been read; loads the policy.
pub unsafe extern "C" fn init_main(cf: *mut ngx_conf_t, conf: *mut c_void) -> *mut c_char {
    // SAFETY: our own configuration.
    let main = unsafe { &mut *conf.cast::<Main>() };
    let loaded = fault::contain("policy loading", || policy::load(cf, main));
    match loaded {
        Some(Ok(())) => ptr::null_mut(),
        Some(Err(message)) => directive::refuse(cf, &message),
        None => usize::MAX as *mut c_char,
    }
}

/// nginx's `merge_loc_conf`: inherits, and works out what it comes to.
pub unsafe extern "C" fn merge_location(cf: *mut ngx_conf_t, parent: *mut c_void, child: *mut c_void) -> *mut c_char {
    // SAFETY: both are ours, and merged within a server; the outer one has been merged already or is that of `http`.
    let (main, outer, inner, is_beside) = unsafe {
        let (outer, inner) = (&*parent.cast::<Location>(), &mut *child.cast::<Location>());
        (&mut *ffi::main_of(cf), outer, inner, gateway::is_on(cf))
    };
    match fault::contain("configuration", || inner.merge(&outer.settings, main, is_beside)) {
        Some(Ok(())) => ptr::null_mut(),
        Some(Err(message)) => directive::refuse(cf, &message),
        None => usize::MAX as *mut c_char,
    }
}

impl Location {
    /// Whether requests that rules cannot read completely are refused: policies that only detect refuse nothing.
    pub fn refuses_unreadable(&self, plan: &Plan) -> bool {
        self.bounds == FailMode::Closed && self.mode == Mode::On && plan.may_refuse()
    }

    /// Whether the plan's rules change nothing: neither request nor response has to wait for them.
    pub fn only_detects(&self, plan: &Plan) -> bool {
        self.mode == Mode::Detect || plan.only_detects()
    }

    /// Whether it is one of the locations that `weir_gateway` makes.
    #[inline]
    pub fn is_gateway(&self) -> bool {
        matches!(self.rules, LocationRules::OfRoute)
    }

    /// Whether its policies come from the live configuration.
    #[inline]
    pub fn is_live(&self) -> bool {
        matches!(self.rules, LocationRules::OfRoute | LocationRules::OfHost)
    }

    /// The plan that does not depend on the request.
    pub fn fixed_plan(&self) -> Option<&Placed> {
        match &self.rules {
            LocationRules::Fixed(placed) => Some(placed),
            LocationRules::None | LocationRules::OfRoute | LocationRules::OfHost => None,
        }
    }

    /// `is_beside`: whether its server has `weir_gateway on`. There, only `weir off` leaves a location without policies,
    /// and only `weir_apply`, or an explicit mode beside a `weir_policy`, gives it other policies than the site's.
    fn merge(&mut self, outer: &Settings, main: &mut Main, is_beside: bool) -> Result<(), String> {
        let is_gateway = self.is_gateway();
        let settings = &mut self.settings;
        settings.inherit(outer);

        main.gateway |= is_gateway;
        let is_of_file = settings.apply.is_some() || (settings.mode.is_some() && main.policies.is_some());
        self.mode = settings.mode.unwrap_or(if is_gateway || is_beside { Mode::On } else { Mode::Off });
        self.fail = settings.fail.unwrap_or_default();
        self.bounds = settings.bounds.unwrap_or(FailMode::Closed);
        self.body_limit = settings.body_limit.unwrap_or(DEFAULT_BODY_LIMIT);
        self.inject = if main.testing { settings.inject.unwrap_or_default() } else { InjectedFault::Never };
        if self.mode == Mode::Off && !is_gateway {
            return Ok(());
        }
        self.access_log = settings.access_log.clone().flatten();
        self.attack_log = settings.attack_log.flatten();
        main.logs |= self.access_log.is_some();
        match (is_gateway, is_beside && !is_of_file) {
            (true, _) => {}
            (false, true) => self.rules = LocationRules::OfHost,
            (false, false) => self.choose_plan(main)?,
        }
        Ok(())
    }

    fn choose_plan(&mut self, main: &mut Main) -> Result<(), String> {
        let Some(policies) = &mut main.policies else {
            return match &self.settings.apply {
                Some(names) if !names.is_empty() => Err("\"weir_apply\" needs a \"weir_policy\"".into()),
                _ => Ok(()),
            };
        };
        let all = || policies.snapshot().policy_names().map(str::to_owned).collect();
        let names = self.settings.apply.clone().unwrap_or_else(all);
        let placed = policies.place(&names).map_err(|error| format!("\"weir_apply\": {error}"))?;
        if placed.plan.is_empty() {
            return Ok(());
        }
        main.evaluates = true;
        main.touches_response |= placed.plan.touches_response();
        self.rules = LocationRules::Fixed(placed.clone());
        Ok(())
    }
}

/// Prepares for everything that later policies of a gateway may need.
fn expect_anything(cf: *mut ngx_conf_t, main: &mut Main) -> Option<()> {
    main.evaluates = true;
    main.touches_response = true;
    main.holds_responses = true;
    let all = Needs { rate_limits: true, nonces: true, collections: true, ..Needs::default() };
    policy::add_memory(cf, main, all).map_err(|message| directive::refuse(cf, &message)).ok()
}

/// Refuses to take over from workers that serve what this build could not read. An nginx that starts does so: its
/// gateways answer 503 until control is of the same version, but its other servers serve.
fn check_journal(cf: *mut ngx_conf_t, main: &Main) -> Option<()> {
    let Some(error) = crate::live::other_format(main.runtime_dir()) else { return Some(()) };
    // SAFETY: nginx keeps the cycle before; the first one has no configuration. The flag is set when nginx starts.
    let takes_over = unsafe { nginx_sys::ngx_inherited != 0 || !(*(*(*cf).cycle).old_cycle).conf_ctx.is_null() };
    if takes_over {
        directive::refuse(cf, &format!("weir: {error}: the running workers go on, upgrade control first"));
        return None;
    }
    directive::warn(cf, &format!("weir: {error}: gateways answer 503 until they are"));
    Some(())
}

/// What a master does when it starts cannot fail any more; so the directory that it needs is looked at here. Without it
/// a gateway would serve nothing, and anything else only has no counters.
fn check_runtime(cf: *mut ngx_conf_t, main: &Main) -> Option<()> {
    let Err(error) = Control::check(main.runtime_dir()) else { return Some(()) };
    if main.gateway {
        directive::refuse(cf, &format!("weir: gateways would serve nothing: {error}"));
        return None;
    }
    directive::warn(cf, &format!("weir: there will be no counters and no run-time switches: {error}"));
    Some(())
}

/// nginx's `postconfiguration`: installs what some location needs, and nothing else.
pub unsafe extern "C" fn install(cf: *mut ngx_conf_t) -> ngx_int_t {
    // SAFETY: within http, after all levels have been merged; nothing below asks for it again.
    let main = unsafe { &mut *ffi::main_of::<Main>(cf) };
    let installed = fault::contain("configuration", || {
        if main.gateway {
            expect_anything(cf, main)?;
            check_journal(cf, main)?;
        }
        if main.evaluates || main.logs {
            check_runtime(cf, main)?;
        }
        // SAFETY: as above.
        unsafe {
            if main.gateway {
                gateway::install(cf)?;
            }
            if main.evaluates {
                phase::install(cf)?;
                request_filter::install();
            }
            if main.touches_response || main.holds_responses {
                header_filter::install();
            }
            if main.evaluates || main.logs {
                log::install(cf)?;
                upgraded::install();
            }
        }
        Some(())
    });
    if installed.flatten().is_some() { ffi::code::OK } else { ffi::code::ERROR }
}

/// `postconfiguration` of the second module, whose body filter comes before all others.
pub unsafe extern "C" fn install_first(cf: *mut ngx_conf_t) -> ngx_int_t {
    // SAFETY: within http, after [`install`].
    unsafe {
        if (*ffi::main_of::<Main>(cf)).holds_responses {
            body_filter::install();
        }
    }
    ffi::code::OK
}
