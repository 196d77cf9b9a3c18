//! The checks of [`crate::table::Form`]s: whether a text looks as it must.

use std::net::{Ipv6Addr, SocketAddr};

use weir_gateway::resource::MAX_FILTER_LEVELS;

use crate::table::form::MAX_SCHEME_BYTES;

type Checked = Result<(), Option<&'static str>>;

/// RFC 9110, section 5.6.2, beside letters and digits.
const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~";

fn when(good: bool) -> Checked {
    if good { Ok(()) } else { Err(None) }
}

/// Labels of letters, digits, `-` and `_`, or an IPv6 address in brackets.
pub fn host(text: &str) -> Checked {
    if let Some(inside) = text.strip_prefix('[') {
        let address = inside.strip_suffix(']').ok_or(None)?;
        return address.parse::<Ipv6Addr>().map(drop).map_err(|_| Some("the brackets are for an IPv6 address"));
    }
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&bytes.len()) && bytes.iter().all(inner) && bytes[0] != b'-' && bytes[bytes.len() - 1] != b'-'
    };
    if text.split('.').all(label) {
        return Ok(());
    }
    Err(if !text.is_ascii() {
        Some("write it as DNS has it (punycode): xn--...")
    } else if text.contains("://") || text.contains('/') {
        Some("only the name, without https:// and without a path")
    } else if text.ends_with('.') {
        Some("without the dot at its end")
    } else if text.contains(':') {
        Some("without a port")
    } else {
        None
    })
}

/// A host name, `*.` and one, or `*`.
pub fn host_pattern(text: &str) -> Checked {
    if text == "*" {
        return Ok(());
    }
    let Some(rest) = text.strip_prefix("*.") else {
        return host(text).map_err(|hint| {
            if text.contains('*') {
                Some("a star stands for whole labels at the beginning: *.shop.example")
            } else {
                hint
            }
        });
    };
    if rest.starts_with('[') { Err(Some("an address has no wildcard")) } else { host(rest) }
}

/// A path as requests have it once decoded and normalised.
pub fn path(text: &str) -> Checked {
    if !text.starts_with('/') {
        return Err(Some("paths begin with /"));
    }
    if text.bytes().any(|byte| matches!(byte, b'?' | b'#')) {
        return Err(Some("a path ends before ? and #; arguments are matched by `query`"));
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(Some("control characters cannot stand in a path"));
    }
    if text.contains("//") || text.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err(Some("requests are compared once `//`, `/./` and `/../` are resolved, so this would match none"));
    }
    Ok(())
}

