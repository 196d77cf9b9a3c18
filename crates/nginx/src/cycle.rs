//! The life of a configuration and of its workers.

use std::sync::Arc;

use nginx_sys::{
    ngx_add_timer, ngx_cycle_t, ngx_event_t, ngx_http_conf_ctx_t, ngx_http_module, ngx_int_t, ngx_log_t, ngx_msec_t,
};
use weir_ledger::{Control, Ledger, MAX_WORKERS, Reserve};

use crate::configuration::Main;
use crate::live::Link;
use crate::{bans, diagnostic, fault, ffi, inspect, live, log, messages, meter, note, policy, worker};

/// Interval of the workers' heartbeats.
const BEAT_MS: ngx_msec_t = 1000;

/// Our main configuration in a cycle; `None` if it has no `http`.
unsafe fn main_in(cycle: *mut ngx_cycle_t) -> Option<*mut Main> {
    // SAFETY: a complete cycle; the http module's context holds one pointer per module.
    unsafe {
        let context = (*(*cycle).conf_ctx.add(ngx_http_module.index)).cast::<ngx_http_conf_ctx_t>();
        context.as_ref().map(|context| (*context.main_conf.add(ffi::context_index())).cast())
    }
}

/// nginx's `init_module`: the configuration is good and about to be served. From here on nothing
/// may fail: nginx would end, on a reload too.
pub unsafe extern "C" fn init_module(cycle: *mut ngx_cycle_t) -> ngx_int_t {
    fault::contain("start", || {
        // SAFETY: a complete cycle.
        unsafe {
            // The only reference there is: requests and workers come later, and theirs are shared.
            let Some(main) = main_in(cycle).map(|main| &mut *main) else { return };
            diagnostic::configure(main.log_level);
            if nginx_sys::ngx_test_config != 0 || !(main.evaluates || main.logs) {
                return;
            }
            let workers = worker_count(cycle);
            if let Err(error) = open_counters(main, workers) {
                note!((*cycle).log, Error, "weir: no counters and no run-time switches: {error}");
            }
            match bans::Table::open(main.runtime_dir()) {
                Ok(table) => main.bans = Some(table),
                Err(error) => note!((*cycle).log, Error, "weir: nobody is banned: {error}"),
            }
            if main.gateway {
                open_link(main, workers, (*cycle).log);
                open_messages(main, workers, (*cycle).log);
            }
        }
    });
    ffi::code::OK
}

unsafe fn worker_count(cycle: *mut ngx_cycle_t) -> usize {
    // SAFETY: the core module's configuration is there in a complete cycle.
    let core =
        unsafe { (*(*cycle).conf_ctx.add(nginx_sys::ngx_core_module.index)).cast::<nginx_sys::ngx_core_conf_t>() };
    // SAFETY: as above.
    let workers = unsafe { (*core).worker_processes };
    usize::try_from(workers).unwrap_or(1).clamp(1, MAX_WORKERS)
}

fn open_counters(main: &mut Main, workers: usize) -> Result<(), weir_ledger::LedgerError> {
    let dir = main.runtime_dir().to_owned();
    let control = Control::open_or_create(&dir)?;
    let generation = control.generation() + 1;
    let reserve = if main.gateway { Reserve::Banks } else { Reserve::Nothing };
    let entries = meter::entries(main);
    let ledger = Ledger::create(&dir, generation, main.revision(), &entries, workers, main.sample_every(), reserve);
    // Without room for the ledger, workers have their slots nevertheless, and the cycle a number of its own.
    control.set_generation(generation);
    main.control = Some(Arc::new(control));
    main.ledger = Some(Arc::new(ledger?));
    Ok(())
}

/// Opens what workers need to follow control, under the ledger's generation of this cycle.
fn open_link(main: &mut Main, workers: usize, log: *mut ngx_log_t) {
    let generation = main.control.as_ref().map_or(1, |control| control.generation());
    match Link::open(main.runtime_dir(), generation, workers) {
        Ok(link) => {
            if let Some(fault) = link.fault() {
                note!(log, Error, "weir: no shared memory with control, workers follow the journal alone: {fault}");
            }
            main.link = Some(link);
        }
        Err(error) => note!(log, Error, "weir: gateways serve nothing: {error}"),
    }
}

/// Opens the memory of messages for clients.
fn open_messages(main: &mut Main, workers: usize, log: *mut ngx_log_t) {
    let Some(bytes) = main.messages_bytes() else { return };
    match messages::open(main.runtime_dir(), bytes, workers) {
        Ok(streams) => main.messages = Some(streams),
        Err(error) => note!(log, Error, "weir: no messages for clients: {error}"),
    }
}

