//! nginx configurations are read as nginx reads them, whatever their contents.

use std::collections::BTreeMap;
use std::io;

use proptest::prelude::*;
use weir_diagnose::facts::nginx::{Block, Files, Limits, PassTarget, ScopeKind, load};
use weir_diagnose::facts::root::Root;
use weir_diagnose::facts::{Configuration, Directive};

/// Files in memory.
struct Memory(BTreeMap<String, Vec<u8>>);

impl Files for Memory {
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let bytes = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
        if bytes.len() as u64 > max_bytes { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes.clone()) }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let below = self.0.keys().filter_map(|name| Some(name.strip_prefix(&prefix)?.split('/').next()?.to_owned()));
        Ok(below.collect::<std::collections::BTreeSet<_>>().into_iter().collect())
    }
}

fn read(files: &[(&str, &str)]) -> Configuration {
    let files = files.iter().map(|&(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect();
    load(&Memory(files), "/etc/nginx/nginx.conf", "/etc/nginx", Limits::default())
}

fn one(text: &str) -> Configuration {
    read(&[("/etc/nginx/nginx.conf", text)])
}

fn sketch(directives: &[Directive]) -> String {
    let one = |directive: &Directive| {
        let inner = match &directive.block {
            Block::None => String::new(),
            Block::Directives(children) => format!("{{{}}}", sketch(children)),
            Block::Lua(code) => format!("<{}>", code.trim()),
        };
        format!("{}{:?}{inner}", directive.name, directive.arguments).replace("[]", "")
    };
    directives.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn words_are_nginx_words() {
    let cases = [
        ("a b;", r#"a["b"]"#),
        ("a 'b c' \"d;\" e\\;f;", r#"a["b c", "d;", "e\\;f"]"#),
        ("a ${x}y {b;}", r#"a["${x}y"]{b}"#),
        ("a # c\n b; # d", r#"a["b"]"#),
        ("a b#c;", r#"a["b#c"]"#),
        ("a b}c;", r#"a["b}c"]"#),
        (r#"a "x\"y\t\\z\d";"#, r#"a["x\"y\t\\z\\d"]"#),
        ("map $a $b { default 1; '' 2; }", r#"map["$a", "$b"]{default["1"] ["2"]}"#),
        ("location ~ '^/(a|b){2}$' {}", r#"location["~", "^/(a|b){2}$"]{}"#),
        ("\u{feff}a;", "a"),
        (
            "x_by_lua_block { a = { b = '}' } -- }\n c = [==[ } ]] ]==] } d;",
            "x_by_lua_block<a = { b = '}' } -- }\n c = [==[ } ]] ]==]> d",
        ),
        ("set_by_lua_block $x { return \"\\\"}\" }", r#"set_by_lua_block["$x"]<return "\"}">"#),
        ("a_by_lua_block { --[[ } ]] x() --[=[ ]] } ]=] }", "a_by_lua_block<--[[ } ]] x() --[=[ ]] } ]=]>"),
    ];
    for (text, want) in cases {
        let read = one(text);
        assert_eq!(sketch(&read.directives), want, "{text}");
        assert!(read.errors.is_empty(), "{text}: {:?}", read.errors);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_the_rest_is_kept() {
    let cases = [
        ("a;\nb", "a", "nginx.conf:2: missing ; at the end of the file"),
        ("a;\n}", "a", "nginx.conf:2: unexpected }"),
        ("a {\n b;\n", r"a{b}", "nginx.conf:2: missing } at the end of the file"),
        ("a;\n 'b\n\n", "a", "nginx.conf:2: a quote is not closed"),
        ("a { b }", "a{}", "missing ; before }"),
        ("a 'b'c;", "", "missing blank, ; or { after a quote"),
        ("a_by_lua_block {\n }}", "a_by_lua_block<>", "unexpected }"),
        ("a_by_lua_block {\n '", "", "a block of Lua is not closed"),
        (";", "", "a ; without a directive"),
    ];
    for (text, want, error) in cases {
        let read = one(text);
        assert_eq!(sketch(&read.directives), want, "{text}");
        assert!(read.errors.len() == 1 && read.errors[0].contains(error), "{text}: {:?}", read.errors);
    }
    let deep = "a {".repeat(100_000);
    assert!(one(&deep).errors[0].contains("nested too deep"));
}

#[test]
fn included_files_stand_where_they_are_included() {
    let read = read(&[
        ("/etc/nginx/nginx.conf", "include mime.types; http { include conf.d/*.conf; include /opt/[!b]?.x; }"),
        ("/etc/nginx/mime.types", "types { a/b c; }"),
        ("/etc/nginx/conf.d/2.conf", "two;"),
        ("/etc/nginx/conf.d/1.conf", "\n\none;"),
        ("/etc/nginx/conf.d/.hidden.conf", "hidden;"),
        ("/opt/aa.x", "aa;"),
        ("/opt/bb.x", "bb;"),
    ]);
    assert_eq!(sketch(&read.directives), r#"types{a/b["c"]} http{one two aa}"#);
    assert_eq!(read.all("one")[0].place.to_string(), "/etc/nginx/conf.d/1.conf:3");
    assert_eq!(read.files.len(), 5);
    assert!(read.errors.is_empty(), "{:?}", read.errors);
}

#[test]
fn includes_are_bounded() {
    let itself = one("a; include nginx.conf;");
    assert_eq!(itself.directives.len(), 16);
    assert!(itself.errors[0].contains("more than 16 nested files"), "{:?}", itself.errors);
    let twice = one("a; include nginx.conf; include nginx.conf;");
    assert_eq!((twice.all("a").len(), twice.errors.len()), (1000, 100));
    let deeper = one("a { include nginx.conf; }");
    assert_eq!(deeper.all("a").len(), 16);
    let deepest = one("a { b { c { include nginx.conf; } } }");
    assert!(deepest.errors.iter().any(|error| error.contains("nested too deep")), "{:?}", deepest.errors);
    let missing = one("include /nowhere; include /nowhere/*; a;");
    assert!(missing.errors.len() == 1 && missing.directives.len() == 1, "{missing:?}");
}

const SITE: &str = r#"
user www;
http {
    access_log off;
    gzip on;
    upstream backend { server 10.0.0.1:80; server 10.0.0.2:80; keepalive 16; }
    upstream other { server 10.0.0.3; }
    proxy_http_version 1.1;
    server {
        listen 8080;
        server_name shop.example;
        proxy_set_header Host a;
        location / { proxy_pass http://backend; }
        location /api {
            gzip off;
            proxy_set_header X 1;
            proxy_set_header Y 2;
            if ($a) { proxy_pass http://other/x; }
            location /api/v2 { proxy_pass http://$name; }
        }
        location /static { fastcgi_pass unix:/run/x.sock; }
        location /far { proxy_pass https://far.example:8443/y; }
    }
}
"#;

#[test]
fn directives_are_inherited_as_nginx_does() {
    let read = one(SITE);
    let scopes = read.scopes();
    let scope = |title: &str| scopes.iter().find(|scope| scope.title().ends_with(title)).expect("is there");
    let api = scope("location /api");
    assert_eq!(api.title(), "server shop.example (8080), location /api");
    assert_eq!((api.value("gzip"), scope("location /").value("gzip")), (Some("off"), Some("on")));
    assert_eq!(api.all("proxy_set_header").len(), 2);
    let inner = scope("location /api/v2");
    assert_eq!(inner.all("proxy_set_header").iter().map(|one| one.value()).collect::<Vec<_>>(), ["X", "Y"]);
    assert_eq!(scope("location /").value("proxy_set_header"), Some("Host"));
    assert_eq!(inner.value("proxy_http_version"), Some("1.1"));
    assert_eq!((inner.value("user"), inner.value("nothing")), (Some("www"), None));
    assert_eq!(read.servers().len(), 1);
    assert_eq!(read.locations().iter().filter(|scope| scope.kind() == ScopeKind::Location).count(), 5);
    assert_eq!(scope("if ($a)").kind(), ScopeKind::Condition);
}

#[test]
fn passes_lead_to_their_upstreams() {
    let read = one(SITE);
    let mut targets = Vec::new();
    for scope in read.locations() {
        for pass in scope.passes() {
            targets.push(match pass.target {
                PassTarget::Upstream(upstream) => format!("upstream {}", upstream.value()),
                PassTarget::Address(address) => format!("address {address}"),
                PassTarget::Variable(text) => format!("variable {text}"),
            });
        }
    }
    let want = [
        "upstream backend",
        "upstream other",
        "variable http://$name",
        "address unix:/run/x.sock",
        "address far.example:8443",
    ];
    assert_eq!(targets, want);
    let upstreams = read.upstreams();
    assert_eq!(
        upstreams.iter().map(|one| (one.name(), one.servers().count())).collect::<Vec<_>>(),
        [("backend", 2), ("other", 1)]
    );
    assert_eq!(upstreams[0].keepalive().map(|one| (one.value(), one.place.line)), Some(("16", 6)));
    assert!(upstreams[1].keepalive().is_none());
}

#[test]
fn the_installed_configuration_is_read_whole() {
    let root = Root::at("/");
    let names = root.list("/etc/nginx").expect("nginx is installed: `make setup`");
    let read = load(&root, "/etc/nginx/nginx.conf", "/etc/nginx", Limits::default());
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    assert!(!read.servers().is_empty() && read.all("types").len() == 1, "{:?}", read.files);
    for name in
        names.iter().filter(|name| name.ends_with("_params") || name.ends_with(".conf") || name.ends_with(".types"))
    {
        if name.contains("modsecurity") || name.contains("unicode") {
            continue;
        }
        let read = load(&root, &format!("/etc/nginx/{name}"), "/etc/nginx", Limits::default());
        assert!(read.errors.is_empty() && !read.directives.is_empty(), "{name}: {:?}", read.errors);
    }
}

#[test]
fn what_was_read_can_be_saved_and_read_again() {
    let deep = format!("{} x; {}", "a {".repeat(32), "}".repeat(32));
    for text in [SITE, deep.as_str()] {
        let read = one(text);
        let saved = serde_json::to_vec(&read).expect("writes");
        assert_eq!(serde_json::from_slice::<Configuration>(&saved).expect("reads"), read);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let files = [("/c".to_owned(), bytes)].into_iter().collect();
        let _ = load(&Memory(files), "/c", "/", Limits::default());
    }

    #[test]
    fn anything_like_a_configuration_is_read_without_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", " ", ";", "{", "}", "\n", "\"", "'", "\\", "#", "$", "${", "include c;", "include *;", "x_by_lua_block {", "--", "[[", "]]",
            "[=[", "]=]", "http {", "server {", "location / {", "proxy_pass http://a;", "upstream a {", "é", "if",
        ]), 0..200)
    ) {
        let text = pieces.concat();
        let files = [("/c".to_owned(), text.clone().into_bytes())].into_iter().collect();
        let limits = Limits { files: 50, ..Limits::default() };
        let read = load(&Memory(files), "/c", "/", limits);
        for scope in read.scopes() {
            let _ = (scope.title(), scope.passes(), scope.all("a"));
        }
        let saved = serde_json::to_vec(&read).expect("writes");
        prop_assert_eq!(serde_json::from_slice::<Configuration>(&saved).expect("reads"), read);
    }
}
