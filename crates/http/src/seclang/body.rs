//! The request body processors, as in `Transaction::processRequestBody`.

use bumpalo::Bump;

use super::multipart;
use super::{BodyProcessor, Limits, concat, form, json, xml};
use crate::bound::Extent;
use crate::{Anomalies, Pair};

/// A processed body; all fields are empty if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Body<'a> {
    /// Arguments that the body adds to `ARGS`.
    pub arguments: &'a [Pair<'a>],
    /// The subset of the arguments in `ARGS_POST`.
    pub posted: &'a [Pair<'a>],
    /// Parts and flags of a multipart body.
    pub multipart: Option<multipart::Form<'a>>,
    /// `XML:/*`
    pub xml_text: &'a [&'a [u8]],
    /// `XML://@*`
    pub xml_attributes: &'a [&'a [u8]],
    /// The processor's error.
    pub error: BodyError<'a>,
    pub found: Anomalies,
}

/// `REQBODY_ERROR` and its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BodyError<'a> {
    /// Not known, or not set by the processor: the variables are empty.
    #[default]
    Unset,
    /// `0`
    None,
    /// `1`, with the message; also `REQBODY_PROCESSOR_ERROR`.
    Processor(&'a [u8]),
    /// `1`: longer than `SecRequestBodyNoFilesLimit`; also `INBOUND_DATA_ERROR`.
    TooLong,
}

/// A body together with the settings for reading it.
pub(super) struct BodyReader<'a, 'l> {
    pub arena: &'a Bump,
    pub bytes: &'a [u8],
    pub extent: Extent,
    pub processor: Option<BodyProcessor>,
    /// The relevant `Content-Type`.
    pub content_type: &'a [u8],
    pub limits: &'l Limits,
    /// Number of arguments that still fit into `ARGS`.
    pub room: usize,
}

impl<'a> BodyReader<'a, '_> {
    pub fn run(&self) -> Body<'a> {
        let too_long = |length: usize| self.limits.no_files_bytes.is_some_and(|most| length > most);
        match self.processor {
            None => Body { error: BodyError::None, ..Body::default() },
            Some(BodyProcessor::Multipart) => {
                let form = multipart::parse(self.arena, self.bytes, self.content_type, self.extent, self.limits.gaps);
                let error = match form.error {
                    Some(message) => BodyError::Processor(self.message(b"Multipart parsing error: ", message)),
                    None if too_long(form.no_files_bytes) => BodyError::TooLong,
                    None => BodyError::None,
                };
                Body {
                    arguments: form.fields,
                    posted: form.fields,
                    multipart: Some(form),
                    error,
                    found: form.found,
                    ..Body::default()
                }
            }
            Some(_) if too_long(self.bytes.len()) => Body { error: BodyError::TooLong, ..Body::default() },
            Some(BodyProcessor::UrlEncoded) => {
                let (arguments, found) = form::parse(self.arena, self.bytes, self.limits.separator, self.room);
                Body { arguments, posted: arguments, found, ..Body::default() }
            }
            Some(BodyProcessor::Json) => self.json(),
            Some(BodyProcessor::Xml) => self.xml(),
        }
    }

    fn json(&self) -> Body<'a> {
        let document = json::parse(self.arena, self.bytes, self.limits.json_depth, self.room);
        let mut found = document.found;
        let error = match document.error {
            Some(fault) if !self.bytes.is_empty() => {
                found |= Anomalies::INVALID_JSON;
                BodyError::Processor(self.message(b"JSON parsing error: ", fault.as_bytes()))
            }
            _ => BodyError::None,
        };
        Body { arguments: document.leaves, error, found, ..Body::default() }
    }

    fn xml(&self) -> Body<'a> {
        let document = xml::parse(self.arena, self.bytes);
        let error = if document.found.is_empty() {
            BodyError::None
        } else {
            BodyError::Processor(b"XML parsing error: XML: Failed parsing document.")
        };
        let xml_text = document.text.map_or(&[][..], |text| self.arena.alloc_slice_copy(&[text]));
        Body { xml_text, xml_attributes: document.attributes, error, found: document.found, ..Body::default() }
    }

    fn message(&self, prefix: &[u8], message: &[u8]) -> &'a [u8] {
        concat(self.arena, &[prefix, message])
    }
}
