//! Choosing a member, and its address in the system's terms.

use std::net::SocketAddr;
use std::rc::Rc;

use nginx_sys::{ngx_pool_t, ngx_str_t, sockaddr, socklen_t};
use weir_gateway::{Choice, Member, Upstream};

use crate::ffi;

/// A member to try, none of those that have been.
pub fn pick(upstream: &Rc<Upstream>, key: Option<u64>, random: u64, tried: &[u64]) -> Option<Rc<Member>> {
    let choice = Choice { now_ms: ffi::now_ms(), key, random, tried };
    upstream.pick(&choice).map(|picked| picked.member)
}

/// The address of a member in the form of the socket API.
pub struct Address {
    storage: libc::sockaddr_storage,
    length: socklen_t,
    /// The address that a configured name resolved to.
    resolved: Option<SocketAddr>,
}

impl Default for Address {
    fn default() -> Self {
        // SAFETY: plain data, for which zeros are "unspecified".
        Self { storage: unsafe { std::mem::zeroed() }, length: 0, resolved: None }
    }
}

impl Address {
    /// Takes one of the member's addresses, by a random number; gives what it has over a Unix socket: `Some(None)`.
    /// `None` if it has no address.
    pub fn set(&mut self, member: &Member, random: u64) -> Option<Option<SocketAddr>> {
        if let Some(path) = member.unix_path() {
            self.set_path(path.as_bytes())?;
            return Some(None);
        }
        let address = member.address(random)?;
        self.set_socket(address);
        self.resolved = member.spec().socket.is_none().then_some(address);
        Some(Some(address))
    }

    fn set_path(&mut self, path: &[u8]) -> Option<()> {
        // SAFETY: the storage has room for any address, and zeros are a good one of each family.
        let un = unsafe { &mut *(&raw mut self.storage).cast::<libc::sockaddr_un>() };
        if path.len() >= un.sun_path.len() {
            return None;
        }
        un.sun_family = libc::AF_UNIX as libc::sa_family_t;
        un.sun_path.fill(0);
        for (to, from) in un.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        self.length = size_of::<libc::sockaddr_un>() as socklen_t;
        self.resolved = None;
        Some(())
    }

    fn set_socket(&mut self, address: SocketAddr) {
        let storage = &raw mut self.storage;
        match address {
            SocketAddr::V4(v4) => {
                // SAFETY: as for `set_path`.
                let to = unsafe { &mut *storage.cast::<libc::sockaddr_in>() };
                to.sin_family = libc::AF_INET as libc::sa_family_t;
                to.sin_port = v4.port().to_be();
                to.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                self.length = size_of::<libc::sockaddr_in>() as socklen_t;
            }
            SocketAddr::V6(v6) => {
                // SAFETY: as for `set_path`.
                let to = unsafe { &mut *storage.cast::<libc::sockaddr_in6>() };
                to.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                to.sin6_port = v6.port().to_be();
                to.sin6_addr.s6_addr = v6.ip().octets();
                to.sin6_scope_id = v6.scope_id();
                to.sin6_flowinfo = v6.flowinfo();
                self.length = size_of::<libc::sockaddr_in6>() as socklen_t;
            }
        }
    }

    /// The address itself, at home in the value at `this`.
    ///
    /// # Safety
    /// `this` points to a value.
    pub unsafe fn pointer(this: *mut Self) -> *mut sockaddr {
        // SAFETY: as the caller promises.
        unsafe { (&raw mut (*this).storage).cast() }
    }

    /// Length of the address in bytes.
    pub fn length(&self) -> socklen_t {
        self.length
    }

    /// The address in logs: as configured, or the one that the name resolved to.
    ///
    /// # Safety
    /// `pool` is a live pool.
    pub unsafe fn name(&self, pool: *mut ngx_pool_t, member: &Member) -> Option<ngx_str_t> {
        // SAFETY: as the caller promises.
        unsafe {
            match self.resolved {
                Some(address) => ffi::copy(pool, address.to_string().as_bytes()),
                None => ffi::copy(pool, member.spec().address.as_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_out_as_the_system_writes_them() {
        let mut address = Address::default();
        address.set_socket("192.0.2.7:8080".parse().unwrap());
        // SAFETY: an IPv4 address was just put there.
        let v4 = unsafe { &*Address::pointer(&raw mut address).cast::<libc::sockaddr_in>() };
        assert_eq!((v4.sin_port, v4.sin_addr.s_addr.to_ne_bytes()), (8080_u16.to_be(), [192, 0, 2, 7]));
        address.set_socket("[2001:db8::1]:443".parse().unwrap());
        // SAFETY: an IPv6 address was just put there.
        let v6 = unsafe { &*Address::pointer(&raw mut address).cast::<libc::sockaddr_in6>() };
        assert_eq!(
            (i32::from(v6.sin6_family), v6.sin6_addr.s6_addr[..4].to_vec()),
            (libc::AF_INET6, vec![32, 1, 13, 184])
        );
        assert!(address.set_path(b"/run/app.sock").is_some());
        assert!(address.set_path(&[b'x'; 200]).is_none(), "paths have a bound");
    }
}
