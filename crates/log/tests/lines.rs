//! Whatever a file takes and refuses, it gets whole lines in order, and every line is written or counted as lost.

use std::io::{Error, ErrorKind};

use proptest::prelude::*;
use weir_log::{Destination, LineBuffer};

const LIMIT: usize = 6000;

#[derive(Clone, Debug)]
enum Step {
    /// A line of that many bytes, if the buffer is full flushed to a file that takes so many.
    Add(usize, usize),
    Flush(usize),
    /// The file is flushed, as far as it takes so many bytes, then reopened.
    Reopen(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let takes = || prop_oneof![Just(0), 1..200usize, 200..9000usize, Just(usize::MAX)];
    prop_oneof![
        6 => (prop_oneof![0..100usize, 100..3000usize, 6000..9000usize], takes()).prop_map(|(line, takes)| Step::Add(line, takes)),
        2 => takes().prop_map(Step::Flush),
        1 => takes().prop_map(Step::Reopen),
    ]
}

/// A file that takes `room` bytes more.
fn flush(lines: &mut LineBuffer, to: Destination, mut room: usize, file: &mut Vec<u8>, interrupt: &mut bool) {
    let result = lines.flush(to, |bytes| {
        *interrupt = !*interrupt;
        if *interrupt {
            return Err(ErrorKind::Interrupted.into());
        }
        if to == Destination::Pipe {
            let longest = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or_default();
            assert!(bytes.len() <= 4096, "a pipe would mix it");
            assert!(bytes.ends_with(b"\n") || longest == bytes.len(), "whole lines, unless one is too long");
        }
        let written = bytes.len().min(room);
        room -= written;
        file.extend_from_slice(&bytes[..written]);
        if written > 0 { Ok(written) } else { Err(Error::from(ErrorKind::WouldBlock)) }
    });
    assert_eq!(result.is_ok(), lines.is_empty());
}

proptest! {
    #[test]
    fn lines_come_out_whole_and_in_order_or_are_counted(
        steps in proptest::collection::vec(step(), 0..60), is_pipe: bool,
    ) {
        let to = if is_pipe { Destination::Pipe } else { Destination::File };
        let mut lines = LineBuffer::new(LIMIT);
        let (mut added, mut lost, mut interrupt) = (Vec::new(), 0, false);
        let (mut files, mut file) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Add(length, room) => {
                    let line = format!("{:05}{}", added.len(), "x".repeat(length)).into_bytes();
                    let kept = lines.add(
                        |out| out.extend_from_slice(&line),
                        |lines| flush(lines, to, room, &mut file, &mut interrupt),
                    );
                    lost += usize::from(!kept);
                    added.push(line);
                }
                Step::Flush(room) => flush(&mut lines, to, room, &mut file, &mut interrupt),
                Step::Reopen(room) => {
                    flush(&mut lines, to, room, &mut file, &mut interrupt);
                    lines.restart_line();
                    files.push(std::mem::take(&mut file));
                }
            }
        }
        flush(&mut lines, to, usize::MAX, &mut file, &mut interrupt);
        files.push(file);
        let mut rest = added.iter();
        let mut whole = 0;
        for file in &files {
            let mut found = file.split(|byte| *byte == b'\n').collect::<Vec<_>>();
            found.pop(); // behind the last newline: nothing, or the beginning of a line that is whole in the next file
            for line in found {
                prop_assert!(rest.any(|added| added == line), "not a line, or out of order");
                whole += 1;
            }
        }
        prop_assert_eq!(whole + lost, added.len());
        prop_assert_eq!(lines.waiting(), 0);
    }
}
