//! `webhook`: an HMAC over the raw body and perhaps a timestamp, as services sign what they call back with.
//!
//! The services differ in names and punctuation alone, so one scheme has a table of presets ([`options::PRESETS`]). The
//! request names no key: all live secrets of one consumer are tried, each with an HMAC that runs as the body arrives.

use std::sync::Arc;

use crate::digest::{Digest, Mac};
use crate::field::{Field, MAX_SIGNATURE_BYTES, MAX_TIME_BYTES, within};
use crate::trial::Trial;
use crate::{
    Failure, Identity, Keys, Nonce, Pending, Reason, Request, Scheme, Signed, Signer, SigningKey, Unsigned, secret,
};

mod options;
mod template;
#[cfg(test)]
mod tests;

pub use options::{PRESETS, Preset, WebhookOptions};
use template::Template;

/// The most signatures in one request: one for each of the client's secrets during a rotation.
pub const MAX_SIGNATURES: usize = 8;

/// The scheme.
#[derive(Clone, Debug)]
pub struct Webhook(Arc<Checked>);

/// Options that fit together.
#[derive(Debug)]
struct Checked {
    options: WebhookOptions,
    header: Field,
    timestamp_header: Option<Field>,
    template: Template,
}

impl Webhook {
    /// The scheme with these options.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn new(options: WebhookOptions) -> Result<Self, String> {
        let header = Field::new(&options.header)?;
        let named = (!options.timestamp_header.is_empty()).then(|| Field::new(&options.timestamp_header));
        let timestamp_header = named.transpose()?;
        let is_list = !options.timestamp_prefix.is_empty();
        if is_list && timestamp_header.is_some() {
            return Err("the timestamp is either in a field of its own or in the signature's".into());
        }
        if is_list && (options.prefix.is_empty() || options.prefix.starts_with(&options.timestamp_prefix)) {
            return Err("in a list, signatures need a prefix that differs from the timestamp's".into());
        }
        let template = Template::new(&options.signed, is_list || timestamp_header.is_some())?;
        Ok(Self(Arc::new(Checked { options, header, timestamp_header, template })))
    }
}

/// What a request says.
struct Claim<'a> {
    timestamp: Option<&'a str>,
    signatures: Vec<Vec<u8>>,
}

impl Checked {
    fn claim<'a>(&self, request: &Request<'a>) -> Result<Claim<'a>, Failure> {
        let value = self.header.required(request, MAX_SIGNATURE_BYTES)?;
        let options = &self.options;
        let (timestamp, signatures) = if options.timestamp_prefix.is_empty() {
            let field = self.timestamp_header.as_ref();
            let timestamp = field.map(|field| field.required(request, MAX_TIME_BYTES)).transpose()?;
            (timestamp, value.strip_prefix(options.prefix.as_bytes()).into_iter().collect())
        } else {
            let items = || value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            let mut timestamps = items().filter_map(|item| item.strip_prefix(options.timestamp_prefix.as_bytes()));
            let timestamp =
                timestamps.next().ok_or_else(|| Failure::new(Reason::Missing, "no timestamp in the list"))?;
            if timestamps.next().is_some() {
                return Err(Failure::new(Reason::Duplicated, "several timestamps in the list"));
            }
            let signatures: Vec<&[u8]> = items()
                .filter_map(|item| item.strip_prefix(options.prefix.as_bytes()))
                .take(MAX_SIGNATURES + 1)
                .collect();
            (Some(within(timestamp, "timestamp", MAX_TIME_BYTES)?), signatures)
        };
        if signatures.is_empty() {
            let detail = format!("`{}` has no signature that begins with `{}`", self.header.name(), options.prefix);
            return Err(Failure::new(Reason::Unsupported, detail));
        }
        if signatures.len() > MAX_SIGNATURES {
            return Err(Failure::new(Reason::TooLarge, format!("more than {MAX_SIGNATURES} signatures")));
        }
        let signatures = signatures.into_iter().map(|text| options.written.read(text)).collect::<Result<_, _>>()?;
        let timestamp = timestamp.map(str::from_utf8).transpose();
        let timestamp = timestamp.map_err(|_| Failure::new(Reason::Malformed, "the timestamp is not UTF-8"))?;
        Ok(Claim { timestamp, signatures })
    }
}

