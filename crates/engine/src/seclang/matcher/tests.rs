use std::cell::Cell;

use proptest::prelude::*;
use weir_rules::seclang::pattern::{Pattern, narrow_offset, widen};

use super::{Groups, MAX_GROUPS, Matcher};
use crate::seclang::scratch::at_load;

/// The patterns of CRS 3.3.4 that have look-around, back-references or possessive quantifiers, and pieces of values
/// that meet them: 920120, 920600, 942130, 942260 and 953120.
const CRS: [(&str, &[&str]); 5] = [
    (
        r#"(?<!&(?:[aAoOuUyY]uml)|&(?:[aAeEiIoOuU]circ)|&(?:[eEiIoOuUyY]acute)|&(?:[aAeEiIoOuU]grave)|&(?:[cC]cedil)|&(?:[aAnNoO]tilde)|&(?:amp)|&(?:apos));|['\"=]"#,
        &[";", "&", "&auml", "&Yuml", "&amp", "&apos", "amp;", "&ccedil;", "uml", "'", "=", "\"", "a", "\u{e9}", "\n"],
    ),
    (
        ACCEPT,
        &[
            "a/b", "a/b;", "\na/b;", ",*/*", "text", "/", "*", ";", ",", " ", "\n", "\t", "charset", "=", "utf-8",
            "\"", "q", "=1", ";a=b", "\u{e9}",
        ],
    ),
    (
        r#"(?i:[\s'\"`()]*?\b([\d\w]+)\b[\s'\"`()]*?(?:<(?:=(?:[\s'\"`()]*?(?!\b\1\b)[\d\w]+|>[\s'\"`()]*?(?:\b\1\b))|>?[\s'\"`()]*?(?!\b\1\b)[\d\w]+)|(?:not\s+(?:regexp|like)|is\s+not|>=?|!=|\^)[\s'\"`()]*?(?!\b\1\b)[\d\w]+|(?:(?:sounds\s+)?like|r(?:egexp|like)|=)[\s'\"`()]*?(?:\b\1\b)))"#,
        &[
            "a", "A", "b", "1", "_", "'", "\"", "(", " ", "\n", "=", "<", ">", "!=", "^", "like", "not ", "is ", "NOT",
            "rlike", "sounds ", "regexp", "\u{e9}", ";", "a=a", "-",
        ],
    ),
    (
        r#"(?i:[\"'`]\s*?(?:(?:n(?:and|ot)|(?:x?x)?or|between|\|\||and|div|&&)\s+[\s\w]+=\s*?\w+\s*?having\s+|like(?:\s+[\s\w]+=\s*?\w+\s*?having\s+|\W*?[\"'`\d])|[^?\w\s=.,;)(]++\s*?[(@\"'`]*?\s*?\w+\W+\w|\*\s*?\w+\W+[\"'`])|(?:union\s*?(?:distinct|[(!@]*?|all)?\s*?[([]*?\s*?select|select\s+?[\[\]()\s\w\.,\"'`-]+from)\s+|\w\s+like\s+[\"'`]|find_in_set\s*?\(|like\s*?[\"'`]%)"#,
        &[
            "'", "\"", "`", " ", "\n", "a", "1", "*", "-", "(", "@", "and ", "=", "having ", "like", "LIKE ", "union",
            "select ", "from ", "%", "\u{e9}", "x",
        ],
    ),
    (r"<\?(?!xml)", &["<", "?", "<?", "x", "m", "l", "xml", "\n", "\u{e9}"]),
];

/// 920600.
const ACCEPT: &str = r#"^(?:(?:\*|[^\"(),\/:;<=>?![\x5c\]{}]+)\/(?:\*|[^\"(),\/:;<=>?![\x5c\]{}]+))(?:\s*+;\s*+(?:(?:charset\s*+=\s*+(?:\"?(?:iso-8859-15?|windows-1252|utf-8)\b\"?))|(?:(?:c(?:h(?:a(?:r(?:s(?:e[^t\"(),\/:;<=>?![\x5c\]{}]|[^e\"(),/:;<=>?![\x5c\]{}])|[^s\"(),/:;<=>?![\x5c\]{}])|[^r\"(),/:;<=>?![\x5c\]{}])|[^a\"(),/:;<=>?![\x5c\]{}])|[^h\"(),/:;<=>?![\x5c\]{}])|[^c\"(),/:;<=>?![\x5c\]{}])[^\"(),/:;<=>?![\x5c\]{}]*(?:)\s*+=\s*+[^(),/:;<=>?![\x5c\]{}]+)|;?))*(?:\s*+,\s*+(?:(?:\*|[^\"(),\/:;<=>?![\x5c\]{}]+)\/(?:\*|[^\"(),\/:;<=>?![\x5c\]{}]+))(?:\s*+;\s*+(?:(?:charset\s*+=\s*+(?:\"?(?:iso-8859-15?|windows-1252|utf-8)\b\"?))|(?:(?:c(?:h(?:a(?:r(?:s(?:e[^t\"(),\/:;<=>?![\x5c\]{}]|[^e\"(),/:;<=>?![\x5c\]{}])|[^s\"(),/:;<=>?![\x5c\]{}])|[^r\"(),/:;<=>?![\x5c\]{}])|[^a\"(),/:;<=>?![\x5c\]{}])|[^h\"(),/:;<=>?![\x5c\]{}])|[^c\"(),/:;<=>?![\x5c\]{}])[^\"(),/:;<=>?![\x5c\]{}]*(?:)\s*+=\s*+[^(),/:;<=>?![\x5c\]{}]+)|;?))*)*$"#;

