//! The rewrite phase: where requests are evaluated before anything is done with them.
//!
//! Why this phase: it is the first one in which the location is known, and handlers of a later
//! module run before those of the rewrite module, so `return`, `proxy_pass`, static files,
//! `auth_request` and Lua handlers all come after. The access phase would miss `return`; the
//! server rewrite phase does not know the location. (A `return` directly in `server` happens
//! before any location is chosen; such answers are logged but not evaluated.)

use nginx_sys::{
    NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_array_push, ngx_conf_t, ngx_http_core_main_conf_t, ngx_http_core_module,
    ngx_http_handler_pt, ngx_http_phases_NGX_HTTP_REWRITE_PHASE, ngx_http_request_t, ngx_int_t,
};
use weir_engine::{Decision, Plan, Response, Verdict};
use weir_http::Anomalies;
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use crate::configuration::{FailMode, InjectedFault, Location, LocationRules, Main, Mode};
use crate::gateway::{self, Enter, Leave};
use crate::policy::{Placed, PolicySource};
use crate::transaction::{self, Body, Inspection};
use crate::{body, body_filter, fault, ffi, headers, inspect, passwords, request_filter, respond, worker};
use std::sync::Arc;

/// Adds a handler to one of nginx's phases.
///
/// # Safety
/// `cf` is within http, after its configuration has been read.
pub unsafe fn push(
    cf: *mut ngx_conf_t,
    phase: u32,
    handler: unsafe extern "C" fn(*mut ngx_http_request_t) -> ngx_int_t,
) -> Option<()> {
    // SAFETY: the core module has its main configuration, with one array per phase.
    unsafe {
        let core: *mut ngx_http_core_main_conf_t = ffi::main_of_module(cf, &raw const ngx_http_core_module);
        let place = ngx_array_push(&raw mut (*core).phases[phase as usize].handlers).cast::<ngx_http_handler_pt>();
        if place.is_null() {
            return None;
        }
        *place = Some(handler);
        Some(())
    }
}

/// Installs the handler.
///
/// # Safety
/// As for [`push`].
pub unsafe fn install(cf: *mut ngx_conf_t) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe { push(cf, ngx_http_phases_NGX_HTTP_REWRITE_PHASE, handler) }
}

/// The result of evaluation.
enum Step {
    /// The request goes on.
    Pass,
    /// nginx reads the body and calls again.
    Wait,
    /// We answer.
    Answer(Arc<Response>),
    /// nginx answers with this status, or fails.
    Status(ngx_int_t),
}

unsafe extern "C" fn handler(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request.
    let location = unsafe {
        if r != (*r).main || (*r).post_action() != 0 {
            return ffi::code::DECLINED; // subrequests and post_action are the same client request
        }
        ffi::location_of::<Location>(r)
    };
    let is_gateway = location.is_gateway();
    let evaluator: unsafe fn(_, _) -> Step = match &location.rules {
        LocationRules::None => return ffi::code::DECLINED,
        LocationRules::Fixed(_) | LocationRules::OfHost if worker::silenced() => return ffi::code::DECLINED,
        LocationRules::Fixed(_) => evaluate,
        LocationRules::OfHost => evaluate_of_host,
        LocationRules::OfRoute => route,
    };
    // nginx runs the phases also when it hears that the client's connection can be written.
    // SAFETY: as above.
    if unsafe { transaction::find(r).is_some_and(|inspection| (*inspection).questions.are_waited_for()) } {
        return ffi::code::DONE;
    }
    // SAFETY: as above.
    let mut step = unsafe {
        timed(r, || {
            fault::contain_request(r, "request evaluation", || evaluator(r, location))
                .unwrap_or_else(|| after_fault(r, location))
        })
    };
    // SAFETY: as above; no reference to the inspection lives.
    unsafe {
        if let (true, Step::Pass) = (is_gateway, &step) {
            step = fault::contain_request(r, "routing", || leave(r)).unwrap_or(BROKEN);
        }
        match step {
            Step::Pass => ffi::code::DECLINED,
            Step::Wait => ffi::code::DONE,
            Step::Status(status) => status,
            Step::Answer(response) => fault::contain_request(r, "answer", || respond::answer(r, response))
                .unwrap_or(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t),
        }
    }
}