/// What may stand between the method and the version of a request line.
pub fn target_path(text: &str) -> Checked {
    when(text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// A path with `{name}` for whole segments, and perhaps `{name*}` for the rest.
pub fn template(text: &str) -> Checked {
    path(text)?;
    let segments = text[1..].split('/');
    let count = segments.clone().count();
    let mut names: Vec<&str> = Vec::new();
    for (index, segment) in segments.enumerate() {
        let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            if segment.contains(['{', '}']) {
                return Err(Some("a placeholder is a whole segment: /users/{id}, not /users-{id}"));
            }
            continue;
        };
        let (name, is_rest) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
        if !is_name(name) {
            return Err(Some("a placeholder is named by letters, digits and _: {user_id}"));
        }
        if is_rest && index + 1 < count {
            return Err(Some("{name*} stands for all the rest, so it must be the last segment"));
        }
        if names.contains(&name) {
            return Err(Some("two placeholders have the same name"));
        }
        names.push(name);
    }
    Ok(())
}

/// When files are read again.
pub fn refresh(text: &str) -> Checked {
    match text {
        "on_change" | "manual" => Ok(()),
        _ => super::quantity::duration(text, 1_000, 7 * 86_400_000).map(drop),
    }
}

/// Letters, digits and `_`, beginning with no digit.
pub fn is_name(text: &str) -> bool {
    let begins = text.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Anything that a compiler may look at.
pub fn pattern(text: &str) -> Checked {
    when(!text.is_empty() && !text.contains('\0'))
}

/// One line that fits into a header.
pub fn target(text: &str) -> Checked {
    when(!text.is_empty() && !text.bytes().any(|byte| byte.is_ascii_control()))
}

/// Capital letters, and no slip in the name of a known method.
pub fn method(text: &str) -> Checked {
    let good = text.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'));
    let upper = text.to_ascii_uppercase();
    let meant = METHODS.iter().find(|(known, _)| *known == upper || is_slip(&upper, known));
    match meant {
        Some((known, _)) if *known == text => Ok(()),
        Some((_, hint)) if !METHODS.iter().any(|(known, _)| *known == text) => Err(Some(hint)),
        _ => when(good),
    }
}

/// Whether a name that is none of a method's is that of `known` with two neighbours swapped, or a letter more or less. A
/// method that differs in one letter may be one of its own: `FIND` is no slip of `BIND`.
fn is_slip(text: &str, known: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters = text.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    let swapped = text.len() == known.len() && sorted(text) == sorted(known);
    (swapped || text.len().abs_diff(known.len()) == 1) && weir_rules::nearest(text, [known]).is_some()
}

macro_rules! methods {
    ($($name:literal)*) => {
        /// Methods that are known, each with a hint that it was meant: IANA's registry (RFC 9110, section 18.2), and
        /// those of Varnish, UPnP, Icecast and Microsoft's RPC over HTTP.
        pub const METHODS: &[(&str, &str)] = &[$(($name, concat!("did you mean `", $name, "`?"))),*];
    };
}

methods! {
    "GET" "HEAD" "POST" "PUT" "PATCH" "DELETE" "OPTIONS" "CONNECT" "TRACE" "ACL" "BASELINE-CONTROL" "BIND"
    "CHECKIN" "CHECKOUT" "COPY" "LABEL" "LINK" "LOCK" "MERGE" "MKACTIVITY" "MKCALENDAR" "MKCOL" "MKREDIRECTREF"
    "MKWORKSPACE" "MOVE" "ORDERPATCH" "PROPFIND" "PROPPATCH" "QUERY" "REBIND" "REPORT" "SEARCH" "UNBIND"
    "UNCHECKOUT" "UNLINK" "UNLOCK" "UPDATE" "UPDATEREDIRECTREF" "VERSION-CONTROL" "BAN" "M-SEARCH" "NOTIFY"
    "PURGE" "RPC_IN_DATA" "RPC_OUT_DATA" "SOURCE" "SUBSCRIBE" "UNSUBSCRIBE"
}

/// A token.
pub fn token(text: &str) -> Checked {
    when(!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || TOKEN.contains(&byte)))
}

/// A name of an argument.
pub fn argument(text: &str) -> Checked {
    target(text)
}

/// An address with a port, or a path of a socket.
pub fn address(text: &str) -> Checked {
    if let Some(path) = text.strip_prefix("unix:") {
        let good = path.len() > 1 && path.starts_with('/');
        let plain = !path.bytes().any(|byte| byte <= b' ' || matches!(byte, 0x7f | b':'));
        return if good && plain { Ok(()) } else { Err(Some("a socket is an absolute path: unix:/run/app.sock")) };
    }
    let Some((name, port)) = text.rsplit_once(':') else {
        return Err(Some("a port is missing: write 192.0.2.1:80"));
    };
    if text.contains("://") {
        return Err(Some("without http://; what is spoken is the upstream's `protocol`"));
    }
    let digits = !port.starts_with('0') && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || port.parse::<u16>().is_err() {
        return Err(Some("the port is a number from 1 to 65535"));
    }
    if name.contains(':') && !name.starts_with('[') {
        return Err(Some("an IPv6 address stands in brackets: [2001:db8::1]:80"));
    }
    let numeric = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric {
        return text
            .parse::<SocketAddr>()
            .map(drop)
            .map_err(|_| Some("an IPv4 address has four numbers from 0 to 255"));
    }
    host(name)
}

/// What a consistent hash goes by.
pub fn hash_key(text: &str) -> Checked {
    match text.split_once(':') {
        None => match text {
            "ip" | "uri" => Ok(()),
            "header" | "cookie" | "query" => Err(Some("a name is missing: header:X-User")),
            _ => Err(None),
        },
        Some((_, name)) if name.len() > crate::table::form::MAX_NAME_BYTES => Err(Some("the name is too long")),
        Some(("header" | "cookie", name)) => token(name),
        Some(("query", name)) => argument(name),
        Some(_) => Err(None),
    }
}

/// A SHA-256 as answers of the API show it.
pub fn sha256(text: &str) -> Checked {
    text.parse::<weir_gateway::resource::Sha256Hash>().map(drop).map_err(|_| None)
}

/// A name that fits into a list in a header field.
pub fn consumer_name(text: &str) -> Checked {
    let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte));
    if good { Ok(()) } else { Err(None) }
}

