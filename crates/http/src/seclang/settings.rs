//! SecLang settings that control how a request is read.

use crate::bound::MAX_ITEMS;

/// Treatment of input where ModSecurity v3.0.9 loses data that the application will see. All of
/// these gaps let an attack pass, some are published (CVE-2024-1019):
///
/// - an encoded question mark in the path ends `REQUEST_FILENAME`;
/// - line ends within a multipart field are dropped (`a\r\nb` is seen as `ab`);
/// - a multipart body with an empty `boundary=`, a part with a repeated header field, and a quoted
///   name without its closing quote are not read as the application may read them, and nothing is
///   flagged (v3 reads the last from behind its buffer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// Show or flag the data.
    #[default]
    Closed,
    /// Behave exactly as v3.0.9, for comparisons.
    AsInModSecurity,
}

/// Limits and settings for reading a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `SecArgumentsLimit`: maximum number of arguments in `ARGS`; further ones are dropped and raise
    /// [`crate::Anomalies::TOO_MANY_ITEMS`]. Multipart fields are not counted, as in v3. At most [`MAX_ITEMS`].
    pub arguments: usize,
    /// `SecRequestBodyJsonDepthLimit`: maximum nesting of JSON containers.
    pub json_depth: usize,
    /// `SecRequestBodyNoFilesLimit`, bytes: a longer body, not counting files, is an error and is
    /// not read unless it is multipart.
    pub no_files_bytes: Option<usize>,
    /// `SecArgumentSeparator`
    pub separator: u8,
    /// Whether `Content-Type` selects XML and JSON, as rules 200000, 200001 and 200006 of
    /// `modsecurity.conf-recommended` do with `ctl:requestBodyProcessor=`.
    pub xml_json_by_content_type: bool,
    /// Treatment of v3.0.9's gaps.
    pub gaps: Gaps,
}

impl Default for Limits {
    /// The defaults of v3.0.9 without any directive, but with its gaps closed. The depth is that of `json.cc`.
    fn default() -> Self {
        Self {
            arguments: MAX_ITEMS,
            json_depth: 10_000,
            no_files_bytes: None,
            separator: b'&',
            xml_json_by_content_type: false,
            gaps: Gaps::Closed,
        }
    }
}
