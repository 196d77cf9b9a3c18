//! `weir probes`: the probes in JVMs, and switching them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_control::client::Method;

use crate::api::{Api, SOCKET};
use crate::arguments::{Arguments, ProbeAction, Probes};
use crate::probe::{Probe, find, some};
use crate::table::{Align, render};
use crate::terminal::shown;
use crate::{Failure, body};

pub(crate) fn run(arguments: &Arguments, probes: &Probes) -> Result<ExitCode, Failure> {
    let (action, plugin) = match &probes.action {
        None => return list(arguments, probes),
        Some(ProbeAction::Shadow { file, expect }) => return shadow(arguments, probes, file.as_deref(), *expect),
        Some(ProbeAction::Arm) => ("arm", &None),
        Some(ProbeAction::Disarm) => ("disarm", &None),
        Some(ProbeAction::Silence { plugin }) => ("silence", plugin),
        Some(ProbeAction::Wake { plugin }) => ("wake", plugin),
    };
    let given = plugin.as_ref().map_or_else(|| json!({}), |plugin| json!({"plugin": plugin}));
    each(&some(arguments, &probes.which)?, probes.json, &|probe| probe.act(action, &given), &|about| {
        let of_plugin = plugins(about).find(|one| Some(one["name"].as_str().unwrap_or_default()) == plugin.as_deref());
        match of_plugin {
            Some(one) => format!("{} is {}", text(one, "name"), with_reason(one)),
            None => with_reason(about),
        }
    })
}

/// Does something with each probe. All are tried; exit code 1 if one failed.
fn each(
    probes: &[Probe],
    is_json: bool,
    act: &dyn Fn(&Probe) -> Result<Value, Failure>,
    say: &dyn Fn(&Value) -> String,
) -> Result<ExitCode, Failure> {
    let mut failed = false;
    let mut rows = Vec::new();
    for probe in probes {
        let (name, done) = (shown(&probe.name(), 80), act(probe));
        failed |= done.is_err();
        match done {
            Ok(about) if !is_json => println!("{name}: {}", say(&about)),
            Ok(about) => rows.push(about),
            Err(failure) if !is_json => eprintln!("{}", failure.naming(&name).render(crate::style::Stream::Err)),
            Err(failure) => rows.push(json!({"app": probe.app, "pid": probe.pid, "error": failure.to_string()})),
        }
    }
    if is_json {
        println!("{:#}", json!({"probes": rows}));
    }
    Ok(ExitCode::from(u8::from(failed)))
}

fn list(arguments: &Arguments, probes: &Probes) -> Result<ExitCode, Failure> {
    let described = find(arguments, &probes.which)?.into_iter().map(|probe| {
        let about = probe.describe().unwrap_or_else(|failure| {
            json!({"app": probe.app, "pid": probe.pid, "host": probe.host, "state": "lost", "reason": failure.to_string()})
        });
        (probe, about)
    });
    let described: Vec<(Probe, Value)> = described.collect();
    if probes.json {
        let rows: Vec<&Value> = described.iter().map(|(_, about)| about).collect();
        println!("{:#}", json!({"probes": rows}));
        return Ok(ExitCode::SUCCESS);
    }
    let columns = ["APP", "PID", "HOST", "STATE", "PLUGINS", "WHY"].map(|name| (name, Align::Left));
    let row = |(probe, about): &(Probe, Value)| {
        let names =
            plugins(about).filter(|one| one["state"] != "absent").map(|one| match text(one, "state").as_str() {
                "on" => text(one, "name"),
                state => format!("{} ({state})", text(one, "name")),
            });
        vec![
            shown(&probe.app, 40),
            probe.pid.to_string(),
            shown(&probe.host, 40),
            text(about, "state"),
            names.collect::<Vec<_>>().join(", "),
            text(about, "reason"),
        ]
    };
    print!("{}", render(&columns, &described.iter().map(row).collect::<Vec<_>>()));
    Ok(ExitCode::SUCCESS)
}

/// In control, which keeps revisions and hands them to all probes of the application; without it, in each probe.
fn shadow(
    arguments: &Arguments,
    probes: &Probes,
    file: Option<&Path>,
    expect: Option<u64>,
) -> Result<ExitCode, Failure> {
    let [app] = probes.which.app.as_slice() else {
        return Err(Failure::new("a shadow configuration is that of one application").hint("name it with --app"));
    };
    let given = file.map(|file| {
        let is_input = file == Path::new("-");
        let text = if is_input { body::standard_input()? } else { body::file(file)? };
        body::parse(&text, if is_input { "standard input" } else { file.to_str().unwrap_or("the file") })
    });
    let given = given.transpose()?;
    let path = format!("/api/v1/shadow/{}", weir_control::client::encode(app));
    if arguments.control.is_none() && !arguments.runtime.join(SOCKET).exists() {
        if expect.is_some() {
            return Err(Failure::new("--expect needs the control daemon, which counts revisions"));
        }
        let all = some(arguments, &probes.which)?;
        let users: BTreeSet<u32> = all.iter().filter_map(|probe| probe.user).collect();
        if given.is_some() && users.len() > 1 && probes.which.pid.is_empty() {
            let message =
                format!("JVMs of {} users call themselves {app}, and a configuration has passwords", users.len());
            return Err(Failure::new(message).hint("weir probes lists them; name those that are meant with --pid"));
        }
        return each(&all, probes.json || given.is_none(), &|probe| probe.shadow(given.as_ref()), &with_reason);
    }
    let api = Api::of(arguments)?;
    let Some(given) = given else {
        println!("{:#}", api.get(&path)?);
        return Ok(ExitCode::SUCCESS);
    };
    let tag = expect.map(|revision| format!("\"{revision}\""));
    let headers: Vec<(&str, &str)> = tag.iter().map(|tag| ("if-match", tag.as_str())).collect();
    let done = api.call_with(Method::Put, &path, Some(&given), &headers)?;
    let results = done["probes"].as_array().map_or(&[][..], Vec::as_slice);
    if probes.json {
        println!("{done:#}");
    } else {
        println!("{app}: revision {}", done["revision"]);
        for one in results {
            let more = if one["state"].is_string() { text(one, "state") } else { text(one, "detail") };
            println!("{}: {} ({more})", text(one, "id"), text(one, "result"));
        }
    }
    Ok(ExitCode::from(u8::from(results.iter().any(|one| one["result"] == "refused"))))
}

fn plugins(about: &Value) -> impl Iterator<Item = &Value> {
    about["plugins"].as_array().into_iter().flatten()
}

fn text(about: &Value, key: &str) -> String {
    shown(about[key].as_str().unwrap_or_default(), 120)
}

fn with_reason(about: &Value) -> String {
    match text(about, "reason") {
        reason if reason.is_empty() => text(about, "state"),
        reason => format!("{}: {reason}", text(about, "state")),
    }
}
