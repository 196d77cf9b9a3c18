//! Weir beside other features of nginx: FastCGI, Lua, nginx's own logs, maps and conditions.

use serde_json::json;
use weir_tests::fnv::fnv;
use weir_tests::origin::{self, Echo};
use weir_tests::{Request, Setup, wait};

use crate::LOOKS_EVERYWHERE;

#[test]
fn fastcgi_receives_parameters_and_the_inspected_body() {
    let location = format!(
        "location / {{ fastcgi_pass {}; fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;\n\
         fastcgi_param WEIR_ID $weir_request_id; fastcgi_param CONTENT_LENGTH $content_length; }}",
        origin::fastcgi::start()
    );
    let text = LOOKS_EVERYWHERE.replace(
        "    rules:\n",
        "    rules:\n      - {id: mark, when: 'true', action: {set_header: {on: request, name: X-Mark, value: '\"weir\"'}}}\n",
    );
    let nginx = Setup::policy(&text).server(&location).start();
    let body = "a=b&".repeat(5000);
    let response = nginx.send(&Request::post("/x?q=1", "application/x-www-form-urlencoded", body.clone()).chunked());
    let json = response.json();
    assert_eq!(json["body_fnv"], fnv(body.as_bytes()));
    assert_eq!(json["parameters"]["HTTP_X_MARK"], "weir", "{json:#}");
    assert_eq!(json["parameters"]["WEIR_ID"].as_str().map(str::len), Some(36));
    assert_eq!(nginx.send(&Request::post("/", "text/plain", "attack-body")).status, 403);
}

#[test]
fn return_and_rewrite_modules_answer_and_are_logged() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server("location /r { return 302 /elsewhere; }\nlocation /t { return 200 \"text $weir_request_id\"; }")
        .start();
    assert_eq!(nginx.get("/r").status, 302);
    assert_eq!(nginx.get("/t").text().len(), "text ".len() + 36);
    assert_eq!(nginx.accesses(2).len(), 2);
}

#[test]
fn access_log_map_and_if_of_nginx_see_the_variables() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let log = setup.prefix().join("nginx.log");
    let http = "log_format weir escape=json '{\"id\":\"$weir_request_id\",\"verdict\":\"$weir_verdict\",\"rule\":\"$weir_rule\",\"mapped\":\"$mapped\"}';\n\
         map $weir_verdict $mapped { default other; block stopped; pass through; }";
    let server = format!("access_log {} weir;", log.display());
    let nginx = setup.http(http).server(&server).proxy(Echo::start()).workers(1).start();
    assert_eq!(nginx.get("/").status, 200);
    assert_eq!(nginx.get("/attack-path").status, 403);
    let lines = wait::until("two lines of nginx's own log", || {
        Some(weir_tests::log::lines(&log)).filter(|lines| lines.len() == 2)
    });
    assert_eq!((&lines[0]["verdict"], &lines[0]["mapped"]), (&json!("pass"), &json!("through")));
    assert_eq!(
        (&lines[1]["verdict"], &lines[1]["rule"], &lines[1]["mapped"]),
        (&json!("block"), &json!("path"), &json!("stopped"))
    );
    let ours = nginx.accesses(2);
    assert_eq!((&ours[0]["request_id"], &ours[1]["request_id"]), (&lines[0]["id"], &lines[1]["id"]));
}

/// The paths of Debian's Lua module and of the module that it requires.
pub const LUA: [&str; 2] =
    ["/usr/lib/nginx/modules/ndk_http_module.so", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];

#[test]
fn beside_the_lua_module() {
    let location = format!(
        "location / {{ rewrite_by_lua_block {{ ngx.req.set_header('X-Lua', 'rewrite') }}\n\
         access_by_lua_block {{ ngx.req.read_body(); ngx.req.set_header('X-Body', tostring(#(ngx.req.get_body_data() or ''))) \n\
         ngx.req.set_header('X-Id', ngx.var.weir_request_id) }}\n\
         header_filter_by_lua_block {{ ngx.header['X-Verdict'] = ngx.var.weir_verdict }}\n\
         proxy_pass http://{}; }}\n\
         location /lua {{ content_by_lua_block {{ ngx.say('lua ', ngx.var.weir_verdict) }} }}\n\
         location /exec {{ access_by_lua_block {{ return ngx.exec('/lua') }} }}\n\
         location /capture {{ content_by_lua_block {{ ngx.print(ngx.location.capture('/lua').body) }} }}",
        Echo::start()
    );
    let setup = LUA.iter().fold(Setup::policy(LOOKS_EVERYWHERE), |setup, path| setup.module(*path));
    let nginx = setup.server(&location).start();
    let response = nginx.send(&Request::post("/", "text/plain", "hello"));
    assert_eq!((response.status, response.header("x-verdict")), (200, Some("pass")), "{}", response.text());
    assert_eq!(response.received("x-lua").as_deref(), Some("rewrite"));
    assert_eq!(response.received("x-body").as_deref(), Some("5"));
    assert_eq!(response.received("x-id").map(|id| id.len()), Some(36));
    let denied = nginx.send(&Request::post("/", "text/plain", "attack-body"));
    assert_eq!((denied.status, denied.header("x-verdict")), (403, Some("block")));
    assert_eq!(nginx.get("/lua").text(), "lua pass\n");
    assert_eq!(nginx.get("/exec").text(), "lua pass\n");
    assert_eq!(nginx.get("/capture").text(), "lua pass\n");
    assert_eq!(nginx.get("/capture/attack-path").status, 403);
    assert_eq!(nginx.accesses(6).len(), 6, "one line per client request");
    assert!(nginx.crashes().is_empty());
}

#[test]
fn beside_gzip_limit_req_realip_and_proxy_cache() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let cache = setup.prefix().join("cache");
    let http = format!(
        "gzip on; gzip_types *; gzip_min_length 1; proxy_cache_path {} keys_zone=c:1m;\nlimit_req_zone $binary_remote_addr zone=l:1m rate=1000r/s;\n\
         set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;",
        cache.display()
    );
    let origin = Echo::start();
    let server = format!(
        "location / {{ limit_req zone=l burst=100 nodelay; proxy_cache c; proxy_cache_valid 200 1m; proxy_pass http://{origin}; }}"
    );
    let nginx = setup.http(&http).server(&server).workers(1).start();
    let request = Request::get("/cached").header("Accept-Encoding", "gzip").header("X-Real-IP", "192.0.2.9");
    for _ in 0..3 {
        let response = nginx.send(&request);
        assert_eq!((response.status, response.header("content-encoding")), (200, Some("gzip")));
    }
    assert_eq!(origin.seen().len(), 1, "the cache answers");
    assert_eq!(nginx.get("/cached?q=union%20select").status, 403);
    let lines = nginx.accesses(4);
    assert_eq!(lines[0]["client"], "192.0.2.9", "{:#}", lines[0]);
}
