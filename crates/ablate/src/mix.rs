//! The request mix for our own driver: what `bench/load/rs.lua` makes for `wrk`.
//!
//! Forms as browsers submit them, in 256 varieties, harmless to the rules of the policy `rs`: addresses that
//! are neither listed nor abroad, words near the attacks' words but none of them.

use std::net::Ipv4Addr;

use weir_measure::http::encode;
use weir_measure::random::Random;

/// Different requests.
const VARIETIES: usize = 256;
const PATHS: &[&str] = &[
    "/shop/cart/update",
    "/account/profile",
    "/search",
    "/api/v1/orders",
    "/blog/2026/11/hello-world/comments",
    "/checkout/address",
    "/products/garden/chairs/oak-folding-chair",
    "/newsletter/subscribe",
];
const AGENTS: &[&str] = &[
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
];
const REFERERS: &[&str] = &[
    "https://www.example.com/products/garden?sort=price&page=2",
    "https://www.example.com/",
    "https://www.example.com/account/orders/1732190400",
];
const WORDS: &[&str] = &[
    "garden",
    "oak",
    "chair",
    "blue",
    "summer",
    "order",
    "delivery",
    "Karlsruhe",
    "Zürich",
    "selected",
    "union square",
    "table for four",
    "from Berlin",
    "insert coin",
    "script reading",
    "where to eat",
    "drop off point",
    "or else",
];
const NAMES: &[&str] =
    &["Ada Lovelace", "Grace Hopper", "Karl Jansky", "Lise Meitner", "Alan Turing", "Renée O'Connor"];

/// The requests, the same in every run.
#[must_use]
pub fn requests() -> Vec<Vec<u8>> {
    let mut draw = Random::new(20_261_121);
    (0..VARIETIES).map(|_| request(&mut draw)).collect()
}

fn request(draw: &mut Random) -> Vec<u8> {
    let query = format!(
        "q={}&page={}&sort={}&lang={}&session={}",
        encode(draw.pick::<&str>(WORDS)),
        draw.below(40) + 1,
        draw.pick(&["price", "name", "date"]),
        draw.pick(&["en", "de", "fr"]),
        hex(draw, 16)
    );
    let body = format!(
        "name={}&email=user{}%40example.org&city={}&quantity={}&note={}%2C+{}&csrf_token={}",
        encode(draw.pick::<&str>(NAMES)),
        draw.below(9_999),
        encode(draw.pick::<&str>(WORDS)),
        draw.below(12) + 1,
        encode(draw.pick::<&str>(WORDS)),
        encode(draw.pick::<&str>(WORDS)),
        hex(draw, 32)
    );
    // 20 to 139 in front: neither the listed 198/8 nor 175/8, where the blocked country is.
    let octet = |draw: &mut Random| u8::try_from(draw.below(250)).unwrap_or(1);
    let client = Ipv4Addr::new(20 + octet(draw) % 120, octet(draw), octet(draw), octet(draw));
    format!(
        "POST {}?{query} HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: {}\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Language: en-GB,en;q=0.8,de;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nOrigin: https://www.example.com\r\nReferer: {}\r\n\
         Cookie: sid={}; theme=light; consent=1; cart={}\r\nX-Forwarded-For: {client}\r\n\
         X-Forwarded-Proto: https\r\nContent-Length: {}\r\n\r\n{body}",
        draw.pick(PATHS),
        draw.pick(AGENTS),
        draw.pick(REFERERS),
        hex(draw, 32),
        hex(draw, 24),
        body.len()
    )
    .into_bytes()
}

fn hex(draw: &mut Random, digits: usize) -> String {
    (0..digits).map(|_| format!("{:x}", draw.below(16))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_whole_different_and_the_same_in_every_run() {
        let all = requests();
        assert_eq!(all, requests());
        let distinct: std::collections::HashSet<&Vec<u8>> = all.iter().collect();
        assert!(distinct.len() > 250);
        for bytes in &all {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{text}");
        }
    }
}
