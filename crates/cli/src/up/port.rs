//! Whether the port is free, and if not, who has it.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

use crate::Failure;
use crate::terminal::shown;

/// State LISTEN in `/proc/net/tcp` (proc(5), `TCP_LISTEN` in the kernel's `tcp_states.h`).
const LISTENING: &str = "0A";

/// An error that says what to do, if the port cannot be had.
pub(super) fn check_free(port: u16) -> Result<(), Failure> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let by = holder(port).map_or_else(String::new, |who| format!(" by {who}"));
            let other = if port == 8080 { 8081 } else { 8080 };
            Err(Failure::new(format!("port {port} on 127.0.0.1 is taken{by}"))
                .hint(format!("choose another: WEIR_PORT={other} make run, or weir up --port {other}")))
        }
        Err(error) => Err(Failure::new(format!("port {port} on 127.0.0.1 cannot be used: {error}"))
            .hint("choose one above 1023: WEIR_PORT=8080 make run, or weir up --port 8080")),
    }
}

/// A port that nobody has now.
pub(super) fn any_free() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| Failure::new(format!("no free port on 127.0.0.1: {error}")))
}

/// The process that listens on `port`, if it can be found without further rights.
fn holder(port: u16) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, port))
        .collect();
    let sockets: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids: Vec<u32> = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // Of a server and its workers, which share the socket, the oldest is the one to stop.
    pids.sort_unstable();
    let pid = pids.into_iter().find(|pid| has_one_of(*pid, &sockets))?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", shown(command.trim(), 32)))
}

fn listening_inodes(table: &str, port: u16) -> Vec<String> {
    let end = format!(":{port:04X}");
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|fields| fields.len() > 9 && fields[1].ends_with(&end) && fields[3] == LISTENING)
        .map(|fields| fields[9].to_owned())
        .collect()
}

fn has_one_of(pid: u32, sockets: &[String]) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut targets = descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    targets.any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_names_port_holder_and_way_out() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds");
        let port = listener.local_addr().expect("is bound").port();
        let text = check_free(port).expect_err("is taken").render(crate::style::Stream::Err);
        assert!(
            text.contains(&format!("port {port} on 127.0.0.1 is taken by process {}", std::process::id())),
            "{text}"
        );
        assert!(text.contains("WEIR_PORT=8080"), "{text}");
        drop(listener);
        check_free(port).expect("is free again");
    }

    #[test]
    fn the_kernel_s_table_is_read_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n\
            2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0\n";
        assert_eq!(listening_inodes(table, 0x1F90), ["4711"]);
    }
}
