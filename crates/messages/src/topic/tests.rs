use proptest::prelude::*;

use super::*;

fn name(text: &str) -> TopicName<'_> {
    TopicName::new(text.as_bytes()).expect(text)
}

fn filter(text: &str) -> TopicFilter<'_> {
    TopicFilter::new(text.as_bytes()).expect(text)
}

#[test]
fn names_and_filters_are_checked() {
    let long = "x".repeat(MAX_BYTES + 1);
    let deep = "/".repeat(MAX_LEVELS);
    for (text, of_name, of_filter) in [
        (&b"a/b"[..], None, None),
        (b"/", None, None),
        (b"a//b/", None, None),
        ("größe/ä".as_bytes(), None, None),
        (b"a/$b", None, None),
        (&long.as_bytes()[1..], None, None),
        (&deep.as_bytes()[1..], None, None),
        (b"", Some(TopicError::Empty), Some(TopicError::Empty)),
        (b"$SYS/a", Some(TopicError::Reserved), Some(TopicError::Reserved)),
        (b"a\0", Some(TopicError::Control('\0')), Some(TopicError::Control('\0'))),
        ("a\u{85}".as_bytes(), Some(TopicError::Control('\u{85}')), Some(TopicError::Control('\u{85}'))),
        (b"a\xff", Some(TopicError::Encoding(1)), Some(TopicError::Encoding(1))),
        (long.as_bytes(), Some(TopicError::TooLong(257)), Some(TopicError::TooLong(257))),
        (deep.as_bytes(), Some(TopicError::TooManyLevels(17)), Some(TopicError::TooManyLevels(17))),
        (b"#", Some(TopicError::Wildcard('#')), None),
        (b"a/+", Some(TopicError::Wildcard('+')), None),
        (b"+/a/+/#", Some(TopicError::Wildcard('+')), None),
        (b"a+", Some(TopicError::Wildcard('+')), Some(TopicError::PartOfLevel('+'))),
        (b"a/#b", Some(TopicError::Wildcard('#')), Some(TopicError::PartOfLevel('#'))),
        (b"a/##", Some(TopicError::Wildcard('#')), Some(TopicError::PartOfLevel('#'))),
        (b"#/a", Some(TopicError::Wildcard('#')), Some(TopicError::NotLast)),
        (b"#/#", Some(TopicError::Wildcard('#')), Some(TopicError::NotLast)),
        (b"+/+/+/+/#", Some(TopicError::Wildcard('+')), None),
        (b"+/+/+/+/+", Some(TopicError::Wildcard('+')), Some(TopicError::TooManyPlus(5))),
    ] {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(TopicName::new(text).err(), of_name, "name {shown}");
        assert_eq!(TopicFilter::new(text).err(), of_filter, "filter {shown}");
    }
}

#[test]
fn examples_of_the_standard_match() {
    for (wanted, topic, matches) in [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
        ("sport/#", "sport", true),
        ("sport/#", "sports", false),
        ("#", "a", true),
        ("#", "/", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("+", "/finance", false),
        ("a/b", "a/B", false),
    ] {
        assert_eq!(filter(wanted).matches(name(topic)), matches, "{wanted} {topic}");
    }
}

/// The definition, level by level from the front.
fn naive(wanted: &[&str], levels: &[&str]) -> bool {
    match (wanted, levels) {
        (["#"], _) | ([], []) => true,
        (["+", wanted @ ..], [_, levels @ ..]) => naive(wanted, levels),
        ([first, wanted @ ..], [level, levels @ ..]) => first == level && naive(wanted, levels),
        _ => false,
    }
}

/// All texts of one to `depth` of these levels.
fn all(levels: &[&str], depth: usize) -> Vec<String> {
    let mut texts: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
    let mut last = texts.clone();
    for _ in 1..depth {
        last = last.iter().flat_map(|text| levels.iter().map(move |level| format!("{text}/{level}"))).collect();
        texts.extend_from_slice(&last);
    }
    texts
}

#[test]
fn a_filter_covers_another_if_it_matches_all_of_its_names() {
    // One level more than the filters have, and a level that no filter names: the names that tell filters apart.
    let names = all(&["", "a", "b", "other"], 4);
    let names: Vec<TopicName<'_>> = names.iter().filter_map(|text| TopicName::new(text.as_bytes()).ok()).collect();
    let filters = all(&["", "a", "b", "+", "#"], 3);
    let filters: Vec<TopicFilter<'_>> =
        filters.iter().filter_map(|text| TopicFilter::new(text.as_bytes()).ok()).collect();
    assert!(filters.len() > 100);
    let matched: Vec<Vec<bool>> =
        filters.iter().map(|filter| names.iter().map(|name| filter.matches(*name)).collect()).collect();
    for (ours, our_names) in filters.iter().zip(&matched) {
        for (theirs, their_names) in filters.iter().zip(&matched) {
            let is_covered = their_names.iter().zip(our_names).all(|(theirs, ours)| *ours || !*theirs);
            assert_eq!(ours.covers(*theirs), is_covered, "{} over {}", ours.as_str(), theirs.as_str());
        }
    }
}

proptest! {
    #[test]
    fn matching_follows_the_definition(wanted in "[ab+/]{0,6}(/#|#)?", topic in "[ab/]{1,7}") {
        let topic = name(&topic);
        if let Ok(wanted) = TopicFilter::new(wanted.as_bytes()) {
            let levels: Vec<&str> = topic.levels().collect();
            prop_assert_eq!(wanted.matches(topic), naive(&wanted.levels().collect::<Vec<_>>(), &levels));
        }
    }

    #[test]
    fn any_bytes_are_checked(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let filter = TopicFilter::new(&bytes);
        if let Ok(name) = TopicName::new(&bytes) {
            // At most the wildcards tell them apart.
            prop_assert!(filter.is_ok_and(|filter| filter.is_exact() && filter.matches(name)));
        }
    }
}
