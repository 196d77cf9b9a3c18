//! Which rule, consumer and credential: the only one that fits, or the one that the command line names.

use serde_json::{Map, Value};
use weir_auth::{CredentialKind, SigningKey};
use weir_policy::signing::{self, Means, SchemeClient, Signing, SigningCredential, SigningRule};
use weir_policy::{PolicyError, nearest};

use super::key;
use crate::Failure;
use crate::arguments::Sign;
use crate::command::rules::refused;

/// What a request is signed with.
pub(super) struct Choice {
    pub rule: SigningRule,
    /// The consumer's id; empty without a policy.
    pub consumer: String,
    /// What the request names the key by; may be empty.
    pub key_id: String,
    pub key: SigningKey,
    /// The algorithm of the command line or the credential.
    pub algorithm: Option<String>,
}

impl Choice {
    pub fn of(sign: &Sign) -> Result<Self, Failure> {
        match &sign.scheme {
            Some(scheme) => Self::of_scheme(scheme, sign),
            None => Self::of_policy(sign),
        }
    }

    fn of_scheme(scheme: &str, sign: &Sign) -> Result<Self, Failure> {
        let mut options = Map::new();
        for option in &sign.option {
            let (name, value) = named_value("--option", option)?;
            options.insert(name, value);
        }
        let signing = Signing::of_scheme(scheme, options).map_err(|errors| {
            let error = errors.errors().first();
            let failure = Failure::new(error.map_or(String::new(), |error| format!("--option: {}", error.message)));
            error.and_then(|error| error.hint.clone()).into_iter().fold(failure, Failure::hint)
        })?;
        let rule = signing.rules.into_iter().next().ok_or_else(|| Failure::new(format!("`{scheme}` does not sign")))?;
        let needs_id = rule.consumer.is_none() && !signing::is_nameless(scheme);
        if needs_id && sign.key_id.is_none() {
            return Err(Failure::new(format!("requests of `{scheme}` name a key")).hint("give its id with --key-id"));
        }
        let key = key::given(sign)?.ok_or_else(|| {
            Failure::new("there is no key to sign with")
                .hint("give one with --secret-file, --secret-env, --secret or --private-key")
        })?;
        let key_id = sign.key_id.clone().unwrap_or_default();
        Ok(Self { rule, consumer: String::new(), key_id, key, algorithm: sign.algorithm.clone() })
    }

    fn of_policy(sign: &Sign) -> Result<Self, Failure> {
        let mut signing = Signing::default();
        for path in &sign.policy {
            let added = weir_policy::read_text(path).and_then(|text| signing.add(&text, path));
            added.map_err(|errors| {
                // The line of a fault may have a secret in it.
                let hide = |error: &PolicyError| PolicyError { excerpt: String::new(), ..error.clone() };
                refused(&errors.errors().iter().map(hide).collect::<Vec<_>>().into(), path.display())
            })?;
        }
        let given = key::given(sign)?;
        let is_private = matches!(given, Some(SigningKey::Private(_)));
        let (rule, consumer, credential) = chosen(&signing, sign, is_private)?;
        let (consumer, credentials) = &signing.consumers[consumer];
        let credential = credential.map(|at| &credentials[at]);
        let key = match credential {
            Some(credential) => key::of(credential, consumer, given)?,
            None => given.ok_or_else(|| {
                Failure::new("the rule trusts the keys of an issuer, which are not in the file")
                    .hint("give the issuer's key with --private-key, and its id with --key-id")
            })?,
        };
        let key_id = sign.key_id.clone().or_else(|| credential.map(|credential| credential.id.clone()));
        let algorithm = credential.and_then(|credential| credential.algorithm).map(str::to_owned);
        let algorithm = sign.algorithm.clone().or(algorithm);
        let consumer = consumer.clone();
        let rule = signing.rules.swap_remove(rule);
        Ok(Self { rule, consumer, key_id: key_id.unwrap_or_default(), key, algorithm })
    }
}

/// `NAME=VALUE`: JSON, or else a text.
pub(super) fn named_value(option: &str, text: &str) -> Result<(String, Value), Failure> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) =
        pair.ok_or_else(|| Failure::new(format!("{option} {text}: there is no name")).hint("expected NAME=VALUE"))?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

