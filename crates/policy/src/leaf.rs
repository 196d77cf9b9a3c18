//! Scalars: from a node to a value of its kind, or what is wrong with it.

pub mod form;
pub(crate) mod quantity;

/// A time such as `15m` in ms; `None` if it is none.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    quantity::duration(text, 0, u64::MAX).ok()
}

use std::net::IpAddr;

use ipnet::IpNet;

use crate::check::Value;
use crate::document::{Class, Node, Scalar};
use crate::table::{Kind, MAX_ID_BYTES};

/// So many requests in so long a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// At least 1.
    pub requests: u64,
    /// In milliseconds, at least 1.
    pub period_ms: u64,
}

/// Longest period of a rate: a day. Counters of longer ones would rarely outlive a restart.
pub const MAX_PERIOD_MS: u64 = 86_400_000;
/// Most requests in a rate.
pub const MAX_REQUESTS: u64 = 1_000_000_000;
/// Longest text: a body of a blocked request's answer is held in memory by every worker.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// Longest header value, below nginx's own buffers.
pub const MAX_HEADER_BYTES: usize = 4096;

/// Header fields that nginx must set itself: others would break the framing of messages.
const FRAMING: &[&str] =
    &["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// Why a scalar is not of its kind.
pub(crate) struct Fault {
    /// What was found.
    pub found: String,
    /// What to do.
    pub hint: Option<String>,
}

type Checked<T> = Result<T, Fault>;

/// The node as a value of a scalar kind.
pub(crate) fn check<'n>(node: &'n Node, kind: &Kind) -> Checked<Value<'n>> {
    let found = |hint: Option<&str>| Fault { found: node.describe(), hint: hint.map(str::to_owned) };
    let Some(scalar) = node.as_scalar().filter(|_| !node.is_null()) else {
        let hint = (matches!(kind, Kind::Condition | Kind::Value) && !node.is_null())
            .then_some("an expression with braces, a colon or a # needs quotes around it");
        return Err(found(hint));
    };
    let text = scalar.text.as_str();
    match kind {
        Kind::Integer(low, high) => integer(scalar, node).and_then(|number| {
            if (*low..=*high).contains(&number) { Ok(Value::Integer(number)) } else { Err(found(None)) }
        }),
        Kind::OneOf(numbers) => integer(scalar, node)
            .and_then(|number| if numbers.contains(&number) { Ok(Value::Integer(number)) } else { Err(found(None)) }),
        Kind::Choice(choices) => match choices.iter().find(|(name, _)| *name == text) {
            Some((name, _)) => Ok(Value::Choice(name)),
            None => {
                let near = weir_rules::nearest(text, choices.iter().map(|(name, _)| *name));
                Err(Fault { found: node.describe(), hint: near.map(|name| format!("did you mean `{name}`?")) })
            }
        },
        Kind::Flag => match (scalar.class(), text) {
            (Class::Bool, "true" | "True" | "TRUE") => Ok(Value::Flag(true)),
            (Class::Bool, _) => Ok(Value::Flag(false)),
            _ => Err(found(matches!(text, "true" | "false").then_some("remove the quotes"))),
        },
        Kind::RuleIds => rule_ids(text).map(Value::RuleIds).map_err(found),
        Kind::Network => network(text).map(Value::Network).map_err(found),
        Kind::Rate => rate(text).map(Value::Rate).map_err(|hint| found(Some(hint))),
        Kind::Word(word) if !word.fits(text) => Err(found((text.len() > word.max_bytes()).then_some("it is too long"))),
        Kind::HeaderName => header_name(text).map_err(|hint| found(Some(hint))).map(|()| Value::Text(text)),
        Kind::HeaderValue => header_value(text).map_err(|hint| found(Some(hint))).map(|()| Value::Text(text)),
        Kind::File if text.contains('\0') => Err(found(None)),
        Kind::Form(_) | Kind::Id(_) if scalar.class() != Class::Text => Err(found(Some("put it in quotes"))),
        Kind::Form(_) | Kind::Id(_) => name(node, kind),
        Kind::Duration(low, high) => quantity::duration(text, *low, *high).map(Value::Milliseconds).map_err(found),
        Kind::Size(low, high) => quantity::size(text, *low, *high).map(Value::Bytes).map_err(found),
        Kind::Percent => quantity::per_10000(text).map(Value::Per10000).map_err(found),
        Kind::Statuses => quantity::statuses(text).map(|(low, high)| Value::Statuses(low, high)).map_err(found),
        _ if text.len() > MAX_TEXT_BYTES => Err(Fault {
            found: format!("{} bytes", text.len()),
            hint: Some(format!("at most {MAX_TEXT_BYTES} bytes are kept")),
        }),
        _ => Ok(Value::Text(text)),
    }
}

/// The key of a mapping, or a scalar that is a text, as a value of a kind that names something. A key is
/// a text however it is written.
pub(crate) fn name<'n>(node: &'n Node, kind: &Kind) -> Checked<Value<'n>> {
    let text = node.as_scalar().map_or("", |scalar| scalar.text.as_str());
    let (good, max_bytes) = match kind {
        Kind::Form(form) => ((form.check)(text), form.max_bytes),
        Kind::Id(id) if id.takes_id(text) => (Ok(()), MAX_ID_BYTES),
        Kind::Id(_) => {
            (Err(Some("an id is made of letters, digits and _ . - and begins with a letter or digit")), MAX_ID_BYTES)
        }
        _ => return check(node, kind),
    };
    let good = if text.len() > max_bytes { Err(Some("it is too long")) } else { good };
    match good {
        Ok(()) => Ok(Value::Text(text)),
        Err(hint) => Err(Fault { found: node.describe(), hint: hint.map(str::to_owned) }),
    }
}

