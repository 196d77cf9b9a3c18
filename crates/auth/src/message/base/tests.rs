use super::*;

const HEADERS: &[(&str, &str)] = &[
    ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
    ("X-Twice", "a"),
    ("x-twice", "b, c"),
    ("X-Empty", ""),
    ("X-Dict", "a=1,   b=2;x=1;y=2, c=(a   b   c), d"),
    ("X-Dict", "e=?1"),
    ("Priority", "u=1,  i=?1"),
    ("Client-Cert", ":AAAA:"),
    ("Cache-Status", "a; hit ,b"),
    ("X-Raw", "\u{e4}"),
];

fn lines() -> Vec<Header<'static>> {
    HEADERS.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect()
}

fn value_of(request: &Request<'_>, response: Option<Response<'_>>, identifier: &str) -> Result<String, Reason> {
    let component = Component::of(item(identifier.as_bytes()).unwrap()).map_err(|failure| failure.reason)?;
    let base = Message::new(request, response).base(&[component], "()").map_err(|failure| failure.reason)?;
    let line = base.strip_suffix("\n\"@signature-params\": ()").expect("the base ends with the parameters");
    Ok(line.strip_prefix(identifier).unwrap().strip_prefix(": ").unwrap().to_owned())
}

#[test]
fn components_show_what_the_standard_says() {
    let headers = lines();
    let request = Request {
        method: b"pOST",
        is_tls: true,
        client_certificate: None,
        authority: b"WWW.Example.com:443",
        target: b"/a%20b/?x=1&p=a+b%c3%a9&p2=1&p2=2&bad=%ff&%C3%A9=~",
        headers: &headers,
    };
    for (identifier, expected) in [
        ("\"@method\"", Ok("pOST")),
        ("\"@scheme\"", Ok("https")),
        ("\"@authority\"", Ok("www.example.com")),
        ("\"@path\"", Ok("/a%20b/")),
        ("\"@query\"", Ok("?x=1&p=a+b%c3%a9&p2=1&p2=2&bad=%ff&%C3%A9=~")),
        ("\"@request-target\"", Ok("/a%20b/?x=1&p=a+b%c3%a9&p2=1&p2=2&bad=%ff&%C3%A9=~")),
        ("\"@target-uri\"", Ok("https://www.example.com/a%20b/?x=1&p=a+b%c3%a9&p2=1&p2=2&bad=%ff&%C3%A9=~")),
        ("\"@query-param\";name=\"p\"", Ok("a%20b%C3%A9")),
        ("\"@query-param\";name=\"%C3%A9\"", Ok("%7E")),
        ("\"@query-param\";name=\"p2\"", Err(Reason::Duplicated)),
        ("\"@query-param\";name=\"bad\"", Err(Reason::Malformed)),
        ("\"@query-param\";name=\"none\"", Err(Reason::Mismatch)),
        ("\"@status\"", Err(Reason::Malformed)),
        ("\"@method\";req", Err(Reason::Malformed)),
        ("\"date\"", Ok("Tue, 20 Apr 2021 02:07:55 GMT")),
        ("\"x-twice\"", Ok("a, b, c")),
        ("\"x-twice\";bs", Ok(":YQ==:, :YiwgYw==:")),
        ("\"x-empty\"", Ok("")),
        ("\"x-none\"", Err(Reason::Mismatch)),
        ("\"x-none\";bs", Err(Reason::Mismatch)),
        ("\"x-dict\"", Ok("a=1,   b=2;x=1;y=2, c=(a   b   c), d, e=?1")),
        ("\"x-dict\";key=\"a\"", Ok("1")),
        ("\"x-dict\";key=\"b\"", Ok("2;x=1;y=2")),
        ("\"x-dict\";key=\"c\"", Ok("(a b c)")),
        ("\"x-dict\";key=\"d\"", Ok("?1")),
        ("\"x-dict\";key=\"e\"", Ok("?1")),
        ("\"x-dict\";key=\"f\"", Err(Reason::Mismatch)),
        ("\"x-dict\";sf", Err(Reason::Unsupported)),
        ("\"date\";key=\"a\"", Err(Reason::Malformed)),
        ("\"priority\";sf", Ok("u=1, i")),
        ("\"client-cert\";sf", Ok(":AAAA:")),
        ("\"cache-status\";sf", Ok("a;hit, b")),
        ("\"x-raw\"", Err(Reason::Malformed)),
        ("\"x-raw\";bs", Ok(":w6Q=:")),
    ] {
        assert_eq!(value_of(&request, None, identifier), expected.map(str::to_owned), "{identifier}");
    }
}

