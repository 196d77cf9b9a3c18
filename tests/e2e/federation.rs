//! Messages of plugins in Lua: from worker to worker, and to the one worker that has the connection to a peer.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use weir_tests::nginx::kill;
use weir_tests::origin::serve;
use weir_tests::wait::until;
use weir_tests::{Gateway, Nginx, Request, Setup};

use crate::beside::LUA;

/// A gateway with Lua beside it.
fn start(http: &str, server: &str, documents: &[(&str, Value)]) -> Gateway {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().display().to_string();
    let setup = LUA.iter().fold(Setup::gateway(), |setup, path| setup.module(*path));
    let http = format!("lua_package_path '{root}/lua/?.lua;{root}/examples/federation/?.lua;;';\n{http}");
    Gateway::start_with(setup.workers(2).http(&http).server(server), documents)
}

/// The answer, and the worker that gave it.
fn ask(nginx: &Nginx, target: &str) -> (u16, String) {
    let response = nginx.get(target);
    (response.status, response.text().trim_end().to_owned())
}

#[test]
fn lua_publishes_listens_claims_asks_and_answers_across_workers() {
    let http = "init_worker_by_lua_block {
        local bus = require 'weir.bus'
        heard = {}
        ngx.timer.at(0, function()
            local all, group = assert(bus.subscribe('news/#')), assert(bus.subscribe('jobs/+', { group = 'workers' }))
            local sums = assert(bus.serve('sum'))
            ngx.thread.spawn(function() while true do
                local message = all:receive(5); if message then heard[#heard + 1] = message.data end end end)
            ngx.thread.spawn(function() while true do
                local message = group:receive(5); if message then heard[#heard + 1] = 'job ' .. message.data end end end)
            ngx.thread.spawn(function() while true do
                local question = sums:receive(5)
                if question then
                    local a, b = question.data:match('(%d+)+(%d+)')
                    question:reply(ngx.worker.id() .. ': ' .. (a + b))
                end end end)
            heard.leader = bus.claim('leader')
        end)
    }";
    let server = "
        location /heard { content_by_lua_block { ngx.say(ngx.worker.id(), ' ', table.concat(heard, ',')) } }
        location /publish { content_by_lua_block {
            local bus = require 'weir.bus'
            assert(bus.publish('news/today', 'one')); assert(bus.publish('jobs/a', 'two'))
            assert(bus.publish('live/x', 'for clients'))
            ngx.say('done') } }
        location /sum { content_by_lua_block {
            ngx.say((require 'weir.bus').request({ worker = tonumber(ngx.var.arg_worker), topic = 'sum' }, '1+2', 1)) } }
        location /wrong { content_by_lua_block {
            local bus = require 'weir.bus'
            local said = {}
            for _, call in ipairs({
                function() return bus.publish('a/+', '') end,
                function() return bus.send_to_owner('nobody', '') end,
                function() return bus.claim('leader') end,
                function() return bus.request({ topic = 'nobody/listens' }, '', 0.05) end,
                function() return bus.subscribe('a//#/b') end,
            }) do
                local ok, err = call()
                said[#said + 1] = tostring(ok) .. ': ' .. tostring(err)
            end
            ngx.say(table.concat(said, '\\n')) } }";
    let documents = [
        ("topics/live", json!({"topics": ["live/#"], "history": {"count": 10}})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/live", json!({"site": "all", "path": "/", "messages": {"topics": "live"}})),
    ];
    let gateway = start(http, server, &documents);
    let nginx = &gateway.nginx;
    until("both workers to answer", || (ask(nginx, "/sum?worker=0").1 == "0: 3").then_some(()));
    until("both workers to answer", || (ask(nginx, "/sum?worker=1").1 == "1: 3").then_some(()));
    assert!(ask(nginx, "/sum?worker=7").1.contains("no worker of this number"));
    assert_eq!(ask(nginx, "/publish").1, "done");
    // Each worker hears the news, one of them has the job.
    let heard = until("both workers to have heard", || {
        let heard: HashSet<String> = (0..20).map(|_| ask(nginx, "/heard").1).collect();
        (heard.len() == 2 && heard.iter().all(|line| line.contains("one"))).then_some(heard)
    });
    assert_eq!(heard.iter().filter(|line| line.contains("job two")).count(), 1, "{heard:?}");
    // What Lua publishes on a topic of a set reaches clients.
    let polled: Value = serde_json::from_str(&ask(nginx, "/live/x?since=oldest").1).unwrap();
    assert_eq!(polled["messages"][0]["data"], "for clients");
    let wrong = ask(nginx, "/wrong").1;
    for (line, said) in wrong.lines().zip(["wildcard", "no owner", "owned by", "timeout", "#"]) {
        assert!(line.starts_with("nil: ") && line.contains(said), "{said} in {line}");
    }
    assert!(nginx.crashes().is_empty());
}

#[test]
fn one_worker_has_the_connection_to_a_peer_and_another_takes_over_when_it_dies() {
    let connections = Arc::new(AtomicUsize::new(0));
    let open = Arc::clone(&connections);
    let peer = serve(move |stream| {
        open.fetch_add(1, Ordering::SeqCst);
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            let (id, text) = line.trim_end().split_once(' ').unwrap();
            (&stream).write_all(format!("{id} {}\n", text.to_uppercase()).as_bytes())?;
            line.clear();
        }
        open.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    });
    let http = format!(
        "init_worker_by_lua_block {{
            require('federation').start({{ {{ name = 'a', host = '{}', port = {} }} }})
        }}",
        peer.ip(),
        peer.port()
    );
    let server = "location /ask { content_by_lua_block {
        local reply, err = require('federation').ask('a', ngx.var.arg_text)
        if not reply then ngx.status = 502; return ngx.say(err) end
        ngx.say(ngx.worker.pid(), ' ', reply) } }";
    let gateway = start(&http, server, &[]);
    let nginx = &gateway.nginx;
    until("the peer to be dialled", || (ask(nginx, "/ask?text=x").0 == 200).then_some(()));
    let replies: HashSet<String> = (0..40)
        .map(|n| {
            let (status, reply) = ask(nginx, &format!("/ask?text=text-{n}"));
            let (pid, text) = reply.split_once(' ').unwrap_or_else(|| panic!("{status} {reply}"));
            assert_eq!(text, format!("TEXT-{n}"));
            pid.to_owned()
        })
        .collect();
    assert_eq!(replies.len(), 2, "both workers were asked");
    assert_eq!(connections.load(Ordering::SeqCst), 1);

    // Kill workers until it was the owner: another one takes over.
    for _ in 0..4 {
        let victim = nginx.workers()[0];
        kill(victim, libc::SIGKILL);
        until("the peer to be reached again", || {
            let answer = Request::get("/ask?text=again");
            let mut connection = weir_tests::Connection::try_open(nginx.port).ok()?;
            let response = answer.try_send_on(&mut connection).ok()?;
            (response.status == 200).then_some(())
        });
        until("one connection", || (connections.load(Ordering::SeqCst) == 1).then_some(()));
        until("two workers", || (nginx.workers().len() == 2).then_some(()));
    }
}

