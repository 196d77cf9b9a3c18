//! The path as nginx hands it to rules: decoded once, slashes merged, `.` and `..` resolved.
//!
//! nginx answers 400 to a path that climbs above its root or has a NUL; here that is a note, since
//! what rules would have said may be what somebody wants to know.

/// A path after normalisation.
#[derive(Debug, PartialEq, Eq)]
pub struct Normalised {
    /// As `$uri`.
    pub path: Vec<u8>,
    /// Whether nginx refuses the request for it.
    pub refused: bool,
}

/// Normalises the path of a target, which ends at `?` or `#`.
#[must_use]
pub fn normalise(target: &[u8]) -> Normalised {
    let end = target.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(target.len());
    let raw = &target[..end];
    if !raw.starts_with(b"/") {
        return Normalised { path: raw.to_vec(), refused: !raw.is_empty() && raw != b"*" };
    }
    let (decoded, mut refused) = decode(raw);
    let mut path: Vec<u8> = vec![b'/'];
    let mut segments = decoded[1..].split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            b"" | b"." => {}
            b".." => {
                refused |= path == b"/";
                path.pop();
                let parent = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
                path.truncate(parent);
                if path.is_empty() {
                    path.push(b'/');
                }
            }
            name => {
                path.extend_from_slice(name);
                if segments.peek().is_some() {
                    path.push(b'/');
                }
            }
        }
    }
    Normalised { path, refused }
}

/// Decodes `%41`; whether there was something that nginx refuses.
fn decode(raw: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(raw.len());
    let mut refused = false;
    let mut at = 0;
    while at < raw.len() {
        let digit = |place: usize| raw.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        match (raw[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                refused |= byte == b'%';
                out.push(byte);
                at += 1;
            }
        }
    }
    refused |= out.contains(&0);
    (out, refused)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_what_nginx_makes_of_them() {
        for (target, path, refused) in [
            ("/", "/", false),
            ("/a/b?c=/../d", "/a/b", false),
            ("/a//b/./c/", "/a/b/c/", false),
            ("/a/b/../c", "/a/c", false),
            ("/a/b/..", "/a/", false),
            ("/a/.", "/a/", false),
            ("/%61%2Fb", "/a/b", false),
            ("/a/%2e%2e/b", "/b", false),
            ("/../etc", "/etc", true),
            ("/a%00", "/a\0", true),
            ("/%zz", "/%zz", true),
            ("/a#b", "/a", false),
            ("*", "*", false),
        ] {
            let want = Normalised { path: path.as_bytes().to_vec(), refused };
            assert_eq!(normalise(target.as_bytes()), want, "{target}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_path_stays(target in "/[a-z./%]{0,40}") {
            let once = normalise(target.as_bytes()).path;
            prop_assert!(once.starts_with(b"/") && !once.windows(2).any(|two| two == b"//"));
        }
    }
}
