//! What another unwinder (`framehop`) says of the same registers and stacks.
//!
//! It does not follow everything (its frames may end early, or in a frame pointer that is none), so
//! only stacks that it calls complete count, and a small part may differ.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Unwinder as _};
use weir_unwind::{Process, UnwindEnd, Unwinder};

use crate::support::{self, Traced};

/// Frames of one stack at most.
const MAX_FRAMES: usize = 100;

fn other_unwinder(process: &Process) -> UnwinderX86_64<Vec<u8>> {
    let mut unwinder = UnwinderX86_64::new();
    for loaded in process.modules() {
        let section = |name: &str| loaded.module.section(name);
        let range = |name: &str| section(name).map(|s| s.address..s.address + s.data.len() as u64);
        let data = |name: &str| section(name).map(|s| s.data.to_vec());
        let information = ExplicitModuleSectionInfo {
            text_svma: range(".text"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            got_svma: range(".got"),
            ..Default::default()
        };
        let is_here = |address: u64| {
            let found = process.module(address);
            found.is_some_and(|found| std::sync::Arc::ptr_eq(&found.module, &loaded.module))
        };
        let code = process.mappings().iter().find(|mapping| mapping.executable && is_here(mapping.start)).unwrap();
        let (range, name) = (code.start..code.end, loaded.module.path().to_owned());
        unwinder.add_module(framehop::Module::new(name, range, loaded.bias, information));
    }
    unwinder
}

#[test]
fn another_unwinder_finds_the_same_frames() {
    let directory = tempfile::tempdir().unwrap();
    let program = support::work(directory.path(), &["-O2", "-fomit-frame-pointer", "-Wl,-z,now"]);
    let mut traced = Traced::start(&program, &[]);
    let mut process = Process::open(traced.pid()).unwrap();
    let other = other_unwinder(&process);
    let (mut cache, mut unwinder) = (CacheX86_64::new(), Unwinder::new());
    let (mut steps, mut complete, mut same) = (0, 0, 0);
    while traced.step() {
        steps += 1;
        let registers = traced.registers();
        let stack = traced.stack(&registers);
        let mut frames = Vec::new();
        let end = unwinder.unwind(&mut process, &registers, &stack, None, &mut frames);
        assert_eq!(end, UnwindEnd::Root);
        let mut read = |address: u64| {
            let start = usize::try_from(address.wrapping_sub(registers.sp)).map_err(|_| ())?;
            let bytes = stack.get(start..).and_then(|rest| rest.first_chunk::<8>()).ok_or(())?;
            Ok(u64::from_le_bytes(*bytes))
        };
        let values = UnwindRegsX86_64::new(registers.ip, registers.sp, registers.bp);
        let mut iterator = other.iter_frames(registers.ip, values, &mut cache, &mut read);
        let mut addresses = Vec::new();
        while addresses.len() < MAX_FRAMES
            && let Ok(Some(frame)) = iterator.next()
        {
            addresses.push(frame.address());
        }
        let ours: Vec<u64> = frames.iter().map(|frame| frame.ip).collect();
        if addresses.last() == ours.last() {
            complete += 1;
            same += usize::from(addresses == ours);
            if addresses != ours && complete - same < 4 {
                eprintln!("{:x?}\n{:x?}", ours, addresses);
            }
        }
    }
    eprintln!("of {steps} stacks framehop brings {complete} to the root; {same} are the same");
    assert!(complete * 2 > steps, "{complete} of {steps}");
    assert!(same * 100 >= complete * 90, "{same} of {complete}");
}
