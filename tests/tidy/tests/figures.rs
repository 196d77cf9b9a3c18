//! Tables of figures in documents are those of the records, and no figure was copied by hand.

use std::path::Path;

use weir_tidy::figures::{DOCUMENTS, copied, document};
use weir_tidy::{assert_none, files, read};

#[test]
fn tables_of_figures_are_those_of_the_records() {
    let mut stale = Vec::new();
    for path in files().iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = read(path);
        match document(&text, path) {
            Ok(current) if current == text => {}
            Ok(current) => {
                let pairs = text.lines().zip(current.lines()).enumerate();
                let differs = pairs.into_iter().find(|(_, (here, record))| here != record);
                let (at, (here, record)) = differs.unwrap_or((text.lines().count(), ("", "")));
                stale.push(format!("{}:{}: {here}\n    the record says: {record}", path.display(), at + 1));
            }
            Err(error) => stale.push(format!("{}: {error}", path.display())),
        }
    }
    assert_none("not what the records say; `make docs` writes the tables", &stale);
}

#[test]
fn no_table_of_figures_is_written_by_hand() {
    let copied = DOCUMENTS
        .iter()
        .flat_map(|path| copied(&read(Path::new(path))).into_iter().map(move |line| format!("{path}:{line}")));
    assert_none("figures outside generated tables", &copied.collect::<Vec<_>>());
}

#[test]
fn a_changed_figure_and_a_copied_table_are_found() {
    let text = "<!-- figures: latency -->\n<!-- end of figures -->\n";
    let path = Path::new("docs/x.md");
    let right = document(text, path).unwrap();
    assert!(right.contains("(../bench/results/events.json)"), "{right}");
    assert_eq!(document(&right, path).unwrap(), right);
    let digit = right.find("| 1").expect("a figure begins with 1") + 2;
    let wrong = format!("{}9{}", &right[..digit], &right[digit + 1..]);
    assert_eq!(document(&wrong, path).unwrap(), right);
    assert!(document("<!-- figures: latency -->\n", path).is_err());
    assert!(document("<!-- figures: nothing -->\n<!-- end of figures -->\n", path).is_err());
    assert!(copied(&right).is_empty());
    assert_eq!(
        copied("| a | b |\n| --- | --- |\n| Weir | 1.36 |\n| more | [page 2](x.md) |\n"),
        ["3: | Weir | 1.36 |"]
    );
}
