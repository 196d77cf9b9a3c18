//! Forms: texts that must look like something, each with its check, its pattern for the schema and its name.
//!
//! The pattern takes all that the check takes. Where a pattern cannot say all of it (the prefix of an
//! address, names that must differ) the check is stricter, and says why.

use weir_gateway::resource::MAX_FILTER_BYTES;

use crate::leaf::form as is;

/// What a text must look like.
#[derive(Debug)]
pub struct Form {
    /// For the reference page's column *type*.
    pub name: &'static str,
    /// What is expected, for messages.
    pub describe: &'static str,
    /// As a regular expression that ECMAScript understands.
    pub pattern: &'static str,
    /// Most bytes.
    pub max_bytes: usize,
    /// Whether a text is one; if not, perhaps with advice.
    pub check: fn(&str) -> Result<(), Option<&'static str>>,
}

/// Longest host name (RFC 1035, section 2.3.4).
pub const MAX_HOST_BYTES: usize = 253;
/// Longest scheme of an origin; the longest registered ones have about 30 bytes.
pub const MAX_SCHEME_BYTES: usize = 32;
/// Longest path, pattern or target of a redirect: what nginx's own buffers for a request line hold, halved.
pub const MAX_PATH_BYTES: usize = 4096;
/// Longest name of a header field, cookie or argument.
pub const MAX_NAME_BYTES: usize = 128;
/// Longest PEM text: a chain of ten certificates with RSA keys of 4096 bits is 25 kB.
pub const MAX_PEM_BYTES: usize = 1 << 20;
/// Longest secret: a SHA-512 in hexadecimal digits, several times over.
pub const MAX_SECRET_BYTES: usize = 1024;
/// Longest id of a credential: URLs of issuers are among them.
pub const MAX_CREDENTIAL_ID_BYTES: usize = 256;
/// Longest text of SecLang rules in a document; what is longer belongs into files.
pub const MAX_RULES_BYTES: usize = 4 << 20;

/// A host name.
pub static HOST: Form = Form {
    name: "host name",
    describe: "a host name, such as shop.example",
    pattern: r"^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|\[[0-9A-Fa-f:.]+\])$",
    max_bytes: MAX_HOST_BYTES,
    check: is::host,
};

/// A host name, or several by a wildcard.
pub static HOST_PATTERN: Form = Form {
    name: "host name, `*.` and a host name, or `*`",
    describe: "a host name, such as shop.example, *.shop.example or *",
    pattern: r"^(\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|\[[0-9A-Fa-f:.]+\])$",
    max_bytes: MAX_HOST_BYTES,
    check: is::host_pattern,
};

/// When files are read again.
pub static REFRESH: Form = Form {
    name: "`on_change`, `manual` or a time",
    describe: "on_change, manual, or a time from 1s to 7d such as 15m",
    pattern: r"^(on_change|manual|[0-9]+(ms|s|m|h|d))$",
    max_bytes: 16,
    check: is::refresh,
};

/// A path, decoded and normalised.
pub static PATH: Form = Form {
    name: "path",
    describe: "a path that begins with /",
    pattern: r"^/[^\u0000-\u001f\u007f?#]*$",
    max_bytes: MAX_PATH_BYTES,
    check: is::path,
};

/// A path as a request line has it, perhaps with a query.
pub static TARGET_PATH: Form = Form {
    name: "path",
    describe: "a path that begins with /, as in a request line",
    pattern: r"^/[\u0021-\u007e]*$",
    max_bytes: MAX_PATH_BYTES,
    check: is::target_path,
};

/// A path with placeholders.
pub static TEMPLATE: Form = Form {
    name: "template",
    describe: "a path template, such as /users/{id} or /files/{rest*}",
    pattern: r"^(/([^\u0000-\u001f\u007f?#/{}]*|\{[A-Za-z_][A-Za-z0-9_]*\*?\}))+$",
    max_bytes: MAX_PATH_BYTES,
    check: is::template,
};

/// A regular expression. Whether it compiles is found out elsewhere.
pub static PATTERN: Form = Form {
    name: "regular expression",
    describe: "a regular expression",
    pattern: r"^[^\u0000]+$",
    max_bytes: MAX_PATH_BYTES,
    check: is::pattern,
};

/// What a path becomes.
pub static TARGET: Form = Form {
    name: "target",
    describe: "a target: one line of text, such as https://{host}{path}",
    pattern: r"^[^\u0000-\u001f\u007f]+$",
    max_bytes: MAX_PATH_BYTES,
    check: is::target,
};

