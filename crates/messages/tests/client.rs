//! The client for browsers stays small enough to be written into a page.

/// The most bytes of the source without comments and indentation, which is more than any minifier leaves.
const MAX_BYTES: usize = 2_048;

#[test]
fn the_client_has_less_than_two_kilobytes() {
    let lines = include_str!("../client/weir-messages.js").lines().map(str::trim);
    let code: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    let bytes = code.join("\n").len();
    assert!((1_000..MAX_BYTES).contains(&bytes), "{bytes} bytes");
}
