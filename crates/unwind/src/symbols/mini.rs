//! `.gnu_debugdata`: a small symbol table, compressed with xz, that some distributions leave in stripped binaries.

use std::io::{self, Write};

use crate::module::Module;

/// Maximum size of the unpacked file, in bytes. A table of 100,000 functions takes some 8 MB.
const MAX_UNPACKED: usize = 64 << 20;

/// A buffer that refuses to grow beyond its limit.
struct BoundedBuffer(Vec<u8>);

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_UNPACKED {
            return Err(io::Error::other("larger than the limit"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The ELF file in a module's `.gnu_debugdata`; `None` if it has none or it is damaged.
pub(crate) fn unpacked(module: &Module) -> Option<Vec<u8>> {
    let mut packed = module.section(".gnu_debugdata").filter(|section| !section.data.is_empty())?.data;
    let mut file = BoundedBuffer(Vec::new());
    lzma_rs::xz_decompress(&mut packed, &mut file).ok()?;
    Some(file.0)
}
