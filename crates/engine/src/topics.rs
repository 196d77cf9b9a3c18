//! What a request may do with topics of messages, as rules have named them.

/// Stands in a filter for the value of the action's expression.
const PLACE: &str = "{}";

/// Filters that one request may have; those of further rules are not added.
const MAX_GRANTS: usize = 64;

/// What the action `allow_topics` allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicGrant {
    /// Topics that the client may subscribe to, as a filter in which `{}` stands for a value.
    pub subscribe: Option<String>,
    /// Topics that it may publish to.
    pub publish: Option<String>,
}

impl TopicGrant {
    /// Whether a filter has a place for a value.
    #[must_use]
    pub fn has_place(&self) -> bool {
        [&self.subscribe, &self.publish].into_iter().flatten().any(|filter| filter.contains(PLACE))
    }
}

/// What rules have allowed a request so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicGrants {
    /// Whether a rule has named topics: then no others are allowed.
    pub is_restricted: bool,
    /// Filters that the client may subscribe to.
    pub subscribe: Vec<String>,
    /// Filters whose topics it may publish to.
    pub publish: Vec<String>,
}

impl TopicGrants {
    /// Adds what an action allows. A value that is not one level of a topic allows nothing: with `+`, `#` or a slash in it,
    /// whoever has chosen the value would choose the topics.
    pub(crate) fn add(&mut self, grant: &TopicGrant, value: &[u8]) {
        self.is_restricted = true;
        let value = std::str::from_utf8(value).unwrap_or_default();
        let is_level = !value.is_empty() && !value.starts_with('$') && !value.contains(['/', '+', '#', '\0']);
        for (filters, filter) in [(&mut self.subscribe, &grant.subscribe), (&mut self.publish, &grant.publish)] {
            let Some(filter) = filter.as_deref().filter(|filter| is_level || !filter.contains(PLACE)) else { continue };
            let filter = filter.replace(PLACE, value);
            if filters.len() < MAX_GRANTS && !filters.contains(&filter) {
                filters.push(filter);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_one_level_allows_nothing() {
        let grant = TopicGrant { subscribe: Some("users/{}/#".into()), publish: Some("chat".into()) };
        for value in ["", "+", "#", "a/b", "a/+", "$x", "a\0"] {
            let mut grants = TopicGrants::default();
            grants.add(&grant, value.as_bytes());
            let expected = TopicGrants { is_restricted: true, subscribe: Vec::new(), publish: vec!["chat".to_owned()] };
            assert_eq!(grants, expected, "{value:?}");
        }
        let mut grants = TopicGrants::default();
        grants.add(&grant, b"anna");
        grants.add(&grant, b"anna");
        grants.add(&grant, b"\xff");
        assert_eq!(grants.subscribe, ["users/anna/#"]);
    }
}