/// A method.
pub static METHOD: Form = Form {
    name: "method",
    describe: "a method in capitals, such as GET",
    pattern: "^[A-Z][A-Z_-]*$",
    max_bytes: 32,
    check: is::method,
};

/// A name of a header field to look at, or of a cookie (RFC 9110, section 5.6.2).
pub static TOKEN: Form = Form {
    name: "name",
    describe: "a name of letters, digits and -",
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    max_bytes: MAX_NAME_BYTES,
    check: is::token,
};

/// A name of an argument.
pub static ARGUMENT: Form = Form {
    name: "name",
    describe: "a name of an argument, decoded",
    pattern: r"^[^\u0000-\u001f\u007f]+$",
    max_bytes: MAX_NAME_BYTES,
    check: is::argument,
};

/// An address of a member.
pub static ADDRESS: Form = Form {
    name: "address",
    describe: "an address with a port, such as 192.0.2.1:80, [2001:db8::1]:80, app.internal:80, or unix:/run/app.sock",
    pattern: r"^(unix:/[^\u0000-\u0020\u007f:]+|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))$",
    max_bytes: MAX_HOST_BYTES + 6,
    check: is::address,
};

/// What a consistent hash goes by.
pub static HASH_KEY: Form = Form {
    name: "`ip`, `uri`, `header:NAME`, `cookie:NAME` or `query:NAME`",
    describe: "`ip`, `uri`, `header:NAME`, `cookie:NAME` or `query:NAME`",
    pattern: r"^(ip|uri|(header|cookie):[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}|query:[^\u0000-\u001f\u007f]{1,128})$",
    max_bytes: MAX_NAME_BYTES + 8,
    check: is::hash_key,
};

/// PEM, of certificates or a key.
pub static PEM: Form = Form {
    name: "PEM",
    describe: "PEM: a text that begins with -----BEGIN",
    pattern: "-----BEGIN [A-Z0-9 ]+-----",
    max_bytes: MAX_PEM_BYTES,
    check: is::pem,
};

/// A SHA-256.
pub static SHA256: Form = Form {
    name: "SHA-256",
    describe: "a SHA-256: 64 hexadecimal digits in lower case",
    pattern: "^[0-9a-f]{64}$",
    max_bytes: 64,
    check: is::sha256,
};

/// SecLang.
pub static SECLANG: Form = Form {
    name: "SecLang",
    describe: "rules in SecLang",
    pattern: r"^[^\u0000]+$",
    max_bytes: MAX_RULES_BYTES,
    check: is::pattern,
};

/// A secret.
pub static SECRET: Form = Form {
    name: "secret",
    describe: "a secret: a text without control characters",
    pattern: r"^[^\u0000-\u001f\u007f]+$",
    max_bytes: MAX_SECRET_BYTES,
    check: is::argument,
};

/// A name of a group, which goes into a header field.
pub static CONSUMER_NAME: Form = Form {
    name: "name",
    describe: "a name of letters, digits and _ . : / -",
    pattern: r"^[A-Za-z0-9_.:/-]+$",
    max_bytes: MAX_NAME_BYTES,
    check: is::consumer_name,
};

/// What a request names a credential by.
pub static CREDENTIAL_ID: Form = Form {
    name: "credential id",
    describe: "a credential id: one line of text",
    pattern: r"^[^\u0000-\u001f\u007f]+$",
    max_bytes: MAX_CREDENTIAL_ID_BYTES,
    check: is::argument,
};

/// Topics by a filter (MQTT 5.0, section 4.7).
pub static TOPIC_FILTER: Form = Form {
    name: "topic filter",
    describe: "a topic filter, such as orders/+/status or orders/#",
    pattern: r"^(/?#|((\+|[^$+#/\u0000-\u001f\u007f-\u009f][^+#/\u0000-\u001f\u007f-\u009f]*)(/(\+|[^+#/\u0000-\u001f\u007f-\u009f]*)){0,15}|(/(\+|[^+#/\u0000-\u001f\u007f-\u009f]*)){1,15})(/#)?)$",
    max_bytes: MAX_FILTER_BYTES,
    check: is::topic_filter,
};

/// An origin (RFC 6454, section 6.2), or all.
pub static ORIGIN: Form = Form {
    name: "origin or `*`",
    describe: "an origin, such as https://app.example.com, or *",
    pattern: r"^(\*|[A-Za-z][A-Za-z0-9+.-]{0,31}://([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?)$",
    max_bytes: MAX_SCHEME_BYTES + MAX_HOST_BYTES + 9,
    check: is::origin,
};