/// Something in PEM; what it is is looked at later.
pub fn pem(text: &str) -> Checked {
    let begins = |line: &str| {
        let label = line.trim().strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
        label.is_some_and(|label| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ')
        })
    };
    if text.lines().any(begins) {
        return Ok(());
    }
    let is_path = text.starts_with(['/', '.']) && !text.contains('\n');
    Err(if is_path {
        Some("give the content of the file, not its name; certificates and keys also take `{file: PATH}`")
    } else {
        None
    })
}

/// Levels between slashes; `+` and `#` are whole levels, and `#` is the last.
pub fn topic_filter(text: &str) -> Checked {
    if text.starts_with('$') {
        return Err(Some("names that begin with $ are reserved"));
    }
    if text.chars().any(char::is_control) {
        return Err(Some("control characters cannot stand in a topic"));
    }
    let count = text.split('/').count();
    if count > MAX_FILTER_LEVELS {
        return Err(Some("at most 16 levels are possible"));
    }
    for (index, level) in text.split('/').enumerate() {
        if level.contains('#') && (level != "#" || index + 1 < count) {
            return Err(Some("# stands for all remaining levels, so it is the last level: orders/#"));
        }
        if level.contains('+') && level != "+" {
            return Err(Some("+ stands for a whole level: orders/+/status"));
        }
    }
    when(!text.is_empty())
}

