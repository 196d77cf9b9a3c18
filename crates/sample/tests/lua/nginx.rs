//! nginx with `ngx_http_lua_module`: Lua frames are at the right position in the C stack.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use weir_profile::{Frame, Origin};

use crate::program::{check_read, count, demand_privilege, folded, lua, path, sample};

const MODULES: [&str; 2] =
    ["/usr/lib/nginx/modules/ndk_http_module.so", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];

struct Nginx {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Nginx {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path().display();
        let configuration = format!(
            "daemon off; master_process off; worker_processes 1; pid {at}/pid; error_log {at}/error.log;\n\
             load_module {};\nload_module {};\nevents {{}}\nhttp {{ access_log off; \
             client_body_temp_path {at}/1; proxy_temp_path {at}/2; fastcgi_temp_path {at}/3; uwsgi_temp_path {at}/4; \
             scgi_temp_path {at}/5; server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; location / {{ \
             access_by_lua_file {}; content_by_lua_block {{ ngx.say('hi') }} }} }} }}\n",
            MODULES[0],
            MODULES[1],
            path("access.lua").display(),
        );
        let file = directory.path().join("nginx.conf");
        std::fs::write(&file, configuration).expect("it is written");
        let child = Command::new("nginx")
            .args(["-p", &at.to_string(), "-c"])
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let started = (0..100).any(|_| {
            sleep(Duration::from_millis(50));
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(started, "nginx listens");
        Self { child, port, _directory: directory }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request after another over one connection.
fn load(port: u16, stop: &AtomicBool) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).expect("nginx listens");
    let mut answer = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        connection.write_all(b"GET /some/path HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n\r\n").expect("it takes requests");
        let mut seen = Vec::new();
        while !seen.ends_with(b"0\r\n\r\n") {
            let length = connection.read(&mut answer).expect("it answers");
            assert!(length > 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&answer[..length]);
        }
        assert!(seen.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&seen));
    }
}

#[test]
fn handlers_of_nginx_stand_on_its_c() {
    demand_privilege();
    let nginx = Nginx::start();
    let stop = Arc::new(AtomicBool::new(false));
    let client = thread::spawn({
        let (stop, port) = (Arc::clone(&stop), nginx.port);
        move || load(port, &stop)
    });
    sleep(Duration::from_millis(200));
    let profile = sample(nginx.child.id(), Duration::from_millis(2500));
    stop.store(true, Ordering::Relaxed);
    client.join().expect("each request was answered");

    check_read(&profile, 0.1);
    let order = |stack: &[&Frame], names: &[&str]| {
        let mut rest = stack.iter();
        names.iter().all(|name| rest.any(|frame| frame.name == *name))
    };
    let handler = ["ngx_http_lua_run_thread", "[lj_vm]", "main chunk"];
    let chunk = |stack: &[&Frame]| {
        stack
            .iter()
            .any(|frame| frame.origin == Origin::Lua && frame.module == "access.lua" && frame.name == "main chunk")
    };
    let all = count(&profile, chunk);
    let placed = count(&profile, |stack| chunk(stack) && order(stack, &handler));
    assert!(all > 10 && placed * 100 >= all * 98, "{placed} of {all}\n{}", folded(&profile));
    for name in ["read_vars", "sort_keys", "spin"] {
        let found = count(&profile, |stack| lua(stack).contains(&name));
        assert!(found > 0, "{name}\n{}", folded(&profile));
    }
}
