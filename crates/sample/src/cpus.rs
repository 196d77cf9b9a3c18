//! CPU numbers.

use std::{fs, io};

const ONLINE: &str = "/sys/devices/system/cpu/online";
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// Online CPUs, in ascending order.
pub(crate) fn online() -> io::Result<Vec<u32>> {
    read(ONLINE)
}

/// One more than the highest possible CPU number.
pub(crate) fn possible() -> io::Result<u32> {
    Ok(read(POSSIBLE)?.last().map_or(1, |last| last + 1))
}

fn read(path: &str) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(path)?;
    parse(text.trim()).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path}: `{}`", text.trim())))
}

/// Reads the kernel's list format, `0-3,8,10-11` (Documentation/admin-guide/cputopology.rst).
fn parse(list: &str) -> Option<Vec<u32>> {
    /// Maximum number of CPUs: NR_CPUS of the largest configurations is 8192.
    const MOST: usize = 1 << 16;
    let mut cpus = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || (last - first) as usize >= MOST || cpus.len() >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lists_are_read() {
        for (list, expected) in [
            ("0", Some(vec![0])),
            ("0-1", Some(vec![0, 1])),
            ("0-2,5,7-8", Some(vec![0, 1, 2, 5, 7, 8])),
            ("", None),
            ("2-1", None),
            ("0-4294967295", None),
            ("a", None),
        ] {
            assert_eq!(parse(list), expected, "{list}");
        }
    }

    #[test]
    fn this_machine_has_cpus() {
        assert!(!super::online().expect("sysfs is mounted").is_empty());
        assert!(super::possible().expect("sysfs is mounted") >= 1);
    }
}
