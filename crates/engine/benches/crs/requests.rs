//! The requests: everyday ones, and hostile ones. No value comes twice: each is made of its number.

/// A request.
#[derive(Clone)]
pub struct Request {
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        self.target.len() + headers + self.body.len()
    }
}

type Make = fn(u64) -> Request;

/// All of them, by name.
pub const REQUESTS: &[(&str, Make)] = &[
    ("get", get),
    ("get-cookies", get_cookies),
    ("form-fresh", form_fresh),
    ("form-repeated", |_| form_fresh(7)),
    ("json", json),
    ("upload", upload),
    ("prose-1m", |number| form(prose(number, 1_000_000))),
    ("hostile-sql", |number| fields(190, |field| format!("{number}{field}{}", "'a=b'\"".repeat(106)))),
    ("hostile-quotes", |number| form(format!("{number}{}", "'\"`".repeat(43_000)))),
    ("hostile-words", |number| {
        fields(4_000, |field| format!("{number} {field} select union order by exec <script onload= from where"))
    }),
    ("hostile-spaces", |number| {
        form(format!("{number} like {} having {}", " ".repeat(60_000), "a = b ".repeat(11_000)))
    }),
    ("hostile-entities", |number| form(format!("{number}{}", "&#x61;%2561\\x41\\u0062".repeat(6_000)))),
    ("hostile-comments", |number| form(format!("{number}{}", "/*!/*".repeat(26_000)))),
    ("hostile-tags", |number| form(format!("{number}{}", "<a href=x onx ".repeat(9_300)))),
    ("hostile-tokens", |number| form(format!("{number} {}", "1 or 1=1 union select a,b from c having ".repeat(3_200)))),
    ("hostile-path", |number| form(format!("{number}{}", "../..\\".repeat(21_000)))),
    ("hostile-shell", |number| form(format!("{number}{}", ";$(`|&\n{a,b}".repeat(10_000)))),
    ("hostile-digits", |number| form(format!("{number}{}", "1234 ".repeat(26_000)))),
    ("hostile-bytes", |number| form(random_bytes(number, 128_000))),
    ("hostile-leaves", |number| {
        let leaf = |leaf| format!("\"k{leaf}\":\"select <b> ' or {number}{leaf}\"");
        json_of(format!("{{{}}}", (0..9_900).map(leaf).collect::<Vec<_>>().join(",")))
    }),
    ("hostile-xml", |number| {
        let node = |node| format!("<a b=\"' or {node}={number}\">select {node} &lt;script&gt;</a>");
        let body = format!("<r>{}</r>", (0..9_000).map(node).collect::<String>());
        post("application/xml", body.into_bytes())
    }),
    ("hostile-headers", |number| {
        let mut request = get(number);
        request.headers.push(("X-Odd", format!("{number}{}", "'a=b' <\"(".repeat(800))));
        request.headers.push(("Cookie", format!("a{number}={}", "' or \"a\"=\"a' (".repeat(500))));
        request
    }),
];

/// A pseudo-random sequence (SplitMix64; Steele, Lea, Flood 2014).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }

    fn hex(&mut self, length: usize) -> String {
        let mut text = String::new();
        while text.len() < length {
            text += &format!("{:016x}", self.next());
        }
        text.truncate(length);
        text
    }
}

const WORDS: &[&str] = &[
    "garden",
    "oak",
    "chair",
    "blue",
    "summer",
    "order",
    "delivery",
    "Karlsruhe",
    "selected",
    "square",
    "table",
    "four",
    "Berlin",
    "coin",
    "reading",
    "picnic",
    "point",
    "standard",
    "wood",
    "please",
    "leave",
    "the",
    "parcel",
    "with",
    "our",
    "neighbour",
    "and",
    "ring",
    "twice",
    "from",
    "update",
    "where",
    "like",
    "into",
    "having",
    "between",
];

const PATHS: &[&str] = &["/shop/cart/update", "/account/profile", "/search", "/api/v1/orders", "/blog/2026/11/hello"];

fn prose(seed: u64, length: usize) -> String {
    let mut choices = Choices(seed);
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        text += choices.pick(WORDS);
        text += if choices.below(12) == 0 { ", " } else { " " };
    }
    text += &seed.to_string();
    text
}

/// Percent-encodes as browsers do.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

