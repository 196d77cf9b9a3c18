//! What an inspector sends, as HTTP and as frames: read in one piece or cut anywhere, it is the same, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_inspect::frame::Frame;
use weir_inspect::{http, own};

fuzz_target!(|bytes: &[u8]| {
    let whole = http::read(bytes, false, false);
    for cut in 0..bytes.len().min(512) {
        match http::read(&bytes[..cut], false, false) {
            // What is unreadable stays so, whatever follows.
            Err(failure) => assert_eq!(whole, Err(failure)),
            Ok(Some(response)) => assert!(matches!(&whole, Ok(Some(same)) if same.status == response.status)),
            Ok(None) => {}
        }
    }
    assert_ne!(http::read(bytes, false, true), Ok(None), "after the end nothing more can come");
    let mut rest = bytes;
    while let Ok(Some((frame, length))) = Frame::first(rest) {
        let answer = own::read_answer(frame);
        if let Ok(answer) = &answer {
            let mut again = Vec::new();
            if own::write_answer(&mut again, frame.id, answer).is_ok() {
                let (frame, _) = Frame::first(&again).expect("ours").expect("whole");
                assert_eq!(own::read_answer(frame).as_ref(), Ok(answer));
            }
        }
        let _ = own::read_question(frame);
        rest = &rest[length..];
    }
});
