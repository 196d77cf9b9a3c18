//! The results of matching.

use std::{fmt, ops::Range, rc::Rc};

use crate::{
    gateway::Gateway,
    path::MAX_PARAMS,
    request::{RequestView, hash_key},
    resource::RouteAction,
    route::{PolicyNames, RouteEntry},
    site::Site,
};

/// The largest number of methods in an `Allow` list; further ones are omitted.
const MAX_ALLOW: usize = 16;

/// The result of [`Gateway::route`].
#[derive(Debug)]
pub enum Found<'g> {
    /// A route.
    Route(Matched),
    /// No site has this host: 421 or 404.
    NoSite,
    /// The site has no route for this: 404.
    NoRoute,
    /// The site has routes for other methods only: 405.
    MethodNotAllowed {
        /// The methods that have routes.
        allow: Allow<'g>,
    },
}

/// Methods that a path has routes for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allow<'g> {
    methods: [&'g str; MAX_ALLOW],
    count: usize,
}

impl<'g> Allow<'g> {
    pub(crate) fn add(&mut self, method: &'g str) {
        if self.count < MAX_ALLOW && !self.methods().contains(&method) {
            self.methods[self.count] = method;
            self.count += 1;
        }
    }

    /// The methods, in the order of their routes, each once.
    #[must_use]
    pub fn methods(&self) -> &[&'g str] {
        &self.methods[..self.count]
    }
}

/// As in the header `Allow`: `GET, POST`.
impl fmt::Display for Allow<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, method) in self.methods().iter().enumerate() {
            write!(out, "{}{method}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The positions of a template's names in the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    ranges: [(u32, u32); MAX_PARAMS],
    count: usize,
}

impl Params {
    pub(crate) fn push(&mut self, range: Range<usize>) {
        if self.count < MAX_PARAMS {
            self.ranges[self.count] = (range.start as u32, range.end as u32);
            self.count += 1;
        }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The n-th, as bytes of the path.
    #[must_use]
    pub fn range(&self, n: usize) -> Option<Range<usize>> {
        self.ranges[..self.count].get(n).map(|(start, end)| *start as usize..*end as usize)
    }
}

/// A route for a request. It holds what it needs, so it may outlive the gateway it came from.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The site.
    pub site: Rc<Site>,
    /// The route.
    pub route: Rc<RouteEntry>,
    /// The positions of its template's names.
    pub params: Params,
}

impl Matched {
    /// The value of `{name}` in the template.
    #[must_use]
    pub fn param<'p>(&self, name: &str, path: &'p [u8]) -> Option<&'p [u8]> {
        let n = self.route.path().param_names().position(|known| known == name)?;
        path.get(self.params.range(n)?)
    }

    /// The policies in effect: the route's, else the site's, else those of the settings.
    #[must_use]
    pub fn policies<'a>(&'a self, gateway: &'a Gateway) -> &'a PolicyNames {
        self.route.policies().or_else(|| self.site.policies()).unwrap_or_else(|| gateway.default_policies())
    }

    /// The upstream's id, chosen by weight: by the sticky key if the request has it, otherwise by `random`.
    /// `None` unless the route forwards.
    #[must_use]
    pub fn upstream(&self, request: &dyn RequestView, random: u64) -> Option<&str> {
        let RouteAction::Forward(forward) = &self.route.spec().action else { return None };
        if let [only] = &forward.split[..] {
            return Some(&only.upstream);
        }
        match forward.sticky.as_ref().and_then(|sticky| hash_key(&sticky.by, request)) {
            Some(key) => self.route.split().sticky(key),
            None => self.route.split().draw(random),
        }
        .and_then(|n| forward.split.get(n))
        .map(|side| &*side.upstream)
    }

    /// Appends the path to send, decoded (the caller escapes it); says whether it differs from the request's, which it
    /// never does without a rewrite. Then nothing is appended.
    pub fn rewrite(&self, request: &dyn RequestView, out: &mut Vec<u8>) -> bool {
        match self.route.rewrite() {
            Some(rewrite) => {
                rewrite.write(self, request, out);
                true
            }
            None => false,
        }
    }

    /// Appends the redirect's target, escaped for a header, and returns its status. `None` unless the route redirects.
    pub fn redirect(&self, request: &dyn RequestView, out: &mut Vec<u8>) -> Option<u16> {
        let RouteAction::Redirect { status, .. } = &self.route.spec().action else { return None };
        self.route.redirect()?.write_escaped(self, request, out);
        Some(*status)
    }
}
