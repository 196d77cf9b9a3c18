//! Names that people use for what the engine keeps as numbers.

use weir_rules::seclang::ir::Phase;

/// Names of severities, as in SecLang and the attack log.
const SEVERITIES: [&str; 8] = ["EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"];

/// A severity's name.
pub(super) fn severity(number: Option<u8>) -> Option<&'static str> {
    SEVERITIES.get(usize::from(number?)).copied()
}

/// The paranoia level that CRS's tags say.
pub(super) fn paranoia(tags: &[String]) -> Option<u8> {
    tags.iter().find_map(|tag| tag.strip_prefix("paranoia-level/")?.parse().ok())
}

/// A phase in words.
pub(super) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::RequestHeaders => "1 (the request's header)",
        Phase::RequestBody => "2 (the request's body)",
        Phase::ResponseHeaders => "3 (the response's header)",
        Phase::ResponseBody => "4 (the response's body)",
        Phase::Logging => "5 (after the response)",
    }
}

/// Bytes as text that a terminal can take, no longer than so many characters.
pub(crate) fn text(bytes: &[u8], most: usize) -> String {
    crate::terminal::shown(&lossless(bytes), most)
}

/// Bytes as text; those that are no UTF-8 as `\xff`.
pub(crate) fn lossless(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_people_know() {
        assert_eq!([severity(Some(2)), severity(Some(8)), severity(None)], [Some("CRITICAL"), None, None]);
        assert_eq!(paranoia(&["attack-sqli".into(), "paranoia-level/3".into()]), Some(3));
        assert_eq!(text(b"a\xff\n", 9), "a\\xff\\n");
    }
}
