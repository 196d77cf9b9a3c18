//! Patterns as people write them for a WAF, and as many variations as wanted.

/// The hand-written ones.
const PATTERNS: [&str; 40] = [
    r"(?:\.\./|\.\.\\){2,}",
    r"(?i)/etc/(?:passwd|shadow|hosts)",
    r"(?i)union\s+(?:all\s+)?select",
    r"(?i)<script[^>]*>",
    r"(?i)(?:sqlmap|nikto|nessus|acunetix|masscan)",
    r"(?i)\bon(?:error|load|click|mouseover)\s*=",
    r"(?i)javascript\s*:",
    r"(?i)insert\s+into\s+\w+",
    r"(?i)/(?:wp-admin|phpmyadmin|\.git|\.env)",
    r"(?i)(?:sleep|benchmark|pg_sleep)\s*\(",
    r"(?i)or\s+1\s*=\s*1",
    r"(?i)\bdrop\s+table\b",
    r"(?i)base64_decode\s*\(",
    r"(?i)\$\{jndi:(?:ldap|rmi|dns):",
    r"(?i)eval\s*\(",
    r"(?i)cmd\.exe|powershell",
    r"(?i);\s*(?:cat|wget|curl|nc|bash)\s",
    r"(?i)\|\s*(?:id|whoami|uname)\b",
    r"(?i)<iframe[^>]+src",
    r"(?i)document\.(?:cookie|location)",
    r"(?i)information_schema",
    r"(?i)load_file\s*\(",
    r"(?i)into\s+(?:out|dump)file",
    r"(?i)xp_cmdshell",
    r"(?i)<!--#(?:exec|include)",
    r"(?i)php://(?:input|filter)",
    r"(?i)(?:file|gopher|dict)://",
    r"(?i)\bwaitfor\s+delay\b",
    r"(?i)char\(\d+\)",
    r"(?i)0x[0-9a-f]{16,}",
    r"(?i)proc/self/environ",
    r"(?i)boot\.ini",
    r"(?i)win\.ini",
    r"(?i)%00|\x00",
    r"(?i)\bhaving\s+\d+\s*=",
    r"(?i)group\s+by.+having",
    r"(?i)<svg[^>]*onload",
    r"(?i)vbscript:",
    r"(?i)data:text/html",
    r"(?i)expression\s*\(",
];

/// Words to vary them with.
const WORDS: [&str; 12] = [
    "alpha", "quorum", "zebra", "jigsaw", "vortex", "kayak", "oxygen", "wizard", "sphinx", "blazer", "cobalt", "fjord",
];

/// Pattern number `number`: the hand-written ones, then made-up families with literals of their own.
pub fn pattern(number: usize) -> String {
    match PATTERNS.get(number) {
        Some(pattern) => (*pattern).to_owned(),
        None => format!(r"(?i){}[\s/_-]+{}{number}\s*\(", WORDS[number % 12], WORDS[number / 12 % 12]),
    }
}

/// Literals that the automata of the lost alternative look for in its place.
pub fn literals(number: usize) -> Vec<String> {
    match PATTERNS.get(number) {
        Some(pattern) => {
            let longest =
                pattern.split(|c: char| !c.is_ascii_alphabetic()).max_by_key(|run| run.len()).unwrap_or("../");
            vec![if longest.len() < 3 { "../".to_owned() } else { longest.to_owned() }]
        }
        None => vec![format!("{}{number}", WORDS[number / 12 % 12])],
    }
}
