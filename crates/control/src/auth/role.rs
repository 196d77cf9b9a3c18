//! Roles, and the role that each change needs.

use std::fmt;
use std::str::FromStr;

use weir_resource::ResourceKind;

/// What a client is allowed to do. Each role but the first includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Register a probe, and be given the shadow configuration of its application; nothing else.
    Probe,
    /// Read everything (`GET`), except private keys, which are never shown.
    Read,
    /// Change resources.
    Edit,
    /// Change settings and roll back.
    Admin,
}

impl Role {
    /// All roles, least privileged first.
    pub const ALL: [Self; 4] = [Self::Probe, Self::Read, Self::Edit, Self::Admin];

    /// The name in the token file and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Admin => "admin",
        }
    }

    /// The role that changing a kind of resource needs.
    #[must_use]
    pub fn for_kind(kind: ResourceKind) -> Self {
        if kind.is_singleton() { Self::Admin } else { Self::Edit }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_ordered_and_read_back() {
        assert!(Role::Probe < Role::Read && Role::Read < Role::Edit && Role::Edit < Role::Admin);
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().unwrap_err().contains("probe, read, edit, admin"));
    }
}
