//! Variables of the request body. Each method is named after its variable.

use bumpalo::collections::Vec;

use super::body::Parts;
use super::{BodyProcessor, MultipartFlags, View, concat, number};
use crate::{Anomalies, Pair, Unreadable};

impl<'a> View<'a> {
    /// Arguments of the body in `ARGS`: fields of a urlencoded or multipart form, or JSON leaves.
    #[must_use]
    pub fn args_body(&self) -> &'a [Pair<'a>] {
        self.body().arguments
    }

    /// `ARGS_POST`: [`Self::args_body`] without JSON leaves.
    #[must_use]
    pub fn args_post(&self) -> &'a [Pair<'a>] {
        self.body().posted
    }

    /// `ARGS_COMBINED_SIZE`, as v3 prints it: `12.000000`. Multipart fields do not count, and
    /// without arguments it is empty.
    #[must_use]
    pub fn args_combined_size(&self) -> &'a [u8] {
        match self.bytes.get() {
            Some(_) => self.args_combined_size.get_or_init(|| self.combined_size()),
            None => self.combined_size(),
        }
    }

    fn combined_size(&self) -> &'a [u8] {
        let sum = |pairs: &[Pair<'_>]| pairs.iter().map(|pair| pair.name.len() + pair.value.len()).sum::<usize>();
        let body = if self.body().multipart.is_some() { &[] } else { self.args_body() };
        if self.args_get().is_empty() && body.is_empty() {
            return b"";
        }
        concat(self.arena, &[number(self.arena, sum(self.args_get()) + sum(body)), b".000000"])
    }

    /// `FILES`: field name and file name as sent.
    #[must_use]
    pub fn files(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.files)
    }

    /// `FILES_SIZES`: field name and size in bytes. `FILES_NAMES` are the names.
    #[must_use]
    pub fn files_sizes(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.file_sizes)
    }

    /// `FILES_TMP_CONTENT`: field name and content. v3 has it only with `SecUploadKeepFiles` or
    /// `SecTmpSaveUploadedFiles`.
    #[must_use]
    pub fn files_contents(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.file_contents)
    }

    /// `FILES_COMBINED_SIZE`: bytes in decimal digits; empty without files.
    #[must_use]
    pub fn files_combined_size(&self) -> &'a [u8] {
        match &self.body().multipart {
            Some(form) if !form.files.is_empty() => number(self.arena, form.file_bytes),
            _ => b"",
        }
    }

    /// `MULTIPART_NAME`: name and value are the same.
    #[must_use]
    pub fn multipart_name(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.names)
    }

    /// `MULTIPART_FILENAME`: name and value are the same.
    #[must_use]
    pub fn multipart_filename(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.file_names)
    }

    /// `MULTIPART_PART_HEADERS`: part name, and a header line, unfolded and without its line end.
    #[must_use]
    pub fn multipart_part_headers(&self) -> &'a [Pair<'a>] {
        self.parts(|form| form.headers)
    }

    /// The boolean `MULTIPART_*` variables; `None`, and therefore empty, if the body is not multipart.
    #[must_use]
    pub fn multipart_flags(&self) -> Option<MultipartFlags> {
        self.body().multipart.as_ref().map(|form| form.flags)
    }

    /// `MULTIPART_UNMATCHED_BOUNDARY`: 0; 1 for a line that looks like another boundary; 2 if the
    /// boundary itself came after that. Empty if the body is not multipart.
    #[must_use]
    pub fn multipart_unmatched_boundary(&self) -> &'static [u8] {
        match self.body().multipart.as_ref().map(|form| form.unmatched_boundary) {
            None => b"",
            Some(0) => b"0",
            Some(1) => b"1",
            Some(_) => b"2",
        }
    }

    /// `XML:/*`: the text of the document as one value; none if there is no document.
    #[must_use]
    pub fn xml_text(&self) -> &'a [&'a [u8]] {
        self.body().xml_text
    }

    /// `XML://@*`: the values of all attributes.
    #[must_use]
    pub fn xml_attributes(&self) -> &'a [&'a [u8]] {
        self.body().xml_attributes
    }

    /// `REQUEST_BODY`, as received.
    #[must_use]
    pub fn request_body(&self) -> &'a [u8] {
        self.bytes.get().unwrap_or_default()
    }

    /// `REQUEST_BODY_LENGTH`: bytes in decimal digits; empty without a body.
    #[must_use]
    pub fn request_body_length(&self) -> &'a [u8] {
        match self.request_body() {
            b"" => b"",
            body => number(self.arena, body.len()),
        }
    }

    /// `REQBODY_PROCESSOR`: empty if there is none.
    #[must_use]
    pub fn reqbody_processor(&self) -> &'static [u8] {
        self.processor().map_or(b"", BodyProcessor::name)
    }

    /// `REQBODY_ERROR`: `0`, `1`, or empty before the body is known and without a processor.
    #[must_use]
    pub fn reqbody_error(&self) -> &'static [u8] {
        if self.body().too_long { b"1" } else { self.reqbody_processor_error() }
    }

    /// `REQBODY_ERROR_MSG`: `invalid_json: no colon after a name at byte 12`.
    #[must_use]
    pub fn reqbody_error_msg(&self) -> &'a [u8] {
        if self.body().too_long {
            return b"Request body excluding files is bigger than the maximum expected.";
        }
        self.reqbody_processor_error_msg()
    }

    /// `REQBODY_PROCESSOR_ERROR`: whether rules did not see the body as an application may read it.
    #[must_use]
    pub fn reqbody_processor_error(&self) -> &'static [u8] {
        let body = self.body();
        if self.bytes.get().is_none() || self.processor().is_none() {
            return b"";
        }
        match body.too_long {
            true => b"",
            false if self.body_anomalies().is_empty() => b"0",
            false => b"1",
        }
    }

    /// `REQBODY_PROCESSOR_ERROR_MSG`
    #[must_use]
    pub fn reqbody_processor_error_msg(&self) -> &'a [u8] {
        if self.body().too_long || self.reqbody_processor_error() != b"1" {
            return b"";
        }
        let unreadable = Unreadable { anomalies: self.body_anomalies(), error: self.request.body_error() };
        bumpalo::format!(in self.arena, "{}", unreadable).into_bump_str().as_bytes()
    }

    /// What was wrong with the body when it was read. `INBOUND_DATA_ERROR` tells that it was cut.
    fn body_anomalies(&self) -> Anomalies {
        let _ = self.body();
        self.anomalies() & (Anomalies::UNREADABLE - Anomalies::BODY_TRUNCATED)
    }

    /// `INBOUND_DATA_ERROR`: whether the body is longer than `SecRequestBodyLimit` or
    /// `SecRequestBodyNoFilesLimit`; empty before it is known.
    #[must_use]
    pub fn inbound_data_error(&self) -> &'static [u8] {
        if self.bytes.get().is_none() {
            return b"";
        }
        if self.body().too_long || self.anomalies().contains(Anomalies::BODY_TRUNCATED) { b"1" } else { b"0" }
    }

    /// `FULL_REQUEST`: header fields, a blank line and the body; empty before that is known.
    #[must_use]
    pub fn full_request(&self) -> &'a [u8] {
        if self.bytes.get().is_none() {
            return b"";
        }
        self.full_request.get_or_init(|| {
            let mut out = Vec::with_capacity_in(self.full_request_bytes(), self.arena);
            for header in self.request.head.headers {
                for piece in [header.name, b": ", header.value, b"\n"] {
                    out.extend_from_slice_copy(piece);
                }
            }
            out.extend_from_slice_copy(b"\n\n");
            out.extend_from_slice_copy(self.request_body());
            out.into_bump_slice()
        })
    }

    /// `FULL_REQUEST_LENGTH`: bytes in decimal digits.
    #[must_use]
    pub fn full_request_length(&self) -> &'a [u8] {
        if self.bytes.get().is_none() { b"" } else { number(self.arena, self.full_request_bytes()) }
    }

    fn full_request_bytes(&self) -> usize {
        let headers = self.request.head.headers.iter().map(|header| header.name.len() + header.value.len() + 3);
        headers.sum::<usize>() + 2 + self.request_body().len()
    }

    /// A collection of a multipart body.
    fn parts(&self, of: impl Fn(&Parts<'a>) -> &'a [Pair<'a>]) -> &'a [Pair<'a>] {
        self.body().multipart.as_ref().map_or(&[], of)
    }
}
