//! Paths of the API: a resource, or a part of one.

use std::fmt;
use std::sync::Arc;

use weir_resource::ResourceKind;

/// Deepest part of a document that a path can name.
pub const MAX_DEPTH: usize = 32;

/// A resource. The id of a member is `UPSTREAM/MEMBER`, that of the settings is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The kind.
    pub kind: ResourceKind,
    /// The id.
    pub id: Arc<str>,
}

impl Key {
    /// The resource of that kind and id.
    #[must_use]
    pub fn new(kind: ResourceKind, id: &str) -> Self {
        Self { kind, id: id.into() }
    }

    /// The member of an upstream.
    #[must_use]
    pub fn member(upstream: &str, member: &str) -> Self {
        Self { kind: ResourceKind::Members, id: format!("{upstream}/{member}").into() }
    }

    /// The id of the upstream of a member.
    #[must_use]
    pub fn upstream(&self) -> Option<&str> {
        self.kind.parent().and_then(|_| self.id.split_once('/')).map(|(upstream, _)| upstream)
    }

    /// Whether its id is one that this kind may have.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match (self.kind.parent(), self.id.split_once('/')) {
            (Some(parent), Some((upstream, member))) => parent.takes_id(upstream) && self.kind.takes_id(member),
            _ => self.kind.takes_id(&self.id),
        }
    }
}

/// As a path of the API, which is also the beginning of each JSON pointer into it: `/upstreams/app/members/a`.
impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        match (kind.parent(), self.id.split_once('/')) {
            (Some(parent), Some((upstream, member))) => write!(out, "/{parent}/{upstream}/{kind}/{member}"),
            _ if kind.is_singleton() => write!(out, "/{kind}"),
            _ => write!(out, "/{kind}/{}", self.id),
        }
    }
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// All resources of a kind; of members, those of the upstream that is named.
    Collection(ResourceKind, Option<Arc<str>>),
    /// A resource, or the part of it that the steps lead to.
    Resource(Key, Vec<String>),
}

impl Target {
    /// The kind of what it names.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        match self {
            Self::Collection(kind, _) => *kind,
            Self::Resource(key, _) => key.kind,
        }
    }

    /// Reads a path below `/api/v1`, such as `/upstreams/app/members/a/weight`; `None` if it names nothing.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let mut segments = path.split('/');
        let kind = ResourceKind::from_plural(segments.next()?).filter(|kind| kind.parent().is_none())?;
        if kind == ResourceKind::Files {
            // The id is a path, percent-encoded as it stands.
            return Some(match path.split_once('/') {
                Some((_, id)) if kind.takes_id(id) => Self::Resource(Key::new(kind, id), Vec::new()),
                Some(_) => return None,
                None => Self::Collection(kind, None),
            });
        }
        let mut rest = segments.map(decoded).collect::<Option<Vec<String>>>()?;
        if rest.len() > MAX_DEPTH || rest.iter().any(String::is_empty) {
            return None;
        }
        if kind.is_singleton() {
            return Some(Self::Resource(Key::new(kind, ""), rest));
        }
        if rest.is_empty() {
            return Some(Self::Collection(kind, None));
        }
        if kind == ResourceKind::Upstreams && rest.get(1).is_some_and(|step| step == "members") {
            return Some(match rest.get(2) {
                None => Self::Collection(ResourceKind::Members, Some(rest[0].as_str().into())),
                Some(member) => Self::Resource(Key::member(&rest[0], member), rest.split_off(3)),
            });
        }
        let nested = rest.split_off(1);
        Some(Self::Resource(Key::new(kind, &rest[0]), nested))
    }
}

/// Percent-decoding of one segment (RFC 3986, 2.1); `None` if it is malformed, not UTF-8, or has a slash in it.
fn decoded(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        return Some(segment.to_owned());
    }
    let mut bytes = segment.bytes();
    let mut out = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        out.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('/'))
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collection(ResourceKind::Members, Some(upstream)) => write!(out, "/upstreams/{upstream}/members"),
            Self::Collection(kind, _) => write!(out, "/{kind}"),
            Self::Resource(key, steps) => {
                write!(out, "{key}")?;
                steps.iter().try_for_each(|step| write!(out, "/{step}"))
            }
        }
    }
}
