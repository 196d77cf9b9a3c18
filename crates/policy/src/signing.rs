//! The client's side of rules that ask who sent a request, for `weir sign`: what a rule expects, with the very options
//! that it verifies with, and what consumers have to meet it.
//!
//! Only the rules and consumers of a file are read, whatever else is in it, so that it may be a policy file or one of a
//! gateway. A secret that cannot be read is an error when it is needed: one host rarely has the secrets of all consumers.

use std::path::Path;

use serde_json::{Map, Value as Json, json};
use weir_auth::hmac_auth::HmacSigner;
use weir_auth::jwt::Jwt;
use weir_auth::message::{Algorithm, MessageSigner, Options};
use weir_auth::place::Place;
use weir_auth::{CredentialKind, Secret, Signed, Signer, SigningKey, Unsigned};
use weir_rules::seclang::Disk;

use crate::PolicyErrors;
use crate::action::{jwt, key_auth};
use crate::build::Builder;
use crate::check::{Checker, Fields, Item, Value, What};
use crate::consumer::Secrets as _;
use crate::document::{self, Kind as NodeKind};
use crate::error::Reporter;
use crate::list::Kinds;
use crate::source::Source;
use crate::table::{Kind, ROOT};

/// How a request proves its sender to a rule.
pub enum Means {
    /// A signature.
    Signature(SchemeClient),
    /// A token in the first of these places.
    Token(TokenRules),
    /// A key in the first of these places.
    Key(Vec<Place>),
    /// User name and password in `Authorization: Basic`.
    Password,
}

/// What a rule expects of tokens.
pub struct TokenRules {
    /// Places, claims and type.
    pub jwt: Jwt,
    /// The claim that names the consumer.
    pub consumer_claim: String,
    /// Whether the keys are an issuer's, not credentials of consumers.
    pub has_issuer: bool,
}

/// A rule that asks who sent a request; of `authenticate`, one of its ways.
pub struct SigningRule {
    /// Its id.
    pub id: String,
    /// How a request meets it.
    pub means: Means,
    /// The consumer that it names because requests name no key.
    pub consumer: Option<String>,
}

impl SigningRule {
    /// The kind of credential that it takes.
    #[must_use]
    pub fn credential(&self) -> CredentialKind {
        match self.means {
            Means::Signature(_) => CredentialKind::Signature,
            Means::Token(_) => CredentialKind::Jwt,
            Means::Key(_) => CredentialKind::ApiKey,
            Means::Password => CredentialKind::Password,
        }
    }
}

/// What a consumer can sign with.
pub struct SigningCredential {
    /// What it is for.
    pub kind: CredentialKind,
    /// Its id; an API key has none.
    pub id: String,
    /// The algorithm that it is bound to.
    pub algorithm: Option<&'static str>,
    /// The secret, or why it cannot be read; `None` if the file has only a public key or the hash of a password.
    pub secret: Option<Result<Secret, String>>,
}

/// Rules and consumers of files.
#[derive(Default)]
pub struct Signing {
    /// The rules that ask who sent a request, in the order of the files.
    pub rules: Vec<SigningRule>,
    /// The consumers by id, each with its live credentials in the order of the document.
    pub consumers: Vec<(String, Vec<SigningCredential>)>,
}

