//! Queries over a configuration: effective directives, after inheritance.
//!
//! nginx inherits downwards: a directive applies in a block unless the block has one with the same name. That is also
//! true for repeatable directives (`access_log`, `proxy_set_header`): a single one in a location replaces all of the
//! server's. `if` in a location and `limit_except` are ordinary blocks.

use serde::{Deserialize, Serialize};

use super::{Configuration, Directive};

/// Deeper blocks are not entered; the parser produces none.
const MAX_DEPTH: usize = 2 * super::parse::MAX_BLOCK_DEPTH;

/// The kind of block of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeKind {
    /// Outside all blocks.
    Main,
    /// `http { }` or `stream { }`, `mail { }`.
    Protocol,
    /// `server { }`
    Server,
    /// `location { }`
    Location,
    /// `if` or `limit_except`.
    Condition,
}

/// A block with its enclosing blocks.
#[derive(Clone, Debug)]
pub struct Scope<'c> {
    configuration: &'c Configuration,
    /// From the outermost; empty outside all blocks.
    path: Vec<&'c Directive>,
}

/// A directive that passes requests to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass<'c> {
    /// `proxy_pass`, `fastcgi_pass`, `grpc_pass`, `uwsgi_pass`, `scgi_pass`, `memcached_pass`.
    pub directive: &'c Directive,
    /// Its target.
    pub target: PassTarget<'c>,
}

/// The target of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassTarget<'c> {
    /// An `upstream { }` of this configuration.
    Upstream(&'c Directive),
    /// An address, as written and without scheme and path: `127.0.0.1:8080`, `backend.example`.
    Address(&'c str),
    /// A value with variables, known and perhaps resolved only at each request.
    Variable(&'c str),
}

/// An `upstream { }`.
#[derive(Clone, Debug)]
pub struct Upstream<'c> {
    /// The `upstream` directive with its block.
    pub directive: &'c Directive,
}

impl<'c> Upstream<'c> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'c str {
        self.directive.value()
    }

    /// Its `server` directives.
    pub fn servers(&self) -> impl Iterator<Item = &'c Directive> {
        self.directive.named("server")
    }

    /// Its `keepalive`: the number of idle connections that each worker keeps.
    #[must_use]
    pub fn keepalive(&self) -> Option<&'c Directive> {
        self.directive.named("keepalive").last()
    }
}

const PASSES: &[&str] = &["proxy_pass", "fastcgi_pass", "grpc_pass", "uwsgi_pass", "scgi_pass", "memcached_pass"];

impl Configuration {
    /// The scope outside all blocks.
    #[must_use]
    pub fn main(&self) -> Scope<'_> {
        Scope { configuration: self, path: Vec::new() }
    }

    /// All scopes: main, `http`, servers, locations, nested ones, conditions; in the order of the
    /// files, outer ones first.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope<'_>> {
        let mut scopes = vec![self.main()];
        let mut at = 0;
        while at < scopes.len() {
            let inner = scopes[at].inner();
            at += 1;
            scopes.splice(at..at, inner);
        }
        scopes
    }

    /// All `server { }` of `http`.
    #[must_use]
    pub fn servers(&self) -> Vec<Scope<'_>> {
        self.scopes().into_iter().filter(|scope| scope.kind() == ScopeKind::Server && scope.is_http()).collect()
    }

    /// All locations of all servers of `http`, including nested ones and conditions, and each
    /// server itself (for requests outside all locations).
    #[must_use]
    pub fn locations(&self) -> Vec<Scope<'_>> {
        self.scopes().into_iter().filter(|scope| scope.kind() >= ScopeKind::Server && scope.is_http()).collect()
    }

    /// All `upstream { }`.
    #[must_use]
    pub fn upstreams(&self) -> Vec<Upstream<'_>> {
        let protocols = self.directives.iter().filter(|directive| is_protocol(&directive.name));
        protocols.flat_map(|block| block.named("upstream")).map(|directive| Upstream { directive }).collect()
    }

    /// All directives with this name, in the order of the files.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&Directive> {
        let mut found = Vec::new();
        let mut left: Vec<&Directive> = self.directives.iter().rev().collect();
        while let Some(directive) = left.pop() {
            if directive.name == name {
                found.push(directive);
            }
            left.extend(directive.children().iter().rev());
        }
        found
    }
}

