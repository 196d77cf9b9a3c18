//! The header filter: response rules, and header changes to responses.
//!
//! Installed only if some plan touches responses; for requests without work it costs two
//! pointer reads.

use nginx_sys::{
    NGX_HTTP_INTERNAL_SERVER_ERROR, ngx_http_filter_finalize_request, ngx_http_output_header_filter_pt,
    ngx_http_request_t, ngx_http_top_header_filter, ngx_int_t,
};
use weir_engine::{Decision, Plan};
use weir_http::{Header, ResponseHead};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use crate::body_filter::WatchedResponse;
use crate::configuration::{FailMode, InjectedFault, Location, Main};
use crate::module::ngx_http_weir_module;
use crate::next_filter::NextFilter;
use crate::transaction::{self, Inspection};
use crate::{body_filter, fault, ffi, gateway, headers, meter, respond, worker};

static NEXT: NextFilter<ngx_http_output_header_filter_pt> = NextFilter::new(None);

/// Header fields that fit without growing.
const USUAL_FIELDS: usize = 16;

/// Puts the filter before those that are there.
///
/// # Safety
/// Called while the configuration is read.
pub unsafe fn install() {
    // SAFETY: as the caller promises.
    unsafe { NEXT.install(&raw mut ngx_http_top_header_filter, Some(filter)) };
}

unsafe extern "C" fn filter(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request; the next filter is there.
    unsafe {
        if r == (*r).main {
            let location = ffi::location_of::<Location>(r);
            let main = ffi::request_main_of::<Main>(r);
            let static_plan = location.fixed_plan().map(|placed| &*placed.plan);
            let inspection = match (transaction::find(r), static_plan) {
                (None, Some(plan)) if plan.has(Phase::Response) && !worker::silenced() => {
                    transaction::find_or_create(r, main)
                }
                (found, _) => found,
            };
            // The plan is held for the call: nothing changes it, but the call has a reference to the inspection.
            let plan =
                inspection.and_then(|inspection| (*inspection).placed(location)).map(|placed| placed.plan.clone());
            let plan = plan.as_deref().filter(|plan| plan.has(Phase::Response) || main.holds_responses);
            if let Some(inspection) = inspection {
                fault::contain("header changes", || gateway::change_response(r, &*inspection));
            }
            if let Some(inspection) = inspection
                && let Some(answer) = work(r, inspection, plan, location)
            {
                return answer;
            }
        }
        pass(r)
    }
}

/// Passes the header on to the filters after this one.
///
/// # Safety
/// `r` is a live request whose response header has been set.
pub unsafe fn pass(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: as the caller promises; the next filter is there.
    unsafe { NEXT.get().map_or(ffi::code::OK, |next| next(r)) }
}

/// Evaluates and changes the response; `Some` if it has been replaced.
unsafe fn work(
    r: *mut ngx_http_request_t,
    inspection: *mut Inspection,
    plan: Option<&Plan>,
    location: &Location,
) -> Option<ngx_int_t> {
    // SAFETY: a live main request; references to the inspection end before nginx is called.
    unsafe {
        let evaluates = plan.filter(|_| !(*inspection).stage.is_decided());
        if evaluates.is_none() && (*inspection).response_changes.is_empty() {
            return None;
        }
        let begun = worker::ticks();
        let decision = fault::contain_request(r, "response evaluation", || {
            let inspection = &mut *inspection;
            let decision = evaluates.map_or(Decision::Continue, |plan| evaluate(r, inspection, plan, location));
            headers::change_response(r, &inspection.response_changes, inspection.timing);
            if decision == Decision::Continue && evaluates.is_some() {
                body_phase(r, inspection, plan.is_none_or(|plan| location.only_detects(plan)), location)
            } else {
                decision
            }
        });
        let spent = worker::ticks().saturating_sub(begun);
        worker::spent(spent);
        (*inspection).ticks += spent;
        match decision {
            Some(Decision::Continue) if (*inspection).watched.as_ref().is_some_and(WatchedResponse::is_held) => {
                Some(ffi::code::OK) // sent with the body
            }
            // Rules that ask for passwords have run by then.
            Some(Decision::Continue | Decision::Verify | Decision::Inspect) => None,
            Some(Decision::Respond(response)) => {
                (*inspection).stage.decide();
                Some(respond::replace(r, response))
            }
            None if location.fail == FailMode::Open => {
                (*inspection).stage.decide();
                None
            }
            None => {
                (*inspection).fail();
                (*inspection).response_changes.clear();
                Some(ngx_http_filter_finalize_request(
                    r,
                    &raw mut ngx_http_weir_module,
                    NGX_HTTP_INTERNAL_SERVER_ERROR as ngx_int_t,
                ))
            }
        }
    }
}

/// Has the rules see the body that want to; if none does, or none is to come, they run now.
unsafe fn body_phase(
    r: *mut ngx_http_request_t,
    inspection: &mut Inspection,
    only_detects: bool,
    location: &Location,
) -> Decision {
    // SAFETY: as for `work`.
    if inspection.holds_responses() && !unsafe { body_filter::watch(r, inspection, only_detects) } {
        match inspection.run_rule_sets(RuleSetPhase::ResponseBody, location) {
            Decision::Continue => inspection.decide_response(b"", true),
            decision => decision,
        }
    } else {
        Decision::Continue
    }
}

unsafe fn evaluate(
    r: *mut ngx_http_request_t,
    inspection: &mut Inspection,
    plan: &Plan,
    location: &Location,
) -> Decision {
    if location.inject == InjectedFault::Response {
        panic!("injected by weir_inject_panic");
    }
    let begun = worker::ticks();
    // SAFETY: as for `work`.
    let head = unsafe { response_head(r, inspection) };
    inspection.transaction.set_response(head);
    meter::book(meter::ModulePart::Response, inspection.timing, begun, true);
    let decision = inspection.run(Phase::Response, plan, location);
    // Changes to the request come too late.
    drop(inspection.take_request_changes());
    decision
}

/// The response's header as it will be sent, except what nginx's last filter adds itself
/// (`Server`, `Date`, `Connection`).
unsafe fn response_head(r: *mut ngx_http_request_t, inspection: &Inspection) -> ResponseHead<'static> {
    let arena = inspection.transaction.arena();
    // SAFETY: a live request; fields live as long as its pool, and values that are replaced later
    // are replaced by other memory.
    unsafe {
        let out = &raw const (*r).headers_out;
        let mut fields = bumpalo::collections::Vec::with_capacity_in(USUAL_FIELDS, arena);
        if (*out).content_type.len > 0 {
            fields.push(Header::new(b"Content-Type", ffi::bytes(&(*out).content_type)));
        }
        if (*out).content_length_n >= 0 && (*out).content_length.is_null() {
            let digits = bumpalo::format!(in arena, "{}", (*out).content_length_n);
            fields.push(Header::new(b"Content-Length", digits.into_bump_str().as_bytes()));
        }
        for field in ffi::fields(&raw const (*out).headers).filter(|field| (**field).hash != 0) {
            fields.push(Header::new(ffi::bytes(&(*field).key), ffi::bytes(&(*field).value)));
        }
        let status = match (*r).err_status {
            0 => (*out).status,
            status => status,
        };
        ResponseHead { status: status as u16, headers: fields.into_bump_slice() }
    }
}