impl Signing {
    /// Adds what a file has: a policy file, or one of a gateway.
    ///
    /// # Errors
    /// What is wrong with its rules and consumers.
    pub fn add(&mut self, text: &str, path: &Path) -> Result<(), PolicyErrors> {
        static POLICIES: Kind = Kind::Policies;
        let sources = [Source::new(path.display().to_string(), text)];
        let [source] = &sources;
        let mut reporter = Reporter::default();
        let node = match document::parse(source) {
            Ok(node) => node,
            Err(error) => {
                reporter.syntax(source, error);
                return reporter.finish(None);
            }
        };
        let NodeKind::Mapping(pairs) = &node.kind else { return Ok(()) };
        let found = |name: &str| pairs.iter().find(|(key, _)| key.as_scalar().is_some_and(|key| key.text == name));
        let mut check = |name: &str| {
            let (key, (_, node)) = (ROOT.key(name)?, found(name)?);
            let kind = if name == "policies" { &POLICIES } else { &key.kind };
            Checker { source, reporter: &mut reporter, alternatives: false }.check(node, kind, What::Key(key, &ROOT))
        };
        let (policies, consumers) = (check("policies"), check("consumers"));
        let (kinds, folder) = (Kinds::default(), path.parent().unwrap_or(Path::new("")));
        let mut builder = Builder::new(&sources, &mut reporter, &kinds, (&Disk, folder));
        for policy in entries(policies.as_ref()) {
            let selectors = policy.items("selectors").iter().filter_map(Item::as_fields);
            for rule in [policy].into_iter().chain(selectors).flat_map(|of| of.items("rules")) {
                let Some(rule) = rule.as_fields() else { continue };
                for action in rule.items("actions").iter().chain(rule.get("action")) {
                    self.rule(rule.text("id").unwrap_or_default(), action, &mut builder);
                }
            }
        }
        if let Some(Value::Map(consumers)) = consumers.as_ref().map(|item| &item.value) {
            for (_, id, consumer) in consumers {
                let credentials = consumer.as_fields().map_or(&[][..], |fields| fields.items("credentials"));
                let credential = |item: &Item<'_>| credential(item.as_fields()?, &sources, folder);
                self.consumers.push(((*id).to_owned(), credentials.iter().filter_map(credential).collect()));
            }
        }
        reporter.finish(Some(()))
    }

    /// The rule `client` with a scheme and its options, as they would be written in a policy.
    ///
    /// # Errors
    /// Options that the scheme does not have, or wrong values.
    pub fn of_scheme(scheme: &str, mut options: Map<String, Json>) -> Result<Self, PolicyErrors> {
        let is_action = !Schemes::names().any(|name| name == scheme);
        let action = if is_action { scheme } else { "verify_signature" };
        if Schemes::is_nameless(scheme) {
            options.entry("consumer").or_insert_with(|| "client".into());
        }
        if !is_action {
            options.insert("scheme".to_owned(), scheme.into());
        }
        let rule = json!({"id": "client", "when": "true", "action": {action: options}});
        let policy = json!({"policies": [{"id": "command", "rules": [rule]}]}).to_string();
        let mut signing = Self::default();
        signing.add(&policy, Path::new("command line.json"))?;
        Ok(signing)
    }

    fn rule(&mut self, id: &str, action: &Item<'_>, builder: &mut Builder<'_>) {
        let Value::Action(kind, fields) = &action.value else { return };
        let means = match kind.resource.name {
            "authenticate" => return fields.items("any_of").iter().for_each(|way| self.rule(id, way, builder)),
            "verify_signature" => Schemes::client(fields).map(Means::Signature),
            "jwt" => Ok(Means::Token(TokenRules::of(fields))),
            "key_auth" => Ok(Means::Key(key_auth::options(fields).places)),
            "basic_auth" => Ok(Means::Password),
            _ => return,
        };
        // Options that are wrong, or that the scheme does not have, are reported there.
        if (kind.build)(fields, builder).is_none() {
            return;
        }
        let has_consumer = kind.resource.key("consumer").is_some();
        let consumer = if has_consumer { fields.text("consumer").map(str::to_owned) } else { None };
        match means {
            Ok(means) => self.rules.push(SigningRule { id: id.to_owned(), means, consumer }),
            Err(why) => builder.fault(fields.node, why, None),
        }
    }
}

/// The policies of a list or mapping.
fn entries<'i, 'n>(item: Option<&'i Item<'n>>) -> Vec<&'i Fields<'n>> {
    match item.map(|item| &item.value) {
        Some(Value::List(items)) => items.iter().filter_map(Item::as_fields).collect(),
        Some(Value::Map(entries)) => entries.iter().filter_map(|(_, _, item)| item.as_fields()).collect(),
        _ => Vec::new(),
    }
}

