//! Roles, and the role that each request needs.

use std::fmt;
use std::str::FromStr;

use axum::http::Method;

/// What a client is allowed to do. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Read everything (`GET`), except private keys, which are never shown.
    Read,
    /// Change resources.
    Edit,
    /// Change settings and roll back.
    Admin,
}

impl Role {
    /// All roles, least privileged first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Edit, Self::Admin];

    /// The name in the token file and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Admin => "admin",
        }
    }

    /// The role that changing a kind of resource needs. A transaction needs the highest role of its changes.
    #[must_use]
    pub fn for_kind(plural: &str) -> Self {
        if plural == "settings" { Self::Admin } else { Self::Edit }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no role; the roles are {names}")
        })
    }
}

/// The role that a request needs; `None` for the health check, which needs no authentication.
#[must_use]
pub fn required(method: &Method, path: &str) -> Option<Role> {
    if path == "/healthz" {
        return None;
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) {
        return Some(Role::Read);
    }
    let rest = path.strip_prefix("/api/v1/").unwrap_or(path);
    let kind = rest.split('/').next().unwrap_or(rest);
    if kind == "revisions" { Some(Role::Admin) } else { Some(Role::for_kind(kind)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_roles() {
        for (method, path, role) in [
            (Method::GET, "/healthz", None),
            (Method::GET, "/metrics", Some(Role::Read)),
            (Method::GET, "/api/v1/settings", Some(Role::Read)),
            (Method::HEAD, "/api/v1/sites/a", Some(Role::Read)),
            (Method::PUT, "/api/v1/sites/a", Some(Role::Edit)),
            (Method::PATCH, "/api/v1/upstreams/a/members/b", Some(Role::Edit)),
            (Method::POST, "/api/v1/transactions", Some(Role::Edit)),
            (Method::PUT, "/api/v1/settings", Some(Role::Admin)),
            (Method::PATCH, "/api/v1/settings/geo", Some(Role::Admin)),
            (Method::POST, "/api/v1/revisions/7/rollback", Some(Role::Admin)),
            (Method::DELETE, "/nothing", Some(Role::Edit)),
        ] {
            assert_eq!(required(&method, path), role, "{method} {path}");
        }
    }

    #[test]
    fn roles_are_ordered_and_read_back() {
        assert!(Role::Read < Role::Edit && Role::Edit < Role::Admin);
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().unwrap_err().contains("read, edit, admin"));
    }
}
