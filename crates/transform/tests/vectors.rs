//! ModSecurity's test vectors of the transformations (see NOTICE): `vectors/transformations.jsonl` has a line for each
//! with name, input and output, whose characters are bytes.

use bumpalo::Bump;
use weir_transform::Transformation;

#[test]
fn published_vectors_hold() {
    let (mut passed, mut failures) = (0, Vec::new());
    for line in include_str!("vectors/transformations.jsonl").lines() {
        let [name, input, expected]: [String; 3] = serde_json::from_str(line).unwrap();
        let transformation = Transformation::named(&name).unwrap_or_else(|| panic!("no transformation {name}"));
        let (arena, input, expected) = (Bump::new(), bytes(&input), bytes(&expected));
        let output = transformation.apply(&arena, &input);
        if output == expected {
            passed += 1;
            continue;
        }
        let [input, expected, output] = [&input[..], &expected, output].map(<[u8]>::escape_ascii);
        failures.push(format!("{name} of \"{input}\": expected \"{expected}\", got \"{output}\""));
    }
    println!("{passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(passed, 355);
}

fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(character).expect("a byte")).collect()
}