impl Scheme for Webhook {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let Self(checked) = self;
        let options = &checked.options;
        let Claim { timestamp, signatures } = checked.claim(request)?;
        let window = &options.window;
        let signed_ms = timestamp.map(|timestamp| window.check(timestamp.as_bytes(), now_ms)).transpose()?;
        let trial = Trial::of_consumer(keys, &options.consumer);
        let (before, after) = checked.template.around(timestamp.unwrap_or_default());
        let begun = |secret| {
            let mut mac = options.hash.begin(secret);
            mac.update(before.as_bytes());
            mac
        };
        let macs = trial.secrets().map(begun).collect();
        let expires_ms = signed_ms.map(|signed_ms| signed_ms.saturating_add(window.tolerance_ms));
        Ok(Box::new(Arriving { trial, macs, before, after, signatures, signed_ms, expires_ms, bytes: 0 }))
    }

    fn reads_body(&self) -> bool {
        true
    }

    fn challenge(&self) -> &'static str {
        "Webhook"
    }

    fn credential_fields(&self) -> Vec<&str> {
        vec![self.0.header.name()]
    }
}

/// A body that is arriving.
struct Arriving {
    trial: Trial,
    /// One for each secret.
    macs: Vec<Mac>,
    before: String,
    after: String,
    signatures: Vec<Vec<u8>>,
    signed_ms: Option<u64>,
    expires_ms: Option<u64>,
    /// The body's so far.
    bytes: u64,
}

impl Pending for Arriving {
    fn absorb(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.macs.iter_mut().for_each(|mac| mac.update(bytes));
    }

    fn finish(self: Box<Self>, _: &dyn Keys) -> Result<Identity, Failure> {
        let Self { trial, macs, after, signatures, signed_ms, expires_ms, .. } = *self;
        let finished = |mut mac: Mac| {
            mac.update(after.as_bytes());
            mac.finish()
        };
        let codes: Vec<Digest> = macs.into_iter().map(finished).collect();
        let is_one =
            |code: &[u8]| signatures.iter().fold(false, |found, signature| found | secret::equal(signature, code));
        let matched = trial.first(|at, _| is_one(codes[at].as_ref()));
        // The code, not the text: the list may be written in many ways.
        let value = matched.map(|at| codes[at].as_ref().to_vec());
        let nonce = value.zip(expires_ms).map(|(value, expires_ms)| Nonce { value, signed_ms, expires_ms });
        trial.decide(matched, nonce)
    }

    fn canonical(&self) -> Vec<u8> {
        format!("{}[body of {} bytes]{}", self.before, self.bytes, self.after).into_bytes()
    }
}

impl Signer for Webhook {
    /// Any key id does: the request names none.
    fn sign(&self, request: &Unsigned<'_>, _key_id: &str, key: &SigningKey) -> Result<Signed, String> {
        let Self(checked) = self;
        let options = &checked.options;
        let SigningKey::Secret(secret) = key else { return Err("a webhook is signed with a shared secret".into()) };
        let timestamp = options.window.format.write(request.now_ms);
        let (before, after) = checked.template.around(&timestamp);
        let mut mac = options.hash.begin(secret.bytes());
        [before.as_bytes(), request.body, after.as_bytes()].iter().for_each(|part| mac.update(part));
        let signature = format!("{}{}", options.prefix, options.written.write(mac.finish().as_ref()));
        let header = |field: &Field, value| (field.name().to_owned(), value);
        let headers = match &checked.timestamp_header {
            Some(field) => vec![header(field, timestamp), header(&checked.header, signature)],
            None if options.timestamp_prefix.is_empty() => vec![header(&checked.header, signature)],
            None => vec![header(&checked.header, format!("{}{timestamp},{signature}", options.timestamp_prefix))],
        };
        Ok(Signed { headers, target: None })
    }
}
