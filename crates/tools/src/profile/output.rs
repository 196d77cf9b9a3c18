//! Where profiles go: files by their endings, the table, and the line that says how complete they are.

mod target;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use weir_profile::format;
use weir_profile::graph::{self, GraphOptions};
use weir_profile::health::FactLevel;
use weir_profile::top::{GroupBy, SortBy, TopOptions, calls, top};
use weir_profile::{Profile, ProfileKind};

pub(super) use self::target::As;
use weir_cli::Failure;
use weir_cli::arguments::{Output, TopBy};
use weir_cli::style::{Stream, Style};
use weir_cli::terminal::shown;

/// Rows of the table when files are written, too.
const ROWS: usize = 15;
/// Columns where the terminal does not say.
const COLUMNS: usize = 120;
/// Longest remark that is shown.
const MAX_REMARK: usize = 500;

/// Profiles of one run, of different kinds.
pub(super) struct Profiles {
    pub all: Vec<Profile>,
}

impl Profiles {
    pub fn set_requests(&mut self, requests: Option<u64>) {
        for profile in self.all.iter_mut().filter(|_| requests.is_some()) {
            profile.meta.requests = requests;
        }
    }

    pub fn has_no_calls(&self) -> bool {
        self.all.iter().all(|profile| profile.system_calls.is_empty())
    }

    /// Shows the table of each, and how complete it is.
    pub fn show(&self, output: &Output) {
        // Standard output is for the profile, if it goes there.
        let mut out: Box<dyn Write> = if output.output.iter().any(|path| path == Path::new("-")) {
            Box::new(std::io::stderr())
        } else {
            Box::new(std::io::stdout())
        };
        let style = Style::of(Stream::Out);
        for profile in &self.all {
            let text = self.text(profile, output, style);
            // A closed pipe has ended the command already; nothing else is to be done.
            let _ = out.write_all(text.as_bytes());
        }
    }

    fn text(&self, profile: &Profile, output: &Output, style: Style) -> String {
        let options = TopOptions {
            by: match output.by {
                TopBy::Function => GroupBy::Function,
                TopBy::Line => GroupBy::Line,
                TopBy::Module => GroupBy::Module,
                TopBy::Thread => GroupBy::Thread,
            },
            order: if output.total { SortBy::Total } else { SortBy::Own },
            rows: output.top.map_or(ROWS, |rows| rows as usize),
            width: columns(),
        };
        let mut text = String::new();
        if self.all.len() > 1 {
            let heading = match profile.kind {
                ProfileKind::OnCpu => "On the CPU",
                ProfileKind::OffCpu => "Off the CPU",
                ProfileKind::Count => "Samples",
            };
            text.push_str(&format!("{}\n", style.bold(heading)));
        }
        text.push_str(&top(profile, &options));
        // The same in both profiles of a session.
        let calls = if profile.kind == ProfileKind::OffCpu && self.all.len() > 1 {
            String::new()
        } else {
            calls(profile, options.rows)
        };
        if !calls.is_empty() {
            text.push_str(&format!("\n{calls}"));
        }
        let facts: Vec<String> = profile
            .health
            .facts()
            .iter()
            .map(|fact| {
                let value = match fact.level {
                    FactLevel::Plain | FactLevel::Good => fact.value.clone(),
                    FactLevel::Warn => style.yellow(&fact.value),
                    FactLevel::Bad => style.red(&fact.value),
                };
                format!("{} {value}", fact.label)
            })
            .collect();
        if !facts.is_empty() {
            text.push_str(&format!("\n{}\n", facts.join(", ")));
        }
        for remark in &profile.meta.remarks {
            text.push_str(&format!("{} {}\n", style.yellow("note:"), shown(remark, MAX_REMARK)));
        }
        text.push('\n');
        text
    }
}

/// Files to write.
pub(super) struct Writer {
    files: Vec<(PathBuf, As)>,
    options: GraphOptions,
}

impl Writer {
    /// Checks that every file has a format and a directory to be in.
    pub fn new(output: &Output) -> Result<Self, Failure> {
        let files = output.output.iter().map(|path| Ok((path.clone(), As::of(path, output.format.as_deref())?)));
        let files: Vec<(PathBuf, As)> = files.collect::<Result<_, Failure>>()?;
        for (path, _) in &files {
            check_directory(path)?;
        }
        let options = GraphOptions {
            title: output.title.clone(),
            reverse: output.reverse,
            icicle: output.icicle,
            lines: output.lines,
            ..GraphOptions::default()
        };
        Ok(Self { files, options })
    }

    pub fn writes(&self) -> bool {
        !self.files.is_empty()
    }

    /// `nginx-4711.html` in this directory.
    pub fn add_default(&mut self, title: &str, pid: Option<u32>) -> Result<(), Failure> {
        let word = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
        let last = title.split(" (").next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let name: String = last.chars().map(|one| if word(&one) { one } else { '-' }).take(64).collect();
        let name = if name.trim_matches(['.', '-']).is_empty() { "profile".to_owned() } else { name };
        let path = PathBuf::from(pid.map_or(format!("{name}.html"), |pid| format!("{name}-{pid}.html")));
        check_directory(&path)?;
        self.files.push((path, As::Html));
        Ok(())
    }

    pub fn write(&self, profiles: &Profiles) -> Result<(), Failure> {
        for (path, kind) in &self.files {
            for (path, bytes) in self.contents(path, *kind, profiles)? {
                save(&path, &bytes)?;
            }
        }
        Ok(())
    }

    /// A page holds all profiles; other formats hold one, and those of time off the CPU are written beside it.
    fn contents(&self, path: &Path, kind: As, profiles: &Profiles) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
        if kind == As::Html {
            let all: Vec<&Profile> = profiles.all.iter().collect();
            return Ok(vec![(path.to_owned(), graph::html(&all, &self.options).into_bytes())]);
        }
        let mut contents = Vec::new();
        for (index, profile) in profiles.all.iter().enumerate() {
            let path = if index == 0 { path.to_owned() } else { kind.beside(path, profile.kind) };
            let mut bytes = Vec::new();
            match kind {
                As::Format(format) => format::write(profile, format, &mut bytes)
                    .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?,
                _ => bytes = graph::svg(profile, &self.options).into_bytes(),
            }
            contents.push((path, bytes));
        }
        Ok(contents)
    }
}

fn check_directory(path: &Path) -> Result<(), Failure> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path == Path::new("-") || directory.is_dir() {
        return Ok(());
    }
    Err(Failure::new(format!("{}: there is no directory {}", path.display(), directory.display())))
}

/// Writes a file, or to standard output for `-`, and says so.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return std::io::stdout().write_all(bytes).map_err(|error| Failure::new(format!("standard output: {error}")));
    }
    let failed = |error| Failure::new(format!("{}: {error}", path.display()));
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    file.write_all(bytes).and_then(|()| file.flush()).map_err(failed)?;
    eprintln!("wrote {} ({} KiB)", path.display(), bytes.len().div_ceil(1024));
    Ok(())
}

/// Columns of the terminal, or of `COLUMNS`.
fn columns() -> usize {
    // SAFETY: zero is a valid value of each of its fields, and the call writes only into it.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0).then_some(size.ws_col)
    };
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    size.filter(|columns| *columns > 0).map(usize::from).or_else(told).unwrap_or(COLUMNS)
}
