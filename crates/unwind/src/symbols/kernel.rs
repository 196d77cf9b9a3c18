//! Names of the kernel's functions, from `/proc/kallsyms`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};
use weir_profile::{Frame, Origin};

/// Maximum number of cached names.
const MAX_NAMES: usize = 65_536;
/// Number of lines of the file examined to detect hidden addresses.
const LINES_LOOKED_AT: usize = 16;
/// Maximum length of an examined line, in bytes.
const MAX_LINE: u64 = 1024;

/// The kernel's symbols, read at the first look-up.
#[derive(Debug, Default)]
pub(crate) struct KernelSymbols {
    symbolizer: Option<Symbolizer>,
    /// The reason why there are no names; `None` if there are names, or before the first look-up.
    hidden: Option<&'static str>,
    asked: bool,
    names: HashMap<u64, String>,
}

impl KernelSymbols {
    /// The function at an address.
    pub fn resolve(&mut self, address: u64) -> Frame {
        if !std::mem::replace(&mut self.asked, true) {
            self.start();
        }
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
        }
        let symbolizer = self.symbolizer.as_ref();
        let name = self.names.entry(address).or_insert_with(|| {
            symbolizer.and_then(|symbolizer| look_up(symbolizer, address)).unwrap_or_else(|| "[kernel]".to_owned())
        });
        Frame { name: name.clone(), origin: Origin::Kernel, module: "[kernel]".to_owned(), ..Frame::default() }
    }

    /// A remark if there are no names.
    pub fn remark(&self) -> Option<String> {
        self.hidden.map(|reason| format!("kernel functions have no names: {reason}"))
    }

    fn start(&mut self) {
        match addresses_shown() {
            Ok(true) => self.symbolizer = Some(Symbolizer::builder().enable_code_info(false).build()),
            Ok(false) => {
                self.hidden = Some("kernel.kptr_restrict hides them; run as root with sysctl kernel.kptr_restrict=0");
            }
            Err(_) => self.hidden = Some("/proc/kallsyms cannot be read"),
        }
    }
}

fn look_up(symbolizer: &Symbolizer, address: u64) -> Option<String> {
    let kernel =
        Kernel { vmlinux: MaybeDefault::None, debug_syms: false, kallsyms: MaybeDefault::Default, ..Kernel::default() };
    let found = symbolizer.symbolize_single(&Source::Kernel(kernel), Input::AbsAddr(address)).ok()?;
    found.into_sym().map(|symbol| symbol.name.into_owned())
}

/// Whether the file has addresses instead of zeros.
fn addresses_shown() -> io::Result<bool> {
    let file = BufReader::new(File::open("/proc/kallsyms")?.take(MAX_LINE * LINES_LOOKED_AT as u64));
    for line in file.lines().take(LINES_LOOKED_AT) {
        if line?.split(' ').next().is_some_and(|address| address.bytes().any(|digit| digit != b'0')) {
            return Ok(true);
        }
    }
    Ok(false)
}
