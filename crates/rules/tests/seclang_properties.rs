//! For any text: no panic, problems that point into it, and work that is not quadratic in its length.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use weir_rules::seclang::{Diagnostic, Memory, OnUnsupported, Options, RuleSource, load_from};

#[path = "../../../tests/harness/hang.rs"]
mod hang;

const WORDS: &[&str] = &[
    "SecRule",
    "SecAction",
    "SecMarker",
    "SecDefaultAction",
    "SecRuleRemoveById",
    "SecRuleUpdateTargetByTag",
    "Include",
    "ARGS",
    "TX:/a/",
    "XML:/*",
    "!",
    "&",
    "|",
    ",",
    ":",
    "=",
    "@rx",
    "@pm",
    "@within",
    "@ipMatch",
    "id:1",
    "id:2",
    "phase:2",
    "chain",
    "deny",
    "block",
    "t:none",
    "t:lowercase",
    "setvar:",
    "tx.a",
    "%{",
    "}",
    "ctl:",
    "ruleRemoveTargetById=1;ARGS:a",
    "msg:",
    "'",
    "\"",
    "\\",
    "\\\n",
    "\n",
    "\r\n",
    " ",
    "#",
    "(",
    "[a",
    "$",
    "1-9",
    "\u{e9}",
    "<IfModule>",
    "self",
    "*",
];

fn load(bytes: &[u8]) -> (usize, Vec<Diagnostic>) {
    let files = Memory(BTreeMap::from([(PathBuf::from("self"), bytes.to_vec())]));
    let options = Options { lint: true, on_unsupported: OnUnsupported::Warn, ..Options::default() };
    match load_from(&[RuleSource::File("self".into())], &options, &files) {
        Ok(loaded) => (loaded.set.entries.len(), loaded.warnings),
        Err(problems) => (0, problems),
    }
}

fn check(bytes: &[u8]) {
    let (_, problems) = load(bytes);
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    for problem in problems {
        assert!(problem.line >= 1 && problem.line as usize <= lines, "{problem}");
        assert!(problem.column >= 1 && problem.column as usize <= bytes.len() + 1, "{problem}");
        assert!(!problem.to_string().contains('\n'), "{problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn any_words_are_read(words in prop::collection::vec(prop::sample::select(WORDS), 0..60), blanks in any::<bool>()) {
        check(words.join(if blanks { " " } else { "" }).as_bytes());
    }

    #[test]
    fn rules_with_anything_in_them_are_read(inside in prop::collection::vec(prop::sample::select(WORDS), 0..20)) {
        let inside = inside.join("");
        check(format!("SecRule {inside} \"{inside}\" \"id:1,{inside}\"\nSecAction \"{inside}\"").as_bytes());
    }
}

/// Looking again at all that came before would take hours.
#[test]
fn work_is_not_quadratic() {
    let pieces = [
        "SecRule ARGS \"@contains x\" \"id:1,phase:2,msg:'a'\"\n",
        "SecRule ARGS \"@contains x\n",
        "SecAction \"id:1,msg:'open\n",
        "SecAction id:1,setvar:tx.a='\n",
        "SecMarker \"\\\"\n",
        "%{",
        "'",
        "\"",
        "\\",
        "\\\n",
        "SecRule ARGS|",
        "ARGS|!TX:/",
        "#SecRule \\\n",
        "(((",
        "SecAction \"",
        ",a:='",
        "Include *\n",
    ];
    for piece in pieces {
        let text = piece.repeat((4 << 20) / piece.len());
        hang::ends(piece, move || load(text.as_bytes()));
    }
}
