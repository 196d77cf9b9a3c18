//! The body of a response, as far as a rule set inspects it.

use weir_rules::seclang::ir::{AllowScope, Engine, Phase};

use super::run::Run;

/// Types of responses whose bodies are inspected, unless `SecResponseBodyMimeType` says otherwise.
const DEFAULT_TYPES: [&[u8]; 3] = [b"text/plain", b"text/html", b"text/xml"];
/// Bytes of a response's body that are inspected, unless `SecResponseBodyLimit` says otherwise.
const DEFAULT_RESPONSE_BYTES: usize = 512 * 1024;

impl<'a> Run<'a> {
    /// Whether it has to see the body of a response of that media type, and how much of it.
    pub(crate) fn wants_response_body(&self, content_type: &[u8]) -> Option<usize> {
        let settings = self.profile.program().settings();
        let over = self.state.allowed == Some(AllowScope::All) || self.state.engine == Engine::Off;
        if !self.state.response_body || over || !self.profile.has(Phase::ResponseBody) {
            return None;
        }
        let media = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is_wanted = match &settings.response_body_mime_types {
            Some(types) => types.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(media)),
            None => DEFAULT_TYPES.iter().any(|one| one.eq_ignore_ascii_case(media)),
        };
        is_wanted.then(|| self.response_body_limit())
    }

    fn response_body_limit(&self) -> usize {
        let limit = self.profile.program().settings().response_body_limit;
        limit.map_or(DEFAULT_RESPONSE_BYTES, |limit| limit as usize)
    }

    /// Gives it the response's body, of which it sees as much as its limit allows.
    pub(crate) fn set_response_body(&mut self, body: &'a [u8]) {
        let limit = self.response_body_limit();
        self.view.set_response_body(&body[..body.len().min(limit)]);
        if body.len() > limit {
            self.view.set_response_body_truncated();
        }
    }
}
