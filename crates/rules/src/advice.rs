//! Messages for unknown names and mismatched types: for each common mistake, a sentence that explains how to fix it.

use std::net::IpAddr;

use crate::check::{Checker, type_name};
use crate::error::Span;
use crate::ir::{Access, Literal};
use crate::suggest;
use crate::syntax::{Index, IntOrIp, Operand, OperandKind, SetItem, Word};
use crate::{Field, FieldInfo, Function, FunctionInfo, OPERATORS, Operator, Shape, ValueType};

impl Checker<'_> {
    /// Reports a name that is not a field, where a value was expected.
    pub(crate) fn unknown_name(&mut self, span: Span, name: &str) {
        if self.errors.is_full() {
            return;
        }
        let shown = suggest::shorten(name);
        if let Some(function) = Function::from_name(name) {
            let message = format!("`{name}` is a function and needs arguments");
            self.errors.add(span, message, Some(format!("write {}", function.signature())));
            return;
        }
        let hint = match suggest::field(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`weir docs` lists all fields".to_owned(),
        };
        self.errors.add(span, format!("unknown field `{shown}`"), Some(hint));
    }

    pub(crate) fn unknown_function(&mut self, span: Span, name: &str) {
        if self.errors.is_full() {
            return;
        }
        let shown = suggest::shorten(name);
        if let Some(row) = Field::from_name(name) {
            let hint = format!("write `{}` without parentheses", row.name);
            self.errors.add(span, format!("`{shown}` is a field, not a function"), Some(hint));
            return;
        }
        let hint = match suggest::function(name) {
            Some(near) => format!("did you mean `{near}()`?"),
            None => {
                format!("functions are {}", crate::FUNCTIONS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "))
            }
        };
        self.errors.add(span, format!("unknown function `{shown}`"), Some(hint));
    }

    pub(crate) fn unknown_list(&mut self, span: Span, name: &str) {
        if self.errors.is_full() {
            return;
        }
        let names = self.lists.names();
        let hint = match suggest::nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `${near}`?"),
            None if names.is_empty() => "no lists are defined; add one under `lists:`".to_owned(),
            None => {
                let mut names: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
                names.sort();
                names.truncate(8);
                format!("lists are {}", names.join(", "))
            }
        };
        self.errors.add(span, format!("unknown list `${}`", suggest::shorten(name)), Some(hint));
    }

    /// Reports an operator that does not apply to the type of its left side.
    pub(crate) fn operator_misfit(&mut self, left: &Operand<'_>, operator: Operator, span: Span, ty: ValueType) {
        let shown = self.shown(left.span);
        let message = format!("`{}` does not apply to `{shown}`, which is {}", operator.info().name, type_name(ty));
        let fitting: Vec<&str> = OPERATORS.iter().filter(|row| row.types.contains(&ty)).map(|row| row.name).collect();
        let hint = match (ty, operator) {
            (ValueType::Ip, _) => format!("use {}, as in `{shown} in {{192.0.2.0/24}}`", either(&fitting)),
            (ValueType::Bool, _) => format!("use `{shown}` or `not {shown}` on its own"),
            (ValueType::Int, Operator::Contains | Operator::Matches) => {
                format!("use {}, or compare to_string({shown})", either(&fitting))
            }
            _ => format!("use {}", either(&fitting)),
        };
        self.errors.add(span, message, Some(hint));
    }

    /// Reports a right side whose type differs from that of the left side.
    pub(crate) fn constant_misfit(
        &mut self,
        left: &Operand<'_>,
        operator: Operator,
        right: &Operand<'_>,
        ty: ValueType,
    ) {
        let shown = self.shown(right.span);
        let message = format!("expected {}, found {}", expected(operator, ty), found(right, &shown));
        let left = self.shown(left.span);
        let hint = match (&right.kind, ty) {
            (OperandKind::Word(Word::Name(name)), _) if Field::from_name(name).is_some() => {
                Some(format!("`{name}` is a field; the right side of `{}` is a constant", operator.info().name))
            }
            (OperandKind::Call(..), _) => Some("the right side is a constant; functions go on the left".to_owned()),
            (OperandKind::Word(Word::Literal(IntOrIp::Int(_))), ValueType::Bytes) if left.contains("country") => {
                Some("countries are two-letter codes, such as \"DE\"; AS numbers are in `ip.src.asnum`".to_owned())
            }
            (OperandKind::Word(_), ValueType::Bytes) => Some(format!("put text in double quotes: \"{shown}\"")),
            (OperandKind::Word(Word::Network(network)), ValueType::Ip) => {
                Some(format!("to test for a network write `{left} in {{{network}}}`"))
            }
            (OperandKind::Word(Word::Integers(..) | Word::Addresses(..)), _) => {
                Some(format!("to test for a range write `{left} in {{{shown}}}`"))
            }
            (OperandKind::Text(text), _) => unquote(&String::from_utf8_lossy(&text.bytes), &left, ty),
            (OperandKind::Word(Word::Name(name)), ValueType::Ip) if address_hint(name).is_some() => address_hint(name),
            (OperandKind::Word(Word::Name(name)), ValueType::Int)
                if name.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Some(format!("integers go from {} to {}", i64::MIN, i64::MAX))
            }
            (OperandKind::Word(Word::Name(name)), ValueType::Bool) if suggest::boolean(name).is_some() => {
                suggest::boolean(name).map(|near| format!("did you mean `{near}`?"))
            }
            (_, ValueType::Ip) => Some("write an address such as 192.0.2.1 or 2001:db8::1".to_owned()),
            (_, ValueType::Bool) => Some(format!("use `{left}` or `not {left}` on its own")),
            _ => None,
        };
        self.errors.add(right.span, message, hint);
    }

    /// Reports a set item whose type differs from that of the left side.
    pub(crate) fn item_misfit(&mut self, left: &Operand<'_>, span: Span, item: &SetItem<'_>, ty: ValueType) {
        let shown = self.shown(span);
        let found = match item {
            SetItem::Text(_) => format!("the string {shown}"),
            SetItem::Word(word) => word_found(word, &shown),
        };
        let hint = match (item, ty) {
            (SetItem::Word(Word::Literal(IntOrIp::Int(_))), ValueType::Bytes)
                if span_of(left, self.text).contains("country") =>
            {
                Some("countries are two-letter codes, such as \"DE\"; AS numbers are in `ip.src.asnum`".to_owned())
            }
            (SetItem::Word(_), ValueType::Bytes) => Some(format!("put text in double quotes: \"{shown}\"")),
            (SetItem::Text(text), _) => {
                let text = String::from_utf8_lossy(&text.bytes);
                let fits = matches!(
                    (Word::classify(&text), ty),
                    (Word::Literal(IntOrIp::Int(_)) | Word::Integers(..), ValueType::Int)
                        | (Word::Literal(IntOrIp::Ip(_)) | Word::Network(_) | Word::Addresses(..), ValueType::Ip)
                );
                fits.then(|| format!("write it without quotes: {text}"))
            }
            (SetItem::Word(Word::Name(name)), ValueType::Ip) => address_hint(name),
            _ => None,
        };
        self.errors.add(span, format!("expected {}, found {found}", set_item(ty)), hint);
    }

    /// Reports an index that the field does not support.
    pub(crate) fn index_misfit(&mut self, span: Span, row: &FieldInfo, index: &Index, access: &Access, each: bool) {
        let name = row.name;
        if each || access.index.is_some() {
            self.errors.add(span, "expected nothing after the last index", Some("remove this index".into()));
            return;
        }
        let (message, hint) = match (row.shape, index) {
            (Shape::Scalar, _) => (format!("`{name}` has one value and takes no index"), None),
            (Shape::Array, _) => (
                format!("`{name}` is an array and takes [*] or a number"),
                map_of(row)
                    .map(|map| format!("did you mean `{map}{}`?", self.shown(span)))
                    .or_else(|| Some(format!("write {name}[*] for all its values"))),
            ),
            (Shape::Map, Index::Number(_)) => (
                format!("`{name}` is a map and takes a name"),
                Some(format!("write {name}[\"name\"], and [0] after that")),
            ),
            (Shape::Map, _) => ("expected [*] or a number after the name".to_owned(), None),
        };
        self.errors.add(span, message, hint);
    }

    /// Reports an argument of the wrong type.
    pub(crate) fn argument_misfit(
        &mut self,
        argument: &Operand<'_>,
        row: &FunctionInfo,
        at: usize,
        wanted: ValueType,
        ty: ValueType,
    ) {
        let message = format!(
            "argument {} of {}() must be {}, `{}` is {}",
            at + 1,
            row.name,
            type_name(wanted),
            self.shown(argument.span),
            type_name(ty),
        );
        let hint = match (wanted, ty) {
            (ValueType::Bytes, ValueType::Int | ValueType::Ip) if argument.literal().is_none() => {
                Some(format!("convert it: to_string({})", self.shown(argument.span)))
            }
            (ValueType::Bytes, ValueType::Int | ValueType::Ip) => {
                Some(format!("put text in double quotes: \"{}\"", self.shown(argument.span)))
            }
            _ => Some(format!("write {}", row.signature())),
        };
        self.errors.add(argument.span, message, hint);
    }
}

