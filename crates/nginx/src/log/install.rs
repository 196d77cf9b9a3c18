//! The log phase: one handler for verdict counters, access log and attack log.

use nginx_sys::{ngx_conf_t, ngx_http_phases_NGX_HTTP_LOG_PHASE, ngx_http_request_t, ngx_int_t};

use weir_rules::seclang::ir::Phase as RuleSetPhase;

use super::writer::LogFile;
use super::{access, attack};
use crate::configuration::{InjectedFault, Location, Main};
use crate::transaction::{self, Inspection};
use crate::{body_filter, fault, ffi, meter, phase, request_filter, worker};

/// Installs the handler.
///
/// # Safety
/// As for [`phase::push`].
pub unsafe fn install(cf: *mut ngx_conf_t) -> Option<()> {
    // SAFETY: as the caller promises.
    unsafe { phase::push(cf, ngx_http_phases_NGX_HTTP_LOG_PHASE, handler) }
}

unsafe extern "C" fn handler(r: *mut ngx_http_request_t) -> ngx_int_t {
    // SAFETY: nginx calls it with a live request.
    unsafe {
        if r != (*r).main {
            return ffi::code::OK;
        }
        let location = ffi::location_of::<Location>(r);
        let inspection = match transaction::find(r) {
            // What was evaluated before silence is still logged.
            None if location.access_log.is_some() && !worker::silenced() => {
                transaction::find_or_create(r, ffi::request_main_of::<Main>(r))
            }
            found => found,
        };
        if let Some(inspection) = inspection {
            let begun = worker::ticks();
            request_filter::finish(r, inspection);
            body_filter::finish(r, inspection);
            fault::contain_request(r, "last rules", || last_phase(&mut *inspection, location));
            fault::contain_request(r, "logs", || write(r, &*inspection, location));
            worker::spent(worker::ticks().saturating_sub(begun));
        }
    }
    ffi::code::OK
}

/// Rule sets have a phase after the response; what it finds is still logged.
fn last_phase(inspection: &mut Inspection, location: &Location) {
    if inspection.stage.is_evaluated() {
        // The response has been sent: the decision comes too late.
        let _ = inspection.run_rule_sets(RuleSetPhase::Logging, location);
    }
}

unsafe fn write(r: *mut ngx_http_request_t, inspection: &Inspection, location: &Location) {
    if location.inject == InjectedFault::Log {
        panic!("injected by weir_inject_panic");
    }
    #[cfg(weir_asan)]
    if let InjectedFault::UseAfterEnd(memory) = location.inject {
        // SAFETY: a live request.
        unsafe { crate::planted::read_after_end(r, inspection, memory) };
    }
    if inspection.stage.is_evaluated() {
        worker::count_verdict(inspection.outcome.verdict);
    }
    if let Some(log) = &location.access_log {
        let begun = worker::ticks();
        // SAFETY: a live request in a worker.
        unsafe { LogFile::line(log.file, |out| log.write(out, &access::RequestFacts::new(r, inspection))) };
        meter::book(meter::ModulePart::AccessLog, inspection.timing, begun, true);
    }
    if let (Some(file), true) = (location.attack_log, attack::is_wanted(inspection)) {
        let begun = worker::ticks();
        // SAFETY: a live request in a worker.
        unsafe { LogFile::line(file, |out| attack::write(out, &access::RequestFacts::new(r, inspection))) };
        meter::book(meter::ModulePart::AttackLog, inspection.timing, begun, true);
    }
}
