//! Lines: target, content type, cookie; then the body. Every variable of the SecLang view is
//! bounded and does not change when it is read again, and a body without gaps contains at least what
//! ModSecurity reads.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::MAX_ITEMS;
use weir_http::seclang::{Gaps, Limits, View};
use weir_http::{Head, Header, Transaction, Version};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
    let [target, kind, cookie, body] = [(); 4].map(|()| lines.next().unwrap_or_default());
    let headers =
        [Header::new(b"Content-Type", kind), Header::new(b"Cookie", cookie), Header::new(b"Authorization", cookie)];
    let arena = Bump::new();
    let closed = view(&arena, target, &headers, body, Gaps::Closed);
    let open = view(&arena, target, &headers, body, Gaps::AsInModSecurity);
    for view in [&closed, &open] {
        read(view);
        assert_eq!(pointers(view), pointers(view));
    }
    assert_eq!(closed.args_body().len(), open.args_body().len());
    for (shown, seen) in closed.args_body().iter().zip(open.args_body()) {
        assert!(shown.name == seen.name && shown.value.len() >= seen.value.len());
    }
    assert!(closed.request_filename().len() >= open.request_filename().len());
    assert!(arena.allocated_bytes() <= 512 * 1024 + 256 * bytes.len(), "linear in the input");
});

fn view<'a>(arena: &'a Bump, target: &'a [u8], headers: &'a [Header<'a>], body: &'a [u8], gaps: Gaps) -> View<'a> {
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let head = Head {
        method: b"POST",
        target,
        path: b"/",
        query: b"",
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
    let limits = Limits { xml_json_by_content_type: true, gaps, ..Limits::default() };
    let view = View::new(&Transaction::new(head, arena), limits);
    view.set_body(body, body.len() % 2 == 1);
    view
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
    assert!(collections.iter().all(|pairs| pairs.len() <= MAX_ITEMS));
    assert!(view.xml_text().len() <= 1 && view.xml_attributes().len() <= MAX_ITEMS);
    assert_eq!(view.files().len(), view.files_sizes().len());
    let scalars = [view.request_uri(), view.request_basename(), view.request_line(), view.auth_type()];
    assert!(scalars.iter().all(|text| text.len() <= view.request_line().len() + view.full_request().len()));
    let _ = (view.remote_user(), view.multipart_flags(), view.reqbody_error_msg(), view.urlencoded_error());
}

/// The collections, created once.
fn pointers(view: &View<'_>) -> [*const weir_http::Pair<'static>; 4] {
    [view.args_get(), view.args_body(), view.request_cookies(), view.multipart_part_headers()]
        .map(|pairs| pairs.as_ptr().cast())
}
