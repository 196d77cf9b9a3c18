//! The one transaction of a client request: where it lives, how it is found again.
//!
//! It lives in an arena that the worker recycles and dies with the request's pool. nginx forgets
//! module contexts on internal redirects (`error_page`, `try_files`, `X-Accel-Redirect`), so it is
//! found through the pool's cleanup then, as nginx's realip module does. The arena is not the
//! request's pool because that one is 4 KiB, mostly used up by nginx, and would grow.

use std::cell::OnceCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use bumpalo::Bump;
use nginx_sys::{ngx_http_request_t, ngx_pool_cleanup_add};
use weir_auth::Keys;
use weir_engine::{Bans, Decision, HeaderChange, Outcome, Plan, Response, RuleIndex, Side, Verdict};
use weir_gateway::Site;
use weir_http::{Anomalies, Transaction};
use weir_log::request_id::{self, MAX_INBOUND};
use weir_messages::hub::Key;
use weir_policy::RuleLabel;
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use crate::body_filter::WatchedResponse;
use crate::configuration::{Location, LocationRules, Main, Mode};
use crate::gateway::Routed;
use crate::inspect::Questions;
use crate::meter::{self, HookMeter, Timing};
use crate::passwords::{Password, RequestKeys};
use crate::policy::{Placed, Policies, PolicySource};
use crate::request_filter::PassedBody;
use crate::stage::Stage;
use crate::{ffi, request, worker};

/// Progress of the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// No rule has needed the body.
    Unread,
    /// nginx reads the body when the request's handler asks for it, and rules that only detect see it pass.
    Passing,
    /// nginx is reading the body.
    Reading,
    /// nginx is reading the body and will run the phases again.
    Awaited,
    /// nginx has read the body.
    Read,
    /// The transaction has the body.
    Given,
    /// nginx has read it, and nobody has needed more than its digest.
    Passed,
}

/// Everything that Weir knows of one client request.
pub struct Inspection {
    /// The request and response as rules see them.
    pub transaction: Transaction<'static>,
    /// The result of the rules so far.
    pub outcome: Outcome<'static>,
    /// The cycle's configuration.
    pub main: &'static Main,
    /// The source of the policies.
    pub source: PolicySource,
    /// The gateway's route.
    pub routed: Option<Rc<Routed>>,
    /// Routes before internal redirects of nginx, to which nginx may still refer.
    pub left: Vec<Rc<Routed>>,
    /// The plan of the route's policies.
    pub placed: Option<Placed>,
    /// Progress of the body.
    pub body: Body,
    /// Whether the transaction has less of the body than rules may read, because none of them did so far.
    pub body_cut: bool,
    /// Progress of the evaluation.
    pub stage: Stage,
    /// Whether rules are timed.
    pub timing: Timing,
    /// Progress of the password.
    pub password: Password,
    /// Questions to inspectors.
    pub questions: Questions,
    /// The subscriber that the request has become.
    pub subscriber: Option<Key>,
    /// What has passed of a body that rules only look at.
    pub passed: PassedBody,
    /// The response's body while rules wait to see it.
    pub watched: Option<WatchedResponse>,
    /// Header changes for the response.
    pub response_changes: Vec<HeaderChange>,
    /// The answer being sent, whose bytes nginx refers to.
    pub answer: Option<Arc<Response>>,
    /// Ticks spent so far.
    pub ticks: u64,
    /// Ticks and nginx's milliseconds when the request was first seen.
    pub seen: (u64, u64),
    request_id: OnceCell<RequestId>,
    country: OnceCell<[u8; 2]>,
}

struct RequestId {
    length: u8,
    bytes: [u8; MAX_INBOUND],
}

/// The memory that the pool's cleanup frees.
struct RequestMemory {
    arena: *mut Bump,
    inspection: *mut Inspection,
}

/// The inspection of this client request, if there is one.
///
/// # Safety
/// `r` is a live main request. The pointer is valid until its pool's end; references made from it
/// must not overlap, which nested calls into nginx would make them.
#[inline]
pub unsafe fn find(r: *mut ngx_http_request_t) -> Option<*mut Inspection> {
    // SAFETY: ctx has one pointer per http module; ours is null or was set by `create`.
    unsafe {
        let known = (*(*r).ctx.add(ffi::context_index())).cast::<Inspection>();
        if !known.is_null() {
            return Some(known);
        }
        if (*r).internal() == 0 && (*r).filter_finalize() == 0 {
            return None;
        }
        let mut cleanup = (*(*r).pool).cleanup;
        while let Some(one) = cleanup.as_ref() {
            if one.handler.is_some_and(|handler| std::ptr::fn_addr_eq(handler, release as unsafe extern "C" fn(_))) {
                let inspection = (*one.data.cast::<RequestMemory>()).inspection;
                *(*r).ctx.add(ffi::context_index()) = inspection.cast();
                if (*r).filter_finalize() == 0 {
                    (*inspection).redirected();
                }
                return Some(inspection);
            }
            cleanup = one.next;
        }
        None
    }
}

