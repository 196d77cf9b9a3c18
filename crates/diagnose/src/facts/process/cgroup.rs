//! CPU quota and throttling of a control group, at the most restrictive level.

use std::fs;
use std::path::{Path, PathBuf};

use super::CgroupFacts;

/// Maximum number of levels from a group up to the root.
const MAX_LEVELS: usize = 64;

/// The group of a process; `None` if no group accounts for CPU time, or nothing can be read.
pub(super) fn read(pid: u32) -> Option<CgroupFacts> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let found = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let version = match controllers {
            "" => 2,
            list if list.split(',').any(|name| name == "cpu") => 1,
            _ => return None,
        };
        levels(&mount(&mounts, version)?, path, version)
    });
    // With both versions mounted, the one with a quota is used.
    found.max_by_key(|facts| (facts.quota_us.is_some(), facts.version))
}

/// Differences of counters over the window.
pub(super) fn over(before: Option<&CgroupFacts>, after: Option<CgroupFacts>) -> Option<CgroupFacts> {
    let mut facts = after?;
    let zero = CgroupFacts::default();
    let before = before.filter(|before| before.path == facts.path).unwrap_or(&zero);
    facts.periods = facts.periods.saturating_sub(before.periods);
    facts.throttled_periods = facts.throttled_periods.saturating_sub(before.throttled_periods);
    facts.throttled_us = facts.throttled_us.saturating_sub(before.throttled_us);
    Some(facts)
}

fn mount(mounts: &str, version: u8) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1).unwrap_or(""));
        let fits = match version {
            2 => kind == "cgroup2",
            _ => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
        };
        fits.then(|| PathBuf::from(before.split(' ').nth(4).unwrap_or("/")))
    })
}

/// The level with the smallest quota, from the group upwards; otherwise the group itself.
fn levels(mount: &Path, path: &str, version: u8) -> Option<CgroupFacts> {
    let relative = Path::new(path.trim_start_matches('/'));
    let all = relative.ancestors().take(MAX_LEVELS).filter_map(|level| one(mount, level, version));
    let (limited, free): (Vec<_>, Vec<_>) = all.partition(|facts| facts.quota_us.is_some());
    let share = |facts: &CgroupFacts| facts.quota_us.unwrap_or(u64::MAX).saturating_mul(1000) / facts.period_us.max(1);
    limited.into_iter().min_by_key(share).or_else(|| free.into_iter().next())
}

fn one(mount: &Path, level: &Path, version: u8) -> Option<CgroupFacts> {
    let directory = mount.join(level);
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let stat = read("cpu.stat")?;
    let counter = |name: &str| -> u64 {
        let value = stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.unwrap_or(0)
    };
    let (quota_us, period_us) = if version == 2 {
        let max = read("cpu.max").unwrap_or_default();
        let mut words = max.split_whitespace().map(|word| word.parse::<u64>().ok());
        (words.next().flatten(), words.next().flatten())
    } else {
        let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u64>().ok());
        (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us"))
    };
    Some(CgroupFacts {
        path: format!("/{}", level.display()),
        version,
        quota_us,
        period_us: period_us.unwrap_or(100_000),
        periods: counter("nr_periods "),
        throttled_periods: counter("nr_throttled "),
        throttled_us: if version == 2 { counter("throttled_usec ") } else { counter("throttled_time ") / 1000 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("creates");
            fs::write(path, text).expect("writes");
        }
    }

    #[test]
    fn the_level_that_limits_most_counts() {
        let root = tempfile::tempdir().expect("creates");
        write(
            root.path(),
            &[
                ("cpu.stat", "usage_usec 1\n"),
                ("a/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 900\n"),
                ("a/cpu.max", "50000 100000\n"),
                ("a/b/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n"),
                ("a/b/cpu.max", "max 100000\n"),
            ],
        );
        let facts = levels(root.path(), "/a/b", 2).expect("there is one");
        assert_eq!((facts.path.as_str(), facts.quota_us, facts.throttled_periods), ("/a", Some(50_000), 4));
        let later = CgroupFacts { periods: 15, throttled_periods: 6, throttled_us: 1000, ..facts.clone() };
        let over = over(Some(&facts), Some(later)).expect("is there");
        assert_eq!((over.periods, over.throttled_periods, over.throttled_us), (5, 2, 100));
    }

    #[test]
    fn the_first_version_counts_in_nanoseconds() {
        let root = tempfile::tempdir().expect("creates");
        write(
            root.path(),
            &[
                ("g/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 7000\n"),
                ("g/cpu.cfs_quota_us", "-1\n"),
                ("g/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let facts = levels(root.path(), "/g", 1).expect("there is one");
        assert_eq!((facts.quota_us, facts.throttled_us), (None, 7));
    }
}
