//! What is signed around a body: `v0:{timestamp}:{body}`.

/// A template, cut at its `{body}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    before: String,
    after: String,
}

const BODY: &str = "{body}";
const TIMESTAMP: &str = "{timestamp}";
/// The longest template, in bytes: a few words around two variables.
const MAX_BYTES: usize = 256;

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// If `{body}` is not in it once, `{timestamp}` is in it although there is none or the reverse, or it has other braces.
    pub fn new(text: &str, has_timestamp: bool) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the template has {} bytes, the bound is {MAX_BYTES}", text.len()));
        }
        let (before, after) = text.split_once(BODY).ok_or_else(|| format!("`{text}` lacks `{BODY}`"))?;
        let other = [before, after].map(|part| part.replace(TIMESTAMP, ""));
        if other.iter().any(|part| part.contains(['{', '}'])) {
            return Err(format!("`{text}` has something in braces besides one `{BODY}` and `{TIMESTAMP}`"));
        }
        match (has_timestamp, text.contains(TIMESTAMP)) {
            (true, false) => Err(format!("a timestamp that is not signed says nothing: `{text}` lacks `{TIMESTAMP}`")),
            (false, true) => Err(format!("`{text}` has `{TIMESTAMP}`, but no option says where the timestamp is")),
            (true, true) | (false, false) => Ok(Self { before: before.into(), after: after.into() }),
        }
    }

    /// What is signed before and after the body.
    #[must_use]
    pub fn around(&self, timestamp: &str) -> (String, String) {
        (self.before.replace(TIMESTAMP, timestamp), self.after.replace(TIMESTAMP, timestamp))
    }
}
