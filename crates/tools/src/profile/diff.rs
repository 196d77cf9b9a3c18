//! `weir profile diff`: two profiles, compared.

use weir_profile::diff::{DiffOptions, TailCalls, Unit, diff};
use weir_profile::graph::{self, GraphOptions};

use super::convert::read;
use super::output::{As, save};
use weir_cli::Failure;
use weir_cli::arguments::ProfileDiff;

pub(super) fn run(arguments: &ProfileDiff) -> Result<(), Failure> {
    let files = arguments.output.iter().map(|path| Ok((path, As::of(path, None)?)));
    let files: Vec<_> = files.collect::<Result<_, Failure>>()?;
    if let Some((path, _)) = files.iter().find(|(_, kind)| matches!(kind, As::Format(_))) {
        return Err(Failure::new(format!("{}: a comparison is written as .svg or .html", path.display()))
            .hint("rename the output, or print the figures with --json"));
    }
    let options = DiffOptions {
        unit: arguments.share.then_some(Unit::Share),
        min_share: arguments.min_share / 100.0,
        tail_calls: if arguments.keep_tail_calls { TailCalls::Keep } else { TailCalls::Merge },
    };
    let difference = diff(&read(&arguments.old)?, &read(&arguments.new)?, &options);
    if arguments.json {
        println!("{}", serde_json::to_string(&difference).map_err(Failure::new)?);
    } else if files.is_empty() {
        print!("{}", difference.text(arguments.top));
    }
    let graph = GraphOptions { title: arguments.title.clone(), icicle: arguments.icicle, ..GraphOptions::default() };
    for (path, kind) in files {
        let text =
            if kind == As::Html { graph::html_diff(&difference, &graph) } else { graph::svg_diff(&difference, &graph) };
        save(path, text.as_bytes())?;
    }
    Ok(())
}