fn get(number: u64) -> Request {
    let mut choices = Choices(number);
    let target = format!(
        "{}?q={}&page={}&sort={}&lang=en",
        choices.pick(PATHS),
        encoded(&prose(number, 8)),
        choices.below(40),
        choices.pick(&["price", "name", "date"])
    );
    let headers = vec![
        ("Host", "www.example.com".into()),
        (
            "User-Agent",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
                .into(),
        ),
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8".into()),
        ("Accept-Language", "en-GB,en;q=0.8,de;q=0.5".into()),
        ("Accept-Encoding", "gzip, deflate, br".into()),
        ("Referer", "https://www.example.com/".into()),
        ("Cookie", format!("sid={}; theme=light; consent=1", choices.hex(32))),
        ("Cache-Control", "max-age=0".into()),
    ];
    Request { target, headers, body: Vec::new() }
}

fn get_cookies(number: u64) -> Request {
    let mut choices = Choices(number);
    let cookie = |at: usize| match at % 6 {
        0 => format!("_ga_{at}=GS1.1.{}.{}.1.{}.60.0.0", 1_700_000_000 + number, at, choices.below(1_000_000_000)),
        1 => format!("session{at}={}", choices.hex(64)),
        2 => format!("_fbp{at}=fb.1.{}.{}", 1_700_000_000_000 + number, choices.below(2_000_000_000)),
        3 => format!("pref{at}=lang%3Den%26cur%3DEUR%26n%3D{number}"),
        4 => format!("tok{at}=eyJhbGciOiJIUzI1NiJ9.{}.{}", choices.hex(90), choices.hex(43)),
        _ => format!("ab_{at}=v{}.{}", choices.below(9), choices.hex(32)),
    };
    let cookies: Vec<String> = (0..24).map(cookie).collect();
    let mut request = get(number);
    request.headers.retain(|(name, _)| *name != "Cookie");
    request.headers.push(("Cookie", cookies.join("; ")));
    request
}

fn post(kind: &str, body: Vec<u8>) -> Request {
    let number = body.len() as u64;
    let mut request = get(number);
    request.headers.push(("Content-Type", kind.into()));
    request.headers.push(("Content-Length", body.len().to_string()));
    request.body = body;
    request
}

fn form(value: String) -> Request {
    post("application/x-www-form-urlencoded", format!("text={}", encoded(&value)).into_bytes())
}

fn fields(count: u64, value: impl Fn(u64) -> String) -> Request {
    let field = |number| format!("f{number}={}", encoded(&value(number)));
    let body = (0..count).map(field).collect::<Vec<_>>().join("&");
    post("application/x-www-form-urlencoded", body.into_bytes())
}

fn form_fresh(number: u64) -> Request {
    let mut choices = Choices(number);
    let mut text = |length| prose(choices.next(), length);
    let mut fields: Vec<(&str, String)> =
        ["first_name", "last_name", "company", "street", "city", "note", "delivery", "gift", "subject", "comment"]
            .map(|name| (name, text(20)))
            .to_vec();
    fields.extend([
        ("email", format!("{}.{number}@example.com", choices.pick(WORDS))),
        ("phone", format!("+49 721 {}", choices.below(9_000_000))),
        ("postcode", format!("{:05}", choices.below(99_999))),
        ("birthday", format!("19{:02}-{:02}-{:02}", choices.below(99), choices.below(12) + 1, choices.below(28) + 1)),
        ("amount", format!("{}.{:02}", choices.below(5_000), choices.below(99))),
        ("quantity", choices.below(99).to_string()),
        ("token", choices.hex(40)),
        ("csrf", choices.hex(64)),
        (
            "id",
            format!(
                "{}-{}-4{}-a{}-{}",
                choices.hex(8),
                choices.hex(4),
                choices.hex(3),
                choices.hex(3),
                choices.hex(12)
            ),
        ),
        ("reference", format!("ORD-{}-{}", choices.below(99_999), number)),
        ("url", format!("/shop/item/{number}/{}", choices.pick(WORDS))),
        ("time", format!("2026-11-24T{:02}:{:02}:{:02}Z", choices.below(24), choices.below(60), choices.below(60))),
        ("colour", choices.pick(&["blue", "oak", "red"]).into()),
        ("terms", "on".into()),
        ("step", "3".into()),
    ]);
    let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let mut request = get(number);
    request.headers.push(("Content-Type", "application/x-www-form-urlencoded".into()));
    request.body = body.join("&").into_bytes();
    request.headers.push(("Content-Length", request.body.len().to_string()));
    request
}

fn json_of(body: String) -> Request {
    post("application/json; charset=utf-8", body.into_bytes())
}