/// Finds the inspection or begins it; `None` if there is no memory left.
///
/// # Safety
/// As for [`find`].
pub unsafe fn find_or_create(r: *mut ngx_http_request_t, main: &'static Main) -> Option<*mut Inspection> {
    // SAFETY: as the caller promises.
    unsafe { find(r).or_else(|| create(r, main)) }
}

#[inline]
unsafe fn create(r: *mut ngx_http_request_t, main: &'static Main) -> Option<*mut Inspection> {
    let begun = worker::ticks();
    // SAFETY: a live request; RequestMemory fits the pool's alignment.
    unsafe {
        let cleanup = ngx_pool_cleanup_add((*r).pool, size_of::<RequestMemory>());
        if cleanup.is_null() {
            return None;
        }
        let arena = Box::into_raw(worker::take_arena());
        // SAFETY: here, and only here, lifetimes are extended. The arena is boxed and stays at its
        // address until `release`, which drops the transaction first. What the head borrows from
        // nginx (header buffers, pool memory) lives until the request's pool is destroyed, whose
        // cleanups run before its memory goes; nginx moves none of it meanwhile.
        let lasting: &'static Bump = &*arena;
        let source = PolicySource::of(ffi::location_of(r), main);
        let (head, anomalies) = request::head(r, main, source.policies(), lasting);
        let transaction = Transaction::new(head, lasting);
        transaction.flag(anomalies);
        if !(*r).schema_end.is_null() {
            transaction.set_request_line(ffi::bytes(&(*r).request_line));
        }
        let inspection: *mut Inspection = lasting.alloc(Inspection {
            transaction,
            outcome: Outcome::default(),
            main,
            source,
            routed: None,
            left: Vec::new(),
            placed: None,
            body: Body::Unread,
            body_cut: false,
            stage: Stage::New,
            timing: worker::next_timing(main.sample_every()),
            password: Password::default(),
            questions: Questions::default(),
            subscriber: None,
            passed: PassedBody::new(lasting),
            watched: None,
            response_changes: Vec::new(),
            answer: None,
            ticks: 0,
            seen: (begun, ffi::now_ms()),
            request_id: OnceCell::new(),
            country: OnceCell::new(),
        });
        (*cleanup).data.cast::<RequestMemory>().write(RequestMemory { arena, inspection });
        (*cleanup).handler = Some(release);
        *(*r).ctx.add(ffi::context_index()) = inspection.cast();
        worker::count_request();
        meter::book(meter::ModulePart::Transaction, (*inspection).timing, begun, true);
        Some(inspection)
    }
}

/// The pool's cleanup.
unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: data is the RequestMemory of `create`; pools run each cleanup once.
    let owned = unsafe { data.cast::<RequestMemory>().read() };
    crate::fault::contain("request end", || {
        // SAFETY: both come from `create`; the inspection borrows from the arena and goes first.
        unsafe {
            crate::passwords::forget(&(*owned.inspection).password);
            crate::inspect::forget(&(*owned.inspection).questions);
            std::ptr::drop_in_place(owned.inspection);
            worker::give_arena(Box::from_raw(owned.arena));
        }
    });
}

impl Inspection {
    /// The policies that hold for this request, whatever control changes meanwhile.
    pub fn policies(&self) -> Option<&Policies> {
        self.source.policies()
    }

    /// Whether some rule set may want to see the response's body.
    pub fn holds_responses(&self) -> bool {
        self.policies().is_some_and(|policies| policies.needs.response_body)
    }

    /// The plan that is evaluated in a location.
    pub fn placed<'a>(&'a self, location: &'a Location) -> Option<&'a Placed> {
        match &location.rules {
            LocationRules::None => None,
            LocationRules::Fixed(placed) => Some(placed),
            LocationRules::OfRoute | LocationRules::OfHost => self.placed.as_ref(),
        }
    }

    /// The site of a request to a gateway's server; `None` without a live configuration, or if it is not clear which
    /// host is meant.
    pub fn site(&self) -> Option<Rc<Site>> {
        if let Some(routed) = &self.routed {
            return Some(Rc::clone(&routed.matched().site));
        }
        let live = self.source.live()?;
        let is_clear = !self.transaction.anomalies().contains(Anomalies::INVALID_HOST);
        live.gateway.site(self.transaction.head.host).filter(|_| is_clear).cloned()
    }

    /// Id and policy of a rule.
    pub fn rule(&self, rule: RuleIndex) -> Option<&RuleLabel> {
        self.policies()?.rule(rule)
    }

    /// nginx begins anew with another URI: another route may be the one.
    fn redirected(&mut self) {
        self.left.extend(self.routed.take());
        self.placed = None;
        self.outcome.forget_claims();
    }

    /// Evaluates one phase of a location's plan.
    pub fn run(&mut self, phase: Phase, plan: &Plan, location: &Location) -> Decision {
        self.stage.evaluate();
        // Rules that only detect may see a body while it passes, when nothing can wait.
        let can_wait = phase == Phase::Request || !location.only_detects(plan);
        self.in_context(location, |transaction, context, outcome| {
            context.can_wait = can_wait;
            plan.evaluate(phase, transaction, context, outcome)
        })
    }

