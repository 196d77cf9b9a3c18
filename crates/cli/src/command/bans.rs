//! `weir ban`, `unban` and `bans`: who may not come in for a while.

use clap::ValueEnum;
use serde_json::{Value, json};
use weir_control::client::encode;

use crate::api::Api;
use crate::arguments::{Ban, Bans, Unban};
use crate::table::{Align, grouped, render};
use crate::terminal::shown;
use crate::{Failure, moment};

pub(crate) fn ban(api: &Api, ban: &Ban) -> Result<(), Failure> {
    let mut body = json!({"address": ban.address, "for": ban.time, "as": word(ban.remedy)});
    if ban.force {
        body["force"] = true.into();
    }
    if let Some(reason) = &ban.reason {
        body["reason"] = reason.as_str().into();
    }
    let answer = api.post("/api/v1/bans", &body)?;
    say(&answer, ban.json, &format!("{} until {} UTC", text(&answer, "as"), until(&answer)));
    Ok(())
}

pub(crate) fn unban(api: &Api, unban: &Unban) -> Result<(), Failure> {
    let answer = api.delete(&format!("/api/v1/bans/{}", encode(&unban.address)))?;
    say(&answer, unban.json, "not banned any more");
    Ok(())
}

fn say(answer: &Value, is_json: bool, sentence: &str) {
    if is_json {
        println!("{answer:#}");
    } else {
        println!("{}: {sentence}", text(answer, "address"));
    }
}

pub(crate) fn list(api: &Api, bans: &Bans) -> Result<(), Failure> {
    let mut path = format!("/api/v1/bans?limit={}", bans.limit);
    if let Some(origin) = bans.origin {
        path.push_str(&format!("&origin={}", word(origin)));
    }
    if let Some(address) = bans.address {
        path.push_str(&format!("&address={}", encode(&address.to_string())));
    }
    let answer = api.get(&path)?;
    if bans.json {
        println!("{answer:#}");
        return Ok(());
    }
    let columns = ["ADDRESS", "AS", "UNTIL (UTC)", "WHO", "WHY"].map(|name| (name, Align::Left));
    let listed = answer["bans"].as_array().map_or(&[][..], Vec::as_slice);
    print!("{}", render(&columns, &listed.iter().map(row).collect::<Vec<_>>()));
    let total = answer["total"].as_u64().unwrap_or_default();
    if bans.address.is_none() && bans.origin.is_none() && total > listed.len() as u64 {
        println!("{} of {} bans; `weir bans ADDRESS` shows those of an address", listed.len(), grouped(total));
    }
    Ok(())
}

fn row(ban: &Value) -> Vec<String> {
    let who = if ban["by"].is_string() { text(ban, "by") } else { text(ban, "origin") };
    vec![text(ban, "address"), text(ban, "as"), until(ban), who, text(ban, "reason")]
}

fn text(ban: &Value, key: &str) -> String {
    shown(ban[key].as_str().unwrap_or_default(), 80)
}

fn until(ban: &Value) -> String {
    moment::utc(ban["until_ms"].as_u64().unwrap_or_default())
}

/// The word that the command line and the API have for a choice.
fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
