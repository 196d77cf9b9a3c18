//! What a file is to be, by its ending or by `--format`.

use std::path::{Path, PathBuf};

use weir_profile::ProfileKind;
use weir_profile::format::{FORMATS, Format};

use weir_cli::Failure;

/// The kinds of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::profile) enum As {
    Html,
    Svg,
    Format(Format),
}

/// The two that are not formats of profiles.
const GRAPHS: [(&str, As); 2] = [("html", As::Html), ("svg", As::Svg)];

impl As {
    pub fn of(path: &Path, name: Option<&str>) -> Result<Self, Failure> {
        let Some(name) = name else { return Self::of_path(path) };
        let graph = GRAPHS.iter().find(|(graph, _)| *graph == name).map(|(_, kind)| *kind);
        let format = Format::named(name).filter(|format| format.is_written()).map(Self::Format);
        graph.or(format).ok_or_else(|| {
            Failure::new(format!("`{name}` is not a format that can be written"))
                .hint(format!("formats are {}", names()))
        })
    }

    fn of_path(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let graph = GRAPHS.iter().find(|(graph, _)| name.ends_with(&format!(".{graph}"))).map(|(_, kind)| *kind);
        if let Some(kind) = graph {
            return Ok(kind);
        }
        match Format::of_path(path) {
            Some(format) if format.is_written() => Ok(Self::Format(format)),
            Some(format) => Err(Failure::new(format!("{}: {format} profiles are read, not written", path.display()))
                .hint(format!("formats to write are {}", names()))),
            None if path == Path::new("-") => {
                Err(Failure::new("standard output has no extension that selects a format")
                    .hint(format!("--format is {}", names())))
            }
            None => Err(Failure::new(format!("{}: the extension does not select a format", path.display()))
                .hint(format!("extensions are {}; or use --format ({})", endings(), names()))),
        }
    }

    /// The file for a second profile: `p.off-cpu.svg` beside `p.svg`.
    pub fn beside(self, path: &Path, kind: ProfileKind) -> PathBuf {
        if path == Path::new("-") {
            return path.to_owned();
        }
        let mark = match kind {
            ProfileKind::OnCpu => "on-cpu",
            ProfileKind::OffCpu => "off-cpu",
            ProfileKind::Count => "samples",
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let endings: &[&str] = match self {
            Self::Html => &[".html"],
            Self::Svg => &[".svg"],
            Self::Format(format) => format.entry().extensions,
        };
        let name = match endings.iter().find_map(|ending| Some((name.strip_suffix(ending)?, ending))) {
            Some((stem, ending)) => format!("{stem}.{mark}{ending}"),
            None => format!("{name}.{mark}"),
        };
        path.with_file_name(name)
    }
}

fn written() -> impl Iterator<Item = &'static weir_profile::format::FormatEntry> {
    FORMATS.iter().filter(|entry| entry.format.is_written())
}

fn names() -> String {
    let names = GRAPHS.iter().map(|(name, _)| *name).chain(written().map(|entry| entry.name));
    names.collect::<Vec<_>>().join(", ")
}

fn endings() -> String {
    let endings = [".html", ".svg"].into_iter().chain(written().map(|entry| entry.extensions[0]));
    endings.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_or_the_option_says_what_a_file_is() {
        let cases = [
            ("p.html", None, Some(As::Html)),
            ("dir.d/p.svg", None, Some(As::Svg)),
            ("p.weir.json.gz", None, Some(As::Format(Format::Weir))),
            ("p.folded", None, Some(As::Format(Format::Folded))),
            ("p.pb.gz", None, Some(As::Format(Format::Pprof))),
            ("p.speedscope.json", None, Some(As::Format(Format::Speedscope))),
            ("p.svg", Some("folded"), Some(As::Format(Format::Folded))),
            ("-", Some("svg"), Some(As::Svg)),
            ("-", None, None),
            ("p.xyz", None, None),
            ("p.html", Some("xyz"), None),
            ("p.html", Some("perf-script"), None),
            ("p.perf", None, None),
        ];
        for (path, name, want) in cases {
            assert_eq!(As::of(Path::new(path), name).ok(), want, "{path} {name:?}");
        }
    }

    #[test]
    fn a_second_profile_has_its_own_file() {
        let cases = [
            (As::Svg, "a/p.svg", "a/p.off-cpu.svg"),
            (As::Format(Format::Weir), "p.weir.json.gz", "p.off-cpu.weir.json.gz"),
            (As::Svg, "picture", "picture.off-cpu"),
        ];
        for (kind, path, want) in cases {
            assert_eq!(kind.beside(Path::new(path), ProfileKind::OffCpu), Path::new(want));
        }
    }
}
