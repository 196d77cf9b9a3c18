//! Verification (RFC 9421, section 3.2).

use super::algorithm::{Algorithm, verifies};
use super::base::{Message, Response};
use super::component::{Component, Required, echo};
use super::content_digest::{BodyDigests, CONTENT_DIGEST};
use super::options::Options;
use super::parameters::Claim;
use super::structured::parser::dictionary;
use super::structured::{Bare, Dictionary, Item, Member, Parameters, escape};
use crate::{Candidate, CredentialKind, Failure, Identity, Keys, Nonce, Pending, Reason, Request, Scheme};

/// The fields of a signature.
const SIGNATURE: &str = "signature";
const SIGNATURE_INPUT: &str = "signature-input";
/// The most signatures of a message: the client's and those of a few proxies.
const MAX_SIGNATURES: usize = 8;

/// The scheme: HTTP Message Signatures.
#[derive(Debug)]
pub struct MessageSignatures {
    options: Options,
    required: Vec<Required>,
    reads_body: bool,
}

/// A signature as a message carries it.
struct Found<'a> {
    items: Vec<Item<'a>>,
    parameters: Parameters<'a>,
    signature: Vec<u8>,
}

impl MessageSignatures {
    /// The scheme with its options.
    ///
    /// # Errors
    /// Required components that do not exist, labels and tags that no signature can have.
    pub fn new(options: Options) -> Result<Self, String> {
        let required = options.required.iter().map(|text| Required::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(label) = &options.label
            && !matches!(dictionary(label.as_bytes()).as_deref(), Ok([(key, _)]) if key == label)
        {
            return Err(format!("`{label}` is not a label: expected lower-case letters, digits, `_`, `-`, `.`, `*`"));
        }
        if options.tag.as_deref().is_some_and(|tag| escape(tag).is_none()) {
            return Err("the tag is not printable ASCII".to_owned());
        }
        let reads_body = required.iter().any(|part| part.name() == CONTENT_DIGEST && !part.is_of_request());
        Ok(Self { options, required, reads_body })
    }

    /// Reads the claim of a response to a request; its body is absorbed as that of a request would be.
    ///
    /// # Errors
    /// What is missing or wrong in the response's head.
    pub fn verify_response(
        &self,
        request: &Request<'_>,
        response: Response<'_>,
        keys: &dyn Keys,
        now_ms: u64,
    ) -> Result<Box<dyn Pending>, Failure> {
        Ok(Box::new(self.claim(&Message::new(request, Some(response)), keys, now_ms)?))
    }

    fn claim(&self, message: &Message<'_>, keys: &dyn Keys, now_ms: u64) -> Result<Claimed, Failure> {
        let (inputs, signatures) = (message.combined(SIGNATURE_INPUT, false), message.combined(SIGNATURE, false));
        let (inputs, signatures) = match (&inputs, &signatures) {
            (None, None) => return Err(Failure::new(Reason::Missing, "the message has no signature")),
            (Some(_), None) => return Err(Failure::new(Reason::Malformed, "there is no `signature` field")),
            (None, Some(_)) => return Err(Failure::new(Reason::Malformed, "there is no `signature-input` field")),
            (Some(inputs), Some(signatures)) => (inputs, signatures),
        };
        let inputs = dictionary(inputs).map_err(|fault| fault.of(SIGNATURE_INPUT))?;
        let signatures = dictionary(signatures).map_err(|fault| fault.of(SIGNATURE))?;
        let found = self.find(inputs, signatures)?;

        let claim = Claim::of(&found.parameters)?;
        let expires_ms = claim.check(&self.options, now_ms)?;
        let serialized = Member::List(found.items.clone(), found.parameters).to_string();
        let components = components(found.items)?;
        self.check_coverage(message, &components)?;
        let base = message.base(&components, &serialized)?;
        let field = message.combined(CONTENT_DIGEST, false);
        let body = self.reads_body.then(|| BodyDigests::of(&components, field.as_deref())).transpose()?;
        let candidate = keys.find(CredentialKind::Signature, claim.key_id.as_bytes());
        Ok(Claimed { claim, expires_ms, base, signature: found.signature, body, candidate })
    }

    /// The one signature that counts.
    fn find<'a>(&self, inputs: Dictionary<'a>, signatures: Dictionary<'a>) -> Result<Found<'a>, Failure> {
        if inputs.len().max(signatures.len()) > MAX_SIGNATURES {
            let detail = format!("the message has more than {MAX_SIGNATURES} signatures");
            return Err(Failure::new(Reason::TooLarge, detail));
        }
        let (label, tag) = (self.options.label.as_deref(), self.options.tag.as_deref().and_then(escape));
        let is_chosen = |(name, member): &(&str, Member<'_>)| {
            let parameters = match member {
                Member::List(_, parameters) => parameters,
                Member::Item(item) => &item.parameters,
            };
            let has = |tag: &String| parameters.contains(&("tag", Bare::Text(tag)));
            label.is_none_or(|label| label == *name) && tag.as_ref().is_none_or(has)
        };
        let alone = label.is_some() || tag.is_some() || signatures.len() <= 1;
        let mut chosen = inputs.into_iter().filter(is_chosen);
        let (name, member) = match (chosen.next(), chosen.next()) {
            (Some(member), None) if alone => member,
            (None, _) => {
                return Err(Failure::new(Reason::Missing, "no signature has the label and tag that count here"));
            }
            (Some(_), _) => {
                return Err(Failure::new(Reason::Duplicated, "several signatures, of which one must count"));
            }
        };
        let Member::List(items, parameters) = member else {
            let detail = format!("`{SIGNATURE_INPUT}`: `{}` is not an inner list", echo(name));
            return Err(Failure::new(Reason::Malformed, detail));
        };
        let mut own = signatures.into_iter().filter(|(other, _)| *other == name).map(|(_, member)| member);
        let Some(Member::Item(Item { value: Bare::Bytes(signature), .. })) = own.next() else {
            let detail = format!("`{SIGNATURE}` has no byte sequence with the label `{}`", echo(name));
            return Err(Failure::new(Reason::Malformed, detail));
        };
        Ok(Found { items, parameters, signature })
    }

    fn check_coverage(&self, message: &Message<'_>, components: &[Component<'_>]) -> Result<(), Failure> {
        for required in &self.required {
            let of_request = required.is_of_request();
            // Whether there is a body is known at its end.
            let has = |part: &str| message.has(part, of_request) && (of_request || part != CONTENT_DIGEST);
            if let Some(part) = required.uncovered(components, has) {
                let of = if of_request { " of the request" } else { "" };
                return Err(Failure::new(Reason::Incomplete, format!("`{part}`{of} is not signed, but must be")));
            }
        }
        Ok(())
    }
}