/// The answer to a request that cannot be routed after a fault.
const BROKEN: Step = Step::Status(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t);

/// Books the time that `work` takes, with the worker and with the request.
unsafe fn timed<T>(r: *mut ngx_http_request_t, work: impl FnOnce() -> T) -> T {
    let begun = worker::ticks();
    let result = work();
    let spent = worker::ticks().saturating_sub(begun);
    worker::spent(spent);
    // SAFETY: a live main request; no reference to its inspection lives.
    unsafe {
        if let Some(inspection) = transaction::find(r) {
            (*inspection).ticks += spent;
        }
    }
    result
}

/// Finds out where a request to a gateway goes, and evaluates the policies that hold there.
/// Silence skips the rules: where requests go does not depend on them.
unsafe fn route(r: *mut ngx_http_request_t, location: &'static Location) -> Step {
    // SAFETY: a live main request; references to its inspection end before nginx is called.
    unsafe {
        let main = ffi::request_main_of::<Main>(r);
        let Some(inspection) = transaction::find_or_create(r, main) else { return BROKEN };
        if (*inspection).routed.is_none() {
            if (*inspection).source.live().is_none() {
                // Redirected from a location that is not a gateway's.
                (*inspection).source = PolicySource::of(location, main);
            }
            let routed = match gateway::enter(r, &*inspection) {
                Enter::Routed(routed) => routed,
                Enter::Answer(response) => {
                    (*inspection).stage.decide();
                    return Step::Answer(response);
                }
                Enter::Status(status) => return Step::Status(status),
            };
            let found = (*inspection).place(routed.policies(), location);
            (*inspection).routed = Some(routed);
            if found.is_none() {
                return without_plan(r, &mut *inspection, location);
            }
        }
        if (*inspection).placed.is_some() { evaluate(r, location) } else { Step::Pass }
    }
}

/// Evaluates the policies of the host's site, otherwise those of the settings, in a location beside a gateway's. After an
/// internal redirect from a gateway's location, those of the route that the request had hold on.
unsafe fn evaluate_of_host(r: *mut ngx_http_request_t, location: &'static Location) -> Step {
    // SAFETY: as for `route`.
    unsafe {
        let main = ffi::request_main_of::<Main>(r);
        let Some(inspection) = transaction::find_or_create(r, main) else { return after_fault(r, location) };
        if (*inspection).placed.is_none() {
            if (*inspection).source.live().is_none() {
                // Redirected from a location that is not a gateway's.
                (*inspection).source = PolicySource::of(location, main);
            }
            let Some(live) = (*inspection).source.live().cloned() else {
                return without_plan(r, &mut *inspection, location);
            };
            if location.mode == Mode::On && (*inspection).transaction.anomalies().contains(Anomalies::INVALID_HOST) {
                // As where a gateway routes: which site's policies hold is not clear.
                (*inspection).stage.decide();
                return Step::Answer(gateway::refuse_host(r, &*inspection));
            }
            if location.mode == Mode::On
                && let Some(response) = gateway::refuse_connection(r, &*inspection, &live.gateway)
            {
                (*inspection).stage.decide();
                return Step::Answer(response);
            }
            let site = (*inspection).site();
            let of_site = site.as_ref().and_then(|site| site.policies()).unwrap_or(live.gateway.default_policies());
            let left = (*inspection).left.last().cloned();
            let names = left.as_ref().map_or(of_site.names(), |routed| routed.policies());
            if (*inspection).place(names, location).is_none() {
                return without_plan(r, &mut *inspection, location);
            }
        }
        if (*inspection).placed.is_some() { evaluate(r, location) } else { Step::Pass }
    }
}

