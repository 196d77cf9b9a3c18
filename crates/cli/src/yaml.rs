//! Documents as YAML, so that what `weir get` prints can be edited and applied.

use serde_json::Value;

/// The document; scalars alone on a line.
pub(crate) fn print(value: &Value) -> String {
    let mut text = serde_saphyr::to_string(value).expect("JSON is YAML");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_the_same() {
        let value = serde_json::json!({
            "text": "yes", "number": "12", "lines": "a\nb\n", "odd": "a: b # c", "deep": {"list": [1, true, null, {"x": []}]},
            "pattern": r"^/api/v\d+\x00", "star": "*", "quote": "it's \"so\"", "empty": "", "space": " x "
        });
        let read = crate::body::parse(&print(&value), "test").unwrap();
        assert_eq!(read, value, "{}", print(&value));
    }
}
