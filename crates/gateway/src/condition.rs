//! Conditions on header fields, arguments and cookies, ready to test.

use std::sync::Arc;

use crate::{
    pattern::Regex,
    refusal::Refusal,
    resource::{Condition, Test},
};

/// A condition on a named value. If the value is missing, only `Present(false)` holds.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub name: Box<str>,
    test: CompiledTest,
}

#[derive(Clone, Debug)]
enum CompiledTest {
    Is(Box<[u8]>),
    OneOf(Box<[Box<[u8]>]>),
    Regex(Arc<Regex>),
    Present(bool),
}

impl Compiled {
    /// `regex` finds the compiled form of an expression.
    pub fn new(
        condition: &Condition,
        regex: &mut dyn FnMut(&str) -> Result<Arc<Regex>, Refusal>,
    ) -> Result<Self, Refusal> {
        let test = match &condition.test {
            Test::Is(text) => CompiledTest::Is(text.as_bytes().into()),
            Test::OneOf(texts) => CompiledTest::OneOf(texts.iter().map(|text| text.as_bytes().into()).collect()),
            Test::Regex(text) => CompiledTest::Regex(regex(text)?),
            Test::Present(present) => CompiledTest::Present(*present),
        };
        Ok(Self { name: condition.name.as_str().into(), test })
    }

    pub fn holds(&self, value: Option<&[u8]>) -> bool {
        match (&self.test, value) {
            (CompiledTest::Present(present), value) => value.is_some() == *present,
            (_, None) => false,
            (CompiledTest::Is(text), Some(value)) => **text == *value,
            (CompiledTest::OneOf(texts), Some(value)) => texts.iter().any(|text| **text == *value),
            (CompiledTest::Regex(regex), Some(value)) => regex.is_whole(value),
        }
    }
}
