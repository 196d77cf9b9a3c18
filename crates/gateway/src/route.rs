//! A route as a worker serves it: its path, conditions and handling, compiled when it is put.

use std::sync::Arc;

use crate::{
    condition::Compiled,
    digest::{frame_digest, pair},
    expansion::Expansion,
    matched::Allow,
    path::{End, Path, Rank},
    pattern::{Patterns, Regex},
    refusal::Refusal,
    request::RequestView,
    resource::{self, RouteAction, Split},
    rewrite::Program,
};

/// A route.
#[derive(Debug)]
pub struct RouteEntry {
    spec: resource::Route,
    path: Path,
    rank: Rank,
    headers: Box<[Compiled]>,
    query: Box<[Compiled]>,
    cookies: Box<[Compiled]>,
    rewrite: Option<Program>,
    redirect: Option<Expansion>,
    split: Sides,
    policies: Option<PolicyNames>,
    pub(crate) digest: u64,
}

impl RouteEntry {
    /// What changes whenever anything of the route does.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn new(spec: resource::Route, digest: u64, patterns: &Patterns) -> Result<Self, Refusal> {
        let mut regex = |text: &str| -> Result<Arc<Regex>, Refusal> {
            patterns.get(text).cloned().ok_or_else(|| Refusal::NeedsPattern(text.into()))
        };
        let path = Path::parse(&spec.matches.path, regex)?;
        let mut compile = |conditions: &[resource::Condition]| -> Result<Box<[Compiled]>, Refusal> {
            conditions.iter().map(|condition| Compiled::new(condition, &mut regex)).collect()
        };
        let headers = compile(&spec.matches.headers)?;
        let query = compile(&spec.matches.query)?;
        let cookies = compile(&spec.matches.cookies)?;
        let (mut rewrite, mut redirect, mut split) = (None, None, Sides::default());
        match &spec.action {
            RouteAction::Forward(forward) => {
                rewrite = forward.rewrite.as_ref().map(|to| Program::new(to, &path, &mut regex)).transpose()?;
                split = Sides::new(&forward.split);
            }
            RouteAction::Redirect { to, .. } => redirect = Some(Expansion::parse(to, path.param_names())?),
            RouteAction::Respond { .. } | RouteAction::Messages(_) => {}
        }
        let rank = Rank::new(&spec, Some(&path));
        let policies = spec.policies.clone().map(PolicyNames::new);
        Ok(Self { spec, path, rank, headers, query, cookies, rewrite, redirect, split, policies, digest })
    }

    /// The resource as configured.
    #[must_use]
    pub fn spec(&self) -> &resource::Route {
        &self.spec
    }

    /// Its policies; `None` takes those of the site.
    #[must_use]
    pub fn policies(&self) -> Option<&PolicyNames> {
        self.policies.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    pub(crate) fn rewrite(&self) -> Option<&Program> {
        self.rewrite.as_ref()
    }

    pub(crate) fn redirect(&self) -> Option<&Expansion> {
        self.redirect.as_ref()
    }

    pub(crate) fn split(&self) -> &Sides {
        &self.split
    }

    /// Whether a request that its segments fit is one of its own. If only the method is not, the methods that are go
    /// to `allow`.
    pub(crate) fn holds<'r>(&'r self, request: &dyn RequestView, allow: &mut Allow<'r>) -> bool {
        if let End::Regex(regex) = &self.path.end
            && !regex.is_whole(request.path())
        {
            return false;
        }
        let method = request.method();
        let methods = &self.spec.matches.methods;
        let of_method = methods.is_empty() || methods.iter().any(|known| known.as_bytes() == method);
        let rest = self.headers.iter().all(|test| test.holds(request.header(&test.name)))
            && self.query.iter().all(|test| test.holds(request.query(&test.name).as_deref()))
            && self.cookies.iter().all(|test| test.holds(request.cookie(&test.name)));
        if rest && !of_method {
            methods.iter().for_each(|method| allow.add(method));
        }
        rest && of_method
    }
}

/// Names of policies that are in effect together, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyNames {
    names: Vec<String>,
    key: u64,
}

impl PolicyNames {
    /// Creates the set from names.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let key = names.iter().fold(0, |key, name| pair(key, frame_digest(name.as_bytes())));
        Self { names, key }
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A hash of the names; 0 for an empty set.
    #[must_use]
    pub fn key(&self) -> u64 {
        self.key
    }
}

/// The sides of a split.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sides {
    /// Weight and hash of the upstream's id.
    sides: Box<[(u32, u64)]>,
    total: u64,
}

impl Sides {
    fn new(split: &[Split]) -> Self {
        let sides: Box<[_]> = split.iter().map(|side| (side.weight, frame_digest(side.upstream.as_bytes()))).collect();
        Self { total: sides.iter().map(|(weight, _)| u64::from(*weight)).sum(), sides }
    }

    /// Chooses a side by weight. `None` if all weights are 0.
    pub fn draw(&self, random: u64) -> Option<usize> {
        let mut at = ((u128::from(random) * u128::from(self.total)) >> 64) as u64;
        self.sides.iter().position(|(weight, _)| {
            let found = at < u64::from(*weight);
            at = at.saturating_sub(u64::from(*weight));
            found
        })
    }

    /// The side of a key, by weighted rendezvous hashing, so that a change of weights moves keys only to sides that
    /// grew and from sides that shrank.
    pub fn sticky(&self, key: u64) -> Option<usize> {
        let wait = |n: &usize| {
            let (weight, side) = self.sides[*n];
            let uniform = ((pair(key, side) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            -uniform.ln() / f64::from(weight)
        };
        let open = (0..self.sides.len()).filter(|n| self.sides[*n].0 > 0);
        open.min_by(|a, b| wait(a).total_cmp(&wait(b)))
    }
}
