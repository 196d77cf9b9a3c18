//! `gzip-level`: the last percent of size reduction takes most of the time.

use super::nginx::{again, configuration, place};
use super::stacks::Stacks;
use super::{FactSource, Rule, RuleNeeds};
use crate::facts::Facts;
use crate::finding::{Confidence, Finding, percent};

pub(super) const LEVEL: Rule = Rule {
    id: "gzip-level",
    title: "Compression level is high",
    needs: RuleNeeds::All(&[FactSource::Profile]),
    looks_at: "time in zlib's compression, and `gzip_comp_level`",
    threshold: "from 10 % of the CPU with a level above 5: on text, level 6 and above take two to three times as long as 4 and save \
                1 to 3 % of the size",
    check,
};

const DEFLATE: &[&str] =
    &["deflate", "deflate_*", "longest_match*", "fill_window*", "compress_block", "_tr_flush_block", "_tr_*"];

fn check(facts: &Facts) -> Option<Finding> {
    let stacks = Stacks::of(facts.profile.as_ref())?;
    let zlib = stacks.in_module(&["libz."]);
    let named = stacks.named(DEFLATE);
    let gzip = stacks.named(&["ngx_http_gzip_*", "deflate"]);
    let part = stacks.part(|stack| named.any(stack) || (zlib.any(stack) && gzip.any(stack)));
    let high = configuration(facts).and_then(|configuration| {
        let levels = configuration.all("gzip_comp_level");
        levels.into_iter().find(|directive| directive.value().parse::<u32>().is_ok_and(|level| level > 5))
    });
    let high = high.filter(|_| part.reaches(0.1, 10))?;
    Some(
        Finding::new(
            LEVEL.id,
            format!("{} of the CPU goes to compressing responses at level {}.", percent(part.share), high.value()),
        )
        .confidence(Confidence::Certain)
        .share(part.share)
        .with([place(high)])
        .with(stacks.call_paths(&named, 1))
        .fix("gzip_comp_level 4;   # and for static files: gzip_static on; with files compressed once")
        .verify(again(facts, LEVEL.id)),
    )
}