impl<'c> Scope<'c> {
    /// The block itself; `None` outside all.
    #[must_use]
    pub fn block(&self) -> Option<&'c Directive> {
        self.path.last().copied()
    }

    /// All blocks from the outermost to this one.
    #[must_use]
    pub fn path(&self) -> &[&'c Directive] {
        &self.path
    }

    /// The kind of its block.
    #[must_use]
    pub fn kind(&self) -> ScopeKind {
        match self.block().map(|block| block.name.as_str()) {
            None => ScopeKind::Main,
            Some(name) => kind_of(name).unwrap_or(ScopeKind::Protocol),
        }
    }

    /// Whether it is in `http { }`.
    #[must_use]
    pub fn is_http(&self) -> bool {
        self.path.first().is_some_and(|block| block.name == "http")
    }

    /// Its own directives, without inherited ones.
    #[must_use]
    pub fn own(&self) -> &'c [Directive] {
        self.block().map_or(self.configuration.directives.as_slice(), Directive::children)
    }

    /// The effective directives with this name: those of the innermost block that has any.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&'c Directive> {
        let inner_first = self.path.iter().rev().map(|block| block.children());
        inner_first
            .chain([self.configuration.directives.as_slice()])
            .map(|level| level.iter().filter(|directive| directive.name == name).collect::<Vec<_>>())
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// The effective directive with this name, the last if there are several.
    #[must_use]
    pub fn effective(&self, name: &str) -> Option<&'c Directive> {
        self.all(name).pop()
    }

    /// The first argument of the effective directive.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'c str> {
        self.effective(name).map(Directive::value)
    }

    /// Its own passes, which are not inherited.
    #[must_use]
    pub fn passes(&self) -> Vec<Pass<'c>> {
        let own = self.own().iter().filter(|directive| PASSES.contains(&directive.name.as_str()));
        own.map(|directive| Pass { directive, target: self.target(directive.value()) }).collect()
    }

    /// A readable title: `server shop.example:80, location /api`.
    #[must_use]
    pub fn title(&self) -> String {
        let parts: Vec<String> = self.path.iter().filter_map(|block| part(block)).collect();
        match (parts.is_empty(), self.block()) {
            (false, _) => parts.join(", "),
            (true, Some(block)) => block.name.clone(),
            (true, None) => "main".into(),
        }
    }

    fn target(&self, written: &'c str) -> PassTarget<'c> {
        let address = written.split_once("://").map_or(written, |(_, rest)| rest);
        if address.starts_with("unix:") {
            return PassTarget::Address(address);
        }
        if address.contains('$') {
            return PassTarget::Variable(written);
        }
        let host = address.split('/').next().unwrap_or(address);
        let protocol = self.path.first().map_or(&[][..], |block| block.children());
        let upstream = protocol.iter().find(|directive| directive.name == "upstream" && directive.value() == host);
        upstream.map_or(PassTarget::Address(host), PassTarget::Upstream)
    }

    fn inner(&self) -> Vec<Self> {
        if self.path.len() >= MAX_DEPTH {
            return Vec::new();
        }
        let blocks = self.own().iter().filter(|directive| kind_of(&directive.name).is_some());
        let with = |directive| Self {
            configuration: self.configuration,
            path: self.path.iter().copied().chain([directive]).collect(),
        };
        blocks.filter(|directive| !directive.block.is_none()).map(with).collect()
    }
}

fn is_protocol(name: &str) -> bool {
    matches!(name, "http" | "stream" | "mail")
}

fn kind_of(name: &str) -> Option<ScopeKind> {
    match name {
        "http" | "stream" | "mail" => Some(ScopeKind::Protocol),
        "server" => Some(ScopeKind::Server),
        "location" => Some(ScopeKind::Location),
        "if" | "limit_except" => Some(ScopeKind::Condition),
        _ => None,
    }
}

fn part(block: &Directive) -> Option<String> {
    match block.name.as_str() {
        "server" => {
            let name = block.named("server_name").next().map_or("", Directive::value);
            let listen = block.named("listen").next().map_or("80", Directive::value);
            Some(if name.is_empty() { format!("server {listen}") } else { format!("server {name} ({listen})") })
        }
        "location" | "if" | "limit_except" => Some(format!("{} {}", block.name, block.arguments.join(" "))),
        _ => None,
    }
}
