//! `weir probes`: the probes in JVMs, and switching them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_control::client::Method;

use crate::api::{Api, SOCKET};
use crate::arguments::{Arguments, ProbeAction, Probes, WhichProbes};
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
    if action == "silence" && plugin.is_none() {
        eprintln!("note: while a probe is silent, marked requests are served as business traffic; disarm refuses them");
    }
    let done = each(&some(arguments, &probes.which)?, probes.json, &|probe| probe.act(action, &given), &|about| {
        let of_plugin = plugins(about).find(|one| Some(one["name"].as_str().unwrap_or_default()) == plugin.as_deref());
        match of_plugin {
            Some(one) => format!("{} is {}", text(one, "name"), with_reason(one)),
            None => with_reason(about),
        }
    })?;
    if action == "arm" {
        let all = WhichProbes { probe_dir: probes.which.probe_dir.clone(), ..WhichProbes::default() };
        described(arguments, &all).iter().for_each(|all| note_silent(all));
    }
    Ok(done)
}

/// Says which probes are silent while others are armed, which may pass marked requests on to them.
fn note_silent(described: &[(Probe, Value)]) {
    let of = |state: &'static str| described.iter().filter(move |(_, about)| about["state"] == state);
    let silent: Vec<String> = of("silent").map(|(probe, _)| shown(&probe.name(), 80)).collect();
    if of("armed").next().is_some() && !silent.is_empty() {
        let silent = silent.join(", ");
        eprintln!(
            "note: silent probes serve the marked requests that armed ones let through as business traffic: {silent}"
        );
    }
}

/// Probes, and what each says of itself.
fn described(arguments: &Arguments, which: &WhichProbes) -> Result<Vec<(Probe, Value)>, Failure> {
    let described = find(arguments, which)?.into_iter().map(|probe| {
        let about = probe.describe().unwrap_or_else(|failure| {
            json!({"app": probe.app, "pid": probe.pid, "host": probe.host, "state": "lost", "reason": failure.to_string()})
        });
        (probe, about)
    });
    Ok(described.collect())
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
    let described = described(arguments, &probes.which)?;
    let is_lost = described.iter().any(|(_, about)| about["state"] == "lost");
    if probes.json {
        let rows: Vec<&Value> = described.iter().map(|(_, about)| about).collect();
        println!("{:#}", json!({"probes": rows}));
        return Ok(ExitCode::from(u8::from(is_lost)));
    }
    if described.is_empty() && !(probes.which.app.is_empty() && probes.which.pid.is_empty()) {
        let _ = some(arguments, &probes.which)?; // the error names those that are known
    } else if described.is_empty() {
        eprintln!("no JVM with a probe is known here; --probe-dir, or WEIR_PROBE_DIR, is where it registers");
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
            text(about, "state") + if about["state"] == "armed" && about["ready"] == false { ", refusing" } else { "" },
            names.collect::<Vec<_>>().join(", "),
            text(about, "reason"),
        ]
    };
    print!("{}", render(&columns, &described.iter().map(row).collect::<Vec<_>>()));
    note_silent(&described);
    Ok(ExitCode::from(u8::from(is_lost)))
}

/// In control, which keeps revisions and hands them to all probes of the application; in each probe if control is not
/// there, or does not know them.
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
        let name = if is_input { "standard input" } else { file.to_str().unwrap_or("the file") };
        document(&text, name)
    });
    let given = given.transpose()?;
    let path = format!("/api/v1/shadow/{}", weir_control::client::encode(app));
    if arguments.control.is_none() && !is_known_to_control(arguments, probes, app)? {
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
        if let ([one], None, false) = (all.as_slice(), &given, probes.json) {
            println!("{:#}", one.shadow(None)?["shadow"]);
            return Ok(ExitCode::SUCCESS);
        }
        let act = |probe: &Probe| match &given {
            None => probe.shadow(None),
            Some(given) => replace(probe, given),
        };
        let say = |about: &Value| match text(about, "state").as_str() {
            "armed" => "armed".to_owned(),
            state => format!("{state}; `weir probes arm` checks the isolation with it"),
        };
        return each(&all, probes.json || given.is_none(), &act, &say);
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
        if results.is_empty() {
            eprintln!(
                "no probe of {app} is registered with the control daemon (WEIR_PROBE_CONTROL): the revision waits for one"
            );
        }
        for one in results {
            let more = if one["state"].is_string() { text(one, "state") } else { text(one, "detail") };
            println!("{}: {} ({more})", text(one, "id"), text(one, "result"));
        }
    }
    Ok(ExitCode::from(u8::from(results.iter().any(|one| one["result"] == "refused"))))
}

/// A shadow configuration. The usual errors of documents show the line, which can have a password.
fn document(text: &str, name: &str) -> Result<Value, Failure> {
    let parsed = weir_policy::parse_document(text, Path::new(name));
    let place = match &parsed {
        Ok(Value::Object(_)) => return Ok(parsed.unwrap_or_default()),
        Ok(_) => name.to_owned(),
        Err(errors) => {
            errors.errors().first().map_or_else(|| name.to_owned(), |at| format!("{name}:{}:{}", at.line, at.column))
        }
    };
    Err(Failure::new(format!("{place}: this is not an object in YAML or JSON"))
        .hint("the line is not shown, because it can have a password"))
}

/// Whether control is there and has probes of the application, or is the only one that could have some.
fn is_known_to_control(arguments: &Arguments, probes: &Probes, app: &str) -> Result<bool, Failure> {
    if !arguments.runtime.join(SOCKET).exists() {
        return Ok(false);
    }
    // A daemon that was killed leaves its socket.
    let Ok(listed) = Api::of(arguments)?.get("/api/v1/probes") else { return Ok(false) };
    let is_registered = listed["probes"].as_array().into_iter().flatten().any(|row| row["app"] == app);
    Ok(is_registered || find(arguments, &probes.which)?.is_empty())
}

/// Puts a configuration in force; an error if it disarms a probe that was armed.
fn replace(probe: &Probe, given: &Value) -> Result<Value, Failure> {
    let was_armed = probe.describe()?["state"] == "armed";
    let about = probe.shadow(Some(given))?;
    if !was_armed || about["state"] == "armed" {
        return Ok(about);
    }
    let checks = about["check"].as_array().into_iter().flatten().filter(|check| check["ok"] == false);
    let found: Vec<String> =
        checks.map(|check| format!("{}: {}", text(check, "plugin"), text(check, "finding"))).collect();
    Err(Failure::new(format!("the configuration is in force, and the probe disarmed: {}", found.join("; "))))
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
