//! `weir rollback`: back to an earlier revision.
//!
//! Without a revision it undoes the newest. That is what is wanted after a change that went wrong, but not if the newest
//! revision is a rollback itself, which would bring back what was undone, or if control made it, which would keep the
//! change that went wrong. Then it shows what it would do and asks, or refuses if nobody can be asked.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use serde_json::{Value, json};

use super::revisions::about;
use crate::api::{Api, Method};
use crate::arguments::{ChangeOptions, Rollback};
use crate::style::{Stream, Style};
use crate::terminal::shown;
use crate::{Failure, difference};

/// Revisions among which the last one that a person made is looked for.
const LOOKED_AT: u64 = 100;
/// The actor of revisions that control makes by itself.
const CONTROL: &str = "weir";
/// What the message of a rollback begins with; the revision follows.
const BACK: &str = "back to revision ";

pub(crate) fn run(api: &Api, rollback: &Rollback) -> Result<(), Failure> {
    let mut options = rollback.options.clone();
    let to = match rollback.revision {
        Some(revision) => revision,
        None => before_the_newest(api, rollback, &mut options)?,
    };
    let body = options.message.as_ref().map(|message| json!({ "message": message }));
    let path = format!("/api/v1/revisions/{to}/rollback");
    let answer = api.change(Method::Post, &path, body.as_ref(), &options)?;
    if !options.json && !options.dry_run {
        println!("restored revision {to}");
    }
    answer.say(&options)
}

/// The revision before the newest one, which the change then expects to be the newest.
fn before_the_newest(api: &Api, rollback: &Rollback, options: &mut ChangeOptions) -> Result<u64, Failure> {
    let answer = api.get(&format!("/api/v1/revisions?limit={LOOKED_AT}"))?;
    let revisions = answer["revisions"].as_array().map_or(&[][..], Vec::as_slice);
    let newest = revisions.first().and_then(number).unwrap_or_default();
    if newest < 2 {
        return Err(
            Failure::new("there is no revision before the only one").hint("`weir rollback 0` empties the gateway")
        );
    }
    let to = newest - 1;
    if let Some(doubt) = Doubt::of(revisions).filter(|_| !rollback.yes && !options.dry_run) {
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !options.json;
        if !can_ask {
            return Err(Failure::new(doubt.what).hint(format!(
                "`weir rollback {to}` or `weir rollback --yes` undoes only that{}",
                doubt.instead.map_or_else(String::new, |instead| format!("; {instead}"))
            )));
        }
        ask(api, &doubt, newest)?;
    }
    options.again = vec![to.to_string()];
    if options.expect.is_none() {
        options.expect = Some(newest);
        options.again.extend(["--expect".to_owned(), newest.to_string()]);
    }
    Ok(to)
}

/// Why it is not clear what to undo.
#[derive(Debug, PartialEq)]
struct Doubt {
    what: String,
    /// What else could be wanted, with the command.
    instead: Option<String>,
}

impl Doubt {
    /// Of these revisions, the newest first.
    fn of(revisions: &[Value]) -> Option<Self> {
        let newest = revisions.first()?;
        let (revision, text) = (number(newest)?, about(newest));
        let back = newest["message"].as_str().and_then(|message| message.strip_prefix(BACK));
        if let Some(back) = back {
            let to: Option<u64> = back.split([':', ';']).next().and_then(|to| to.parse().ok());
            let further = to.and_then(|to| to.checked_sub(1));
            return Some(Self {
                what: format!("the newest revision, {revision}, is a rollback itself ({text})"),
                instead: further.map(|to| format!("`weir rollback {to}` goes back one revision further than it did")),
            });
        }
        if newest["actor"] != CONTROL {
            return None;
        }
        let last = revisions.iter().find(|revision| revision["actor"] != CONTROL);
        let instead = last.and_then(|last| {
            let (of, about) = (number(last)?, about(last));
            let to = of.checked_sub(1)?;
            Some(format!("`weir rollback {to}` undoes everything from revision {of} on ({about})"))
        });
        Some(Self { what: format!("the newest revision, {revision}, was made by the daemon ({text})"), instead })
    }
}

/// Shows what would be undone, and returns if that is wanted.
fn ask(api: &Api, doubt: &Doubt, newest: u64) -> Result<(), Failure> {
    let style = Style::of(Stream::Err);
    let diff = api.get(&format!("/api/v1/revisions/{newest}/diff"))?;
    eprintln!("{}", style.bold(&doubt.what));
    eprintln!("restoring revision {} undoes only that:", newest - 1);
    for change in diff["changes"].as_array().into_iter().flatten() {
        let side = |key: &str| change.get(key).filter(|value| !value.is_null());
        let path = shown(change["path"].as_str().unwrap_or_default().trim_start_matches('/'), 200);
        eprint!("{}", difference::render(&path, side("new"), side("old"), style));
    }
    if let Some(instead) = &doubt.instead {
        eprintln!("{instead}");
    }
    eprint!("restore revision {}? [y/N] ", newest - 1);
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new("nothing was changed")),
    }
}

fn number(revision: &Value) -> Option<u64> {
    revision["revision"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_of_a_person_is_undone_without_a_question() {
        let revision = |revision: u64, actor: &str, message: &str| json!({"revision": revision, "actor": actor, "message": message, "time_ms": 0});
        let person = revision(40, "unix:root", "more weight");
        assert_eq!(Doubt::of(std::slice::from_ref(&person)), None);
        assert_eq!(Doubt::of(&[json!({"revision": 2, "actor": "token:ci", "message": null})]), None);
        for (newest, what, instead) in [
            (revision(42, "weir", "refresh; /l: 1 line added"), "by the daemon", "rollback 39` undoes everything from"),
            (revision(42, "unix:root", "back to revision 30: oh"), "a rollback itself", "rollback 29` goes back one"),
            (revision(42, "unix:root", "back to revision 30; /l: 1 line"), "a rollback itself", "rollback 29`"),
        ] {
            let doubt = Doubt::of(&[newest, revision(41, "weir", "refresh"), person.clone()]).expect("it asks");
            assert!(doubt.what.contains(what), "{doubt:?}");
            assert!(doubt.instead.as_deref().is_some_and(|text| text.contains(instead)), "{doubt:?}");
        }
    }
}