/// The policies that hold are not there, which control does not let happen unless there is no configuration at all: the
/// fail mode decides.
unsafe fn without_plan(r: *mut ngx_http_request_t, inspection: &mut Inspection, location: &Location) -> Step {
    crate::note!(
        // SAFETY: as for `evaluate`.
        unsafe { (*(*r).connection).log },
        Error,
        "weir: the policies of the request are not there, request_id {}",
        String::from_utf8_lossy(inspection.request_id())
    );
    match location.fail {
        FailMode::Open => Step::Pass,
        FailMode::Closed => {
            inspection.fail();
            BROKEN
        }
    }
}

/// Sends a request that rules let pass where it goes.
unsafe fn leave(r: *mut ngx_http_request_t) -> Step {
    // SAFETY: as for `route`. The route is held for the call.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return BROKEN };
        let Some(routed) = (*inspection).routed.clone() else { return BROKEN };
        match gateway::leave(r, &routed) {
            Leave::Pass => Step::Pass,
            Leave::Answer(response) => {
                (*inspection).stage.decide();
                Step::Answer(response)
            }
            Leave::Status(status) => Step::Status(status),
        }
    }
}

/// The fail mode's answer after a panic.
unsafe fn after_fault(r: *mut ngx_http_request_t, location: &Location) -> Step {
    // SAFETY: as for the handler.
    let inspection = unsafe { transaction::find(r).map(|inspection| &mut *inspection) };
    // A request that was not asked who sent it must not pass as one that was.
    let is_asked = inspection.as_ref().and_then(|inspection| inspection.placed(location));
    let is_asked = is_asked.is_some_and(|placed| placed.plan.authenticates());
    match if is_asked { FailMode::Closed } else { location.fail } {
        FailMode::Open => {
            if let Some(inspection) = inspection {
                inspection.stage.decide();
            }
            Step::Pass
        }
        FailMode::Closed => {
            if let Some(inspection) = inspection {
                inspection.fail();
            }
            Step::Status(NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t)
        }
    }
}

/// Evaluates what is known. An answer that a rule of the policy itself wants comes first; what rules could not read
/// completely counts more than the scores of rule sets, whose findings are logged all the same.
unsafe fn evaluate(r: *mut ngx_http_request_t, location: &'static Location) -> Step {
    // SAFETY: a live main request; references to its inspection end before nginx is called.
    unsafe {
        let was_decided = transaction::find(r).is_some_and(|inspection| (*inspection).stage.is_decided());
        let step = decide(r, location);
        let Some(inspection) = transaction::find(r).filter(|_| !was_decided) else { return step };
        if matches!(step, Step::Answer(_)) && !(*inspection).outcome.is_decided_by_rule_set() {
            return step;
        }
        if let Some(refusal) = unreadable(r, &mut *inspection, location) {
            return refusal;
        }
        if matches!(step, Step::Pass) && (*inspection).holds_responses() && !(*inspection).stage.is_decided() {
            body_filter::ask_for_plain(r, &*inspection);
        }
        step
    }
}

/// Rules have not seen the request as an application may read it: it is past a bound, or does not
/// follow its format. `weir_bounds` decides, and the error log reports it once.
unsafe fn unreadable(r: *mut ngx_http_request_t, inspection: &mut Inspection, location: &Location) -> Option<Step> {
    let found = inspection.transaction.unreadable()?;
    if !inspection.stage.unreadable() {
        return None;
    }
    let is_refused = inspection.placed(location).is_some_and(|placed| location.refuses_unreadable(&placed.plan));
    crate::note!(
        // SAFETY: as for `evaluate`.
        unsafe { (*(*r).connection).log },
        Error,
        "weir: rules cannot read the request completely: {found}; {}, request_id {}",
        match (is_refused, location.bounds) {
            (true, _) => "refused by weir_bounds",
            (false, FailMode::Closed) => "weir_bounds would refuse it",
            (false, FailMode::Open) => "passed by weir_bounds",
        },
        String::from_utf8_lossy(inspection.request_id())
    );
    if is_refused {
        inspection.fail();
        return Some(Step::Status(ngx_int_t::from(found.status() as i16)));
    }
    if location.bounds == FailMode::Closed {
        inspection.outcome.verdict = inspection.outcome.verdict.max(Verdict::Detect);
    }
    None
}

