//! The smallest request that still shows a difference: headers left out, then ever smaller pieces
//! of target, values and body, as long as the two disagree (Zeller, Hildebrandt: Simplifying and
//! isolating failure-inducing input, 2002; without its complements, which save little here).

use super::request::Request;
use weir_measure::error::MeasureError;

/// Requests that may be tried for one example.
const TRIES: usize = 600;

/// Shrinks `request`, for which `holds` is true, while that stays so.
pub fn shrink(
    request: &Request,
    holds: &mut dyn FnMut(&Request) -> Result<bool, MeasureError>,
) -> Result<Request, MeasureError> {
    let mut search = Search { best: request.clone(), tries: 0, holds };
    let mut header = 0;
    while header < search.best.headers.len() {
        let mut candidate = search.best.clone();
        candidate.headers.remove(header);
        if !search.accept(candidate)? {
            header += 1;
        }
    }
    search.pieces(1, |request| Some(&mut request.target))?;
    search.pieces(0, |request| Some(&mut request.body))?;
    for index in 0..search.best.headers.len() {
        search.pieces(0, |request| request.headers.get_mut(index).map(|(_, value)| value))?;
    }
    Ok(search.best)
}

struct Search<'s> {
    best: Request,
    tries: usize,
    holds: &'s mut dyn FnMut(&Request) -> Result<bool, MeasureError>,
}

impl Search<'_> {
    fn accept(&mut self, candidate: Request) -> Result<bool, MeasureError> {
        if self.tries >= TRIES {
            return Ok(false);
        }
        self.tries += 1;
        let good = (self.holds)(&candidate)?;
        if good {
            self.best = candidate;
        }
        Ok(good)
    }

    /// Removes pieces of the bytes that `part` finds, of half of their length down to one byte.
    /// The first `fixed` bytes stay.
    fn pieces(
        &mut self,
        fixed: usize,
        part: impl Fn(&mut Request) -> Option<&mut Vec<u8>>,
    ) -> Result<(), MeasureError> {
        let mut size = part(&mut self.best).map_or(0, |bytes| bytes.len() / 2);
        while size > 0 && self.tries < TRIES {
            let mut from = fixed;
            loop {
                let mut candidate = self.best.clone();
                let Some(bytes) = part(&mut candidate).filter(|bytes| from < bytes.len()) else { break };
                bytes.drain(from..(from + size).min(bytes.len()));
                let length = candidate.body.len().to_string().into_bytes();
                if let Some((_, own)) = candidate.headers.iter_mut().find(|(name, _)| name == "Content-Length") {
                    *own = length;
                }
                if !self.accept(candidate)? {
                    from += size;
                }
            }
            size /= 2;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes_and_what_matters_stays() {
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        let request = Request {
            method: "POST".into(),
            target: b"/path?a=1&evil=2&c=3".to_vec(),
            version: "1.1".into(),
            headers: vec![header("Host", "x"), header("Content-Length", "9"), header("A", "some evil words")],
            body: b"evil body".to_vec(),
        };
        let contains = |bytes: &[u8]| bytes.windows(4).any(|window| window == b"evil");
        let mut holds = |request: &Request| {
            let value = request.headers.iter().find(|(name, _)| name == "A").is_some_and(|(_, value)| contains(value));
            Ok(contains(&request.target) && value && request.headers.iter().any(|(name, _)| name == "Content-Length"))
        };
        let small = shrink(&request, &mut holds).unwrap();
        assert_eq!(small.shown(), "POST /evil HTTP/1.1\nContent-Length: 0\nA: evil\n\n");
    }
}
