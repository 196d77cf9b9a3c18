//! Faults on request, so that tests see what becomes of them: only where `WEIR_TESTING=1`, and only for a policy that
//! names one of the lists below. What a test cannot cause, nobody knows the effect of.

use std::hint::black_box;

use weir_gateway::resource::{Document, ResourceKind};

/// The variable that must be 1.
pub(super) const SWITCH: &str = "WEIR_TESTING";

const HANG: &str = "weir-test-hang";
const SLEEP: &str = "weir-test-sleep";
const MEMORY: &str = "weir-test-memory";
const ABORT: &str = "weir-test-abort";
const PANIC: &str = "weir-test-panic";
const SOCKET: &str = "weir-test-socket";

/// Does what a list's name asks for, if this is a test.
pub(super) fn perform(documents: &[(ResourceKind, Document)]) {
    if std::env::var_os(SWITCH).is_none_or(|value| value != "1") {
        return;
    }
    let asks = |name: &str| documents.iter().any(|(_, document)| document.id == name);
    if asks(HANG) {
        loop {
            black_box(documents);
        }
    }
    if asks(SLEEP) {
        std::thread::sleep(std::time::Duration::from_secs(3600));
    }
    if asks(MEMORY) {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        loop {
            kept.push(vec![1; 16 << 20]);
            black_box(&kept);
        }
    }
    if asks(ABORT) {
        std::process::abort();
    }
    assert!(!asks(PANIC), "asked for by a test");
    if asks(SOCKET) {
        let refused = std::net::TcpStream::connect(("127.0.0.1", 9)).map_err(|error| error.kind());
        assert!(matches!(refused, Err(std::io::ErrorKind::PermissionDenied)), "a socket was made: {refused:?}");
    }
}