/// Describes what an operator expects on its right side.
fn expected(operator: Operator, ty: ValueType) -> &'static str {
    match (operator, ty) {
        (Operator::Matches, _) => "a regular expression in double quotes",
        (Operator::Wildcard | Operator::StrictWildcard, _) => "a wildcard pattern in double quotes",
        (_, ValueType::Bytes) => "a string in double quotes",
        (_, ty) => type_name(ty),
    }
}

fn set_item(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Bytes => "a string in double quotes",
        ValueType::Int => "an integer or a range such as 80..90",
        ValueType::Ip => "an IP address, a network or a range of addresses",
        ValueType::Bool => type_name(ty),
    }
}

fn found(operand: &Operand<'_>, shown: &str) -> String {
    match &operand.kind {
        OperandKind::Text(_) => format!("the string {shown}"),
        OperandKind::Call(..) => format!("the function `{shown}`"),
        OperandKind::Word(word) => word_found(word, shown),
    }
}

fn word_found(word: &Word<'_>, shown: &str) -> String {
    match word {
        Word::Literal(IntOrIp::Int(_)) => format!("the integer {shown}"),
        Word::Literal(IntOrIp::Ip(_)) => format!("the IP address {shown}"),
        Word::Network(_) => format!("the network {shown}"),
        Word::Integers(..) | Word::Addresses(..) => format!("the range {shown}"),
        Word::Bool(_) | Word::Name(_) => format!("`{shown}`"),
    }
}

