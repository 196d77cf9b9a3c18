//! Reads the programs' counters from their maps.

use libbpf_rs::{MapCore, MapFlags};

use super::{Programs, map};

/// Counters of the programs: `enum counter` of `bpf/record.bpf.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// On-CPU samples lost because the ring was full.
    pub lost: u64,
    /// Waits lost because the ring was full.
    pub lost_waits: u64,
    /// Threads that did not fit into a map of threads.
    pub no_slot: u64,
    /// Waits whose user stack was skipped because of the limit per second.
    pub capped: u64,
}

/// Calls of one system call by one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallSum {
    pub pid: u32,
    pub number: u32,
    pub calls: u64,
    pub errors: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

/// Short waits of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortWaits {
    pub pid: u32,
    pub count: u64,
    pub total_ns: u64,
}

impl Programs {
    /// The counters, summed over all CPUs.
    pub(crate) fn counters(&self) -> Counters {
        let [lost, lost_waits, no_slot, capped] = [0_u32, 1, 2, 3].map(|key| {
            self.each_cpu("counters", &key.to_ne_bytes()).iter().map(|words| words.first().copied().unwrap_or(0)).sum()
        });
        Counters { lost, lost_waits, no_slot, capped }
    }

    /// System calls by process and number.
    pub(crate) fn calls(&self) -> Vec<CallSum> {
        self.sums("calls")
            .map(|(key, values)| {
                let mut sum = CallSum { pid: word(&key, 0), number: word(&key, 1), ..CallSum::default() };
                for value in &values {
                    if let [calls, errors, total_ns, max_ns] = value[..] {
                        sum.calls += calls;
                        sum.errors += errors;
                        sum.total_ns += total_ns;
                        sum.max_ns = sum.max_ns.max(max_ns);
                    }
                }
                sum
            })
            .collect()
    }

    /// Waits below the minimum sampled duration, by process.
    pub(crate) fn short_waits(&self) -> Vec<ShortWaits> {
        self.sums("short_waits")
            .map(|(key, values)| {
                let mut sum = ShortWaits { pid: word(&key, 0), ..ShortWaits::default() };
                for value in &values {
                    if let [count, total_ns] = value[..] {
                        sum.count += count;
                        sum.total_ns += total_ns;
                    }
                }
                sum
            })
            .collect()
    }

    /// Keys of a map with the values of each CPU. The programs are detached by then, so that keys are stable.
    fn sums(&self, name: &'static str) -> impl Iterator<Item = (Vec<u8>, Vec<Vec<u64>>)> {
        let keys: Vec<_> = map(&self.object, name).keys().collect();
        keys.into_iter().map(move |key| {
            let values = self.each_cpu(name, &key);
            (key, values)
        })
    }

    fn each_cpu(&self, name: &str, key: &[u8]) -> Vec<Vec<u64>> {
        let found = map(&self.object, name).lookup_percpu(key, MapFlags::ANY).ok().flatten();
        let words = |value: Vec<u8>| {
            value.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect()
        };
        found.unwrap_or_default().into_iter().map(words).collect()
    }
}

/// The n-th 32-bit word of a key.
fn word(key: &[u8], n: usize) -> u32 {
    let bytes = key.get(4 * n..4 * n + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_ne_bytes)
}