/// An origin as browsers send it, or `*`.
pub fn origin(text: &str) -> Checked {
    match text {
        "*" => return Ok(()),
        "null" => return Err(Some("pages of any site can have the origin null; only `*` includes it")),
        _ => {}
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(Some("an origin begins with its scheme: https://app.example.com"));
    };
    let of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    let begins = scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    if !begins || scheme.len() > MAX_SCHEME_BYTES || !scheme.bytes().all(of_scheme) {
        return Err(None);
    }
    if rest.contains('/') {
        return Err(Some("an origin ends before the path: https://app.example.com, without a slash"));
    }
    if rest.contains('*') {
        return Err(Some("a star stands for all origins, not for a part of one; list them"));
    }
    let Some((name, port)) = rest.rsplit_once(':').filter(|_| !rest.ends_with(']')) else { return host(rest) };
    let digits = !port.starts_with('0') && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || port.parse::<u16>().is_err() {
        return Err(Some("the port is a number from 1 to 65535"));
    }
    let default = [("http", "80"), ("https", "443")];
    if default.iter().any(|(known, usual)| scheme.eq_ignore_ascii_case(known) && port == *usual) {
        return Err(Some("without the port: browsers leave out the default of a scheme"));
    }
    host(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(check: fn(&str) -> Checked, good: &[&str], bad: &[&str]) {
        good.iter().for_each(|text| assert_eq!(check(text), Ok(()), "{text}"));
        bad.iter().for_each(|text| assert!(check(text).is_err(), "{text}"));
    }

    #[test]
    fn hosts_are_names_as_dns_has_them() {
        let good = ["a", "shop.example", "xn--bcher-kva.example", "127.0.0.1", "_a.b", "[::1]", "A.Example"];
        let bad = [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "-a",
            "a-",
            "a b",
            "bücher.example",
            "a:80",
            "https://a",
            "[::1",
            "[x]",
            "*",
            "a.*.b",
        ];
        agree(host, &good, &bad);
        agree(host_pattern, &["*", "*.shop.example", "a.b"], &["*a", "*.", "a.*", "**", "*.*.a", "*.[::1]"]);
    }

    #[test]
    fn paths_are_as_requests_have_them() {
        agree(
            path,
            &["/", "/a", "/a/", "/ä b", "/%", "/..a"],
            &["", "a", "/a//b", "/a/../b", "/.", "/a?b", "/a#b", "/\n"],
        );
        let good = ["/", "/users/{id}", "/{a}/{b}/x", "/files/{rest*}", "/{_1}"];
        let bad = ["users", "/{}", "/{1}", "/a{b}", "/{a", "/a}", "/{a*}/b", "/{a}/{a}", "/{a b}", "/{a**}"];
        agree(template, &good, &bad);
    }

    #[test]
    fn addresses_have_ports_or_are_paths() {
        let good = ["10.0.0.1:80", "[2001:db8::1]:65535", "app.internal:8080", "app:1", "unix:/run/app.sock", "1a:80"];
        let bad = [
            "",
            "10.0.0.1",
            "10.0.0.1:",
            "10.0.0.1:0",
            "10.0.0.1:080",
            "10.0.0.1:65536",
            "10.0.0.256:80",
            "1.2.3:80",
            "2001:db8::1:80",
            "[::1]",
            "unix:",
            "unix:/",
            "unix:run",
            "unix:/a b",
            "http://a:80",
            "a b:80",
            ":80",
            "a:+1",
        ];
        agree(address, &good, &bad);
    }

    #[test]
    fn topic_filters_have_wildcards_for_whole_levels() {
        let most = vec!["a"; MAX_FILTER_LEVELS].join("/");
        let good = ["#", "+", "a", "a/b", "/a", "a//b", "a/", "a/#", "+/+/#", "a/+/b", "a/$b", "ü", "a b", "*", &most];
        let more = format!("{most}/#");
        let bad = ["", "$a", "$SYS/#", "a#", "a/#/b", "#/a", "##", "a+", "a/+b", "++", "a\0", "a\nb", "a\u{85}", &more];
        agree(topic_filter, &good, &bad);
    }

    #[test]
    fn origins_are_as_browsers_send_them() {
        let good = ["*", "https://a.example", "http://localhost:3000", "capacitor://localhost", "https://[::1]:8443"];
        let bad = [
            "",
            "null",
            "a.example",
            "https://",
            "https://a/",
            "https://a/b",
            "https://*.a",
            "https://a:443",
            "HTTP://a:80",
            "https://a:0",
            "https://a:65536",
            "https://a:",
            "https://u@a",
            "1x://a",
            "://a",
            "https://a b",
            "https://[::1",
        ];
        agree(origin, &good, &bad);
    }

    #[test]
    fn other_forms() {
        agree(
            method,
            &["GET", "M-SEARCH", "VERSION_CONTROL", "FETCH", "FIND", "READ", "SET", "BATCH", "LINK", "UNLINK"],
            &["", "get", "Get", "-GET", "G T", "GTE", "PSOT", "DELET", "OPTION", "post"],
        );
        assert_eq!(method("GTE"), Err(Some("did you mean `GET`?")));
        assert_eq!(method("options"), Err(Some("did you mean `OPTIONS`?")));
        agree(token, &["X-Version", "a"], &["", "a b", "a:", "ü"]);
        agree(
            hash_key,
            &["ip", "uri", "header:X-A", "cookie:a", "query:a b"],
            &["", "header", "header:", "header:a b", "ips", "x:y", "query:"],
        );
        agree(
            pem,
            &["-----BEGIN CERTIFICATE-----\n", "a comment\n-----BEGIN EC PRIVATE KEY-----\nx"],
            &["", "x", "/etc/ssl/a.pem", "-----BEGIN -----"],
        );
    }
}
