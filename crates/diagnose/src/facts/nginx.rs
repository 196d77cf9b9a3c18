//! An nginx or an OpenResty: what it was built of, and what it is configured to do.
//!
//! The configuration is read from its files, through the root of the process so that a container's are
//! found, as nginx itself would read them. `nginx -T` would say the same but has to be executed, as the
//! right user, in the right container, and opens the logs. What is on disk may be newer than what the
//! process runs: [`NginxFacts::changed_since_start`] says so.

use serde::{Deserialize, Serialize};

mod binary;
mod glob;
mod include;
pub(in crate::facts) mod lua_text;
mod parse;
mod query;
mod read;
mod token;

pub use binary::Binary;
pub(in crate::facts) use include::absolute;
pub use include::{Files, Limits, load};
pub use query::{Pass, PassTarget, Scope, ScopeKind, Upstream};
pub use read::{Start, nginx_facts, places_of_start};

/// What an nginx is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NginxFacts {
    /// `1.22.1`.
    pub version: String,
    /// `nginx`, or `openresty`.
    pub flavour: String,
    /// Arguments of `configure`, one each, without quotes.
    pub configure_arguments: Vec<String>,
    /// Modules, built in as far as `configure` was told so, and loaded ones.
    pub modules: Vec<Module>,
    /// The file that the configuration begins in, as the process sees it.
    pub configuration_path: String,
    /// The directory that relative paths of the configuration are of.
    pub prefix: String,
    /// What is configured.
    pub configuration: Configuration,
    /// Files of the configuration that were changed after the workers began: they may run something else.
    pub changed_since_start: Vec<String>,
    /// What `stub_status` counted in the window, where it was asked.
    pub requests: Option<NginxRequests>,
}

/// A module of nginx.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    /// `http_gzip_static_module`, or a library's name without `.so`: `ngx_http_lua_module`.
    pub name: String,
    /// Where it comes from.
    pub origin: ModuleOrigin,
}

/// Where a module comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleOrigin {
    /// `--with-..._module`
    #[default]
    BuiltIn,
    /// `--add-module=`
    Added,
    /// `--without-..._module`: it would be there by default and is not.
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

/// A configuration, as a tree. Files that are included stand where they are included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// Files that it was read from, in the order of reading, as the process sees them.
    pub files: Vec<String>,
    /// Directives outside all blocks.
    pub directives: Vec<Directive>,
    /// What is wrong with it: what could not be read or understood, with places. At most 100.
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
    /// Where it is written.
    pub place: Place,
    /// What it has in braces.
    #[serde(default, skip_serializing_if = "Block::is_none")]
    pub block: Block,
}

/// What a directive has in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// No braces.
    #[default]
    None,
    /// Directives. Those of `map`, `geo`, `types` and the like too: their values stand as names.
    Directives(Vec<Directive>),
    /// Lua, as it is written.
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
pub struct Place {
    /// Path as the process sees it.
    pub file: std::sync::Arc<str>,
    /// From 1.
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Directive {
    /// What is in its braces; nothing if it has none.
    #[must_use]
    pub fn children(&self) -> &[Self] {
        match &self.block {
            Block::Directives(children) => children,
            Block::None | Block::Lua(_) => &[],
        }
    }

    /// Its first argument; empty: none.
    #[must_use]
    pub fn value(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// Its children of a name.
    pub fn named<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Self> {
        self.children().iter().filter(move |child| child.name == name)
    }
}
