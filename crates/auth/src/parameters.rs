//! `sorted_parameters`: a digest of a call's parameters in the order of their names, with a secret: how most open platforms
//! in China have their calls signed.
//!
//! Platforms differ in what they collect, how they join it and where the secret goes; each difference is an option, and
//! the best-known platforms are presets ([`options::PRESETS`]). Names have to be sorted and the key id may be in the body,
//! so the body is kept, up to a bound.
//!
//! Joined text is ambiguous (`a=1&b=2` may be two parameters or one with the value `1&b=2`), and what is empty or excluded
//! can be added to a signed call. That is the platforms' doing; an HMAC in place of MD5 does not change it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::digest::Digest;
use crate::field::{Field, MAX_ID_BYTES, MAX_SIGNATURE_BYTES, MAX_TIME_BYTES, within};
use crate::keyed::Keyed;
use crate::trial::Trial;
use crate::{Failure, Identity, Keys, Nonce, Pending, Reason, Request, Scheme, secret};

mod collected;
mod options;
mod signer;
#[cfg(test)]
mod tests;

pub use collected::MAX_PARAMETERS;
use collected::{Collected, Parameter};
pub use options::{BODY_BYTES, PRESETS, ParameterOptions, Place, Preset};

/// The longest nonce, in bytes: a UUID or a hash has up to 64.
const MAX_NONCE_BYTES: usize = 128;

/// The scheme.
#[derive(Clone, Debug)]
pub struct Parameters(Arc<Checked>);

/// Options that fit together.
#[derive(Debug)]
struct Checked {
    options: ParameterOptions,
    keyed: Keyed,
    /// The fields of places that are header fields.
    signature: Option<Field>,
    key: Option<Field>,
}

impl Parameters {
    /// The scheme with these options.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn new(options: ParameterOptions) -> Result<Self, String> {
        let field = |place: &Place| match place {
            Place::Header(name) => Field::new(name).map(Some),
            Place::Parameter(name) if name.is_empty() => Err("the name of a parameter is empty".to_owned()),
            Place::Parameter(_) => Ok(None),
        };
        let (signature, key) = (field(&options.signature)?, field(&options.key)?);
        if !(options.query || options.form || options.json) {
            return Err("neither query nor form nor JSON is signed".into());
        }
        if options.timestamp.is_empty() && !options.nonce.is_empty() {
            return Err("a nonce needs a timestamp, or it would have to be remembered for ever".into());
        }
        let own = [&options.timestamp, &options.nonce].map(String::as_str);
        let is_unsigned = |name: &&str| !name.is_empty() && options.leaves_out(name.as_bytes());
        if let Some(name) = own.iter().find(|name| is_unsigned(name)) {
            return Err(format!("`{name}` is excluded from what is signed, so it would say nothing"));
        }
        let keyed = Keyed { hash: options.hash, place: options.secret, label: options.secret_label.clone() };
        Ok(Self(Arc::new(Checked { options, keyed, signature, key })))
    }
}

impl ParameterOptions {
    /// Whether the parameter of a name is never signed.
    fn leaves_out(&self, name: &[u8]) -> bool {
        matches!(&self.signature, Place::Parameter(own) if own.as_bytes() == name)
            || self.excluded.iter().any(|other| other.as_bytes() == name)
    }
}

/// The kinds of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Form,
    Json,
    /// Of another type, or not to be read.
    Other,
}

impl Checked {
    /// The kind of a body of this content type.
    fn body(&self, content_type: &[u8]) -> Body {
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is = |name: &[u8]| essence.eq_ignore_ascii_case(name);
        match () {
            () if self.options.form && is(b"application/x-www-form-urlencoded") => Body::Form,
            () if self.options.json && is(b"application/json") => Body::Json,
            () => Body::Other,
        }
    }

    /// The parameters of a request.
    fn collect<'r>(&self, query: Option<&'r [u8]>, kind: Body, body: &'r [u8]) -> Result<Collected<'r>, Failure> {
        let options = &self.options;
        let mut collected = Collected::default();
        match query {
            Some(query) if options.query => collected.add_form(query, options.decode)?,
            Some(query) => self.leave_out("query", query.len() as u64)?,
            None => {}
        }
        match kind {
            Body::Form => collected.add_form(body, options.decode)?,
            Body::Json if !body.is_empty() => collected.add_json(body, options.allow_unsigned)?,
            Body::Json => {}
            Body::Other => self.leave_out("body", body.len() as u64)?,
        }
        collected.sort()?;
        Ok(collected)
    }

    /// Leaves a part of the request out of the signature, if that is allowed.
    fn leave_out(&self, part: &str, bytes: u64) -> Result<(), Failure> {
        if bytes == 0 || self.options.allow_unsigned {
            return Ok(());
        }
        Err(Failure::new(Reason::Incomplete, format!("the signature does not cover the {part}")))
    }

