//! What `make asan` would miss silently: it has to report faults that are planted on purpose. Other builds cannot plant
//! them.

use weir_tests::wait::until;
use weir_tests::{Request, Setup};

use crate::LOOKS_EVERYWHERE;

#[test]
#[ignore = "needs AddressSanitizer: `make asan`"]
fn memory_that_is_read_after_the_end_of_its_request_is_reported() {
    for (memory, freed_by) in [("pool", "ngx_destroy_pool"), ("arena", "bumpalo")] {
        let setup = Setup::policy(LOOKS_EVERYWHERE).workers(1).environment("WEIR_TESTING", "1");
        let report = setup.prefix().join("planted");
        let options = format!("detect_leaks=0:log_path={}", report.display());
        let setup = setup
            .environment("ASAN_OPTIONS", &options)
            .server(&format!("location / {{ weir_inject_panic {memory}; return 204; }}"));
        let nginx = setup.start();
        let _ = nginx.get("/").status;
        let mut connection = nginx.connect();
        connection.send(&Request::get("/").wire());
        let text = until("a report of the planted fault", || {
            let files = std::fs::read_dir(nginx.prefix()).unwrap().flatten();
            let mut reports = files.filter(|file| file.file_name().to_string_lossy().starts_with("planted"));
            let text = std::fs::read_to_string(reports.next()?.path()).ok()?;
            text.contains("SUMMARY").then_some(text)
        });
        assert!(text.contains("heap-use-after-free") && text.contains("read_after_end"), "{text}");
        let freed = text.split("freed by").nth(1).unwrap();
        assert!(freed.contains(freed_by), "{text}");
    }
}
