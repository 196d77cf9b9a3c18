//! Documents match the code: the map of crates, the changelog, links. Each failure lists every offender.

use std::path::Path;

use weir_tidy::{assert_none, crates, dependencies, files, read, root};

#[test]
fn architecture_shows_the_dependencies_between_crates() {
    let text = read(Path::new(dependencies::DOCUMENT));
    let right = dependencies::document(&text).expect("ARCHITECTURE.md has the markers of the dependencies");
    assert!(text == right, "out of date; `make docs` writes:\n{}", dependencies::block());
}

#[test]
fn architecture_describes_every_crate_and_no_other() {
    let text = read(Path::new(dependencies::DOCUMENT));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split_once('`'));
    let mut named: Vec<&str> = rows.map(|(name, _)| name).collect();
    named.sort_unstable();
    assert_eq!(named, crates(), "rows of the table and directories");
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    assert!(read(Path::new("CHANGELOG.md")).contains("\n## [Unreleased]\n"));
}

#[test]
fn links_between_documents_have_targets() {
    let mut broken = Vec::new();
    for path in files().iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = read(path);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.contains("://") || file.is_empty() || file.contains(char::is_whitespace);
            let dir = path.parent().unwrap_or(Path::new(""));
            if !elsewhere && !root().join(dir).join(file).exists() {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert_none("links to nowhere", &broken);
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = read(Path::new("README.md"));
    let pages = files().into_iter().filter(|path| path.parent() == Some(Path::new("docs")));
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let missing: Vec<String> =
        pages.map(|path| path.display().to_string()).filter(|page| !readme.contains(&format!("]({page})"))).collect();
    assert_none("pages that README.md does not link", &missing);
}