/// For a string in place of another type: the advice to drop the quotes, if the contents would fit.
fn unquote(text: &str, left: &str, ty: ValueType) -> Option<String> {
    match (Word::classify(text), ty) {
        (Word::Literal(IntOrIp::Int(_)), ValueType::Int)
        | (Word::Literal(IntOrIp::Ip(_)), ValueType::Ip)
        | (Word::Bool(_), ValueType::Bool) => Some(format!("write it without quotes: {text}")),
        (Word::Network(_) | Word::Addresses(..), ValueType::Ip) | (Word::Integers(..), ValueType::Int) => {
            Some(format!("write it in braces without quotes: {left} in {{{text}}}"))
        }
        (_, ValueType::Int) => Some(format!("`{left}` is an integer; compare it with a number")),
        (_, ValueType::Ip) => Some(format!("`{left}` is an IP address; compare it with one")),
        _ => None,
    }
}

/// Explains why text that resembles an address or network is not one.
fn address_hint(text: &str) -> Option<String> {
    if let Some((address, length)) = text.split_once('/') {
        return match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => Some(format!("the prefix length of an IPv4 network is 0 to 32, not {length}")),
            Ok(IpAddr::V6(_)) => Some(format!("the prefix length of an IPv6 network is 0 to 128, not {length}")),
            Err(_) => Some("a network is an address and a prefix length: 192.0.2.0/24".to_owned()),
        };
    }
    if let Some((low, high)) = text.split_once("..") {
        let same = matches!(
            (low.parse::<IpAddr>(), high.parse::<IpAddr>()),
            (Ok(IpAddr::V4(_)), Ok(IpAddr::V4(_))) | (Ok(IpAddr::V6(_)), Ok(IpAddr::V6(_)))
        );
        return (!same).then(|| "both ends of a range are whole addresses: 192.0.2.1..192.0.2.9".to_owned());
    }
    let dotted = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    dotted.then(|| "an IPv4 address has four numbers from 0 to 255: 192.0.2.1".to_owned())
}

/// The map field whose names or values `row` lists.
fn map_of(row: &FieldInfo) -> Option<&'static str> {
    let map = row.name.strip_suffix(".names").or_else(|| row.name.strip_suffix(".values"))?;
    Field::from_name(map).filter(|row| row.shape == Shape::Map).map(|row| row.name)
}

fn either(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => {
            let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", all.join(", "))
        }
        _ => names.iter().map(|name| format!("`{name}`")).collect(),
    }
}

fn span_of<'t>(operand: &Operand<'_>, text: &'t str) -> &'t str {
    operand.span.of(text)
}

impl Literal {
    /// The type of the constant.
    #[must_use]
    pub fn ty(&self) -> ValueType {
        match self {
            Self::Bytes(_) => ValueType::Bytes,
            Self::Int(_) => ValueType::Int,
            Self::Ip(_) => ValueType::Ip,
            Self::Bool(_) => ValueType::Bool,
        }
    }
}
