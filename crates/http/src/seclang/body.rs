//! The request body processors, as in `Transaction::processRequestBody`.

use bumpalo::collections::Vec;

use super::{BodyProcessor, View, number};
use crate::json::{Paths, Settings};
use crate::multipart::{Form, MultipartFlags, decoded_name, unmatched_boundary};
use crate::{Anomalies, BodyKind, Pair, Part, form, json};

/// A processed body; all fields are empty if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Body<'a> {
    /// Arguments that the body adds to `ARGS`.
    pub arguments: &'a [Pair<'a>],
    /// The subset of the arguments in `ARGS_POST`.
    pub posted: &'a [Pair<'a>],
    /// Parts and flags of a multipart body.
    pub multipart: Option<Parts<'a>>,
    /// `XML:/*`
    pub xml_text: &'a [&'a [u8]],
    /// `XML://@*`
    pub xml_attributes: &'a [&'a [u8]],
    /// Whether it is longer than `SecRequestBodyNoFilesLimit`, and not read.
    pub too_long: bool,
}

/// A multipart body as collections.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts<'a> {
    /// Field name and file name.
    pub files: &'a [Pair<'a>],
    /// Field name and size in bytes, decimal.
    pub file_sizes: &'a [Pair<'a>],
    /// Field name and content.
    pub file_contents: &'a [Pair<'a>],
    /// Sum of the sizes, bytes.
    pub file_bytes: usize,
    /// `MULTIPART_NAME`: name and value are the same.
    pub names: &'a [Pair<'a>],
    /// `MULTIPART_FILENAME`: name and value are the same.
    pub file_names: &'a [Pair<'a>],
    /// `MULTIPART_PART_HEADERS`: part name and header line.
    pub headers: &'a [Pair<'a>],
    pub flags: MultipartFlags,
    pub unmatched_boundary: u8,
}

impl<'a> View<'a> {
    pub(super) fn read_body(&self, bytes: &'a [u8]) -> Body<'a> {
        let too_long = |length: usize| self.limits.no_files_bytes.is_some_and(|most| length > most);
        let Some(processor) = self.processor() else { return Body::default() };
        if processor != BodyProcessor::Multipart && too_long(bytes.len()) {
            return Body { too_long: true, ..Body::default() };
        }
        // A rule may have chosen another processor than `Content-Type` has.
        let usual = BodyProcessor::of_kind(self.request.body_kind()) == Some(processor);
        match processor {
            BodyProcessor::UrlEncoded => {
                let arguments = if usual && self.is_usual_form() { self.request.form() } else { self.form(bytes) };
                let arguments = self.within_limit(arguments, self.args_get().len());
                Body { arguments, posted: arguments, ..Body::default() }
            }
            BodyProcessor::Multipart => {
                let form = self.request.multipart_form().unwrap_or_else(|| self.request.read_multipart(bytes));
                let fields = match self.request.body_kind() {
                    BodyKind::Multipart => self.request.form(),
                    _ => self.pairs_of(
                        form.parts
                            .iter()
                            .filter(|part| part.is_field())
                            .map(|part| (decoded_name(self.arena, part.name), part.value)),
                    ),
                };
                let headers = form.parts.iter().flat_map(|part| part.headers);
                let no_files = headers.map(|line| line.len() + 2).sum::<usize>()
                    + fields.iter().map(|field| field.value.len()).sum::<usize>();
                Body {
                    arguments: fields,
                    posted: fields,
                    multipart: Some(self.parts_of(bytes, form)),
                    too_long: too_long(no_files),
                    ..Body::default()
                }
            }
            BodyProcessor::Json => {
                let room = self.limits.arguments - self.args_get().len();
                let settings = Settings {
                    depth: self.limits.json_depth,
                    items: room,
                    has_documents: self.request.content_type().has_documents,
                    ..Settings::new(Paths::SecLang, self.request.extent())
                };
                let arguments = self.request.reading(|faults| json::parse(self.arena, bytes, settings, faults));
                Body { arguments, ..Body::default() }
            }
            BodyProcessor::Xml => {
                let document = self.request.xml_document().unwrap_or_else(|| self.request.read_xml(bytes));
                Body { xml_text: document.texts, xml_attributes: document.attributes, ..Body::default() }
            }
        }
    }

    /// Whether forms are read as by the transaction.
    pub(super) fn is_usual_form(&self) -> bool {
        self.limits.separator == b'&'
    }

    fn form(&self, bytes: &'a [u8]) -> &'a [Pair<'a>] {
        let (separator, items) = (self.limits.separator, self.limits.arguments);
        self.request.reading(|faults| {
            form::parse_with(self.arena, bytes, separator, items, self.request.extent(), &mut faults.anomalies)
        })
    }

    /// The arguments that still fit into `ARGS`, which has some.
    pub(super) fn within_limit(&self, arguments: &'a [Pair<'a>], there: usize) -> &'a [Pair<'a>] {
        let room = self.limits.arguments - there;
        if arguments.len() > room {
            self.request.flag(Anomalies::TOO_MANY_ITEMS);
        }
        &arguments[..arguments.len().min(room)]
    }

    fn pairs_of(&self, pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> &'a [Pair<'a>] {
        let mut list = Vec::new_in(self.arena);
        list.extend(pairs.map(|(name, value)| Pair { name, value }));
        list.into_bump_slice()
    }

    fn parts_of(&self, bytes: &'a [u8], form: Form<'a>) -> Parts<'a> {
        let content_type = self.request.content_type();
        let parts = form.parts.iter();
        let files = || parts.clone().filter(|part| part.file_names().any(|name| !name.is_empty()));
        let named = |part: &'a Part<'a>| part.file_names().map(move |name| (part.name, name));
        let size = |part: &Part<'a>| number(self.arena, part.value.len());
        let headers = parts.clone().flat_map(|part| part.headers.iter().map(|line| (part.name, *line)));
        let names = parts.clone().map(|part| part.name).filter(|name| !name.is_empty());
        let flags = form.flags | content_type.flags;
        let failed = self.anomalies().contains(Anomalies::INVALID_MULTIPART)
            && flags - MultipartFlags::LINES == MultipartFlags::empty();
        Parts {
            files: self.pairs_of(files().flat_map(named).filter(|(_, name)| !name.is_empty())),
            file_sizes: self.pairs_of(files().map(|part| (part.name, size(part)))),
            file_contents: self.pairs_of(files().map(|part| (part.name, part.value))),
            file_bytes: files().map(|part| part.value.len()).sum(),
            names: self.pairs_of(names.map(|name| (name, name))),
            file_names: self.pairs_of(parts.clone().flat_map(Part::file_names).map(|name| (name, name))),
            headers: self.pairs_of(headers),
            flags: if failed { flags | MultipartFlags::ERROR } else { flags }.concluded(),
            unmatched_boundary: unmatched_boundary(bytes, content_type.boundary.unwrap_or_default()),
        }
    }
}