    /// Gives what is signed, without secret, in parts.
    fn text(&self, collected: &Collected<'_>, mut take: impl FnMut(&[u8])) {
        let options = &self.options;
        let is_signed = |parameter: &&Parameter<'_>| {
            (options.keep_empty || !parameter.value.is_empty()) && !options.leaves_out(&parameter.name)
        };
        let mut separator = "";
        for Parameter { name, value, .. } in collected.iter().filter(is_signed) {
            [separator.as_bytes(), name, options.equals.as_bytes(), value].into_iter().for_each(&mut take);
            separator = &options.separator;
        }
    }

    fn code(&self, collected: &Collected<'_>, secret: &[u8]) -> Digest {
        let mut code = self.keyed.begin(secret);
        self.text(collected, |part| code.update(part));
        code.finish()
    }
}

impl Scheme for Parameters {
    fn begin<'a>(&self, request: &Request<'a>, _: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let Self(checked) = self;
        let required =
            |field: &Option<Field>, bound| field.as_ref().map(|field| field.required(request, bound)).transpose();
        let signature = required(&checked.signature, MAX_SIGNATURE_BYTES)?;
        let key = if checked.options.consumer.is_empty() { required(&checked.key, MAX_ID_BYTES)? } else { None };
        let kind = checked.body(request.only("content-type")?.unwrap_or_default());
        let query = request.query();
        let (body, bytes) = (Vec::new(), 0);
        Ok(Box::new(Arriving { checked: Arc::clone(checked), now_ms, signature, key, query, kind, body, bytes }))
    }

    fn reads_body(&self) -> bool {
        true
    }

    fn challenge(&self) -> &'static str {
        "SortedParameters"
    }

    fn credential_fields(&self) -> Vec<&str> {
        match &self.0.options.signature {
            Place::Header(_) => self.0.signature.iter().map(Field::name).collect(),
            Place::Parameter(name) => vec![name],
        }
    }
}

/// A body that is arriving.
struct Arriving<'a> {
    checked: Arc<Checked>,
    now_ms: u64,
    /// The values that are in header fields.
    signature: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
    query: Option<&'a [u8]>,
    kind: Body,
    /// The body, unless it is past the bound or not to be read.
    body: Vec<u8>,
    /// The body's length.
    bytes: u64,
}

impl Arriving<'_> {
    fn collect(&self) -> Result<Collected<'_>, Failure> {
        let bound = self.checked.options.body_bytes;
        if self.kind == Body::Other {
            self.checked.leave_out("body", self.bytes)?;
        } else if self.bytes > bound as u64 {
            return Err(Failure::new(
                Reason::TooLarge,
                format!("the body has {} bytes, the bound is {bound}", self.bytes),
            ));
        }
        self.checked.collect(self.query, self.kind, &self.body)
    }

    /// What must not come again, if there is a timestamp.
    fn nonce(&self, collected: &Collected<'_>, signature: &[u8]) -> Result<Option<Nonce>, Failure> {
        let options = &self.checked.options;
        if options.timestamp.is_empty() {
            return Ok(None);
        }
        let timestamp = parameter(collected, &options.timestamp, MAX_TIME_BYTES)?;
        let signed_ms = options.window.check(&timestamp, self.now_ms)?;
        let value = match options.nonce.as_str() {
            "" => signature.to_vec(),
            name => parameter(collected, name, MAX_NONCE_BYTES)?.into_owned(),
        };
        let expires_ms = signed_ms.saturating_add(options.window.tolerance_ms);
        Ok(Some(Nonce { value, signed_ms: Some(signed_ms), expires_ms }))
    }
}

/// The value of a parameter that has to be there.
fn parameter<'c>(collected: &'c Collected<'_>, name: &str, bound: usize) -> Result<Cow<'c, [u8]>, Failure> {
    let value = collected.get(name)?.filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| Failure::new(Reason::Missing, format!("no parameter `{name}`")))?;
    within(&value, name, bound)?;
    Ok(value)
}

/// The value of a place: what begin found in a header field, or a parameter.
fn placed<'c>(
    place: &Place,
    header: Option<&'c [u8]>,
    collected: &'c Collected<'_>,
    bound: usize,
) -> Result<Cow<'c, [u8]>, Failure> {
    match place {
        Place::Header(_) => Ok(Cow::Borrowed(header.expect("begin has read the field"))),
        Place::Parameter(name) => parameter(collected, name, bound),
    }
}

impl Pending for Arriving<'_> {
    fn absorb(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.kind != Body::Other && self.bytes <= self.checked.options.body_bytes as u64 {
            self.body.extend_from_slice(bytes);
        }
    }

    fn finish(self: Box<Self>, keys: &dyn Keys) -> Result<Identity, Failure> {
        let (checked, options) = (&self.checked, &self.checked.options);
        let collected = self.collect()?;
        let signature = placed(&options.signature, self.signature, &collected, MAX_SIGNATURE_BYTES)?;
        let signature = options.written.read(&signature)?;
        let nonce = self.nonce(&collected, &signature)?;
        let trial = if options.consumer.is_empty() {
            Trial::of_id(keys, &placed(&options.key, self.key, &collected, MAX_ID_BYTES)?)
        } else {
            Trial::of_consumer(keys, &options.consumer)
        };
        let matched = trial.first(|_, secret| secret::equal(&signature, checked.code(&collected, secret).as_ref()));
        trial.decide(matched, nonce)
    }

    fn canonical(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if let Ok(collected) = self.collect() {
            self.checked.text(&collected, |part| text.extend_from_slice(part));
        }
        text
    }
}
