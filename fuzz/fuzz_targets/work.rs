//! No request takes more time than what it is charged for: looks for the dearest request. The input is repeated up to
//! some size, as a hostile client would. Runs CRS at the highest paranoia level if it is installed.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_engine::{NoMeter, Plan};

#[path = "../../crates/engine/benches/crs/engine.rs"]
mod engine;
#[path = "../../crates/engine/benches/crs/requests.rs"]
#[allow(dead_code)]
mod requests;

use requests::request_of;

/// Time for each unit of work, which is a nanosecond or so: instrumented and checked code is that much slower.
const NS_PER_UNIT: f64 = 25.0;
/// Time that is not charged: parsing, and what each request costs, instrumented.
const FREE: Duration = Duration::from_millis(8);

fuzz_target!(|bytes: &[u8]| {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let installed = || Path::new(engine::SETUP).is_file().then(|| engine::plan(&engine::program(), "4"));
    let Some(plan) = PLAN.get_or_init(installed) else { return };
    let Some(request) = request_of(bytes) else { return };
    let mut arena = Bump::new();
    let mut least = Duration::MAX;
    let mut allowed = Duration::ZERO;
    // What comes up once is another process.
    for _ in 0..4 {
        arena.reset();
        let begun = cpu_time();
        let (_, _, units) = engine::evaluate(plan, &request, &arena, &mut NoMeter);
        least = least.min(cpu_time() - begun);
        allowed = FREE + Duration::from_nanos((units as f64 * NS_PER_UNIT) as u64);
        if least < allowed {
            return;
        }
    }
    panic!("{} bytes took {least:?}, charged as {allowed:?}", request.bytes());
});

/// Time that this thread has run.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has, and a place for its time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
