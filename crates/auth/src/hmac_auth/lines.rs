//! The text that is signed: a line for each component, in the order of the request's list.

use super::dialect::{Component, Row};
use super::parameters::Parameters;
use crate::excerpt::Excerpt;
use crate::{Failure, Reason, Request};

/// The most components: with it, looking each up among all others and among the fields stays linear.
const MAX_COMPONENTS: usize = 32;
/// The version that a request line is written with before others are tried.
pub(super) const VERSION: &str = "1.1";

/// The signed text with what its lines are of.
pub(super) struct Lines<'a> {
    /// The text.
    pub(super) text: Vec<u8>,
    /// Where [`VERSION`] stands in the text, if a request line is signed.
    pub(super) version: Option<usize>,
    /// The names of the components with their values; of a repeated field the first.
    signed: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Lines<'a> {
    /// Writes the text.
    pub(super) fn write(request: &Request<'a>, row: &Row, parameters: &Parameters<'a>) -> Result<Self, Failure> {
        let mut lines = Self { text: Vec::new(), version: None, signed: Vec::new() };
        if row.is_framed {
            lines.text.extend_from_slice(parameters.key_id);
            lines.text.push(b'\n');
        }
        for name in parameters.components.split(|byte| *byte == b' ').filter(|name| !name.is_empty()) {
            if lines.signed.len() == MAX_COMPONENTS {
                return Err(Failure::new(Reason::TooLarge, format!("more than {MAX_COMPONENTS} signed components")));
            }
            if lines.find(name).is_some() {
                return Err(Failure::new(Reason::Duplicated, format!("component {} is listed twice", Excerpt(name))));
            }
            if !lines.signed.is_empty() {
                lines.text.push(b'\n');
            }
            lines.line(request, row, parameters, name)?;
        }
        if row.is_framed {
            lines.text.push(b'\n');
        }
        Ok(lines)
    }

    /// The value of a signed component by its name in any case.
    pub(super) fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.find(name.as_bytes())
    }

    fn find(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.signed.iter().find(|(signed, _)| signed.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Writes the line of a component, without its end.
    fn line(
        &mut self,
        request: &Request<'a>,
        row: &Row,
        parameters: &Parameters<'a>,
        name: &'a [u8],
    ) -> Result<(), Failure> {
        let component = row.component(name);
        if !matches!(component, Some(Component::BareTarget | Component::RequestLine)) {
            let start = self.text.len();
            self.text.extend_from_slice(name);
            self.text.extend_from_slice(b": ");
            if row.lowers_names {
                self.text[start..].make_ascii_lowercase();
            }
        }
        let value = match component {
            Some(Component::BareTarget) => self.target(request, request.method),
            Some(Component::LowerTarget) => self.target(request, &request.method.to_ascii_lowercase()),
            Some(Component::RequestLine) => {
                let value = self.target(request, request.method);
                self.text.extend_from_slice(b" HTTP/");
                self.version = Some(self.text.len());
                self.text.extend_from_slice(VERSION.as_bytes());
                value
            }
            Some(Component::Created) => self.single(name, parameters.created)?,
            Some(Component::Expires) => self.single(name, parameters.expires)?,
            // In HTTP/2 there may be no such field.
            None if name.eq_ignore_ascii_case(b"host") => self.single(name, Some(request.authority))?,
            None => self.values(request, row, name)?,
        };
        self.signed.push((name, value));
        Ok(())
    }

    /// Writes method and target.
    fn target(&mut self, request: &Request<'a>, method: &[u8]) -> &'a [u8] {
        self.text.extend_from_slice(method);
        self.text.push(b' ');
        self.text.extend_from_slice(request.target);
        request.target
    }

    /// Writes a value that is not a field's.
    fn single(&mut self, name: &[u8], value: Option<&'a [u8]>) -> Result<&'a [u8], Failure> {
        let value = value.filter(|value| !value.is_empty()).ok_or_else(|| absent(name))?;
        self.text.extend_from_slice(value);
        Ok(value)
    }

    /// Writes the values of a field; the first.
    fn values(&mut self, request: &Request<'a>, row: &Row, name: &[u8]) -> Result<&'a [u8], Failure> {
        let lower = name.to_ascii_lowercase();
        let mut values = request.values(&lower);
        let first = values.next().ok_or_else(|| absent(name))?;
        self.text.extend_from_slice(first);
        for value in values {
            let Some(separator) = row.joins_values else {
                return Err(Failure::new(
                    Reason::Duplicated,
                    format!("the signed field {} is there twice", Excerpt(name)),
                ));
            };
            self.text.extend_from_slice(separator);
            self.text.extend_from_slice(value);
        }
        Ok(first)
    }
}

fn absent(name: &[u8]) -> Failure {
    Failure::new(Reason::Incomplete, format!("the signed component {} is not there", Excerpt(name)))
}
