//! The obvious version of [`super::sorted`], for tests, fuzzing and benchmarks to compare with.

use crate::encoding;

/// The sorted text of a body; `None` if the body is not UTF-8.
#[must_use]
pub fn sorted_text(body: &[u8]) -> Option<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut token = String::new();
    for character in str::from_utf8(body).ok()?.chars() {
        if character.is_ascii_alphanumeric() || ('\u{4e00}'..='\u{9fa5}').contains(&character) {
            token.push(character);
        } else if !token.is_empty() {
            tokens.push(std::mem::take(&mut token));
        }
    }
    tokens.push(token);
    let encoded = encoding::base64(tokens.join("").as_bytes());
    let mut characters: Vec<char> = encoded.chars().collect();
    characters.sort_unstable();
    Some(characters.into_iter().collect())
}
