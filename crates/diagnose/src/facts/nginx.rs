//! An nginx or OpenResty: its build and its configuration.
//!
//! The configuration is read from its files, through the root of the process so that a container's
//! files are found, as nginx itself would read them. `nginx -T` would show the same, but has to be
//! executed as the right user in the right container, and opens the logs. The files may be newer
//! than what the process runs: see [`NginxFacts::changed_since_start`].

use serde::{Deserialize, Serialize};

mod binary;
mod glob;
mod include;
pub(in crate::facts) mod lua_text;
mod parse;
mod query;
mod read;
mod token;

pub use binary::NginxBinary;
pub(in crate::facts) use include::absolute;
pub use include::{Files, Limits, load};
pub use query::{Pass, PassTarget, Scope, ScopeKind, Upstream};
pub use read::{CommandLine, command_line, nginx_facts};

/// Facts about an nginx.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NginxFacts {
    /// `1.22.1`.
    pub version: String,
    /// `nginx`, or `openresty`.
    pub flavour: String,
    /// Arguments of `configure`, without quotes.
    pub configure_arguments: Vec<String>,
    /// Modules: the built-in ones mentioned in `configure`'s arguments, and loaded ones.
    pub modules: Vec<Module>,
    /// The main configuration file, as the process sees it.
    pub configuration_path: String,
    /// The directory for relative paths in the configuration.
    pub prefix: String,
    /// The configuration.
    pub configuration: Configuration,
    /// Configuration files changed after the workers started, which may therefore run an older version.
    pub changed_since_start: Vec<String>,
    /// Counters of `stub_status` in the window, if it was queried.
    pub requests: Option<NginxRequests>,
}

/// A module of nginx.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    /// `http_gzip_static_module`, or a library's name without `.so`: `ngx_http_lua_module`.
    pub name: String,
    /// Its origin.
    pub origin: ModuleOrigin,
}

/// The origin of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleOrigin {
    /// `--with-..._module`
    #[default]
    BuiltIn,
    /// `--add-module=`
    Added,
    /// `--without-..._module`: a default module that was left out.
    LeftOut,
    /// A library in the process.
    Loaded,
}

/// Counters of `stub_status` over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NginxRequests {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections handled.
    pub handled: u64,
    /// Requests.
    pub requests: u64,
    /// Connections open at the end.
    pub active: u64,
}

/// A configuration tree, with included files in place of their `include`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// Files in reading order, as the process sees them.
    pub files: Vec<String>,
    /// Directives outside all blocks.
    pub directives: Vec<Directive>,
    /// Errors in reading or parsing, with positions. At most 100.
    pub errors: Vec<String>,
}

/// One directive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// Its name: `proxy_pass`.
    pub name: String,
    /// Its arguments, without quotes and escapes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Its position.
    pub place: DirectivePosition,
    /// The contents of its braces.
    #[serde(default, skip_serializing_if = "Block::is_none")]
    pub block: Block,
}

/// The contents of a directive's braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// No braces.
    #[default]
    None,
    /// Directives. In `map`, `geo`, `types` and similar blocks, values appear as names.
    Directives(Vec<Directive>),
    /// Lua, verbatim.
    Lua(String),
}

impl Block {
    /// Whether there are no braces.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// File and line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectivePosition {
    /// Path as the process sees it.
    pub file: std::sync::Arc<str>,
    /// From 1.
    pub line: u32,
}

impl std::fmt::Display for DirectivePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Directive {
    /// The directives in its braces; empty if it has none.
    #[must_use]
    pub fn children(&self) -> &[Self] {
        match &self.block {
            Block::Directives(children) => children,
            Block::None | Block::Lua(_) => &[],
        }
    }

    /// Its first argument; empty if it has none.
    #[must_use]
    pub fn value(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// Its children with this name.
    pub fn named<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Self> {
        self.children().iter().filter(move |child| child.name == name)
    }
}
