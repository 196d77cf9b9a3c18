//! Files that a change captured or no longer uses: a line with their number and size, and their names if they are wanted.
//! Rules come in some fifty files; a line for each would hide what became of the change.
//!
//! An answer only says which files are concerned. Which of them are held now, and their sizes, control says over its
//! socket. Clients of TCP are not asked for: with a token that is limited, the question is refused and counts as a failure.

use serde_json::Value;

use crate::table::{counted, size};
use crate::terminal::shown;

/// The path of the files that are held: the largest page.
pub(super) const HELD: &str = "/api/v1/files?limit=10000";
/// Files of a full page, which may lack some.
const PAGE: usize = 10_000;
/// Characters shown of a path.
const PATH: usize = 400;

/// Whether files are among the resources that changed.
pub(super) fn any(changed: &Value) -> bool {
    ids(changed).next().is_some()
}

/// Lines about the files among the resources that changed, by those that are held now, if that is known.
pub(super) fn render(changed: &Value, held: Option<&Value>, is_verbose: bool) -> String {
    let held = held.and_then(Value::as_object).filter(|held| held.len() < PAGE);
    let (mut captured, mut others) = (Vec::new(), Vec::new());
    for id in ids(changed) {
        match held.and_then(|held| held.get(id)) {
            Some(file) => captured.push((file["path"].as_str().unwrap_or(id).to_owned(), file["size"].as_u64())),
            None => others.push((format!("/{id}"), None)),
        }
    }
    let others_are = if held.is_some() { "no longer used" } else { "captured or no longer used" };
    lines("captured", &captured, is_verbose) + &lines(others_are, &others, is_verbose)
}

fn ids(changed: &Value) -> impl Iterator<Item = &str> {
    let paths = changed.as_array().into_iter().flatten().filter_map(Value::as_str);
    paths.filter_map(|path| path.strip_prefix("/files/"))
}

/// The line of files with the same fate. The list of a folder is a file of its own, which only counts if no other does.
fn lines(fate: &str, all: &[(String, Option<u64>)], is_verbose: bool) -> String {
    let (folders, files): (Vec<_>, Vec<_>) = all.iter().partition(|(path, _)| path.ends_with('/'));
    let (those, one) = if files.is_empty() { (folders, "folder") } else { (files, "file") };
    let subject = match those.as_slice() {
        [] => return String::new(),
        [(path, _)] => shown(path, PATH),
        those => counted(those.len() as u64, one),
    };
    let bytes: Option<u64> = those.iter().map(|(_, size)| *size).sum();
    let mut text =
        format!("{fate}: {subject}{}\n", bytes.map_or_else(String::new, |bytes| format!(", {}", size(bytes))));
    for (path, _) in all.iter().filter(|_| is_verbose && all.len() > 1) {
        text.push_str(&format!("  {}\n", shown(path, PATH)));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_counted_and_named_on_request() {
        let file = |path: &str, size: u64| json!({"path": path, "sha256": "", "size": size});
        let held = json!({
            "r/": file("/r/", 20), "r/a.conf": file("/r/a.conf", 3000), "r/b.conf": file("/r/b.conf", 5),
            "l%20x": file("/l x", 12),
        });
        let crs = json!(["/policies/p", "/files/r/", "/files/r/a.conf", "/files/r/b.conf"]);
        for (changed, held, is_verbose, want) in [
            (&json!(["/sites/a"]), Some(&held), true, ""),
            (&crs, Some(&held), false, "captured: 2 files, 3 KiB\n"),
            (&crs, Some(&held), true, "captured: 2 files, 3 KiB\n  /r/\n  /r/a.conf\n  /r/b.conf\n"),
            (&crs, Some(&json!({})), false, "no longer used: 2 files\n"),
            (&crs, None, false, "captured or no longer used: 2 files\n"),
            (
                &json!(["/files/l%20x", "/files/gone"]),
                Some(&held),
                true,
                "captured: /l x, 12 bytes\nno longer used: /gone\n",
            ),
            (&json!(["/files/r/"]), Some(&held), false, "captured: /r/, 20 bytes\n"),
        ] {
            assert_eq!(render(changed, held, is_verbose), want, "{changed}");
        }
    }
}
