//! What a verifier of message signatures asks for.

/// What a signature must cover and state to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The components that must be covered if the message has them, by their names: derived components such as
    /// `@method`, or fields in lower case; those of the request to a response with `;req` at the end. `@target-uri` is
    /// also met by `@authority`, `@path` and `@query` together, each of these by what contains it, and
    /// `content-digest` is needed exactly if there is a body; without it in this list, the body is not looked at, and a
    /// signed `Content-Digest` is not compared with it. Default: `@method`, `@target-uri`, `content-digest`.
    pub required: Vec<String>,
    /// The label of the signature that counts, such as `sig1`. Default: any.
    pub label: Option<String>,
    /// The `tag` of the signature that counts. Default: any or none.
    pub tag: Option<String>,
    /// Whether the signature must state `created`; if not, one without it must state `expires`. Default: true.
    pub created: bool,
    /// The longest time since `created`, in milliseconds; without `created`, the longest time until `expires`.
    /// Default: 300 000.
    pub max_age_ms: u64,
    /// How far `created` may lie in the future because clocks differ, in milliseconds. Default: 30 000.
    pub max_skew_ms: u64,
    /// Whether the signature must state a `nonce`. Default: false; the signature itself then serves as one.
    pub nonce: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            required: ["@method", "@target-uri", "content-digest"].map(str::to_owned).to_vec(),
            label: None,
            tag: None,
            created: true,
            max_age_ms: 300_000,
            max_skew_ms: 30_000,
            nonce: false,
        }
    }
}

impl Options {
    /// The default for responses: `@status` and `content-digest`, and of the request `@method` and `@target-uri`, so
    /// that a response cannot be passed off as the answer to another request.
    #[must_use]
    pub fn of_responses() -> Self {
        let required = ["@status", "content-digest", "@method;req", "@target-uri;req"];
        Self { required: required.map(str::to_owned).to_vec(), ..Self::default() }
    }
}
