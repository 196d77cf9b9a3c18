//! Lines: target, content type, cookie; then the body. Expressions and SecLang, each with a
//! transaction of its own, see the same arguments, files and texts and the same anomalies; every
//! variable is bounded and does not change when it is read again.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::{MAX_ENTITY_BYTES, MAX_ITEMS};
use weir_http::seclang::{Limits, View};
use weir_http::{Anomalies, BodyKind, Head, Header, Pair, Part, Transaction, Version};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let [target, kind, cookie, body] = [(); 4].map(|()| lines.next().unwrap_or_default());
    let headers =
        [Header::new(b"Content-Type", kind), Header::new(b"Cookie", cookie), Header::new(b"Authorization", cookie)];
    let arena = Bump::new();
    let [plain, shared] = [(); 2].map(|()| transaction(&arena, target, &headers, body));
    let view = View::new(&shared, Limits { xml_json_by_content_type: true, ..Limits::default() });
    view.set_body();
    read(&view);
    assert_eq!(pointers(&view), pointers(&view));
    let used = arena.allocated_bytes();
    let entities = if bytes.windows(2).any(|pair| pair == b"<!") { 16 * MAX_ENTITY_BYTES } else { 0 };
    assert!(used <= 512 * 1024 + 512 * bytes.len() + entities, "linear in the input");

    assert_eq!(view.args_get(), plain.arguments());
    let arguments = view.args_body();
    let room = MAX_ITEMS - view.args_get().len();
    match plain.body_kind() {
        BodyKind::Form => assert_eq!(arguments, &plain.form()[..plain.form().len().min(room)]),
        BodyKind::Multipart => {
            assert_eq!(arguments, plain.form());
            let names: Vec<&[u8]> = plain.multipart().iter().flat_map(Part::file_names).collect();
            assert_eq!(view.multipart_filename().iter().map(|name| name.value).collect::<Vec<_>>(), names);
            assert!(view.files().iter().all(|file| names.contains(&file.value)));
            let lines = plain.multipart().iter().flat_map(|part| part.headers);
            assert!(view.multipart_part_headers().iter().map(|line| &line.value).eq(lines));
        }
        BodyKind::Json => {
            assert_eq!(arguments.len(), plain.json().len().min(room));
            let same = |(seclang, plain): (&Pair<'_>, &Pair<'_>)| {
                seclang.value == plain.value || (seclang.value.is_empty() && plain.value == b"null")
            };
            assert!(arguments.iter().zip(plain.json()).all(same));
        }
        BodyKind::Xml => {
            let items = plain.xml();
            let full = items.len() == MAX_ITEMS;
            let shown = |text: &[u8]| text.trim_ascii().is_empty() || full || items.contains(&text);
            assert!(view.xml_attributes().iter().all(|value| shown(value)));
            assert!(view.xml_text().iter().skip(1).all(|text| shown(text)), "all but that of the document");
        }
        BodyKind::Other => assert!(arguments.is_empty()),
    }
    let _ = (plain.all_anomalies(), plain.decoded_cookies());
    let read = |transaction: &Transaction<'_>| transaction.anomalies() & Anomalies::UNREADABLE;
    // A limit of `ARGS` counts query and body together.
    let limit = if arguments.len() >= room { Anomalies::TOO_MANY_ITEMS } else { Anomalies::empty() };
    assert_eq!(read(&plain) | limit, read(&shared) | limit);
    let known = (read(&plain) | limit) - Anomalies::BODY_TRUNCATED;
    let error = plain.body_kind() != BodyKind::Other && !known.is_empty();
    assert!(limit != Anomalies::empty() || (view.reqbody_error() == b"1") == error);
    assert_eq!(view.reqbody_error_msg().is_empty(), view.reqbody_error() != b"1");
});

fn transaction<'a>(arena: &'a Bump, target: &'a [u8], headers: &'a [Header<'a>], body: &'a [u8]) -> Transaction<'a> {
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let question = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let head = Head {
        method: b"POST",
        target,
        path: b"/",
        query: target.get(question + 1..).unwrap_or_default(),
        version: Version::Http11,
        host: b"",
        headers,
        peer: address,
        peer_port: 1,
        client: address,
        server: address,
        server_port: 2,
        tls: None,
        received_ms: 0,
    };
    let transaction = Transaction::new(head, arena);
    transaction.set_body(body);
    if body.len() % 2 == 1 {
        transaction.set_body_truncated();
    }
    transaction
}

fn read(view: &View<'_>) {
    let collections = [
        view.args_get(),
        view.args_body(),
        view.request_cookies(),
        view.files(),
        view.files_sizes(),
        view.files_contents(),
        view.multipart_name(),
        view.multipart_filename(),
        view.multipart_part_headers(),
    ];
    assert!(collections.iter().all(|pairs| pairs.len() <= 2 * MAX_ITEMS));
    assert!(view.xml_attributes().len() <= MAX_ITEMS);
    assert_eq!(view.files_contents().len(), view.files_sizes().len());
    let scalars = [view.request_uri(), view.request_basename(), view.request_line(), view.auth_type()];
    assert!(scalars.iter().all(|text| text.len() <= view.request_line().len() + view.full_request().len()));
    let _ = (view.remote_user(), view.multipart_flags(), view.reqbody_error_msg(), view.urlencoded_error());
}

/// The collections, created once.
fn pointers(view: &View<'_>) -> [*const Pair<'static>; 4] {
    [view.args_get(), view.args_body(), view.request_cookies(), view.multipart_part_headers()]
        .map(|pairs| pairs.as_ptr().cast())
}