/// `942100` or `942100-942199`.
fn rule_ids(text: &str) -> Result<Vec<(u64, u64)>, Option<&'static str>> {
    let whole = |text: &str| quantity::whole(text).and_then(|number| u64::try_from(number).ok());
    let number = |text: &str| text.trim().parse::<u64>().ok().or_else(|| whole(text)).ok_or(None);
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(Some("the first id of a range is the lower one"));
    }
    Ok(vec![(first, last)])
}

fn integer(scalar: &Scalar, node: &Node) -> Checked<i64> {
    match scalar.class() {
        Class::Integer(number) => Ok(number),
        // JSON has one kind of number: `5.0` is the integer 5.
        Class::Float if quantity::whole(&scalar.text).is_some() => {
            Ok(quantity::whole(&scalar.text).unwrap_or_default())
        }
        _ => {
            let is_quoted = scalar.text.parse::<i64>().is_ok();
            Err(Fault { found: node.describe(), hint: is_quoted.then(|| "remove the quotes".to_owned()) })
        }
    }
}

/// An address or a network; bits of the address beyond the prefix mean nothing.
pub(crate) fn network(text: &str) -> Result<IpNet, Option<&'static str>> {
    let Some((address, prefix)) = text.split_once('/') else {
        return text.parse::<IpAddr>().map(IpNet::from).map_err(|_| {
            text.contains('-').then_some("write a range as networks: 192.0.2.0 to 192.0.2.255 is 192.0.2.0/24")
        });
    };
    let address: IpAddr = address.parse().map_err(|_| None)?;
    let digits = !prefix.is_empty() && prefix.len() <= 3 && prefix.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = if address.is_ipv4() {
        "the prefix of an IPv4 network is 0 to 32"
    } else {
        "the prefix of an IPv6 network is 0 to 128"
    };
    let prefix = if digits { prefix.parse().map_err(|_| Some(wrong))? } else { return Err(Some(wrong)) };
    IpNet::new(address, prefix).map(|network| network.trunc()).map_err(|_| Some(wrong))
}

fn rate(text: &str) -> Result<Rate, &'static str> {
    let form = "a rate is requests/period; periods are s, m, h, d or a number of them, as in 10/30s";
    let (requests, period) = text.split_once('/').ok_or(form)?;
    let requests: u64 = requests.trim().parse().map_err(|_| form)?;
    let period = period.trim();
    let digits = period.bytes().take_while(u8::is_ascii_digit).count();
    let count: u64 = if digits == 0 { 1 } else { period[..digits].parse().map_err(|_| form)? };
    let unit = match &period[digits..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(form),
    };
    let period_ms = count.checked_mul(unit).filter(|period| (1..=MAX_PERIOD_MS).contains(period));
    let period_ms = period_ms.ok_or("the period is at least 1ms and at most a day")?;
    if requests == 0 {
        return Err("at least one request must pass; to let none pass use the action `block`");
    }
    if requests > MAX_REQUESTS {
        return Err("at most 1,000,000,000 requests");
    }
    Ok(Rate { requests, period_ms })
}

fn header_name(text: &str) -> Result<(), &'static str> {
    /// RFC 9110, section 5.6.2.
    const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~";
    let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || TOKEN.contains(&byte));
    if !is_token || text.len() > MAX_ID_BYTES {
        return Err("a header name is letters, digits and -, without spaces or a colon");
    }
    if FRAMING.iter().any(|name| text.eq_ignore_ascii_case(name)) {
        return Err("this header belongs to nginx, which frames messages with it");
    }
    Ok(())
}

/// Refuses what would end the header field and begin another one (RFC 9110, section 5.5).
pub(crate) fn header_value(text: &str) -> Result<(), &'static str> {
    if text.bytes().any(|byte| byte == b'\r' || byte == b'\n') {
        return Err("a line break would begin another header; a YAML block (`|`) ends in one, use `|-` or quotes");
    }
    if text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err("control characters are not allowed in a header");
    }
    if text.len() > MAX_HEADER_BYTES {
        return Err("a header value has at most 4096 bytes");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_requests_per_period() {
        for (text, requests, period_ms) in [
            ("100/s", 100, 1000),
            ("600/m", 600, 60_000),
            ("1000/h", 1000, 3_600_000),
            ("10/30s", 10, 30_000),
            ("1/d", 1, 86_400_000),
            ("5 / 250ms", 5, 250),
        ] {
            assert_eq!(rate(text), Ok(Rate { requests, period_ms }), "{text}");
        }
        for text in [
            "",
            "5",
            "/s",
            "5/",
            "5/0s",
            "0/s",
            "-1/s",
            "5/2d",
            "5/week",
            "1.5/s",
            "99999999999/s",
            "5/99999999999999999999s",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn networks_lose_the_bits_beyond_their_prefix() {
        for (text, expected) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("192.0.2.1", "192.0.2.1/32"),
            ("2001:db8::1", "2001:db8::1/128"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(network(text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "::/129",
            "300.0.0.1",
            "a/8",
            "1.2.3.4-1.2.3.9",
            "10.0.0.0/0008",
        ] {
            assert!(network(text).is_err(), "{text}");
        }
    }

    #[test]
    fn header_names_and_values_cannot_inject() {
        for name in ["", "a b", "a:", "a\r\n", "ü", "Content-Length", "transfer-encoding", "\"x\""] {
            assert!(header_name(name).is_err(), "{name}");
        }
        for value in ["a\r\nX: y", "a\nb", "a\0", "a\u{7f}"] {
            assert!(header_value(value).is_err(), "{value:?}");
        }
        assert!(header_name("X-Ok_1").is_ok() && header_value("tab\tand ü").is_ok());
    }
}
