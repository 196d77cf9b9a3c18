//! Finds the configuration of a running nginx: from its command line, otherwise from compiled-in defaults.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::include::{Limits, absolute, load};
use super::parse::{Include, parse};
use super::{Directive, DirectivePosition, Module, ModuleOrigin, NginxBinary, NginxFacts};
use crate::facts::process::{cmdline, started_ms};
use crate::facts::root::Root;

/// Options on nginx's command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// `-c`
    pub configuration: Option<String>,
    /// `-p`
    pub prefix: Option<String>,
    /// `-g`: directives outside of all files.
    pub directives: String,
}

/// Parses a command line, or the title of a master, which contains the arguments after `master process`.
#[must_use]
pub fn command_line(cmdline: &[String]) -> CommandLine {
    let title = cmdline.first().and_then(|first| first.strip_prefix("nginx: master process "));
    // In a title the boundaries of arguments are lost: blanks belong to the option before them.
    let words: Vec<&str> = match title {
        Some(title) => title.split_whitespace().collect(),
        None => cmdline.iter().map(String::as_str).collect(),
    };
    let mut start = CommandLine::default();
    let mut words = words.into_iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) else { continue };
        let mut value = word.chars().skip(2).collect::<String>();
        let takes = matches!(option, 'c' | 'p' | 'g' | 'e' | 's');
        while let Some(next) = words.next_if(|next| takes && (value.is_empty() || title.is_some() && !is_option(next)))
        {
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(next);
        }
        match option {
            'c' => start.configuration = Some(value),
            'p' => start.prefix = Some(value),
            'g' => start.directives = value,
            _ => {}
        }
    }
    start
}

fn is_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| "?hvVtTqspecg".contains(first)))
}

/// The facts about an nginx.
///
/// - `pid`: its master. `binary`: data from its executable.
/// - `libraries`: paths that it has mapped.
/// - `root`: its root directory.
#[must_use]
pub fn nginx_facts(pid: u32, binary: &NginxBinary, libraries: &[String], root: &Root) -> NginxFacts {
    let start = command_line(&cmdline(pid));
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_else(|_| "/".into());
    let prefix = absolute(start.prefix.as_deref().unwrap_or(binary.prefix()), &cwd.to_string_lossy());
    let prefix = prefix.trim_end_matches('/').to_owned();
    let path = absolute(start.configuration.as_deref().unwrap_or(binary.configuration_path()), &prefix);
    // Relative paths are resolved against the directory of the configuration (`ngx_process_options`).
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut configuration = load(root, &path, directory, Limits::default());
    let mut outside = from_command_line(&start.directives);
    outside.append(&mut configuration.directives);
    configuration.directives = outside;
    let mut modules = binary.modules();
    modules.extend(libraries.iter().filter_map(|path| loaded_module(path)));
    modules.sort();
    modules.dedup();
    NginxFacts {
        version: binary.version.clone(),
        flavour: binary.flavour.clone(),
        configure_arguments: binary.arguments.clone(),
        modules,
        changed_since_start: changed(&configuration.files, pid, root),
        configuration_path: path,
        prefix,
        configuration,
        requests: None,
    }
}

/// Directives of `-g`.
fn from_command_line(text: &str) -> Vec<Directive> {
    struct Nothing;
    impl Include for Nothing {
        fn include(&mut self, _: &str, _: &DirectivePosition, _: usize) -> Vec<Directive> {
            Vec::new()
        }
        fn count(&mut self) -> bool {
            true
        }
        fn wrong(&mut self, _: &DirectivePosition, _: &str) {}
    }
    parse(text.as_bytes(), &Arc::from("(command line)"), 0, &mut Nothing)
}

fn loaded_module(path: &str) -> Option<Module> {
    let name = path.rsplit('/').next()?.strip_suffix(".so")?;
    let counts = name.starts_with("ngx_") || name.starts_with("ndk_") || path.contains("/modules/");
    counts.then(|| Module { name: name.to_owned(), origin: ModuleOrigin::Loaded })
}

/// Files changed after the youngest worker started (a reload starts new workers, not a new master).
fn changed(files: &[String], pid: u32, root: &Root) -> Vec<String> {
    let began = crate::facts::process::youngest_ms(pid).or_else(|| started_ms(pid));
    let Some(began) = began else { return Vec::new() };
    let later = |path: &&String| {
        let changed = root.resolve(Path::new(path)).and_then(|path| path.metadata()?.modified());
        let changed = changed.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        // The start time of a process is known to the second only (`btime`).
        changed.is_some_and(|time| time.as_millis() > u128::from(began) + 1000)
    };
    files.iter().filter(later).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_the_configuration() {
        type Case = (&'static [&'static str], Option<&'static str>, Option<&'static str>, &'static str);
        let cases: [Case; 6] = [
            (&["nginx: master process nginx -c /a/b.conf -p /x"], Some("/a/b.conf"), Some("/x"), ""),
            (
                &["nginx: master process /usr/sbin/nginx -g daemon on; master_process on;"],
                None,
                None,
                "daemon on; master_process on;",
            ),
            (&["nginx", "-c", "b.conf", "-g", "daemon off;"], Some("b.conf"), None, "daemon off;"),
            (&["nginx", "-pdir", "-cfile"], Some("file"), Some("dir"), ""),
            (&["nginx: master process nginx -p /with blank -c x"], Some("x"), Some("/with blank"), ""),
            (&["nginx", "-c"], Some(""), None, ""),
        ];
        for (line, configuration, prefix, directives) in cases {
            let line: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
            let start = command_line(&line);
            assert_eq!(start.configuration.as_deref(), configuration, "{line:?}");
            assert_eq!(start.prefix.as_deref(), prefix, "{line:?}");
            assert_eq!(start.directives, directives, "{line:?}");
        }
    }
}
