//! Verdicts of libinjection 3.9.2 (in libmodsecurity 3.0.9) for the same inputs.

use super::*;

#[test]
fn agrees_with_libinjection() {
    for (input, attack) in [
        ("<script>alert(1)</script>", true),
        ("<img src=x onerror=alert(1)>", true),
        ("\"><svg onload=alert(1)>", true),
        ("<a href=\"javascript:alert(1)\">", true),
        ("<a href=\"&#x6a;avascript:alert(1)\">", true),
        ("' onmouseover='alert(1)", true),
        ("x style=y", true),
        ("<!-- ` -->", true),
        ("<!--[if IE]>", true),
        ("<!doctype html>", true),
        ("<?import x>", true),
        ("</><script>", true),
        ("<a xmlns=1>", true),
        ("<set attributename=href>", true),
        ("<set attributename=class>", false),
        ("<a href=\"/java\">", false),
        ("<% import %>", false),
        ("<b class=\"x\">bold</b>", false),
        ("a < b", false),
        ("", false),
        ("<", false),
        ("\0", false),
    ] {
        assert_eq!(xss(input.as_bytes()), attack, "{input}");
    }
}

/// Inputs that would take quadratic time if bytes were read repeatedly.
#[test]
fn long_inputs_take_linear_time() {
    for piece in ["<", "<a ", "<!--", "-\0", "<%", "%", "/", "a=", "=", "'", "<![CDATA[", "]", "\0=", "'a"] {
        let input = piece.repeat(300_000 / piece.len());
        let _ = xss(input.as_bytes());
        let _ = xss_possible(input.as_bytes());
    }
}
