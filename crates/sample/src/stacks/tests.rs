use super::*;

#[test]
fn the_same_stacks_of_a_thread_are_one_sample() {
    let mut stacks = Stacks::default();
    let main = stacks.named(Frame::named("main", Origin::Native));
    let work = stacks.named(Frame::named("work", Origin::Native));
    let thread = stacks.thread(7, 8, b"first");
    stacks.add(ProfileKind::OnCpu, thread, &[main, work], 1, 10);
    let same = stacks.thread(7, 8, b"second");
    stacks.add(ProfileKind::OnCpu, same, &[main, work], 1, 10);
    stacks.add(ProfileKind::OffCpu, same, &[main], 1, 99);
    let profile = stacks.profile(ProfileKind::OnCpu);
    assert_eq!((profile.samples.len(), profile.samples[0].count, profile.total()), (1, 2, 20));
    assert_eq!(profile.threads[0].name, "second");
    let names: Vec<_> =
        profile.stack(profile.samples[0].stack).iter().map(|id| profile.frame(*id).name.as_str()).collect();
    assert_eq!(names, ["main", "work"]);
    assert_eq!(profile.health.frames, 4);
    assert_eq!(stacks.profile(ProfileKind::OffCpu).total(), 99);
}

#[test]
fn what_has_no_name_is_unknown_and_counted() {
    let mut stacks = Stacks::default();
    let lost = stacks.slot(Slot::Code(0, 0x1234));
    let thread = stacks.thread(7, 7, b"x");
    stacks.add(ProfileKind::OnCpu, thread, &[lost], 3, 30);
    let profile = stacks.profile(ProfileKind::OnCpu);
    assert_eq!((profile.health.unknown_frames, profile.health.frames), (3, 3));
    assert_eq!(profile.frames[0].name, "[unknown]");
}

#[test]
fn stacks_are_bounded() {
    let mut stacks = Stacks::default();
    let thread = stacks.thread(7, 7, b"x");
    for address in 0..MOST_STACKS as u64 + 100 {
        let slot = stacks.slot(Slot::Kernel(address));
        stacks.add(ProfileKind::OnCpu, thread, &[slot], 1, 1);
    }
    assert!(stacks.stacks.len() <= MOST_STACKS + 1);
    assert_eq!(stacks.profile(ProfileKind::OnCpu).total(), MOST_STACKS as u64 + 100);
}