fn json(number: u64) -> Request {
    let mut choices = Choices(number);
    let texts = [
        "Bildschirm 27\\\" (69 cm), höhenverstellbar",
        "Kabel [USB-C], 1.5 m",
        "Größe L – für Mädchen & Jungen",
        "3/4\\\" fitting (DIN 2999)",
        "Tisch, 120 x 80 cm; Eiche",
        "Don't bend: \\\"fragile\\\"",
        "5 % off (today)",
    ];
    let mut items = Vec::new();
    for _ in 0..10 {
        items.push(format!(
            "{{\"id\":{},\"name\":\"{} {}\",\"price\":{}.{:02},\"text\":\"{} {}\",\"tags\":[\"{} {}\",\"{}\"],\"available\":true}}",
            choices.below(999_999),
            choices.pick(&texts),
            choices.below(99_999),
            choices.below(500),
            choices.below(99),
            choices.pick(&texts),
            prose(choices.next(), 16),
            choices.pick(WORDS),
            choices.below(9_999),
            choices.pick(WORDS)
        ));
    }
    json_of(format!(
        "{{\"customer\":{{\"name\":\"Jörg Müller {number}\",\"id\":{number}}},\"items\":[{}]}}",
        items.join(",")
    ))
}

/// Requests as clients send them, one after the other, with their lengths.
pub fn read_all(mut bytes: &[u8]) -> Vec<Request> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let target = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let fields = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<(&'static str, String)> =
            fields.map(|(name, value)| (&*name.to_owned().leak(), value.to_owned())).collect();
        let length = headers.iter().find(|(name, _)| *name == "Content-Length");
        let length: usize = length.map_or(0, |(_, value)| value.parse().expect("a length"));
        let body = bytes[end + 4..end + 4 + length].to_vec();
        all.push(Request { target, headers, body });
        bytes = &bytes[end + 4 + length..];
    }
    all
}

/// A request made of any bytes: the first chooses where they go, the second how often they are repeated.
pub fn request_of(bytes: &[u8]) -> Option<Request> {
    let [place, times, text @ ..] = bytes else { return None };
    let times = (1usize << (times % 14)).min(48_000 / text.len().max(1)).max(1);
    let plain = String::from_utf8_lossy(text).into_owned();
    Some(match place % 8 {
        0 => form(plain.repeat(times)),
        1 => fields(times.min(4_000) as u64, |_| plain.clone()),
        2 => post("application/x-www-form-urlencoded", text.repeat(times)),
        3 => post("application/json", text.repeat(times)),
        4 => {
            let text = plain.replace(['"', '\\', '\r', '\n'], " ");
            json_of(format!("[{}]", vec![format!("{{\"{text}\":\"{text}\"}}"); times.min(4_000)].join(",")))
        }
        5 => post(
            "application/xml",
            format!("<a>{}</a>", format!("<b>{plain}</b>").repeat(times.min(4_000))).into_bytes(),
        ),
        6 => {
            let mut request = get(1);
            let text = plain.replace(['\r', '\n', '\0'], " ");
            request.headers.push(("Cookie", text.repeat(times.min(8_000 / text.len().max(1)))));
            request.headers.push(("X-Any", text.repeat(times.min(8_000 / text.len().max(1)))));
            request
        }
        _ => {
            let mut request = get(1);
            request.target = format!("/{0}?{0}", encoded(&plain.repeat(times.min(2_000 / text.len().max(1)))));
            request
        }
    })
}

fn random_bytes(seed: u64, length: usize) -> String {
    let mut choices = Choices(seed);
    (0..length).map(|_| char::from(33 + choices.below(94) as u8)).collect()
}

fn upload(number: u64) -> Request {
    let boundary = "----WebKitFormBoundaryQ3hBv9vXw0aZkT2n";
    let mut body = Vec::new();
    for name in ["title", "album", "note"] {
        let part =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n", prose(number, 20));
        body.extend(part.bytes());
    }
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"garden{number}.jpg\"\r\nContent-Type: \
         image/jpeg\r\n\r\n"
    );
    body.extend(head.bytes());
    let mut choices = Choices(number);
    while body.len() < 24_000 {
        body.extend(choices.next().to_le_bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
    }
    body.extend(format!("\r\n--{boundary}--\r\n").bytes());
    let mut request = post(&format!("multipart/form-data; boundary={boundary}"), body);
    request.target = get(number).target;
    request
}
