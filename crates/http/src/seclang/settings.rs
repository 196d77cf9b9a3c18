//! SecLang settings that control how a request is read.

use crate::bound::{MAX_DEPTH, MAX_ITEMS};

/// Limits and settings for reading a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `SecArgumentsLimit`: maximum number of arguments in `ARGS`; further ones are dropped and raise
    /// [`crate::Anomalies::TOO_MANY_ITEMS`]. Multipart fields are not counted, as in v3. At most [`MAX_ITEMS`].
    pub arguments: usize,
    /// `SecRequestBodyJsonDepthLimit`: maximum nesting of JSON containers. At most [`MAX_DEPTH`].
    pub json_depth: usize,
    /// `SecRequestBodyNoFilesLimit`, bytes: a longer body, not counting files, is an error and is
    /// not read unless it is multipart.
    pub no_files_bytes: Option<usize>,
    /// `SecArgumentSeparator`
    pub separator: u8,
    /// Whether `Content-Type` selects XML and JSON, as rules 200000, 200001 and 200006 of
    /// `modsecurity.conf-recommended` do with `ctl:requestBodyProcessor=`.
    pub xml_json_by_content_type: bool,
}

impl Default for Limits {
    /// The defaults of v3.0.9 without any directive, within the bounds of this crate.
    fn default() -> Self {
        Self {
            arguments: MAX_ITEMS,
            json_depth: MAX_DEPTH,
            no_files_bytes: None,
            separator: b'&',
            xml_json_by_content_type: false,
        }
    }
}