unsafe fn decide(r: *mut ngx_http_request_t, location: &'static Location) -> Step {
    // SAFETY: a live main request; references to its inspection end before nginx is called.
    unsafe {
        let main = ffi::request_main_of::<Main>(r);
        let Some(inspection) = transaction::find_or_create(r, main) else {
            return after_fault(r, location); // out of memory
        };
        if (*inspection).stage.is_decided() {
            return Step::Pass; // the page for our own answer, or after a fault
        }
        // Held for the call: the inspection has it too, and is changed meanwhile.
        let Some(Placed { plan, .. }) = (*inspection).placed(location).cloned() else { return Step::Pass };
        let plan = &*plan;
        if let Some(step) = (*inspection).step(r, Phase::Request, plan, location) {
            return step;
        }
        if !plan.has(Phase::Body) {
            return Step::Pass;
        }
        let passes = location.only_detects(plan) && (*r).content_handler.is_some();
        if (*inspection).body == Body::Passing {
            if passes {
                return Step::Pass;
            }
            // Redirected from where rules only detect, before the body has passed completely.
            request_filter::stop(&mut *inspection, location);
        }
        if matches!((*inspection).body, Body::Unread) && body::is_announced(r) {
            if (*r).request_body.is_null() {
                (*inspection).expect_body(plan, location); // else another module has had it read: it is in memory
            }
            // A signature over the body has to see all of it, also of a stream.
            let is_wanted = (*inspection).outcome.absorbs()
                || (plan.verifies_body() || !body::is_stream(r))
                    && plan.wants_body(&(*inspection).transaction, &(*inspection).outcome).is_some();
            if !is_wanted && body::is_stream(r) && plan.inspected_bytes() > 0 {
                // An inspector is asked about a stream, too, without its body.
                return (*inspection).step(r, Phase::Body, plan, location).unwrap_or(Step::Pass);
            }
            if !is_wanted {
                // No rule of the plan can match, or none may hold the stream up; rule sets have
                // rules in this phase that do not look at the body.
                return rule_sets_without_body(&mut *inspection, location);
            }
            if (*inspection).outcome.is_hopeless() && !plan.reads_body() {
                // Refused, whatever the body has.
                return (*inspection).step(r, Phase::Body, plan, location).unwrap_or(Step::Pass);
            }
            if passes {
                (*inspection).body = Body::Passing;
                return Step::Pass;
            }
            let refuses = location.refuses_unreadable(plan);
            if refuses && plan.reads_body() && body::is_announced_too_long(r, location) {
                (*inspection).transaction.set_body_truncated();
            }
            if refuses && (*inspection).transaction.unreadable().is_some() {
                return Step::Pass; // refused, whatever the body has
            }
            match body::read(r, inspection) {
                body::BodyReading::Read => {}
                body::BodyReading::Later => return Step::Wait,
                body::BodyReading::Refused(status) => return Step::Status(status),
            }
        }
        if (*inspection).body_cut && plan.reads_body() {
            (*inspection).transaction.set_body_truncated(); // redirected from where no rule read it
        }
        if matches!((*inspection).body, Body::Read | Body::Passed) {
            body::give(r, &mut *inspection, location, plan);
        }
        (*inspection).step(r, Phase::Body, plan, location).unwrap_or(Step::Pass)
    }
}

