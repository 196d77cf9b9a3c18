//! The transformation vectors that the ModSecurity project publishes
//! (`secrules-language-tests`), if they are there: `SECLANG_TESTS` names the directory.

use std::fs;
use std::path::PathBuf;

use bumpalo::Bump;
use serde_json::Value;
use weir_transform::Transformation;

/// Transformations with vectors that ModSecurity v3 lacks: its grammar
/// (`src/parser/seclang-scanner.ll`) rejects them.
const OBSOLETE: &[&str] = &["phpArgsNames"];

/// The default directory of the vectors.
const BESIDE_THE_REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/secrules-language-tests");

#[test]
fn published_vectors_hold() {
    let root = std::env::var_os("SECLANG_TESTS").map_or_else(|| BESIDE_THE_REPOSITORY.into(), PathBuf::from);
    let Ok(files) = fs::read_dir(root.join("transformations")) else {
        println!("skipped: no vectors in {}", root.display());
        return;
    };
    let (mut passed, mut obsolete, mut failures) = (0, 0, Vec::new());
    for file in files.map(|file| file.unwrap().path()) {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        if OBSOLETE.contains(&name.as_str()) {
            obsolete += cases.len();
            continue;
        }
        let transformation = Transformation::named(&name).unwrap_or_else(|| panic!("no transformation {name}"));
        for case in &cases {
            let [input, expected] = ["input", "output"].map(|key| bytes(case[key].as_str().unwrap()));
            let holds = |input: &[u8], expected: &[u8]| transformation.apply(&Bump::new(), input) == expected;
            if holds(&input, &expected) {
                passed += 1;
            } else if [&input, &expected].iter().any(|text| text.contains(&0)) && holds(cut(&input), cut(&expected)) {
                passed += 1;
                println!("{name} holds up to its zero byte: \"{}\"", input.escape_ascii());
            } else {
                let arena = Bump::new();
                let output = transformation.apply(&arena, &input);
                let [input, expected, output] = [&input[..], &expected, output].map(<[u8]>::escape_ascii);
                failures.push(format!("{name} of \"{input}\": expected \"{expected}\", got \"{output}\""));
            }
        }
    }
    println!("{passed} passed, {} failed, {obsolete} obsolete", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(passed > 0, "no vectors in {}", root.display());
}

/// What the test runner of ModSecurity (`test/unit/unit_test.cc`) makes of a string: UTF-8, in
/// which `\xHH` stands for a byte, then `\uHHHH` for the low one. One that is not hexadecimal
/// leaves it with an undefined byte, the same in input and output; here the digit zero.
fn bytes(text: &str) -> Vec<u8> {
    unescape(&unescape(text.as_bytes(), b'x', 2), b'u', 4)
}

/// The part of a string that ModSecurity's runner sees where the JSON has a zero byte: its strings
/// come from C. One vector of `cssDecode` holds only so far: it was `\0`, a backslash and a digit,
/// before it became JSON.
fn cut(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn unescape(text: &[u8], kind: u8, digits: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(1..=digits).filter(|code| byte == b'\\' && tail[0] == kind && is_alphanumeric(code));
        let Some(code) = code else {
            out.push(byte);
            rest = tail;
            continue;
        };
        let value = std::str::from_utf8(code).ok().and_then(|code| u32::from_str_radix(code, 16).ok());
        out.push(value.map_or(b'0', |value| value as u8));
        rest = &tail[1 + digits..];
    }
    out
}

fn is_alphanumeric(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_alphanumeric)
}
