//! Finds the configuration of a running nginx: its command line, else what was compiled in.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::include::{Limits, absolute, load};
use super::parse::{Include, parse};
use super::{Binary, Directive, Module, ModuleOrigin, NginxFacts, Place};
use crate::facts::process::{cmdline, started_ms};
use crate::facts::root::Root;

/// What an nginx's command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// `-c`
    pub configuration: Option<String>,
    /// `-p`
    pub prefix: Option<String>,
    /// `-g`: directives outside of all files.
    pub directives: String,
}

/// Reads a command line, or the title of a master, in which the arguments stand after `master process`.
#[must_use]
pub fn places_of_start(cmdline: &[String]) -> Start {
    let title = cmdline.first().and_then(|first| first.strip_prefix("nginx: master process "));
    // In a title the arguments have lost their borders: blanks belong to the option before them.
    let words: Vec<&str> = match title {
        Some(title) => title.split_whitespace().collect(),
        None => cmdline.iter().map(String::as_str).collect(),
    };
    let mut start = Start::default();
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

/// The facts of an nginx.
///
/// - `pid`: its master. `binary`: its executable, read already.
/// - `libraries`: paths that it has mapped.
/// - `root`: where its files are.
#[must_use]
pub fn nginx_facts(pid: u32, binary: &Binary, libraries: &[String], root: &Root) -> NginxFacts {
    let start = places_of_start(&cmdline(pid));
    let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_else(|_| "/".into());
    let prefix = absolute(start.prefix.as_deref().unwrap_or(binary.prefix()), &cwd.to_string_lossy());
    let prefix = prefix.trim_end_matches('/').to_owned();
    let path = absolute(start.configuration.as_deref().unwrap_or(binary.configuration_path()), &prefix);
    // Files that the configuration names are relative to its own directory (`ngx_process_options`).
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
        fn include(&mut self, _: &str, _: &Place, _: usize) -> Vec<Directive> {
            Vec::new()
        }
        fn count(&mut self) -> bool {
            true
        }
        fn wrong(&mut self, _: &Place, _: &str) {}
    }
    parse(text.as_bytes(), &Arc::from("(command line)"), 0, &mut Nothing)
}

fn loaded_module(path: &str) -> Option<Module> {
    let name = path.rsplit('/').next()?.strip_suffix(".so")?;
    let counts = name.starts_with("ngx_") || name.starts_with("ndk_") || path.contains("/modules/");
    counts.then(|| Module { name: name.to_owned(), origin: ModuleOrigin::Loaded })
}

/// Files changed after the youngest worker began (a reload starts new workers, not a new master).
fn changed(files: &[String], pid: u32, root: &Root) -> Vec<String> {
    let began = crate::facts::process::youngest_ms(pid).or_else(|| started_ms(pid));
    let Some(began) = began else { return Vec::new() };
    let later = |path: &&String| {
        let changed = root.resolve(Path::new(path)).and_then(|path| path.metadata()?.modified());
        let changed = changed.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        // The start of a process is known to the second only (`btime`).
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
            let start = places_of_start(&line);
            assert_eq!(start.configuration.as_deref(), configuration, "{line:?}");
            assert_eq!(start.prefix.as_deref(), prefix, "{line:?}");
            assert_eq!(start.directives, directives, "{line:?}");
        }
    }
}
