use proptest::prelude::*;

use super::*;
use crate::diff::{DiffOptions, diff};
use crate::{Builder, Frame, Meta, Origin, Profile, ProfileKind, Thread};

/// A profile of `stack weight` lines.
fn profile(lines: &[(&str, u64)]) -> Profile {
    let mut builder = Builder::new(ProfileKind::OnCpu);
    let thread = builder.thread(Thread { pid: 7, tid: 7, name: "nginx".into() });
    for (stack, weight) in lines {
        let frames: Vec<_> = stack.split(';').map(|name| builder.frame(Frame::named(name, Origin::Native))).collect();
        let stack = builder.stack(&frames);
        builder.add(thread, stack, 1, *weight);
    }
    builder.finish()
}

/// The data of a page, as its script reads it.
fn data(page: &str) -> serde_json::Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(start).expect("has data");
    let (text, _) = rest.split_once("</script>").expect("ends");
    serde_json::from_str(text).expect("is JSON")
}

fn boxes(svg: &str) -> usize {
    svg.matches("<g><title>").count()
}

const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "]]>",
    "a\"b'c&d<!--",
    "\0\x1b[31m\u{85}",
    "{{data}}",
    "\u{202e}\u{2028}名前",
];

#[test]
fn an_svg_has_a_box_for_each_node_and_says_what_it_weighs() {
    let mut profile = profile(&[("main;work", 3_000_000), ("main;wait", 1_000_000)]);
    profile.meta = Meta { title: "demo".into(), requests: Some(1000), ..Meta::default() };
    let svg = svg(&profile, &GraphOptions::default());
    assert_eq!(boxes(&svg), 4);
    assert!(svg.contains("<title>work\n3.00 ms, 75.00 %, 3.00 µs per request, 1 sample</title>"), "{svg}");
    assert!(svg.contains(">demo</text>"));
}

#[test]
fn a_graph_refers_to_nothing_outside_of_it() {
    let profile = profile(&[("main", 1)]);
    let page = html(&[&profile], &GraphOptions::default());
    let svg = svg(&profile, &GraphOptions::default()).replace("http://www.w3.org/2000/svg", "");
    for text in [page.replace("http://www.w3.org/2000/svg", ""), svg] {
        for outside in ["http:", "https:", "src=", "@import", "//cdn", "fetch("] {
            assert!(!text.contains(outside), "{outside}");
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    let stacks: Vec<(&str, u64)> = HOSTILE.iter().map(|name| (*name, 1000)).collect();
    let mut profile = profile(&stacks);
    profile.meta = Meta { title: HOSTILE.join(" "), remarks: vec![HOSTILE.join(" ")], ..Meta::default() };
    profile.threads[0].name = HOSTILE[0].into();
    let page = html(&[&profile], &GraphOptions::default());
    assert_eq!(page.matches("</script>").count(), 2, "the page's own");
    assert!(!page.contains("alert(1)</script>") && !page.contains("<!--"));
    let data = data(&page);
    let names: Vec<&str> =
        data["views"][0]["functions"].as_array().expect("a list").iter().filter_map(|row| row[0].as_str()).collect();
    assert!(names.contains(&HOSTILE[0]) && names.contains(&"{{data}}"), "{names:?}");
    let svg = svg(&profile, &GraphOptions::default());
    assert_eq!((svg.matches("<script>").count(), svg.matches("]]>").count()), (1, 1));
    assert!(!svg.chars().any(|character| character.is_control() && character != '\n'));
    assert!(svg.contains("&lt;/script&gt;"));
}

#[test]
fn a_hundred_thousand_stacks_give_a_bounded_file() {
    let names: Vec<String> = (0..100_000).map(|n| format!("main;layer_{};function_{n}", n % 300)).collect();
    let stacks: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let profile = profile(&stacks);
    for (min_width, max_boxes) in [(GraphOptions::MIN_WIDTH, GraphOptions::MAX_BOXES), (0.0, 1000)] {
        let svg = svg(&profile, &GraphOptions { min_width, max_boxes, ..GraphOptions::default() });
        assert!(boxes(&svg) <= max_boxes && svg.contains("callees too narrow to draw"), "{}", boxes(&svg));
    }
    let page = data(&html(&[&profile], &GraphOptions { max_nodes: 5000, ..GraphOptions::default() }));
    let view = &page["views"][0];
    assert!(view["nodes"]["functions"].as_array().is_some_and(|nodes| nodes.len() <= 5000));
    let weights = view["samples"]["weights"].as_array().expect("a list");
    assert_eq!(weights.iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), 100_000, "no weight is lost");
}

#[test]
fn a_difference_draws_what_has_vanished() {
    let old = profile(&[("main;sort", 3_000), ("main;work", 1_000)]);
    let new = profile(&[("main;work", 1_000)]);
    let difference = diff(&old, &new, &DiffOptions::default());
    let svg = svg_diff(&difference, &GraphOptions::default());
    assert_eq!((boxes(&svg), svg.matches("fill=\"url(#vanished)\"").count()), (4, 2), "sort, and the legend: {svg}");
    let view = &data(&html_diff(&difference, &GraphOptions::default()))["views"][0];
    assert_eq!((&view["difference"], view["vanished"].as_array().map(Vec::len)), (&true.into(), Some(1)));
}

#[test]
fn profiles_without_samples_are_drawn_too() {
    let empty = Profile::default();
    assert_eq!(boxes(&svg(&empty, &GraphOptions::default())), 1);
    assert!(html(&[&empty], &GraphOptions::default()).contains("id=\"data\""));
    assert!(html(&[], &GraphOptions::default()).contains("\"views\":[]"));
    for reverse in [false, true] {
        let options = GraphOptions { reverse, ..GraphOptions::default() };
        assert!(html(&[&empty], &options).contains(&format!("\"reverse\":{reverse}")));
    }
    let difference = diff(&empty, &empty, &DiffOptions::default());
    assert_eq!(boxes(&svg_diff(&difference, &GraphOptions::default())), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_names_hold_the_files_stay_well_formed(names in proptest::collection::vec(any::<String>(), 1..6)) {
        let mut builder = Builder::new(ProfileKind::Count);
        let thread = builder.thread(Thread { name: names[0].clone(), ..Thread::default() });
        let frames: Vec<_> = names.iter().map(|name| builder.frame(Frame { module: name.clone(), ..Frame::named(name, Origin::Lua) })).collect();
        let stack = builder.stack(&frames);
        builder.add(thread, stack, 1, 1);
        let profile = builder.finish();
        data(&html(&[&profile], &GraphOptions::default()));
        let svg = svg(&profile, &GraphOptions::default());
        prop_assert_eq!(boxes(&svg), frames.len() + 1);
        let mut reader = quick_xml::Reader::from_str(&svg);
        while reader.read_event().expect("well-formed") != quick_xml::events::Event::Eof {}
    }
}
