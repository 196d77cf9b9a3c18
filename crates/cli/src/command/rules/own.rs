//! `weir rules explain` for a rule of the policy file itself, which has a name instead of a number.

use serde_json::json;
use weir_engine::{Action, Mode};

use super::Chosen;
use crate::Failure;
use crate::style::{Stream, Style};
use crate::terminal::shown;

pub(super) fn run(id: &str, chosen: &Chosen, as_json: bool) -> Result<(), Failure> {
    let policies = &chosen.snapshot.specification().policies;
    let found = policies.iter().find_map(|policy| {
        policy.selectors.iter().find_map(|selector| {
            let rule = selector.rules.iter().find(|rule| rule.id == id)?;
            Some((policy, selector, rule))
        })
    });
    let Some((policy, selector, rule)) = found else {
        return Err(Failure::new(format!("{} has no rule {}", chosen.name, shown(id, 64)))
            .hint("weir rules list shows those of rule sets; the policy's own have the ids that the file gives them"));
    };
    let label = chosen.snapshot.rules().get(rule.index.0 as usize);
    let (file, line) = label.map_or_else(|| (chosen.name.clone(), 0), |label| chosen.place(label));
    let when = selector.when.as_ref().map(ToString::to_string);
    let actions: Vec<String> = rule.actions.iter().map(Action::to_string).collect();
    if as_json {
        println!(
            "{}",
            json!({
                "id": rule.id, "message": rule.message, "file": file, "line": line, "policy": policy.id,
                "selector": selector.id, "selector_when": when, "when": rule.when.to_string(), "score": rule.score,
                "actions": actions, "detect": policy.mode == Mode::Detect,
            })
        );
        return Ok(());
    }
    let style = Style::of(Stream::Out);
    println!("{}  {}", style.bold(&rule.id), shown(&rule.message, 200));
    println!("  {file}:{line}, policy {}, selector {}", policy.id, selector.id);
    if let Some(when) = when {
        println!("  for requests with  {}", shown(&when, 400));
    }
    println!("  matches when       {}", shown(&rule.when.to_string(), 400));
    println!("  then               {}", actions.join(", "));
    if rule.score > 0 {
        println!("  score              {}", rule.score);
    }
    if policy.mode == Mode::Detect {
        println!("  The policy only detects: actions are logged, not carried out.");
    }
    Ok(())
}
