//! nginx's buffers: their bytes in memory or in a file, and chains of them.

use nginx_sys::{ngx_alloc_chain_link, ngx_buf_t, ngx_chain_t, ngx_file_t, ngx_pcalloc, ngx_pool_t, ngx_read_file};

/// Whether the buffer's bytes are in memory.
///
/// # Safety
/// `buffer` is a live buffer.
pub unsafe fn in_memory(buffer: *const ngx_buf_t) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*buffer).temporary() != 0 || (*buffer).memory() != 0 || (*buffer).mmap() != 0 }
}

/// Number of its bytes.
///
/// # Safety
/// `buffer` is a live buffer: either both pointers are into the same memory, or both are offsets.
pub unsafe fn size(buffer: *const ngx_buf_t) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        if in_memory(buffer) {
            (*buffer).last.offset_from((*buffer).pos).max(0) as u64
        } else {
            ((*buffer).file_last - (*buffer).file_pos).max(0) as u64
        }
    }
}

/// Copies the beginning of a buffer; returns how much.
///
/// # Safety
/// `buffer` is a live buffer; its file, if it has one, is open.
pub unsafe fn copy(buffer: *mut ngx_buf_t, to: &mut [u8]) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        let length = to.len().min(size(buffer) as usize);
        if in_memory(buffer) {
            to[..length].copy_from_slice(std::slice::from_raw_parts((*buffer).pos, length));
            return length;
        }
        let file = (*buffer).file;
        if file.is_null() {
            return 0;
        }
        // Direct reads would have to be aligned.
        let is_direct = (*file).directio() != 0 && set_direct(file, false);
        let mut done = 0;
        while done < length {
            match ngx_read_file(file, to[done..].as_mut_ptr(), length - done, (*buffer).file_pos + done as i64) {
                read @ 1.. => done += read as usize,
                _ => break, // nginx has logged why
            }
        }
        if is_direct {
            set_direct(file, true);
        }
        done
    }
}

/// Makes the kernel read past its cache, or not; whether it does as told.
unsafe fn set_direct(file: *const ngx_file_t, on: bool) -> bool {
    // SAFETY: an open file, as the caller promises.
    unsafe {
        let flags = libc::fcntl((*file).fd, libc::F_GETFL);
        let flags = if on { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
        libc::fcntl((*file).fd, libc::F_SETFL, flags) == 0
    }
}

/// A buffer of bytes that nginx only reads; `None` if there is no memory left.
///
/// # Safety
/// `pool` is a live pool; `bytes` stay as long as nginx may send the buffer.
pub unsafe fn of(pool: *mut ngx_pool_t, bytes: &[u8]) -> Option<*mut ngx_buf_t> {
    // SAFETY: as the caller promises; a buffer of zeros is an empty one.
    unsafe {
        let buffer = ngx_pcalloc(pool, size_of::<ngx_buf_t>()).cast::<ngx_buf_t>().as_mut()?;
        let range = bytes.as_ptr_range();
        buffer.pos = range.start.cast_mut();
        buffer.last = range.end.cast_mut();
        buffer.set_memory(u32::from(!bytes.is_empty()));
        Some(buffer)
    }
}

/// Puts a buffer before a chain; `None` if there is no memory left.
///
/// # Safety
/// `pool` is a live pool, `rest` null or a chain.
pub unsafe fn prepend(pool: *mut ngx_pool_t, buf: *mut ngx_buf_t, rest: *mut ngx_chain_t) -> Option<*mut ngx_chain_t> {
    // SAFETY: as the caller promises.
    unsafe {
        let link = ngx_alloc_chain_link(pool).as_mut()?;
        (link.buf, link.next) = (buf, rest);
        Some(link)
    }
}
