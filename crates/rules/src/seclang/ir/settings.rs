//! Values of the configuration directives.

/// `SecRuleEngine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// Rules are evaluated and may disrupt.
    On,
    /// Rules are evaluated, but do not disrupt.
    DetectionOnly,
    /// Rules are not evaluated.
    #[default]
    Off,
}

/// Values of the configuration directives; `None` if a directive is absent.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `SecRuleEngine`.
    pub engine: Option<Engine>,
    /// `SecRequestBodyAccess`.
    pub request_body_access: Option<bool>,
    /// `SecResponseBodyAccess`.
    pub response_body_access: Option<bool>,
    /// `SecRequestBodyLimit`, in bytes.
    pub request_body_limit: Option<u64>,
    /// `SecRequestBodyNoFilesLimit`, in bytes.
    pub request_body_no_files_limit: Option<u64>,
    /// `SecRequestBodyLimitAction`: whether a longer body is rejected (`Reject`).
    pub request_body_limit_rejects: Option<bool>,
    /// `SecRequestBodyJsonDepthLimit`.
    pub json_depth_limit: Option<u64>,
    /// `SecResponseBodyLimit`, in bytes.
    pub response_body_limit: Option<u64>,
    /// `SecResponseBodyLimitAction`.
    pub response_body_limit_rejects: Option<bool>,
    /// `SecResponseBodyMimeType`, in lower case; later directives add types.
    pub response_body_mime_types: Option<Vec<String>>,
    /// `SecArgumentsLimit`.
    pub arguments_limit: Option<u64>,
    /// `SecArgumentSeparator`.
    pub argument_separator: Option<u8>,
    /// `SecCollectionTimeout`, in seconds.
    pub collection_timeout: Option<u64>,
    /// The code page of `SecUnicodeMapFile`.
    pub unicode_map: Option<u32>,
    /// `SecComponentSignature`s.
    pub components: Vec<String>,
    /// `SecWebAppId`.
    pub web_app_id: Option<String>,
}