fn credential(fields: &Fields<'_>, sources: &[Source], folder: &Path) -> Option<SigningCredential> {
    let kinds = [
        ("key_auth", CredentialKind::ApiKey, "", "key"),
        ("signature", CredentialKind::Signature, "id", "secret"),
        ("jwt", CredentialKind::Jwt, "id", "secret"),
        ("basic_auth", CredentialKind::Password, "username", ""),
    ];
    let found = kinds.into_iter().find_map(|(name, kind, id, key)| Some((kind, id, key, fields.fields(name)?)));
    let (kind, id, key, of) = found?;
    let id = if id.is_empty() { "" } else { of.text(id)? };
    let algorithm = match kind {
        CredentialKind::Signature | CredentialKind::Jwt => of.choice("algorithm"),
        CredentialKind::ApiKey | CredentialKind::Password | CredentialKind::Certificate => None,
    };
    let secret = (!key.is_empty()).then(|| of.fields(key)).flatten().map(|fields| secret(fields, sources, folder));
    Some(SigningCredential { kind, id: id.to_owned(), algorithm, secret })
}

fn secret(fields: &Fields<'_>, sources: &[Source], folder: &Path) -> Result<Secret, String> {
    if fields.key_node("sha256").is_some() {
        return Err("the file has only the hash of the secret".to_owned());
    }
    let (mut reporter, kinds) = (Reporter::default(), Kinds::default());
    let secret = Builder::new(sources, &mut reporter, &kinds, (&Disk, folder)).secret(fields);
    reporter.finish(secret).map(Secret::new).map_err(|errors| {
        let messages = errors.errors().iter().map(|error| error.message.as_str());
        messages.collect::<Vec<_>>().join("; ")
    })
}

impl TokenRules {
    fn of(fields: &Fields<'_>) -> Self {
        Self {
            jwt: jwt::options(fields),
            consumer_claim: fields.text("consumer_claim").unwrap_or("sub").to_owned(),
            has_issuer: fields.key_node("jwks").is_some(),
        }
    }
}

/// The table of schemes as clients see it; the functions stand beside the table.
pub(crate) struct Schemes;

/// What `weir sign` can sign for: the schemes of `verify_signature`, and the actions that ask for other credentials.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    let others = ["jwt", "key_auth", "basic_auth"].into_iter();
    Schemes::names().chain(others.filter(|name| crate::action::find(name).is_some()))
}

/// Whether requests of a scheme name no key.
#[must_use]
pub fn is_nameless(scheme: &str) -> bool {
    Schemes::is_nameless(scheme) || scheme == "key_auth"
}

/// The client of a scheme.
pub enum SchemeClient {
    /// Of message signatures, whose algorithm depends on the key.
    Message(MessageClient),
    /// Of any other scheme.
    Other(Box<dyn Signer>),
}

/// Signs what a verifier with the same options demands, as far as the request has it.
#[derive(Clone, Debug)]
pub struct MessageClient {
    /// The algorithm, if it is not the usual one of the key.
    pub algorithm: Option<Algorithm>,
    options: Options,
}

impl MessageClient {
    pub(crate) fn new(options: Options) -> Self {
        Self { algorithm: None, options }
    }

    /// The usual algorithm of a key; of an RSA key, `rsa-pss-sha512`.
    #[must_use]
    pub fn algorithm_of(key: &SigningKey) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.sign(key, b"").is_ok())
    }
}

impl Signer for MessageClient {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let unknown = || "the key is neither Ed25519, P-256, P-384 nor RSA of at least 2048 bits".to_owned();
        let algorithm = self.algorithm.or_else(|| Self::algorithm_of(key)).ok_or_else(unknown)?;
        let mut signer = MessageSigner::new(algorithm);
        signer.label = self.options.label.clone().unwrap_or(signer.label);
        signer.tag.clone_from(&self.options.tag);
        let has = |name: &str| match name {
            "host" => true,
            "content-digest" if !request.body.is_empty() => true,
            _ => name.starts_with('@') || request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)),
        };
        let required = &self.options.required;
        if *required != Options::default().required {
            signer.components = Some(required.iter().filter(|name| has(&name.to_ascii_lowercase())).cloned().collect());
        }
        signer.sign(request, key_id, key)
    }
}

/// Signs the fields that a rule demands; those that the signer adds by itself must not be named again.
pub(crate) struct HmacClient(pub HmacSigner);

impl Signer for HmacClient {
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let mut signer = self.0.clone();
        let is_added = |name: &str| match name {
            "date" | "request-line" => true,
            "digest" => !request.body.is_empty(),
            _ => name.starts_with(['@', '(']),
        };
        signer.fields.retain(|name| !is_added(name));
        signer.sign(request, key_id, key)
    }
}
