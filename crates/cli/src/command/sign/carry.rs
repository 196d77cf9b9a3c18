//! What a means to prove the sender adds to the request.

use weir_auth::encoding::base64;
use weir_auth::message::Algorithm;
use weir_auth::place::Place;
use weir_auth::{Signed, Signer as _, SigningKey, Unsigned};
use weir_policy::signing::{Means, SchemeClient};

use super::choice::Choice;
use super::token;
use crate::Failure;
use crate::arguments::Sign;

impl Choice {
    /// What the request gets.
    pub fn sign(self, request: &Unsigned<'_>, sign: &Sign) -> Result<Signed, Failure> {
        let failed = |why| Failure::new(format!("the request cannot be signed: {why}"));
        if !sign.claim.is_empty() && !matches!(self.rule.means, Means::Token(_)) {
            return Err(Failure::new("only tokens have claims").hint("leave out --claim, or name a rule with `jwt`"));
        }
        let takes = matches!(self.rule.means, Means::Token(_) | Means::Signature(SchemeClient::Message(_)));
        if sign.algorithm.is_some() && !takes {
            return Err(Failure::new("--algorithm is for `message_signatures` and `jwt`")
                .hint("other schemes have it among their options: --option algorithm=NAME"));
        }
        match &self.rule.means {
            Means::Signature(SchemeClient::Message(client)) => {
                let algorithm = self.algorithm.as_deref().map(message_algorithm).transpose()?;
                let mut client = client.clone();
                client.algorithm = algorithm;
                client.sign(request, &self.key_id, &self.key).map_err(failed)
            }
            Means::Signature(SchemeClient::Other(client)) => {
                client.sign(request, &self.key_id, &self.key).map_err(failed)
            }
            Means::Token(rules) => put(&rules.jwt.places, &token::made(&self, rules, request, sign)?, request),
            Means::Key(places) => put(places, self.text()?, request),
            Means::Password => {
                let credentials = format!("{}:{}", self.key_id, self.text()?);
                let value = format!("Basic {}", base64(credentials.as_bytes()));
                Ok(Signed { headers: vec![("authorization".to_owned(), value)], target: None })
            }
        }
    }

    /// The key as it is sent.
    fn text(&self) -> Result<&str, Failure> {
        let SigningKey::Secret(secret) = &self.key else {
            return Err(Failure::new("a private key cannot be sent").hint("give the API key or password with --secret"));
        };
        std::str::from_utf8(secret.bytes()).map_err(|_| Failure::new("the secret is not UTF-8"))
    }
}

fn message_algorithm(name: &str) -> Result<Algorithm, Failure> {
    Algorithm::of_name(name).ok_or_else(|| {
        let names = Algorithm::ALL.map(Algorithm::name).join(", ");
        Failure::new(format!("message signatures have no algorithm `{name}`")).hint(format!("there are {names}"))
    })
}

/// Puts a key or token in the first place; a header field, if there is one.
fn put(places: &[Place], value: &str, request: &Unsigned<'_>) -> Result<Signed, Failure> {
    let is_field = |place: &&Place| matches!(place, Place::Bearer | Place::Header(_));
    let place = places.iter().find(is_field).or(places.first());
    let place = place.ok_or_else(|| Failure::new("the rule names no place for the credential"))?;
    let field = |name: &str, value: String| Signed { headers: vec![(name.to_owned(), value)], target: None };
    Ok(match place {
        Place::Bearer => field("authorization", format!("Bearer {value}")),
        Place::Header(name) => field(name, value.to_owned()),
        Place::Query(name) => {
            let separator = if request.target.contains('?') { '&' } else { '?' };
            let target = format!("{}{separator}{}={}", request.target, escaped(name), escaped(value));
            Signed { headers: Vec::new(), target: Some(target) }
        }
        Place::Cookie(name) => {
            let others = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
            let others: String = others.map(|(_, cookies)| format!("{cookies}; ")).collect();
            field("cookie", format!("{others}{name}={value}"))
        }
    })
}

/// A text for a query.
fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
