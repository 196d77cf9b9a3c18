//! The dialects: a row for each, with all in which they differ.

use crate::digest::MacHash;

/// Whose clients sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Apache APISIX, plugin `hmac-auth`, since 3.11.
    Apisix,
    /// Kong, plugin `hmac-auth`.
    Kong,
    /// draft-cavage-http-signatures-12.
    Cavage,
}

/// What a component that is not a header field stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// The line `GET /path?query`.
    BareTarget,
    /// The line `name: get /path?query`.
    LowerTarget,
    /// The line `GET /path?query HTTP/1.1`.
    RequestLine,
    /// The parameter `created`: seconds since the Unix epoch.
    Created,
    /// The parameter `expires`, likewise.
    Expires,
}

/// A dialect.
pub(super) struct Row {
    /// Its name in configuration.
    pub(super) name: &'static str,
    /// Where the parameters are: a header field, and the scheme that its value begins with, if any.
    pub(super) places: &'static [(&'static str, &'static str)],
    /// The parameter with the key id.
    pub(super) key_id: &'static str,
    /// The names of algorithms.
    pub(super) algorithms: &'static [(&'static str, MacHash)],
    /// The algorithm of a request that names none, if it may.
    pub(super) default_algorithm: Option<&'static str>,
    /// The components of a request that lists none, if it may.
    pub(super) default_components: Option<&'static str>,
    /// The names of components that are not header fields.
    pub(super) components: &'static [(&'static str, Component)],
    /// The components that state a time; the first that is signed counts.
    pub(super) times: &'static [&'static str],
    /// Whether the text begins with a line that has the key id, and ends with a line end. Otherwise it does neither.
    pub(super) is_framed: bool,
    /// Whether names are signed in lower case, not as the request lists them.
    pub(super) lowers_names: bool,
    /// What stands between the values of a field that comes several times; if `None`, it may not.
    pub(super) joins_values: Option<&'static [u8]>,
}

const HMAC: [(&str, MacHash); 4] = [
    ("hmac-sha1", MacHash::Sha1),
    ("hmac-sha256", MacHash::Sha256),
    ("hmac-sha384", MacHash::Sha384),
    ("hmac-sha512", MacHash::Sha512),
];

static ROWS: [Row; 3] = [
    Row {
        name: "apisix",
        places: &[("authorization", "Signature")],
        key_id: "keyId",
        algorithms: &HMAC,
        default_algorithm: None,
        default_components: None,
        components: &[("@request-target", Component::BareTarget)],
        times: &["date"],
        is_framed: true,
        lowers_names: false,
        joins_values: None,
    },
    Row {
        name: "kong",
        places: &[("authorization", "hmac"), ("proxy-authorization", "hmac")],
        key_id: "username",
        algorithms: &HMAC,
        default_algorithm: None,
        default_components: None,
        components: &[("@request-target", Component::LowerTarget), ("request-line", Component::RequestLine)],
        times: &["x-date", "date"],
        is_framed: false,
        lowers_names: false,
        joins_values: None,
    },
    Row {
        name: "cavage",
        places: &[("authorization", "Signature"), ("signature", "")],
        key_id: "keyId",
        // `hs2019` of a shared secret is HMAC with SHA-512 (appendix E.2).
        algorithms: &[HMAC[0], HMAC[1], HMAC[2], HMAC[3], ("hs2019", MacHash::Sha512)],
        default_algorithm: Some("hs2019"),
        default_components: Some("(created)"),
        components: &[
            ("(request-target)", Component::LowerTarget),
            ("(created)", Component::Created),
            ("(expires)", Component::Expires),
        ],
        times: &["(created)", "date"],
        is_framed: false,
        lowers_names: true,
        joins_values: Some(b", "),
    },
];

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Apisix, Self::Kong, Self::Cavage];

    /// Its name in configuration: `apisix`, `kong`, `cavage`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub(super) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

impl Row {
    /// What a name stands for, if not for a header field.
    pub(super) fn component(&self, name: &[u8]) -> Option<Component> {
        let found = self.components.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
        found.map(|(_, component)| *component)
    }

    /// The names of components that cover the target.
    pub(super) fn targets(&self) -> impl Iterator<Item = &'static str> {
        let covers = |component| match component {
            Component::BareTarget | Component::LowerTarget | Component::RequestLine => true,
            Component::Created | Component::Expires => false,
        };
        self.components.iter().filter(move |(_, component)| covers(*component)).map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_has_its_row() {
        assert_eq!(Dialect::ALL.map(Dialect::name), ["apisix", "kong", "cavage"]);
        assert_eq!(Dialect::Kong.row().targets().collect::<Vec<_>>(), ["@request-target", "request-line"]);
    }
}