#[test]
fn a_module_in_c_hears_messages_and_answers_questions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let nginx_source = std::env::var_os("NGINX_SOURCE_DIR").map_or_else(|| root.join(".build/nginx"), Into::into);
    let setup = Setup::gateway();
    let module = setup.prefix().join("bus_example.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(&module);
    for part in [
        "objs",
        "src/core",
        "src/event",
        "src/event/modules",
        "src/os/unix",
        "src/http",
        "src/http/modules",
        "src/http/v2",
    ] {
        compiler.arg("-I").arg(nginx_source.join(part));
    }
    compiler.arg("-I").arg(root.join("crates/nginx/include"));
    compiler.arg(root.join("examples/bus/ngx_http_bus_example_module.c"));
    assert!(compiler.status().unwrap().success());

    let total = "location = /total { content_by_lua_block {
        local bus, sum = require 'weir.bus', 0
        for worker = 0, 1 do sum = sum + tonumber((assert(bus.request({ worker = worker, topic = 'total' }, '', 5)))) end
        ngx.print(sum) } }";
    let setup = LUA.iter().fold(setup.module(module), |setup, path| setup.module(*path));
    let http = format!("lua_package_path '{}/lua/?.lua;;';\n", root.display());
    let gateway = Gateway::start_with(
        setup.workers(2).http(&http).server(total),
        &[
            ("topics/all", json!({"topics": ["orders/#", "counted"]})),
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/live", json!({"site": "all", "path": "/live", "messages": {"topics": "all", "publish": true}})),
        ],
    );
    let nginx = &gateway.nginx;
    let mut counted = crate::messages::Events::open(nginx, "/live/counted", None);
    for n in 0..20 {
        let _ = crate::messages::publish(nginx, &format!("/live/orders/{n}"), "paid");
        assert_eq!(counted.next().unwrap().data, format!("orders/{n}: paid"));
    }
    assert_eq!(ask(nginx, "/total"), (200, "20".to_owned()));
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}