/// Other patterns of the same shapes.
const OTHERS: &[&str] = &[
    "^$",
    "^",
    "^a*$",
    "(?:^|;)$",
    "\\n^",
    "(a|^)*\\n?",
    "(?m)^(.*)$",
    "^\\s*$\\s*",
    "(\\s*+)[\\sa]?;",
    "(a;*+)=?\\B",
    "(a++)(b?)\\n?$",
    "(a|\\s++)*$",
    "[^;]++\\b",
    "\\s++$|a",
    "(?:a*+|b)*?\\n",
    "(?>[ab]+|;)b",
    "(b)(?!a)",
    "b(?!aa|[ab];)|(a)",
    "b*(?!b)",
    "(?:a+?)(?=;)",
    "(?<!a);|a",
    "(?<!a|;b)(a|ab)|b",
    "(?<=\\n|b)(;?a)",
    "\\b(\\w+)\\b=\\b\\1\\b",
    "(?i)'*\\b(\\w+)\\b *(?:=|is *) *(?!\\b\\1\\b)\\w+",
    "\\b(\\w+)\\b;*(?:=|;=|a?)\\b\\1\\b",
    "\\b(\\w+)\\b[^=]*=\\b\\1\\b",
    "(?!b)[ab]\\w",
    "(a)(?![;a])(b*+)",
];
const PIECES: &[&str] = &["a", "b", "A", ";", "=", "\n", " ", "'", "\u{e9}", "is", "a=a", ";b"];

struct Judge {
    matcher: Matcher,
    backtracker: fancy_regex::Regex,
    source: &'static str,
    pieces: &'static [&'static str],
    /// Values that matched, and all.
    counts: Cell<(u32, u32)>,
}

