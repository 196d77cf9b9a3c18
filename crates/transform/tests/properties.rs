//! Properties of every transformation for every input.

use std::sync::Arc;

use bumpalo::Bump;
use proptest::collection::vec;
use proptest::prelude::*;
use weir_transform::{ByteSet, MAX_FIXED_OUTPUT, MAX_GROWTH, Transformation};

#[path = "../../../tests/harness/hang.rs"]
mod hang;

/// Bytes that are significant to a transformation, alone or with their neighbours.
const TELLING: &[u8] = b"/\\.*-<!>#%+uUxX&;\"'^,( \t\n\r\x0b0123479afAFgz=\0\x80\xa0\xc2\xc3\xe2\xed\xf0\xf5\xff";

fn input() -> impl Strategy<Value = Vec<u8>> {
    let words = vec(prop::sample::select(b"abcXYZ019+/=-_".to_vec()), 0..200);
    prop_oneof![vec(any::<u8>(), 0..200), vec(prop::sample::select(TELLING), 0..200), words]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn output_is_bounded_and_borrowed_if_unchanged(input in input()) {
        let occurring = ByteSet::of(&input);
        for &transformation in Transformation::ALL {
            let arena = Bump::new();
            let output = transformation.apply(&arena, &input);
            let name = transformation.info().name;
            prop_assert!(output.len() <= (input.len() * MAX_GROWTH).max(MAX_FIXED_OUTPUT), "{name}");
            prop_assert_eq!(output == &input[..], std::ptr::eq(output, &input[..]), "{}", name);
            if !transformation.may_change(&occurring) {
                prop_assert!(std::ptr::eq(output, &input[..]), "{name}");
            }
            prop_assert_eq!(output, transformation.simplest(&occurring).apply(&arena, &input), "{}", name);
            prop_assert!(output.is_empty() || !transformation.empties(&occurring), "{name}");
            if let Some((after, is_exact)) = transformation.bytes_after(&occurring) {
                let made = ByteSet::of(output);
                prop_assert!(if is_exact { made == after } else { made.is_subset(&after) }, "{name}: {after:?} of {made:?}");
            }
        }
    }

    #[test]
    fn occurring_bytes_are_found_in_values_of_any_length(input in input()) {
        let occurring = ByteSet::of(&input);
        for byte in 0..=255 {
            prop_assert_eq!(occurring.contains(byte), input.contains(&byte));
        }
        prop_assert_eq!(occurring, ByteSet::from_list(&input));
    }
}

#[test]
fn each_name_finds_its_transformation() {
    for &transformation in Transformation::ALL {
        let info = transformation.info();
        for name in info.aliases.iter().chain([&info.name]) {
            let expected = (transformation != Transformation::UrlDecodeUniMapped).then_some(transformation);
            assert_eq!(Transformation::named(name), expected, "{name}");
            assert_eq!(Transformation::named(&name.to_uppercase()), expected, "{name}");
        }
    }
    assert_eq!(Transformation::named("none"), None);
    assert_eq!(Transformation::named("phpArgsNames"), None);
}

#[test]
fn sets_answer_as_sets_do() {
    let digits = ByteSet::range(b'0', b'9');
    let some = ByteSet::from_list(b"a5\xff");
    assert_eq!((digits.len(), some.len(), ByteSet::ALL.len(), ByteSet::EMPTY.len()), (10, 3, 256, 0));
    assert!(digits.intersects(&some) && !digits.is_disjoint(&some));
    assert!(digits.minus(&some).is_disjoint(&some));
    assert!(digits.is_subset(&digits.union(&some)) && !some.is_subset(&digits));
    assert!(ByteSet::EMPTY.is_empty() && ByteSet::EMPTY.is_subset(&some) && !some.is_empty());
    assert_eq!(ByteSet::range(0, 255), ByteSet::ALL);
    assert_eq!(format!("{some:?}"), "ByteSet(\"5a\\xff\")");
}

/// Worst cases by shape: unclosed openings, nesting, repetition, back-references. A step that looked again at all that
/// came before would take hours on 8 MiB, and minutes with vector instructions.
#[test]
fn no_transformation_is_quadratic_in_any_value() {
    let shapes: &[&[u8]] = &[
        b"/*",
        b"*/",
        b"<!--",
        b"-->",
        b"../",
        b"a/../",
        b"/./",
        b"//",
        b".",
        b"\\",
        b"%",
        b"%u",
        b"&",
        b"&#",
        b"&#1",
        b"&a",
        b"0x",
        b"0x0",
        b"=",
        b"A",
        b"\0",
        b" ",
        b"\xc3",
        b"\xf0\x9f",
        b"\\1",
        b"-",
        b"/*x",
        b"*x-",
    ];
    for shape in shapes {
        let input: Arc<[u8]> = shape.iter().copied().cycle().take(1 << 23).collect();
        for &transformation in Transformation::ALL {
            let (what, input) = (format!("{transformation:?} of \"{}\"", shape.escape_ascii()), Arc::clone(&input));
            hang::ends(&what, move || {
                let _ = transformation.apply(&Bump::new(), &input);
            });
        }
    }
}