fn components(items: Vec<Item<'_>>) -> Result<Vec<Component<'_>>, Failure> {
    let mut components: Vec<Component<'_>> = Vec::with_capacity(items.len());
    for item in items {
        let component = Component::of(item)?;
        // At most as many comparisons as half the square of the bound on the members of a list.
        if components.iter().any(|other| other.is_equivalent(&component)) {
            let detail = format!("the component `{}` is covered twice", echo(component.name));
            return Err(Failure::new(Reason::Duplicated, detail));
        }
        components.push(component);
    }
    Ok(components)
}

impl Scheme for MessageSignatures {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        Ok(Box::new(self.claim(&Message::new(request, None), keys, now_ms)?))
    }

    fn reads_body(&self) -> bool {
        self.reads_body
    }

    fn challenge(&self) -> &'static str {
        "Signature"
    }

    fn credential_fields(&self) -> Vec<&str> {
        vec![SIGNATURE, SIGNATURE_INPUT]
    }
}

/// A signature whose message is still arriving.
struct Claimed {
    claim: Claim,
    expires_ms: u64,
    base: String,
    signature: Vec<u8>,
    body: Option<BodyDigests>,
    candidate: Option<Candidate>,
}

impl Pending for Claimed {
    fn absorb(&mut self, bytes: &[u8]) {
        if let Some(body) = &mut self.body {
            body.absorb(bytes);
        }
    }

    fn finish(self: Box<Self>, _: &dyn Keys) -> Result<Identity, Failure> {
        let Self { claim, expires_ms, base, signature, body, candidate } = *self;
        let key = candidate.as_ref().and_then(|candidate| candidate.credential().key.as_ref());
        let verifies = verifies(key, claim.algorithm, base.as_bytes(), &signature);
        let body = body.map_or(Ok(()), BodyDigests::finish);
        let own = key.and_then(Algorithm::of_key);
        let Some(candidate) = candidate else {
            let detail = format!("no consumer has the key `{}`", echo(&claim.key_id));
            return Err(Failure::new(Reason::UnknownKey, detail));
        };
        let Some(own) = own else {
            let detail = "the consumer's key is not for an algorithm of RFC 9421";
            return Err(Failure::new(Reason::Unsupported, detail));
        };
        if let Some(stated) = claim.algorithm.filter(|stated| *stated != own) {
            let detail = format!("`alg` is `{}`, but the key is for `{}`", stated.name(), own.name());
            return Err(Failure::new(Reason::Unsupported, detail));
        }
        if !verifies {
            let detail = format!("it is not one of this message by `{}`", echo(&claim.key_id));
            return Err(Failure::new(Reason::Mismatch, detail));
        }
        body?;
        let value = claim.nonce.map_or_else(|| own.unalterable(&signature).to_vec(), String::into_bytes);
        let nonce = Nonce { value, signed_ms: claim.created_ms, expires_ms };
        Ok(Identity { nonce: Some(nonce), ..Identity::of(candidate) })
    }

    fn canonical(&self) -> Vec<u8> {
        self.base.as_bytes().to_vec()
    }
}
