//! `weir profile convert`: profiles of other tools and of earlier runs as something else.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use weir_profile::format::{self, MAX_UNPACKED_BYTES};
use weir_profile::merge::merge;
use weir_profile::{Profile, ProfileKind};

use super::output::{Profiles, Writer};
use weir_cli::Failure;
use weir_cli::arguments::Convert;

pub(super) fn run(convert: &Convert) -> Result<(), Failure> {
    let writer = Writer::new(&convert.output)?;
    if !writer.writes() && convert.output.top.is_none() {
        return Err(Failure::new("convert to what?").hint("-o FILE writes a file, --top shows a table"));
    }
    let mut all = Vec::new();
    for path in &convert.files {
        all.push(read(path)?);
    }
    let mut profiles = Profiles { all: by_kind(all) };
    profiles.set_requests(convert.requests);
    if convert.output.top.is_some() {
        profiles.show(&convert.output);
    }
    writer.write(&profiles)
}

/// Adds up those of one kind.
fn by_kind(mut all: Vec<Profile>) -> Vec<Profile> {
    let kinds = [ProfileKind::OnCpu, ProfileKind::OffCpu, ProfileKind::Count];
    kinds.into_iter().filter_map(|kind| merge(all.extract_if(.., |profile| profile.kind == kind).collect())).collect()
}

/// Reads a profile of any format; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<Profile, Failure> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let failed = |error: std::io::Error| Failure::new(format!("{name}: {error}"));
    let mut source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    let mut bytes = Vec::new();
    // One more than is unpacked, so that the reader says that it is too large.
    source.by_ref().take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let mut profile = format::read(&bytes).map_err(|error| {
        let text = error.to_string();
        match text.split_once("; ") {
            Some((what, hint)) => Failure::new(format!("{name}: {what}")).hint(hint),
            None => Failure::new(format!("{name}: {text}")),
        }
    })?;
    if profile.meta.title.is_empty() {
        profile.meta.title = path.file_name().map_or(name, |file| file.to_string_lossy().into_owned());
    }
    Ok(profile)
}
