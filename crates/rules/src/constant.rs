//! The right sides of comparisons: constants, sets and named lists that fit a type.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::check::{Checker, ComparisonTest, comparison_of, type_name};
use crate::error::Span;
use crate::ir::{Literal, Predicate};
use crate::set::{self, AddressRange};
use crate::syntax::{IntOrIp, Operand, OperandKind, RightSide, SetItem, Word};
use crate::{Operator, ValueType, pattern};

impl Checker<'_> {
    /// The test that `operator`, which applies to `ty`, makes of a value of type `ty`.
    pub(crate) fn predicate(
        &mut self,
        left: &Operand<'_>,
        operator: Operator,
        ty: ValueType,
        right: &RightSide<'_>,
    ) -> Option<ComparisonTest> {
        let operand = match right {
            RightSide::Bad => return None,
            RightSide::Set(span, items) => return self.set(left, *span, items, ty).map(ComparisonTest::Predicate),
            RightSide::List(span, name) => return self.list(left, *span, name, ty).map(ComparisonTest::Predicate),
            RightSide::Operand(operand) => operand,
        };
        let predicate = match (operator, &operand.kind) {
            (Operator::Matches, OperandKind::Text(text)) => {
                Predicate::Matches(pattern::regex(text, operand.span, self.errors)?)
            }
            (Operator::Wildcard | Operator::StrictWildcard, OperandKind::Text(text)) => Predicate::Wildcard {
                pattern: pattern::wildcard(text, operand.span, self.errors)?,
                strict: operator == Operator::StrictWildcard,
            },
            _ => match (operand.literal(), ty) {
                (Some(Literal::Bytes(bytes)), ValueType::Bytes) => match comparison_of(operator) {
                    Some(comparison) => Predicate::Bytes(comparison, bytes),
                    None => Predicate::Contains(bytes),
                },
                (Some(Literal::Int(integer)), ValueType::Int) => Predicate::Int(comparison_of(operator)?, integer),
                (Some(Literal::Ip(address)), ValueType::Ip) => Predicate::Ip(comparison_of(operator)?, address),
                (Some(Literal::Bool(truth)), ValueType::Bool) => {
                    return Some(ComparisonTest::Truth(truth == (operator == Operator::Eq)));
                }
                _ => {
                    self.constant_misfit(left, operator, operand, ty);
                    return None;
                }
            },
        };
        Some(ComparisonTest::Predicate(predicate))
    }

    /// Checks as much of the right side as is possible without knowing the left.
    pub(crate) fn check_alone(&mut self, operator: Operator, right: &RightSide<'_>) {
        match right {
            RightSide::List(span, name) if self.lists.kind(name).is_none() => self.unknown_list(*span, name),
            RightSide::Operand(Operand { kind: OperandKind::Text(text), span, .. })
                if operator == Operator::Matches =>
            {
                pattern::regex(text, *span, self.errors);
            }
            _ => {}
        }
    }

    fn list(&mut self, left: &Operand<'_>, span: Span, name: &str, ty: ValueType) -> Option<Predicate> {
        let Some(kind) = self.lists.kind(name) else {
            self.unknown_list(span, name);
            return None;
        };
        if kind.ty() == ty {
            return Some(Predicate::InList(name.to_owned()));
        }
        let left = self.shown(left.span);
        let message = format!("`${name}` is a list of {}, but `{left}` is {}", kind.name(), type_name(ty));
        let mut fitting: Vec<String> = self.lists.names();
        fitting.retain(|name| self.lists.kind(name).is_some_and(|kind| kind.ty() == ty));
        fitting.sort();
        let names: Vec<String> = fitting.iter().take(5).map(|name| format!("${name}")).collect();
        let hint = (!names.is_empty()).then(|| format!("lists that fit: {}", names.join(", ")));
        self.errors.add(span, message, hint);
        None
    }

    fn set(
        &mut self,
        left: &Operand<'_>,
        span: Span,
        items: &[(Span, SetItem<'_>)],
        ty: ValueType,
    ) -> Option<Predicate> {
        if items.is_empty() {
            self.errors.add(span, "the set is empty", Some("write at least one item".into()));
            return None;
        }
        match ty {
            ValueType::Bytes => {
                self.items(left, items, ty, bytes_item).map(|all| Predicate::BytesIn(set::strings(all)))
            }
            ValueType::Int => self.items(left, items, ty, int_item).map(|all| Predicate::IntIn(set::integers(all))),
            ValueType::Ip => self.items(left, items, ty, ip_item).map(|all| Predicate::IpIn(set::networks(all))),
            ValueType::Bool => None,
        }
    }

    /// Converts every item with `read` and reports the items that it rejects.
    fn items<T>(
        &mut self,
        left: &Operand<'_>,
        items: &[(Span, SetItem<'_>)],
        ty: ValueType,
        read: fn(&SetItem<'_>) -> Result<T, Misfit>,
    ) -> Option<Vec<T>> {
        let mut all = Vec::with_capacity(items.len());
        for (span, item) in items {
            match read(item) {
                Ok(one) => all.push(one),
                Err(Misfit::Order) => {
                    let text = span.of(self.text);
                    let hint = text.split_once("..").map(|(low, high)| format!("did you mean `{high}..{low}`?"));
                    let message = format!("the range `{text}` must go from the lower end to the higher");
                    self.errors.add(*span, message, hint);
                }
                Err(Misfit::Type) => self.item_misfit(left, *span, item, ty),
            }
        }
        (all.len() == items.len()).then_some(all)
    }
}

/// Why an item cannot be in a set.
enum Misfit {
    Type,
    Order,
}

fn bytes_item(item: &SetItem<'_>) -> Result<Vec<u8>, Misfit> {
    match item {
        SetItem::Text(text) => Ok(text.bytes.clone()),
        SetItem::Word(_) => Err(Misfit::Type),
    }
}

fn int_item(item: &SetItem<'_>) -> Result<(i64, i64), Misfit> {
    match *item {
        SetItem::Word(Word::Literal(IntOrIp::Int(integer))) => Ok((integer, integer)),
        SetItem::Word(Word::Integers(low, high)) if low <= high => Ok((low, high)),
        SetItem::Word(Word::Integers(..)) => Err(Misfit::Order),
        _ => Err(Misfit::Type),
    }
}

fn ip_item(item: &SetItem<'_>) -> Result<AddressRange, Misfit> {
    match *item {
        SetItem::Word(Word::Literal(IntOrIp::Ip(address))) => Ok(AddressRange::network(IpNet::from(address))),
        SetItem::Word(Word::Network(network)) => Ok(AddressRange::network(network)),
        SetItem::Word(Word::Addresses(low, high)) => AddressRange::between(low, high).ok_or(match (low, high) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => Misfit::Order,
            _ => Misfit::Type,
        }),
        _ => Err(Misfit::Type),
    }
}
