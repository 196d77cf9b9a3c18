//! A request as both engines get it: parsed, so that what is compared is rules and not HTTP.

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method.
    pub method: String,
    /// Request target as it would stand in the request line; any bytes but spaces and controls.
    pub target: Vec<u8>,
    /// `1.0` or `1.1`.
    pub version: String,
    /// Name and value of each header, in order; values are any bytes but line breaks and zero.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Body; empty if there is none.
    pub body: Vec<u8>,
}

impl Request {
    /// The form that `bench/peers/modsecurity/rules.c` reads.
    #[must_use]
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 1024);
        string(&mut out, self.method.as_bytes());
        string(&mut out, &self.target);
        string(&mut out, self.version.as_bytes());
        length(&mut out, self.headers.len());
        for (name, value) in &self.headers {
            string(&mut out, name.as_bytes());
            string(&mut out, value);
        }
        string(&mut out, &self.body);
        out
    }

    /// The request as it would go over the wire, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut out = Vec::new();
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.target);
        out.extend_from_slice(format!(" HTTP/{}\n", self.version).as_bytes());
        for (name, value) in &self.headers {
            out.extend([name.as_bytes(), b": ", value, b"\n"].concat());
        }
        out.push(b'\n');
        out.extend_from_slice(&self.body);
        out.iter().fold(String::new(), |mut text, &byte| {
            match byte {
                b'\n' | b' '..=b'~' => text.push(char::from(byte)),
                _ => text.push_str(&format!("\\x{byte:02x}")),
            }
            text
        })
    }

    /// Sets a header, or adds it.
    pub fn set(&mut self, name: &str, value: Vec<u8>) {
        match self.headers.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            Some((_, own)) => *own = value,
            None => self.headers.push((name.to_owned(), value)),
        }
    }
}

fn length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("generated strings are short");
    out.extend_from_slice(&length.to_le_bytes());
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_preceded_by_its_length() {
        let mut request =
            Request { method: "GET".into(), target: b"/".into(), version: "1.1".into(), ..Request::default() };
        request.set("A", b"b\xff".to_vec());
        request.set("a", b"c".to_vec());
        assert_eq!(
            request.encoded(),
            b"\x03\0\0\0GET\x01\0\0\0/\x03\0\0\x001.1\x01\0\0\0\x01\0\0\0A\x01\0\0\0c\0\0\0\0"
        );
        assert_eq!(request.shown(), "GET / HTTP/1.1\nA: c\n\n");
    }
}