/// Evaluates the rules of the body phase, which only detect, after the body has passed. Returns the status to refuse the
/// request with after a fault, or `OK`.
///
/// # Safety
/// `r` is a live main request whose transaction has its body; no reference to its inspection lives.
pub unsafe fn judge_passed_body(r: *mut ngx_http_request_t, location: &'static Location) -> ngx_int_t {
    // SAFETY: as the caller promises.
    let step = unsafe {
        timed(r, || {
            fault::contain_request(r, "request body evaluation", || evaluate(r, location))
                .unwrap_or_else(|| after_fault(r, location))
        })
    };
    match step {
        Step::Status(status) => status,
        Step::Pass | Step::Wait | Step::Answer(_) => ffi::code::OK,
    }
}

/// Evaluates what rule sets have for the body phase of a request whose body nobody has read.
///
/// # Safety
/// As for [`judge_passed_body`].
pub unsafe fn judge_without_body(r: *mut ngx_http_request_t, location: &'static Location) {
    // SAFETY: as the caller promises.
    unsafe {
        timed(r, || {
            fault::contain_request(r, "request body evaluation", || {
                let inspection = transaction::find(r)?;
                Some(rule_sets_without_body(&mut *inspection, location))
            })
        });
    }
}

fn rule_sets_without_body(inspection: &mut Inspection, location: &Location) -> Step {
    match inspection.run_rule_sets(RuleSetPhase::RequestBody, location) {
        // Rule sets ask for no passwords, and no inspectors.
        Decision::Continue | Decision::Verify | Decision::Inspect => Step::Pass,
        Decision::Respond(response) => {
            inspection.stage.decide();
            Step::Answer(response)
        }
    }
}

impl Inspection {
    /// Finds the plan of policies, unless rules are not asked; `None` if there is no such plan.
    fn place(&mut self, names: &[String], location: &Location) -> Option<()> {
        // After our own answer or a fault, the page for it is fetched without asking rules again.
        let heard = location.mode != Mode::Off && !worker::silenced() && !self.stage.is_decided();
        if heard && !names.is_empty() {
            let placed = self.policies()?.plan(names)?.clone();
            self.placed = Some(placed).filter(|placed| !placed.plan.is_empty());
        }
        Some(())
    }

    /// Evaluates one phase and makes the changes to the request that it wants.
    unsafe fn step(
        &mut self,
        r: *mut ngx_http_request_t,
        phase: Phase,
        plan: &Plan,
        location: &Location,
    ) -> Option<Step> {
        match (location.inject, phase) {
            (InjectedFault::Request, Phase::Request) | (InjectedFault::Body, Phase::Body) => {
                panic!("injected by weir_inject_panic")
            }
            _ => {}
        }
        loop {
            let decision = self.run(phase, plan, location);
            let changes = self.take_request_changes();
            if !changes.is_empty() {
                // SAFETY: a live request, not yet proxied.
                unsafe { headers::change_request(r, &changes, self.timing) };
            }
            match decision {
                Decision::Continue => {
                    // What nobody waits for, such as inspectors that observe.
                    if self.outcome.inspections.are_due() {
                        // SAFETY: a live request.
                        unsafe { inspect::ask(r, self) };
                    }
                    return None;
                }
                // SAFETY: a live request in a phase handler.
                Decision::Inspect => match unsafe { inspect::ask(r, self) } {
                    inspect::Next::GoOn => {}
                    inspect::Next::Wait => return Some(Step::Wait),
                },
                Decision::Respond(response) => {
                    self.stage.decide();
                    return Some(Step::Answer(response));
                }
                // SAFETY: a live request in a phase handler: nowhere else does the evaluation stop for a password.
                Decision::Verify => match unsafe { passwords::ask(r, self) } {
                    passwords::Next::GoOn => {}
                    passwords::Next::Wait => return Some(Step::Wait),
                    passwords::Next::Answer(status) => {
                        self.stage.decide();
                        return Some(Step::Status(status as ngx_int_t));
                    }
                },
            }
        }
    }
}
