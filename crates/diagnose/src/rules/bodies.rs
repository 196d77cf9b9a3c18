//! `temp-file-bodies`: bodies are written to disk because a buffer is too small.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, percent};

pub(super) const TEMPORARY_FILES: Rule = Rule {
    id: "temp-file-bodies",
    title: "Bodies are written to temporary files",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time below `ngx_write_chain_to_temp_file`, files open below nginx's temporary directories, buffer sizes",
    threshold: "from 1 % of the CPU, because the time that requests wait for the disk is a multiple of that",
    check,
};

const TO_FILE: &[&str] = &[
    "ngx_write_chain_to_temp_file",
    "ngx_write_chain_to_file",
    "ngx_create_temp_file",
    "ngx_event_pipe_write_chain_to_temp_file",
];
const SIZES: &[&str] = &["client_body_buffer_size", "proxy_buffers", "proxy_buffer_size", "proxy_max_temp_file_size"];

const CACHES: &[&str] = &["proxy_cache", "fastcgi_cache", "uwsgi_cache", "scgi_cache", "proxy_store"];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let to_file = stacks.named(TO_FILE);
    let part = stacks.under(&to_file);
    if !part.reaches(0.01, 5) {
        return None;
    }
    let request = stacks.named(&[
        "ngx_http_read_client_request_body",
        "ngx_http_do_read_client_request_body",
        "ngx_http_request_body_*",
    ]);
    let of_request = stacks.part(|stack| to_file.any(stack) && request.any(stack)).share > part.share / 2.0;
    // A cache is filled through temporary files by design.
    let caches = configuration(facts)
        .is_some_and(|one| CACHES.iter().any(|name| one.all(name).iter().any(|cache| cache.value() != "off")));
    if caches && !of_request {
        return None;
    }
    let files = facts.process.as_ref().map_or(&[][..], |process| process.temporary_files.as_slice());
    let what = if of_request { "request bodies" } else { "bodies" };
    let sizes = configuration(facts).map(|one| SIZES.iter().flat_map(|name| one.all(name)).take(2).collect::<Vec<_>>());
    let mut finding = Finding::new(
        TEMPORARY_FILES.id,
        format!("{} of the CPU goes to writing {what} to temporary files.", percent(part.share)),
    )
    .confidence(Confidence::Certain)
    .share(part.share)
    .with(sizes.into_iter().flatten().map(place))
    .with(stacks.call_paths(&to_file, 2));
    if let Some(file) = files.first() {
        finding = finding.figure("open temporary files", format!("{}, such as {file}", files.len()));
    }
    let fix = if of_request {
        "client_body_buffer_size 128k;   # 16k is the default; choose a size that most bodies stay below, or proxy_request_buffering off;"
    } else {
        "client_body_buffer_size 128k;   # for request bodies\nproxy_buffers 16 32k;           # for responses\nproxy_max_temp_file_size 0;     # \
         responses then wait in the upstream, not on disk"
    };
    Some(finding.fix(fix).verify(again(facts, TEMPORARY_FILES.id)))
}