    /// Reads what the request claims in rules that verify signatures over the body, which is about to arrive.
    pub fn expect_body(&mut self, plan: &Plan, location: &Location) {
        if !plan.verifies_body() {
            return;
        }
        let _ = self.in_context(location, |transaction, context, outcome| {
            plan.expect_body(transaction, context, outcome);
            Decision::Continue
        });
    }

    /// Runs a phase of the rule sets at work that is not one of the plan's.
    pub fn run_rule_sets(&mut self, phase: RuleSetPhase, location: &Location) -> Decision {
        self.in_context(location, |transaction, context, outcome| outcome.run_rule_sets(phase, transaction, context))
    }

    /// Verifies signatures over the body of the response.
    pub fn decide_response(&mut self, body: &[u8], is_whole: bool) -> Decision {
        let keys = self.source.keys().map(|keys| RequestKeys { keys, password: &self.password });
        self.outcome.decide_response(body, is_whole, keys.as_ref().map(|keys| keys as &dyn Keys))
    }

    /// Calls `evaluate` with the context of this request.
    fn in_context(
        &mut self,
        location: &Location,
        evaluate: impl FnOnce(
            &Transaction<'static>,
            &mut weir_engine::Context<'_, HookMeter>,
            &mut Outcome<'static>,
        ) -> Decision,
    ) -> Decision {
        let mut id = [0; MAX_INBOUND];
        let mut length = 0;
        if self.policies().is_some_and(|policies| policies.needs.request_id) {
            let bytes = self.request_id();
            length = bytes.len();
            id[..length].copy_from_slice(bytes);
        }
        let cells = self.placed(location).map(|placed| placed.cells).unwrap_or_default();
        let mut meter = HookMeter::new(self.timing, cells);
        let keys = self.source.keys().map(|keys| RequestKeys { keys, password: &self.password });
        let mut context = weir_engine::Context {
            detect: location.mode == Mode::Detect,
            request_id: &id[..length],
            now_ms: ffi::now_ms(),
            limits: self.main.rate_table(),
            keys: keys.as_ref().map(|keys| keys as &dyn Keys),
            can_wait: false,
            nonces: self.main.nonce_table(),
            collections: self.main.collections(),
            bans: self.main.bans.as_ref().map(|table| table as &dyn Bans),
            meter: &mut meter,
        };
        evaluate(&self.transaction, &mut context, &mut self.outcome)
    }

    /// The request's id, made when it is first asked for.
    pub fn request_id(&self) -> &[u8] {
        let id = self.request_id.get_or_init(|| {
            let mut bytes = [0; MAX_INBOUND];
            let length = match self.inbound_id() {
                Some(inbound) => {
                    bytes[..inbound.len()].copy_from_slice(inbound);
                    inbound.len()
                }
                None => {
                    let made = request_id::uuid_v7(ffi::now_ms(), worker::random());
                    bytes[..made.len()].copy_from_slice(&made);
                    made.len()
                }
            };
            RequestId { length: length as u8, bytes }
        });
        &id.bytes[..usize::from(id.length)]
    }

    /// The id that the request brings, if its peer may set one.
    fn inbound_id(&self) -> Option<&'static [u8]> {
        let from = self.main.inbound_id.as_ref()?;
        let trusted = |peer| self.policies().is_some_and(|policies| policies.snapshot().client_address().trusts(peer));
        if !from.from_any && !trusted(self.transaction.head.peer) {
            return None;
        }
        self.transaction.header(&from.name, from.hash).filter(|id| request_id::is_acceptable(id))
    }

    /// The verdict's name; empty if no rules have been asked.
    pub fn verdict(&self) -> &'static str {
        match self.outcome.verdict {
            Verdict::Pass if !self.stage.is_evaluated() => "",
            verdict => verdict.as_str(),
        }
    }

    /// Country code of the client, or nothing.
    pub fn country(&self) -> &[u8] {
        let code = self.country.get_or_init(|| self.find_country());
        if code[0] == 0 { &[] } else { code }
    }

    fn find_country(&self) -> [u8; 2] {
        let Some(geo) = self.policies().and_then(|policies| policies.snapshot().geo()) else { return [0; 2] };
        let begun = worker::ticks();
        let code = geo.locate(self.transaction.head.client).country.as_bytes().try_into().unwrap_or([0; 2]);
        meter::book(meter::ModulePart::Geo, self.timing, begun, code != [0; 2]);
        code
    }

    /// Separates the header changes by message: returns those for the request.
    pub fn take_request_changes(&mut self) -> Vec<HeaderChange> {
        if self.outcome.header_changes.is_empty() {
            return Vec::new();
        }
        let (request, response) = std::mem::take(&mut self.outcome.header_changes)
            .into_iter()
            .partition(|change| change.side == Side::Request);
        let response: Vec<HeaderChange> = response;
        self.response_changes.extend(response);
        request
    }

    /// Books the verdict of a fault, or of a request that rules cannot read completely.
    pub fn fail(&mut self) {
        self.outcome.verdict = Verdict::Fail;
        self.outcome.decided_by = None;
        self.stage.decide();
    }
}
