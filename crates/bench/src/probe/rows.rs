//! The rows: agents, and what each of them is told.

use std::path::{Path, PathBuf};

use weir_measure::error::MeasureError;

/// The row that all ratios refer to.
pub const BASELINE: &str = "none";
/// The planted plugin, and the scenario with it.
pub const PLANTED: &str = "linkagent";

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in the results.
    pub name: &'static str,
    /// The agent in each JVM.
    pub agent: Agent,
    /// The load's kind.
    pub load: Option<&'static str>,
    /// How many of a hundred orders must end up in the shadow database.
    pub shadow_percent: u8,
    /// Whether it is to follow every request, which is seen by what it allocates.
    pub traces: bool,
}

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// None.
    None,
    /// Weir's probe, with this said to its local API after the start.
    Probe(&'static str),
    /// Weir's probe, armed, with the planted plugin in it.
    Planted,
    /// OpenTelemetry's, which exports nothing.
    OpenTelemetry,
    /// SkyWalking's, whose collector is not there.
    SkyWalking,
    /// LinkAgent, `before` or `after` its optimisation.
    Link(&'static str),
}

/// The table.
pub const ROWS: &[Row] = &[
    row(BASELINE, Agent::None),
    row("silent", Agent::Probe("/v1/silence")),
    row("armed", Agent::Probe("/v1/arm")),
    Row { load: Some("shadow-10"), shadow_percent: 10, ..row("shadow-10", Agent::Probe("/v1/arm")) },
    Row { traces: true, ..row("opentelemetry", Agent::OpenTelemetry) },
    Row { traces: true, ..row("skywalking", Agent::SkyWalking) },
    row("linkagent-before", Agent::Link("before")),
    row("linkagent-after", Agent::Link("after")),
];

const fn row(name: &'static str, agent: Agent) -> Row {
    Row { name, agent, load: None, shadow_percent: 0, traces: false }
}

impl Agent {
    /// Options of the JVM. [`MeasureError::Missing`] if it has not been built or fetched.
    pub fn options(self) -> Result<Vec<String>, MeasureError> {
        const TRACERS: &str = "probe/peers/target/tracers";
        let options = match self {
            Self::None => Vec::new(),
            Self::Probe(_) | Self::Planted => vec![javaagent("probe/agent/target/weir-probe.jar", "")?],
            Self::Link(mode) => vec![javaagent("probe/peers/target/linkagent.jar", mode)?],
            Self::OpenTelemetry => {
                let exporters = ["traces", "metrics", "logs"].map(|kind| format!("-Dotel.{kind}.exporter=none"));
                let agent = javaagent(&format!("{TRACERS}/opentelemetry.jar"), "")?;
                [agent].into_iter().chain(exporters).collect()
            }
            Self::SkyWalking => {
                let plugins = Path::new(TRACERS).join("skywalking/plugins");
                if std::fs::read_dir(&plugins).map_or(0, Iterator::count) == 0 {
                    return Err(MeasureError::Missing(format!("no plugins in {}", plugins.display())));
                }
                // The file is not in the artifact; all that differs from its defaults is the service's name.
                let config = plugins.with_file_name("agent.config");
                weir_measure::site::write(&config, "agent.service_name=shop\nplugin.mount=plugins\n")?;
                let config = format!("-Dskywalking_config={}", whole(&config)?.display());
                vec![javaagent(&format!("{TRACERS}/skywalking/skywalking-agent.jar"), "")?, config]
            }
        };
        Ok(options)
    }
}

fn javaagent(jar: &str, argument: &str) -> Result<String, MeasureError> {
    let jar = whole(Path::new(jar))?;
    let argument = if argument.is_empty() { String::new() } else { format!("={argument}") };
    Ok(format!("-javaagent:{}{argument}", jar.display()))
}

/// The whole path of a file that `scripts/probe-bench.sh` makes.
pub fn whole(path: &Path) -> Result<PathBuf, MeasureError> {
    std::fs::canonicalize(path)
        .map_err(|_| MeasureError::Missing(format!("{} is missing: run scripts/probe-bench.sh", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_rows_that_are_promised() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        let promised = [
            "none",
            "silent",
            "armed",
            "shadow-10",
            "opentelemetry",
            "skywalking",
            "linkagent-before",
            "linkagent-after",
        ];
        assert_eq!(names, promised);
        for row in ROWS {
            let named = row.load.map(|load| load.trim_start_matches("shadow-").parse().unwrap());
            assert_eq!(named.unwrap_or(0), row.shadow_percent, "{}", row.name);
        }
    }

    #[test]
    fn a_jar_that_is_not_there_is_missing_and_no_failure() {
        assert!(matches!(javaagent("no/such.jar", ""), Err(MeasureError::Missing(_))));
        assert!(javaagent("Cargo.toml", "before").unwrap().ends_with("Cargo.toml=before"));
    }
}