/// A pattern as a rule has it: between quotes, which are escaped there.
fn judge(source: &'static str, pieces: &'static [&'static str]) -> Judge {
    let pattern = Pattern::parse(&source.replace("\\\"", "\"")).unwrap();
    let matcher = Matcher::new(&pattern).unwrap();
    let fancy = pattern.fancy().unwrap_or_else(|| panic!("{source} is linear"));
    Judge { matcher, backtracker: fancy_regex::Regex::new(fancy).unwrap(), source, pieces, counts: Cell::default() }
}

impl Judge {
    fn expected(&self, value: &[u8]) -> Option<Groups> {
        let mut text = String::new();
        widen(value, &mut text);
        let captures = self.backtracker.captures(&text).unwrap()?;
        let narrow = |offset| narrow_offset(&text, offset) as u32;
        let mut groups = Groups::default();
        for (group, found) in groups.iter_mut().zip(captures.iter()) {
            *group = found.map(|found| (narrow(found.start()), narrow(found.end())));
        }
        Some(groups)
    }

    fn compare(&self, value: &[u8]) -> Result<(), TestCaseError> {
        let expected = self.expected(value);
        let (matched, all) = self.counts.get();
        self.counts.set((matched + u32::from(expected.is_some()), all + 1));
        let described = || format!("{} on {}", self.source, value.escape_ascii());
        prop_assert_eq!(
            at_load(|scratch| self.matcher.is_match(value, scratch)),
            expected.is_some(),
            "{}",
            described()
        );
        prop_assert_eq!(at_load(|scratch| self.matcher.groups(value, scratch)), expected, "{}", described());
        let range = expected.map(|groups| groups[0].unwrap()).map(|(start, end)| start as usize..end as usize);
        prop_assert_eq!(at_load(|scratch| self.matcher.find(value, scratch)), range, "{}", described());
        Ok(())
    }
}

/// The index of a pattern and a value of its pieces, each character as one byte.
fn values(judges: &[Judge]) -> impl Strategy<Value = (usize, Vec<u8>)> + use<> {
    let pieces: Vec<_> = judges.iter().map(|judge| judge.pieces).collect();
    (0..judges.len()).prop_flat_map(move |index| {
        let values = prop::collection::vec(prop::sample::select(pieces[index]), 0..14);
        (Just(index), values.prop_map(|pieces| pieces.concat().chars().map(|one| one as u8).collect()))
    })
}

/// `WEIR_CASES` asks for more cases.
fn run(judges: &[Judge]) {
    let cases = std::env::var("WEIR_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&values(judges), |(index, value)| judges[index].compare(&value));
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    for Judge { source, counts, .. } in judges {
        let (matched, all) = counts.get();
        let source: String = source.chars().take(40).collect();
        println!("{matched} of {all} values match {source}");
        assert!(matched * 100 > all, "{source} matches too few values to tell");
    }
}

#[test]
fn what_crs_backtracks_for_is_decided_alike_without() {
    let judges = CRS.map(|(source, pieces)| judge(source, pieces));
    for judge in &judges {
        assert!(!judge.matcher.backtracks(), "{}", judge.source);
    }
    run(&judges);
}

#[test]
fn other_patterns_of_these_shapes_are_decided_alike() {
    let judges: Vec<Judge> = OTHERS.iter().map(|source| judge(source, PIECES)).collect();
    let backtracking: Vec<_> =
        judges.iter().filter(|judge| judge.matcher.backtracks()).map(|judge| judge.source).collect();
    // An atomic group; a second word that may begin in two places, or far away.
    assert_eq!(backtracking, ["(?>[ab]+|;)b", "\\b(\\w+)\\b;*(?:=|;=|a?)\\b\\1\\b", "\\b(\\w+)\\b[^=]*=\\b\\1\\b"]);
    run(&judges);
}

#[test]
fn no_pattern_of_crs_backtracks() {
    let files = std::fs::read_dir("/usr/share/modsecurity-crs/rules").expect("CRS is installed: `make setup`");
    let (mut count, mut after_newline) = (0, 0);
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned();
        for rest in text.split("@rx ").skip(1) {
            let end = rest.match_indices('"').find(|(at, _)| !rest[..*at].ends_with('\\')).map_or(0, |(at, _)| at);
            let source = rest[..end].replace("\\\"", "\"");
            let Ok(pattern) = Pattern::parse(&source) else { continue };
            let matcher = Matcher::new(&pattern).unwrap();
            assert!(!matcher.backtracks(), "{source}");
            count += 1;
            after_newline += usize::from(matcher.only_after_newline && matcher.exact.is_some());
        }
    }
    println!("{count} patterns, {after_newline} of which differ after a final newline");
    assert!(count > 200);
}

#[test]
fn a_long_search_is_exhausted() {
    let judge = judge("(a*)*b(?=c)\\1", PIECES);
    assert!(judge.matcher.backtracks());
    let decide =
        |value: &[u8]| at_load(|scratch| (judge.matcher.is_match(value, scratch), scratch.work.take_refusal()));
    assert_eq!(decide(b"abca"), (true, false));
    assert_eq!(decide(&[&b"a".repeat(64)[..], b"bd"].concat()), (false, true), "nobody knows");
}

#[test]
fn every_match_is_found_under_a_condition_on_the_next_byte() {
    let judge = judge("^", PIECES);
    let mut expected: Groups = [None; MAX_GROUPS];
    (expected[0], expected[1]) = (Some((0, 0)), Some((2, 2)));
    assert_eq!(at_load(|scratch| judge.matcher.find_all(b"a\nb\n", scratch)), Some(expected));
}

/// A backtracker with a limit gives up in the padding.
#[test]
fn padding_hides_no_match() {
    let cases = [(";", "&amp;"), ("a/b", "a/b;, "), ("a=a", "'\"a=b "), ("'--'(a; b", "'a "), ("<?php", "<?xml")];
    for ((source, pieces), (end, padding)) in CRS.into_iter().zip(cases) {
        let judge = judge(source, pieces);
        let mut value = padding.repeat((128 << 10) / padding.len()).into_bytes();
        assert!(!at_load(|scratch| judge.matcher.is_match(&value, scratch)), "{source}");
        value.extend(end.bytes());
        assert!(at_load(|scratch| judge.matcher.is_match(&value, scratch)), "{source}");
    }
}