#[test]
fn unusual_targets_and_hosts_have_one_meaning_or_none() {
    let request = |is_tls, authority: &'static [u8], target: &'static [u8]| Request {
        method: b"GET",
        is_tls,
        client_certificate: None,
        authority,
        target,
        headers: &[],
    };
    for (request, identifier, expected) in [
        (request(false, b"a:80", b"/"), "\"@authority\"", Ok("a")),
        (request(false, b"a:443", b"/"), "\"@authority\"", Ok("a:443")),
        (request(true, b"a:8443", b"/"), "\"@target-uri\"", Ok("https://a:8443/")),
        (request(false, b"", b"/"), "\"@authority\"", Err(Reason::Malformed)),
        (request(false, b"a\nb", b"/"), "\"@authority\"", Err(Reason::Malformed)),
        (request(false, b"a", b"/p"), "\"@query\"", Ok("?")),
        (request(false, b"a", b"/p?"), "\"@query\"", Ok("?")),
        (request(false, b"a", b"*"), "\"@request-target\"", Ok("*")),
        (request(false, b"a", b"*"), "\"@path\"", Err(Reason::Unsupported)),
        (request(false, b"a", b""), "\"@target-uri\"", Err(Reason::Unsupported)),
        (request(false, b"a", b"/\xc3\xa4"), "\"@path\"", Err(Reason::Malformed)),
        (request(false, b"a", b"/\n\"@method\": GET"), "\"@path\"", Err(Reason::Malformed)),
    ] {
        assert_eq!(value_of(&request, None, identifier), expected.map(str::to_owned), "{identifier}");
    }
}

#[test]
fn a_response_is_bound_to_its_request() {
    let (headers, own) = (lines(), [Header::new(b"Date", b"later")]);
    let request = Request {
        method: b"GET",
        is_tls: true,
        client_certificate: None,
        authority: b"a",
        target: b"/p?q=1",
        headers: &headers,
    };
    let response = |status| Some(Response { status, headers: &own });
    for (status, identifier, expected) in [
        (200, "\"@status\"", Ok("200")),
        (99, "\"@status\"", Err(Reason::Malformed)),
        (600, "\"@status\"", Err(Reason::Malformed)),
        (200, "\"date\"", Ok("later")),
        (200, "\"date\";req", Ok("Tue, 20 Apr 2021 02:07:55 GMT")),
        (200, "\"x-twice\";bs;req", Ok(":YQ==:, :YiwgYw==:")),
        (200, "\"x-twice\"", Err(Reason::Mismatch)),
        (200, "\"@method\";req", Ok("GET")),
        (200, "\"@query-param\";name=\"q\";req", Ok("1")),
        (200, "\"@method\"", Err(Reason::Malformed)),
        (200, "\"@status\";req", Err(Reason::Malformed)),
    ] {
        assert_eq!(value_of(&request, response(status), identifier), expected.map(str::to_owned), "{identifier}");
    }
}

#[test]
fn a_base_is_bounded() {
    let long = "a=b,".repeat(3000) + "z=c";
    let unique: String = (0..60).map(|at| format!("k{at}=\"{}\",", "x".repeat(200))).collect();
    let headers = [Header::new(b"A", long.as_bytes()), Header::new(b"B", unique.trim_end_matches(',').as_bytes())];
    let request = Request {
        method: b"GET",
        is_tls: true,
        client_certificate: None,
        authority: b"a",
        target: b"/",
        headers: &headers,
    };
    let base = |identifiers: Vec<String>| {
        let components: Vec<_> =
            identifiers.iter().map(|text| Component::of(item(text.as_bytes()).unwrap()).unwrap()).collect();
        Message::new(&request, None).base(&components, "()").map_err(|failure| failure.reason)
    };
    assert_eq!(base(vec!["\"a\"".to_owned(); 6]), Err(Reason::TooLarge));
    assert!(base((0..5).map(|at| format!("\"b\";key=\"k{at}\"")).collect()).is_ok());
    assert_eq!(base((0..60).map(|at| format!("\"b\";key=\"k{at}\"")).collect()), Err(Reason::TooLarge));
}
