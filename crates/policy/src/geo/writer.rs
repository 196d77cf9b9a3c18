//! A minimal MMDB writer, for tests, benchmarks and the demo: real databases need a licence or a
//! download, and neither belongs into a first try.
//!
//! The format is <https://maxmind.github.io/MaxMind-DB/>, version 2.0: a binary trie over the
//! bits of an IPv6 address (IPv4 lies in `::/96`), a section of encoded records, and metadata.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use ipnet::IpNet;

/// What is known of a network; empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record {
    /// `country.iso_code`, two letters.
    pub country: String,
    /// `continent.code`, two letters.
    pub continent: String,
    /// `autonomous_system_number`, or 0.
    pub asnum: u32,
}

/// Collects networks and encodes them.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    networks: Vec<(IpNet, Record)>,
    database_type: String,
}

/// Where a bit of an address leads.
#[derive(Clone, Copy)]
enum Branch {
    Nothing,
    Node(u32),
    /// Offset in the data section.
    Data(u32),
}

/// Zero bytes between the trie and the records, which offsets count from.
const SEPARATOR: usize = 16;
/// What precedes the metadata.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
/// Longest text: what a header of two bytes can say.
pub const MAX_TEXT_BYTES: usize = 29 + 255;
/// Build time, always the same so that equal input gives equal files; libmaxminddb refuses 0.
const BUILD_EPOCH: u32 = 1;
/// Bits of a record in the trie.
const RECORD_BITS: u32 = 32;

impl Writer {
    /// A database without networks; its type is the name that readers show, such as `Demo-Country`.
    ///
    /// # Panics
    /// If the name is empty or has more than [`MAX_TEXT_BYTES`] bytes.
    #[must_use]
    pub fn new(database_type: &str) -> Self {
        let fits = (1..=MAX_TEXT_BYTES).contains(&database_type.len());
        assert!(fits, "a database type has 1 to {MAX_TEXT_BYTES} bytes");
        Self { networks: Vec::new(), database_type: database_type.to_owned() }
    }

    /// Adds a network. Inside larger networks the smaller one counts; of equal ones the last.
    ///
    /// # Panics
    /// If a code has more than [`MAX_TEXT_BYTES`] bytes.
    pub fn insert(&mut self, network: IpNet, record: Record) {
        let longest = record.country.len().max(record.continent.len());
        assert!(longest <= MAX_TEXT_BYTES, "a code has at most {MAX_TEXT_BYTES} bytes");
        self.networks.push((network.trunc(), record));
    }

    /// The database as a file's content.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut data = Vec::new();
        let mut offsets: HashMap<&Record, u32> = HashMap::new();
        let mut trie = vec![[Branch::Nothing; 2]];
        let mut networks: Vec<&(IpNet, Record)> = self.networks.iter().collect();
        networks.sort_by_key(|(network, _)| bits(network).1);
        for (network, record) in networks {
            let offset = *offsets.entry(record).or_insert_with(|| {
                let offset = data.len() as u32;
                encode_record(record, &mut data);
                offset
            });
            insert(&mut trie, network, offset);
        }
        let count = trie.len() as u32;
        let mut bytes = Vec::with_capacity(trie.len() * 8 + data.len() + 512);
        for branch in trie.iter().flatten() {
            let number = match branch {
                Branch::Nothing => count,
                Branch::Node(number) => *number,
                Branch::Data(offset) => count + SEPARATOR as u32 + offset,
            };
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&[0; SEPARATOR]);
        bytes.append(&mut data);
        bytes.extend_from_slice(MARKER);
        self.encode_metadata(count, &mut bytes);
        bytes
    }

    /// Writes the database to a file.
    ///
    /// # Errors
    /// Those of [`std::fs::write`].
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.to_bytes())
    }

    fn encode_metadata(&self, node_count: u32, out: &mut Vec<u8>) {
        map(9, out);
        for (key, value) in [
            ("binary_format_major_version", 2),
            ("binary_format_minor_version", 0),
            ("ip_version", 6),
            ("record_size", RECORD_BITS),
        ] {
            text(key, out);
            unsigned(Unsigned::Sixteen, value, out);
        }
        text("build_epoch", out);
        unsigned(Unsigned::SixtyFour, BUILD_EPOCH, out);
        text("database_type", out);
        text(&self.database_type, out);
        text("description", out);
        map(1, out);
        text("en", out);
        text("Written by Weir", out);
        text("languages", out);
        // An array (type 11) of one item.
        out.extend_from_slice(&[1, 11 - 7]);
        text("en", out);
        text("node_count", out);
        unsigned(Unsigned::ThirtyTwo, node_count, out);
    }
}

/// The address as 128 bits, and how many of them are the network's.
fn bits(network: &IpNet) -> (u128, u32) {
    match network {
        IpNet::V4(network) => (u128::from(u32::from(network.network())), u32::from(network.prefix_len()) + 96),
        IpNet::V6(network) => (u128::from(network.network()), u32::from(network.prefix_len())),
    }
}

/// Leads a network to its record; networks come in the order of their prefix lengths.
fn insert(trie: &mut Vec<[Branch; 2]>, network: &IpNet, offset: u32) {
    let (address, length) = bits(network);
    let side = |depth: u32| (address >> (127 - depth) & 1) as usize;
    if length == 0 {
        trie[0] = [Branch::Data(offset); 2];
        return;
    }
    let mut node = 0usize;
    for depth in 0..length - 1 {
        node = match trie[node][side(depth)] {
            Branch::Node(next) => next as usize,
            // A larger network's record now holds for both halves of what it covered.
            leaf => {
                trie.push([leaf; 2]);
                let next = trie.len() - 1;
                trie[node][side(depth)] = Branch::Node(next as u32);
                next
            }
        };
    }
    trie[node][side(length - 1)] = Branch::Data(offset);
}

fn encode_record(record: &Record, out: &mut Vec<u8>) {
    let nested = [("country", "iso_code", &record.country), ("continent", "code", &record.continent)];
    let nested: Vec<_> = nested.into_iter().filter(|(_, _, code)| !code.is_empty()).collect();
    map(nested.len() + usize::from(record.asnum > 0), out);
    for (outer, inner, code) in nested {
        text(outer, out);
        map(1, out);
        text(inner, out);
        text(code, out);
    }
    if record.asnum > 0 {
        text("autonomous_system_number", out);
        unsigned(Unsigned::ThirtyTwo, record.asnum, out);
    }
}

fn map(size: usize, out: &mut Vec<u8>) {
    debug_assert!(size < 29, "larger maps need a longer header");
    out.push(7 << 5 | size as u8);
}

fn text(text: &str, out: &mut Vec<u8>) {
    match u8::try_from(text.len()) {
        Ok(size @ 0..29) => out.push(2 << 5 | size),
        _ => out.extend_from_slice(&[2 << 5 | 29, (text.len() - 29) as u8]),
    }
    out.extend_from_slice(text.as_bytes());
}

/// Widths of unsigned integers.
#[derive(Clone, Copy)]
enum Unsigned {
    Sixteen,
    ThirtyTwo,
    SixtyFour,
}

fn unsigned(width: Unsigned, value: u32, out: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    let digits = &bytes[value.leading_zeros() as usize / 8..];
    match width {
        Unsigned::Sixteen => out.push(5 << 5 | digits.len() as u8),
        Unsigned::ThirtyTwo => out.push(6 << 5 | digits.len() as u8),
        Unsigned::SixtyFour => out.extend_from_slice(&[digits.len() as u8, 9 - 7]),
    }
    out.extend_from_slice(digits);
}