/// Positions of the rule, the consumer, and its credential unless the rule trusts an issuer.
fn chosen(signing: &Signing, sign: &Sign, is_private: bool) -> Result<(usize, usize, Option<usize>), Failure> {
    let rules: Vec<&str> = signing.rules.iter().map(|rule| rule.id.as_str()).collect();
    let consumers: Vec<&str> = signing.consumers.iter().map(|(id, _)| id.as_str()).collect();
    if rules.is_empty() {
        return Err(Failure::new("no rule asks for a signature, token, key or password")
            .hint("such rules have the action verify_signature, jwt, key_auth or authenticate"));
    }
    known("rule", sign.rule.as_deref(), &rules)?;
    known("consumer", sign.consumer.as_deref(), &consumers)?;
    let mut found = Vec::new();
    for (at, rule) in signing.rules.iter().enumerate() {
        for (of, (consumer, credentials)) in signing.consumers.iter().enumerate() {
            let is_meant = |name: Option<&str>, own: &str| name.is_none_or(|name| name == own);
            if !is_meant(sign.rule.as_deref(), &rule.id)
                || !is_meant(sign.consumer.as_deref(), consumer)
                || !is_meant(rule.consumer.as_deref(), consumer)
            {
                continue;
            }
            if matches!(&rule.means, Means::Token(rules) if rules.has_issuer) {
                found.push((at, of, None));
            } else if let Some(credential) = credential(rule, credentials, sign.credential.as_deref(), is_private) {
                found.push((at, of, Some(credential)));
            }
        }
    }
    let Some(first) = found.first().copied() else { return Err(nothing_fits(sign)) };
    for (what, mut names) in [
        ("rule", found.iter().map(|(at, ..)| rules[*at]).collect::<Vec<_>>()),
        ("consumer", found.iter().map(|(_, of, _)| consumers[*of]).collect()),
    ] {
        names.sort_unstable();
        names.dedup();
        if names.len() > 1 {
            return Err(Failure::new(format!("several {what}s fit: {}", names.join(", ")))
                .hint(format!("name one with --{what}")));
        }
    }
    Ok(first)
}

/// The newest credential that fits: documents have new ones after old ones.
fn credential(
    rule: &SigningRule,
    credentials: &[SigningCredential],
    id: Option<&str>,
    is_private: bool,
) -> Option<usize> {
    // All schemes but these need a shared secret.
    let takes_public = matches!(rule.means, Means::Token(_) | Means::Signature(SchemeClient::Message(_)));
    let fits = |one: &SigningCredential| {
        let has_secret = one.secret.is_some() || one.kind == CredentialKind::Password;
        one.kind == rule.credential() && id.is_none_or(|id| id == one.id) && (takes_public || has_secret)
    };
    let is_public = |one: &SigningCredential| one.kind != CredentialKind::Password && one.secret.is_none();
    let preferred = credentials.iter().rposition(|one| fits(one) && is_private && is_public(one));
    preferred.or_else(|| credentials.iter().rposition(fits))
}

fn known(what: &str, name: Option<&str>, all: &[&str]) -> Result<(), Failure> {
    let Some(name) = name.filter(|name| !all.contains(name)) else { return Ok(()) };
    let hint = match nearest(name, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", if all.is_empty() { "none".to_owned() } else { all.join(", ") }),
    };
    let which = if what == "rule" { " that asks for credentials" } else { "" };
    Err(Failure::new(format!("there is no {what} `{name}`{which}")).hint(hint))
}

fn nothing_fits(sign: &Sign) -> Failure {
    let consumer = sign.consumer.as_deref().map_or("no consumer has".to_owned(), |id| format!("`{id}` does not have"));
    let credential = sign.credential.as_deref().map_or("a credential".to_owned(), |id| format!("a credential `{id}`"));
    let rule = sign.rule.as_deref().map_or("any of the rules".to_owned(), |id| format!("the rule `{id}`"));
    Failure::new(format!("{consumer} {credential} for {rule}"))
        .hint("verify_signature takes credentials of the kind `signature`, other actions those of their own name")
}
