//! A rule set with every operator and every transformation, which the fuzz target `rule_set` uses
//! as well.

use std::fmt::Write;

use weir_engine::seclang::Tuning;

use crate::site::{Site, program};

const OPERATORS: &[&str] = &[
    "@rx (?i)(union|select)\\s+(\\w+)",
    "@rx ^(?!ok)[a-z]+=$",
    "@rx (.)\\1\\1",
    "@rxGlobal e.",
    "@rx [<>\\\"']",
    "@rx %{tx.word}",
    "@pm evil worse ../",
    "@pmFromFile words.data",
    "@contains evil",
    "@containsWord evil",
    "@strmatch vil",
    "@beginsWith ev",
    "@endsWith il",
    "@streq evil",
    "@within evil good %{tx.word}",
    "@eq 5",
    "@ge 5",
    "@lt 5",
    "@ipMatch 10.0.0.0/8,::1",
    "@detectSQLi",
    "@detectXSS",
    "@validateByteRange 32-126,128-255",
    "@validateUrlEncoding",
    "@validateUtf8Encoding",
    "@verifyCC \\d{13,16}",
    "@verifySSN \\d{3}-?\\d{2}-?\\d{4}",
    "@verifyCPF [0-9.-]{11,14}",
    "@verifySVNR \\d{4} ?\\d{6}",
    "@unconditionalMatch",
    "!@rx ^[\\w ]*$",
    "!@within a evil",
];

const TRANSFORMATIONS: &[&str] = &[
    "base64Decode",
    "base64DecodeExt",
    "base64Encode",
    "cmdLine",
    "compressWhitespace",
    "cssDecode",
    "escapeSeqDecode",
    "hexDecode",
    "hexEncode",
    "htmlEntityDecode",
    "jsDecode",
    "length",
    "lowercase",
    "md5",
    "normalizePath",
    "normalizePathWin",
    "parityEven7bit",
    "parityOdd7bit",
    "parityZero7bit",
    "removeComments",
    "removeCommentsChar",
    "removeNulls",
    "removeWhitespace",
    "replaceComments",
    "replaceNulls",
    "sha1",
    "sqlHexDecode",
    "trim",
    "trimLeft",
    "trimRight",
    "uppercase",
    "urlDecode",
    "urlDecodeUni",
    "urlEncode",
    "utf8toUnicode",
];

const TARGETS: &[&str] = &[
    "ARGS",
    "ARGS_NAMES",
    "ARGS:v|REQUEST_COOKIES",
    "REQUEST_HEADERS|!REQUEST_HEADERS:Host",
    "REQUEST_URI|REQUEST_BODY",
    "XML:/*|XML://@*|FILES|FILES_NAMES",
    "REQUEST_LINE|REQUEST_FILENAME|REQUEST_BASENAME|QUERY_STRING",
    "ARGS:/^v/",
    "MULTIPART_PART_HEADERS|FILES_TMP_CONTENT|FULL_REQUEST",
    "REQUEST_COOKIES_NAMES|REQUEST_HEADERS_NAMES|ARGS_POST",
];

/// Its text.
pub fn rules() -> String {
    let mut text = "SecResponseBodyAccess On\n\
                    SecAction \"id:1,phase:1,nolog,pass,setvar:tx.word=evil,setvar:tx.n=0\"\n"
        .to_owned();
    let mut id = 10;
    let mut rule = |targets: &str, operator: &str, actions: &str| {
        id += 1;
        writeln!(text, "SecRule {targets} \"{operator}\" \"id:{id},pass,setvar:tx.n=+1,{actions}\"").unwrap();
    };
    for (number, operator) in OPERATORS.iter().enumerate() {
        let targets = TARGETS[number % TARGETS.len()];
        rule("ARGS", operator, "phase:1,t:none,t:urlDecodeUni,t:lowercase,capture,logdata:'%{tx.0} %{tx.1}'");
        rule(targets, operator, "phase:2,multiMatch,t:none,t:urlDecodeUni,t:htmlEntityDecode,t:compressWhitespace");
        rule("RESPONSE_BODY|RESPONSE_HEADERS", operator, "phase:4,t:none,t:removeNulls");
    }
    for (number, transformation) in TRANSFORMATIONS.iter().enumerate() {
        let (targets, next) =
            (TARGETS[number % TARGETS.len()], TRANSFORMATIONS[(number * 7 + 1) % TRANSFORMATIONS.len()]);
        rule(targets, "@rx evil|select|<", &format!("phase:2,t:none,t:{transformation}"));
        rule("ARGS|REQUEST_BODY", "@contains evil", &format!("phase:2,t:none,t:{transformation},t:{next},multiMatch"));
    }
    text += "SecRule TX:n \"@ge 20\" \"id:900,phase:2,nolog,pass,skipAfter:MANY\"\n\
             SecRule ARGS \"@rx .\" \"id:901,phase:2,pass,logdata:'few'\"\nSecMarker MANY\n\
             SecRule TX:n \"@ge 0\" \"id:902,phase:5,pass,logdata:'%{tx.n}'\"\n";
    text
}

/// A site with it.
pub fn site() -> Site {
    let tuning = Tuning {
        request_body: Some(true),
        response_body: Some(true),
        processors_by_content_type: true,
        ..Tuning::default()
    };
    Site::of(program(&rules()).unwrap_or_else(|problems| panic!("{problems}")), tuning)
}

#[test]
fn all_of_it_loads_and_filters_change_nothing() {
    use crate::site::Request;

    let site = site();
    for request in [
        Request::get("/"),
        Request::get("/evil?v=UNION%20select%20x&w=%3Cscript%3E&evil=5").answer(200, "text/html", "evil <b>"),
        Request::form("/", "v=evil&w=4111111111111111&x=%00%ff").header("Cookie", "a=evil").truncated(),
        Request::post("/", "application/json", "{\"v\":[\"6576696c\",\"<evil>\"]}"),
        Request::post("/", "text/xml", "<a b=\"evil\">select</a>"),
    ] {
        let seen = site.see(&request);
        assert!(seen.ids.contains(&902), "{request:?}");
    }
}
