//! Operators behind the filter: what it lets through it lets through rightly, with every
//! transformation in between.

use crate::site::{Request, Site, check};

fn get(target: &str) -> Request {
    Request::get(target)
}

#[test]
fn each_operator_finds_what_it_looks_for() {
    for (operator, found, not_found) in [
        ("@rx sel(ect)?\\s", "a+select+b", "selec"),
        ("@rx (?i)UNION.*select", "uNiOn%0aSELECT", "select+union"),
        ("@rx ^(?!ok)\\w+$", "nok", "okay"),
        ("@rx [<>]{2}", "a%3C%3E", "%3Ca%3E"),
        ("@pm evil worse", "so+EVIL", "vile"),
        ("@pmFromFile words.data", "a+gamma+RAY", "delta"),
        ("@contains Evil", "aEvil", "aevil"),
        ("@containsWord evil", "an+evil+one", "aneviline"),
        ("@beginsWith ev", "evil", "devil"),
        ("@endsWith il", "evil", "evils"),
        ("@streq evil", "evil", "evil+"),
        ("@strmatch vi", "evil", "iv"),
        ("@within evil,good", "good", "bad"),
        ("@eq 5", "5", "6"),
        ("@gt 5", "6", "5"),
        ("@ge 5", "5", "4"),
        ("@lt 5", "-1", "5"),
        ("@le 5", "5", "6"),
        ("@ipMatch 10.0.0.0/8,::1", "10.1.2.3", "11.1.2.3"),
        ("@validateByteRange 32-126", "%00", "a"),
        ("@validateUrlEncoding", "%25zz", "%2541"),
        ("@validateUtf8Encoding", "%ff", "%c3%a4"),
        ("@detectSQLi", "1%27+or+%271%27=%271", "it+is+fine"),
        ("@detectXSS", "%3Cscript%3E", "a+b"),
        ("@verifyCC \\d{13,16}", "4111111111111111", "123456789012"),
    ] {
        let rules = format!(
            "SecRule ARGS:v \"{operator}\" \"id:1,phase:1,pass\"\nSecRule ARGS \"{operator}\" \"id:2,phase:1,pass,t:none\"\n\
             SecRule ARGS:v \"!{operator}\" \"id:3,phase:1,pass\"\n"
        );
        let rules: &'static str = rules.leak();
        check([(rules, get(&format!("/?v={found}")), "1 2"), (rules, get(&format!("/?v={not_found}")), "3")]);
    }
}

#[test]
fn transformations_bring_out_what_is_hidden() {
    for (transformations, hidden) in [
        ("urlDecodeUni", "%2565vil"),
        ("urlDecodeUni", "%25u0065vil"),
        ("lowercase", "EVIL"),
        ("hexDecode", "6576696c"),
        ("base64Decode", "ZXZpbA=="),
        ("htmlEntityDecode", "%26%23101;vil"),
        ("jsDecode", "\\x65vil"),
        ("cssDecode", "\\65%20vil"),
        ("removeNulls", "ev%00il"),
        ("removeWhitespace", "e+v+i+l"),
        ("replaceComments,removeWhitespace", "ev/*x*/il"),
        ("cmdLine", "e^v\"il"),
        ("normalizePath", "x/../evil"),
        ("trim", "+evil+"),
        ("urlDecode,urlDecode,lowercase", "%252545VIL"),
        ("base64Decode,hexDecode", "NjU3NjY5NmM="),
        ("utf8toUnicode,urlDecodeUni", "evil"),
    ] {
        let chain: String = transformations.split(',').map(|one| format!(",t:{one}")).collect();
        let rules = format!(
            "SecRule ARGS:v \"@streq evil\" \"id:1,phase:1,pass,t:none{chain}\"\n\
             SecRule ARGS \"@rx ^evil$\" \"id:2,phase:1,pass,t:none{chain}\"\n\
             SecRule ARGS|!ARGS:w \"@pm evil\" \"id:3,phase:1,pass,multiMatch,t:none{chain}\"\n"
        );
        check([(&*rules.leak(), get(&format!("/?v={hidden}")), "1 2 3")]);
    }
}

/// The filter keeps a bounded number of hits for a request. What it leaves out there it must not
/// take for all that there is when the same value comes again.
#[test]
fn a_value_among_too_many_hits_is_not_remembered_as_harmless() {
    // Two hits for each filler.
    let mut rules = String::from("SecRule ARGS \"@contains zz\" \"id:1,phase:1,pass,nolog\"\n");
    rules.push_str("SecRule ARGS \"@contains z\" \"id:100,phase:1,pass,nolog\"\n");
    for id in 2..20 {
        rules.push_str(&format!("SecRule ARGS \"@rx foo[0-9]{{1,{id}}}\" \"id:{id},phase:1,pass\"\n"));
    }
    rules.push_str("SecRule ARGS \"@contains foo\" \"id:99,phase:1,pass\"\n");
    for fillers in [8_184, 8_187, 8_188, 8_189, 8_191] {
        let site = Site::new(&rules);
        let many = format!("/?{}x=foofoofoo", "a=zz&".repeat(fillers));
        assert_eq!(site.see(&Request::get(&many)).ids(), "99", "{fillers}");
        assert_eq!(site.see(&Request::get("/?x=foofoofoo")).ids(), "99", "after {fillers}");
    }
}

#[test]
fn one_search_refuses_what_many_rules_are_opened_by() {
    let rule = |what: &str, id: usize| format!("SecRule ARGS \"@rx '\\s*{what}\\s*=\" \"id:{id},phase:1,pass\"\n");
    let rules: String = ["\\d", "[xyz]", "[o0]", "-"].iter().zip(1..).map(|(what, id)| rule(what, id)).collect();
    let site = Site::new(&rules);
    assert_eq!(site.tested(&get("/?a=it's+so,+see+x=1-2")), 0, "it has the bytes that each of them needs");
    assert_eq!(site.see(&get("/?a=it's+so,+see+'-+=1-2x")).ids(), "4");
}
