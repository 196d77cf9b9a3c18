//! Merges several profiles of one kind: files of several hosts or minutes, read together.

use crate::{Builder, FrameId, Health, Profile, ThreadIndex};

/// Adds profiles up. Meta data comes from the first; requests are known only if all profiles know
/// them. `None` if there are no profiles.
#[must_use]
pub fn merge(profiles: Vec<Profile>) -> Option<Profile> {
    let mut profiles = profiles.into_iter();
    let first = profiles.next()?;
    let mut builder = Builder::new(first.kind);
    builder.profile_mut().meta = first.meta.clone();
    // Otherwise the first one's requests would be counted twice.
    builder.profile_mut().meta.requests = Some(0);
    builder.profile_mut().meta.duration_ns = 0;
    builder.profile_mut().meta.remarks.clear();
    for profile in std::iter::once(first).chain(profiles) {
        add(&mut builder, profile);
    }
    Some(builder.finish())
}

fn add(builder: &mut Builder, profile: Profile) {
    let frames: Vec<FrameId> = profile.frames.into_iter().map(|frame| builder.frame(frame)).collect();
    let threads: Vec<ThreadIndex> = profile.threads.into_iter().map(|thread| builder.thread(thread)).collect();
    let mut mapped = Vec::new();
    let mut stack_of = |builder: &mut Builder, stack: &[FrameId]| {
        mapped.clear();
        mapped.extend(stack.iter().map(|id| frames[id.0 as usize]));
        builder.stack(&mapped)
    };
    let stacks: Vec<_> = profile.stacks.iter().map(|stack| stack_of(builder, stack)).collect();
    for sample in &profile.samples {
        let (thread, stack) = (threads[sample.thread.0 as usize], stacks[sample.stack.0 as usize]);
        builder.add(thread, stack, sample.count, sample.weight);
    }
    let all = builder.profile_mut();
    all.meta.requests = all.meta.requests.zip(profile.meta.requests).map(|(sum, more)| sum.saturating_add(more));
    all.meta.duration_ns = all.meta.duration_ns.max(profile.meta.duration_ns);
    for remark in profile.meta.remarks {
        if !all.meta.remarks.contains(&remark) {
            all.meta.remarks.push(remark);
        }
    }
    all.system_calls.extend(profile.system_calls);
    all.health = sum(all.health, profile.health);
}

fn sum(a: Health, b: Health) -> Health {
    Health {
        samples: a.samples.saturating_add(b.samples),
        lost: a.lost.saturating_add(b.lost),
        truncated: a.truncated.saturating_add(b.truncated),
        failed: a.failed.saturating_add(b.failed),
        complete: a.complete.saturating_add(b.complete),
        unknown_frames: a.unknown_frames.saturating_add(b.unknown_frames),
        frames: a.frames.saturating_add(b.frames),
        lua: a.lua.saturating_add(b.lua),
        lua_read: a.lua_read.saturating_add(b.lua_read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Origin, ProfileKind, Thread};

    fn profile(names: &[&str], requests: Option<u64>) -> Profile {
        let mut builder = Builder::new(ProfileKind::OnCpu);
        let thread = builder.thread(Thread { pid: 1, tid: 1, name: "x".into() });
        for name in names {
            let frame = builder.frame(Frame::named(*name, Origin::Native));
            let stack = builder.stack(&[frame]);
            builder.add(thread, stack, 1, 10);
        }
        builder.profile_mut().meta.requests = requests;
        builder.profile_mut().health.samples = names.len() as u64;
        builder.finish()
    }

    #[test]
    fn stacks_that_are_the_same_are_added_up() {
        let merged = merge(vec![profile(&["a", "b"], Some(5)), profile(&["b", "c"], Some(7))]).expect("two");
        let weight = |name: &str| {
            let named = |id: FrameId| merged.frame(id).name == name;
            merged.samples.iter().filter(|one| named(merged.stack(one.stack)[0])).map(|one| one.weight).sum::<u64>()
        };
        assert_eq!([weight("a"), weight("b"), weight("c")], [10, 20, 10]);
        assert_eq!((merged.health.samples, merged.meta.requests, merged.threads.len()), (4, Some(12), 1));
    }

    #[test]
    fn requests_are_known_only_if_all_know_them() {
        let cases = [(None, Some(1), None), (Some(1), None, None), (Some(1), Some(1), Some(2))];
        for (first, second, want) in cases {
            let merged = merge(vec![profile(&["a"], first), profile(&["a"], second)]);
            assert_eq!(merged.expect("two").meta.requests, want);
        }
        assert_eq!(merge(Vec::new()), None);
        assert_eq!(merge(vec![profile(&["a"], Some(3))]), Some(profile(&["a"], Some(3))), "one stays as it is");
    }
}