/// nginx's `init_process`.
pub unsafe extern "C" fn init_process(cycle: *mut ngx_cycle_t) -> ngx_int_t {
    fault::contain("start of a worker", || {
        // SAFETY: a complete cycle, in the process that will serve it.
        unsafe {
            let is_worker =
                matches!(nginx_sys::ngx_process as u32, nginx_sys::NGX_PROCESS_WORKER | nginx_sys::NGX_PROCESS_SINGLE);
            if let (Some(main), true) = (main_in(cycle), is_worker) {
                // Shared from here to the worker's end.
                begin(cycle, &*main);
            }
        }
    });
    ffi::code::OK
}

unsafe fn begin(cycle: *mut ngx_cycle_t, main: &'static Main) {
    // A worker needs both until its end, so its share of them is leaked.
    let control: Option<&'static Control> = main.control.clone().map(|control| &**Box::leak(Box::new(control)));
    let ledger: Option<&'static Ledger> = main.ledger.clone().map(|ledger| &**Box::leak(Box::new(ledger)));
    let slot = control.and_then(|control| control.claim_worker(std::process::id()).ok());
    // SAFETY: set by nginx before init_process; 0 without a master.
    let number = unsafe { nginx_sys::ngx_worker };
    worker::start(cycle, control, slot, ledger.map(|ledger| (ledger, number)));
    if let Some(row) = worker::row() {
        row.attach();
    }
    if let Some(slot) = slot {
        slot.set_revision(main.revision());
        slot.beat();
    }
    if let Some(nonces) = main.nonce_table() {
        // What was signed before may have been seen by a table that is lost.
        let _ = nonces.started_ms(ffi::now_ms());
    }
    inspect::prepare(main.policies.iter().flat_map(policy::inspectors));
    // SAFETY: a complete cycle, in the process that will serve it.
    unsafe {
        if let Some(streams) = &main.messages {
            messages::start(cycle, streams);
        }
        live::start(cycle, main);
    }
    if slot.is_some() || main.heartbeat.is_some() {
        // SAFETY: leaked above or living as long as the cycle.
        unsafe { arm(cycle, main) };
    }
}

/// Starts the timer of the worker's signs of life.
unsafe fn arm(cycle: *mut ngx_cycle_t, main: &'static Main) {
    // SAFETY: ngx_event_t is plain data, and nginx's own begin as zeros; the event is leaked.
    unsafe {
        let event: *mut ngx_event_t = Box::leak(Box::new(std::mem::zeroed()));
        (*event).handler = Some(beat);
        (*event).data = (&raw const *main).cast_mut().cast();
        (*event).log = (*cycle).log;
        (*event).set_cancelable(1);
        ngx_add_timer(event, BEAT_MS);
    }
}

unsafe extern "C" fn beat(event: *mut ngx_event_t) {
    // SAFETY: set by `arm`.
    let main = unsafe { &*(*event).data.cast::<Main>() };
    fault::contain("heartbeat", || {
        if let Some(slot) = worker::slot() {
            slot.beat();
        }
        if let Some(row) = worker::row() {
            row.beat();
        }
        live::beat();
        messages::beat();
        log::heartbeat(main);
        report_losses(main);
    });
    // SAFETY: as above; nginx has just removed the timer.
    unsafe { ngx_add_timer(event, BEAT_MS) };
}

/// Least time between two messages about the same loss.
const REPORT_MS: u64 = 60_000;

/// Says what the memory of collections has lost since it was last said; one worker speaks for all.
fn report_losses(main: &Main) {
    // SAFETY: set by nginx before init_process; 0 without a master.
    if unsafe { nginx_sys::ngx_worker } != 0 {
        return;
    }
    let Some(table) = main.collections_table() else { return };
    let (now, counts) = (ffi::now_ms(), table.counts());
    let (said_ms, said) = main.losses_said.get();
    if counts == said || now.saturating_sub(said_ms) < REPORT_MS {
        return;
    }
    main.losses_said.set((now, counts));
    note!(
        // SAFETY: a cycle has a log.
        unsafe { (*worker::cycle()).log },
        Warn,
        "weir: weir_collections_zone has lost members of collections so far: {} for want of room, {} too long; \
         resets after the death of a worker: {}",
        counts.evicted,
        counts.refused,
        counts.reset
    );
}

/// nginx's `exit_process`: what is in the buffers goes out.
pub unsafe extern "C" fn exit_process(cycle: *mut ngx_cycle_t) {
    fault::contain("end of a worker", || {
        live::end();
        // SAFETY: a complete cycle; log files live as long as it.
        unsafe {
            for file in main_in(cycle).into_iter().flat_map(|main| &(*main).files) {
                (**file).finish();
            }
        }
    });
}
