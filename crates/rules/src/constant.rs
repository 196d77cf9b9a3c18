//! The right sides of comparisons: constants, sets and named lists that fit a type.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::check::{Asked, Checker, order, type_name};
use crate::error::Span;
use crate::ir::{Literal, Predicate};
use crate::set::{self, AddressRange};
use crate::syntax::{IntOrIp, Item, Operand, OperandKind, Right, Word};
use crate::{Operator, Type, pattern};

impl Checker<'_> {
    /// What `operator` asks of a value of type `ty`, which it applies to.
    pub(crate) fn predicate(
        &mut self,
        left: &Operand<'_>,
        operator: Operator,
        ty: Type,
        right: &Right<'_>,
    ) -> Option<Asked> {
        let operand = match right {
            Right::Bad => return None,
            Right::Set(span, items) => return self.set(left, *span, items, ty).map(Asked::Predicate),
            Right::List(span, name) => return self.list(left, *span, name, ty).map(Asked::Predicate),
            Right::Operand(operand) => operand,
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
                (Some(Literal::Bytes(bytes)), Type::Bytes) => match order(operator) {
                    Some(comparison) => Predicate::Bytes(comparison, bytes),
                    None => Predicate::Contains(bytes),
                },
                (Some(Literal::Int(integer)), Type::Int) => Predicate::Int(order(operator)?, integer),
                (Some(Literal::Ip(address)), Type::Ip) => Predicate::Ip(order(operator)?, address),
                (Some(Literal::Bool(truth)), Type::Bool) => {
                    return Some(Asked::Truth(truth == (operator == Operator::Eq)));
                }
                _ => {
                    self.constant_misfit(left, operator, operand, ty);
                    return None;
                }
            },
        };
        Some(Asked::Predicate(predicate))
    }

    /// Checks what can be checked of a right side whose left side is unknown.
    pub(crate) fn check_alone(&mut self, operator: Operator, right: &Right<'_>) {
        match right {
            Right::List(span, name) if self.lists.kind(name).is_none() => self.unknown_list(*span, name),
            Right::Operand(Operand { kind: OperandKind::Text(text), span, .. }) if operator == Operator::Matches => {
                pattern::regex(text, *span, self.errors);
            }
            _ => {}
        }
    }

    fn list(&mut self, left: &Operand<'_>, span: Span, name: &str, ty: Type) -> Option<Predicate> {
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

    fn set(&mut self, left: &Operand<'_>, span: Span, items: &[(Span, Item<'_>)], ty: Type) -> Option<Predicate> {
        if items.is_empty() {
            self.errors.add(span, "the set is empty: nothing is in it", Some("write at least one item".into()));
            return None;
        }
        match ty {
            Type::Bytes => self.items(left, items, ty, bytes_item).map(|all| Predicate::BytesIn(set::strings(all))),
            Type::Int => self.items(left, items, ty, int_item).map(|all| Predicate::IntIn(set::integers(all))),
            Type::Ip => self.items(left, items, ty, ip_item).map(|all| Predicate::IpIn(set::networks(all))),
            Type::Bool => None,
        }
    }

    /// Every item read by `read`; those that it does not take are reported.
    fn items<T>(
        &mut self,
        left: &Operand<'_>,
        items: &[(Span, Item<'_>)],
        ty: Type,
        read: fn(&Item<'_>) -> Result<T, Misfit>,
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

fn bytes_item(item: &Item<'_>) -> Result<Vec<u8>, Misfit> {
    match item {
        Item::Text(text) => Ok(text.bytes.clone()),
        Item::Word(_) => Err(Misfit::Type),
    }
}

fn int_item(item: &Item<'_>) -> Result<(i64, i64), Misfit> {
    match *item {
        Item::Word(Word::Literal(IntOrIp::Int(integer))) => Ok((integer, integer)),
        Item::Word(Word::Integers(low, high)) if low <= high => Ok((low, high)),
        Item::Word(Word::Integers(..)) => Err(Misfit::Order),
        _ => Err(Misfit::Type),
    }
}

fn ip_item(item: &Item<'_>) -> Result<AddressRange, Misfit> {
    match *item {
        Item::Word(Word::Literal(IntOrIp::Ip(address))) => Ok(AddressRange::network(IpNet::from(address))),
        Item::Word(Word::Network(network)) => Ok(AddressRange::network(network)),
        Item::Word(Word::Addresses(low, high)) => AddressRange::between(low, high).ok_or(match (low, high) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => Misfit::Order,
            _ => Misfit::Type,
        }),
        _ => Err(Misfit::Type),
    }
}
