//! Turns the syntax tree into the typed form: resolves names, checks types, builds tests. All
//! mistakes in the text are found in one pass.

use crate::error::{Errors, Span};
use crate::fold;
use crate::ir::{Access, Comparison, Expr, Literal, Predicate, Quantifier, Test, ValueExpr};
use crate::syntax::{Index, Node, Operand, OperandKind, RightSide, Word};
use crate::{Field, Function, ListKinds, Operator, Shape, ValueType};

pub(crate) struct Checker<'c> {
    pub text: &'c str,
    pub lists: &'c dyn ListKinds,
    pub errors: &'c mut Errors,
}

impl Checker<'_> {
    /// Checks a condition; returns `None` after reporting an error. Inside `any()` or `all()`,
    /// `quantifier` is the enclosing one.
    pub fn condition(&mut self, node: &Node<'_>, quantifier: Option<Quantifier>) -> Option<Expr> {
        match node {
            Node::Bad => None,
            Node::Not(inner) => self.condition(inner, quantifier.map(opposite)).map(fold::not),
            Node::And(all) => self.chain(all, quantifier).map(fold::and),
            Node::Or(all) => self.chain(all, quantifier).map(fold::or),
            Node::Xor(left, right) => {
                let left = self.condition(left, quantifier);
                let right = self.condition(right, quantifier);
                Some(fold::xor(left?, right?))
            }
            Node::Quantified(quantifier, name, inner) => {
                if let Some(message) = joins(inner, *quantifier) {
                    let hint = "write each comparison in its own any(...) or all(...), and join those".to_owned();
                    self.errors.add(*name, message, Some(hint));
                }
                self.condition(inner, Some(*quantifier))
            }
            Node::Value(value) => self.lone_value(value, quantifier.unwrap_or(Quantifier::Any)),
            Node::Compare(value, operator, span, right) => {
                self.comparison(value, *operator, *span, right, quantifier.unwrap_or(Quantifier::Any))
            }
        }
    }

    fn chain(&mut self, all: &[Node<'_>], quantifier: Option<Quantifier>) -> Option<Vec<Expr>> {
        let checked: Vec<Option<Expr>> = all.iter().map(|one| self.condition(one, quantifier)).collect();
        checked.into_iter().collect()
    }

    /// A value that stands alone as a condition.
    fn lone_value(&mut self, operand: &Operand<'_>, quantifier: Quantifier) -> Option<Expr> {
        if let Some(Literal::Bool(truth)) = operand.literal() {
            return Some(Expr::Const(truth));
        }
        if let Some(literal) = operand.literal() {
            let message = format!("expected a condition, found {}", type_name(literal.ty()));
            self.errors.add(operand.span, message, Some("a condition begins with a field or a function".into()));
            return None;
        }
        let (value, ty) = self.value(operand)?;
        if ty == ValueType::Bool {
            return Some(truth_test(value, quantifier));
        }
        let message = format!("expected a condition, found `{}`, which is {}", self.shown(operand.span), type_name(ty));
        let example = match ty {
            ValueType::Ip => "in {192.0.2.0/24}",
            ValueType::Int => "gt 0",
            _ => "ne \"\"",
        };
        let hint = format!("compare it, as in `{} {example}`", self.shown(operand.span));
        self.errors.add(operand.span, message, Some(hint));
        None
    }

    fn comparison(
        &mut self,
        left: &Operand<'_>,
        operator: Operator,
        span: Span,
        right: &RightSide<'_>,
        quantifier: Quantifier,
    ) -> Option<Expr> {
        if left.literal().is_some() {
            let message = "expected a field or a function on the left side, found a constant";
            let hint = match right {
                RightSide::Operand(field) if field.literal().is_none() => {
                    let swapped = swapped(operator);
                    Some(format!(
                        "turn it around: {} {} {}",
                        self.shown(field.span),
                        swapped.info().name,
                        self.shown(left.span)
                    ))
                }
                _ => None,
            };
            self.errors.add(left.span, message, hint);
            return None;
        }
        let Some((value, ty)) = self.value(left) else {
            // Mistakes on the right side are reported whatever the type of the left.
            self.check_alone(operator, right);
            return None;
        };
        if !operator.info().types.contains(&ty) {
            self.operator_misfit(left, operator, span, ty);
            return None;
        }
        let predicate = self.predicate(left, operator, ty, right)?;
        let quantifier = if single(&value) { Quantifier::Any } else { quantifier };
        let ComparisonTest::Predicate(predicate) = predicate else {
            let ComparisonTest::Truth(truth) = predicate else { return None };
            let quantifier = if truth { quantifier } else { opposite(quantifier) };
            let test = truth_test(value, quantifier);
            return Some(if truth { test } else { fold::not(test) });
        };
        Some(Expr::Test(Test { value, quantifier, predicate }))
    }

    /// Checks a value, which may be a constant, and returns its type.
    pub fn value(&mut self, operand: &Operand<'_>) -> Option<(ValueExpr, ValueType)> {
        match &operand.kind {
            OperandKind::Call(name_span, name, arguments) => {
                let indexed = self.call_indexes(operand);
                let call = self.call(*name_span, name, arguments);
                indexed.then_some(call).flatten()
            }
            OperandKind::Word(Word::Name(name)) => self.field(operand, name),
            OperandKind::Text(_) | OperandKind::Word(_) => {
                let Some(literal) = operand.literal() else {
                    let hint = (!operand.indexes.is_empty()).then(|| "only fields have indexes".to_owned());
                    let message = format!("expected a value, found `{}`", self.shown(operand.span));
                    self.errors.add(operand.span, message, hint);
                    return None;
                };
                let ty = literal.ty();
                Some((ValueExpr::Literal(literal), ty))
            }
        }
    }

    fn field(&mut self, operand: &Operand<'_>, name: &str) -> Option<(ValueExpr, ValueType)> {
        let Some(row) = Field::from_name(name) else {
            let start = operand.span.start;
            self.unknown_name(Span::new(start, start + name.len()), name);
            return None;
        };
        let mut access = Access { field: row.field, key: None, index: None };
        let mut each = false;
        for (span, index) in &operand.indexes {
            let fits = match index {
                _ if each || access.index.is_some() => false,
                Index::Each => row.shape != Shape::Scalar,
                Index::Number(_) => row.shape == Shape::Array || access.key.is_some(),
                Index::Key(_) => row.shape == Shape::Map && access.key.is_none(),
            };
            if !fits {
                self.index_misfit(*span, row, index, &access, each);
                return None;
            }
            match index {
                Index::Each => each = true,
                Index::Number(number) => access.index = Some(*number),
                Index::Key(key) if row.field.folds_names() => access.key = Some(key.to_ascii_lowercase()),
                Index::Key(key) => access.key = Some(key.clone()),
            }
        }
        Some((ValueExpr::Field(access), row.ty))
    }

    /// Only `[*]` may follow a call, and it changes nothing.
    fn call_indexes(&mut self, operand: &Operand<'_>) -> bool {
        let wrong =
            operand.indexes.iter().enumerate().find(|(at, (_, index))| *at > 0 || !matches!(index, Index::Each));
        if let Some((_, (span, _))) = wrong {
            let hint = "index the field inside the call".to_owned();
            self.errors.add(*span, "expected nothing or [*] after a function call, found an index", Some(hint));
        }
        wrong.is_none()
    }

    fn call(&mut self, span: Span, name: &str, arguments: &[Operand<'_>]) -> Option<(ValueExpr, ValueType)> {
        let Some(row) = Function::from_name(name) else {
            self.unknown_function(span, name);
            return None;
        };
        let checked: Vec<Option<(ValueExpr, ValueType)>> = arguments.iter().map(|one| self.value(one)).collect();
        let most = if row.variadic { usize::MAX } else { row.parameters.len() };
        if arguments.len() < row.required || arguments.len() > most {
            let wanted = match (row.required, most) {
                (least, usize::MAX) => format!("at least {least}"),
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            let message = format!(
                "{name}() takes {wanted} argument{}, found {}",
                if wanted.ends_with("least 1") || wanted == "1" { "" } else { "s" },
                arguments.len()
            );
            self.errors.add(span, message, Some(format!("write {}", row.signature())));
            return None;
        }
        let mut values = Vec::with_capacity(checked.len());
        let mut fine = true;
        for (at, (argument, checked)) in arguments.iter().zip(checked).enumerate() {
            let Some((value, ty)) = checked else {
                fine = false;
                continue;
            };
            let parameter = row.parameters[at.min(row.parameters.len() - 1)];
            if ty != parameter && !(row.converts && parameter == ValueType::Bytes) {
                self.argument_misfit(argument, row, at, parameter, ty);
                fine = false;
            }
            values.push(value);
        }
        if fine && row.function == Function::Cidr {
            fine = self.prefix_lengths(arguments);
        }
        fine.then_some((ValueExpr::Call(row.function, values), row.returns))
    }

    /// Checks that the constant prefix lengths passed to `cidr()` are possible.
    fn prefix_lengths(&mut self, arguments: &[Operand<'_>]) -> bool {
        let mut fine = true;
        for (argument, most) in arguments[1..].iter().zip([32, 128]) {
            if let Some(Literal::Int(length)) = argument.literal()
                && !(0..=most).contains(&length)
            {
                let message = format!("expected a prefix length from 0 to {most}, found {length}");
                self.errors.add(argument.span, message, None);
                fine = false;
            }
        }
        fine
    }

    /// The text at `span`, shortened for a message.
    pub fn shown(&self, span: Span) -> String {
        crate::suggest::shorten(span.of(self.text))
    }
}

/// The test that a comparison makes.
pub(crate) enum ComparisonTest {
    Predicate(Predicate),
    /// A boolean equals this.
    Truth(bool),
}

/// Tests that a boolean value is true. `starts_with` and `ends_with` with a constant become
/// predicates of their first argument, so that they share its lane.
fn truth_test(value: ValueExpr, quantifier: Quantifier) -> Expr {
    let quantifier = if single(&value) { Quantifier::Any } else { quantifier };
    let ValueExpr::Call(function @ (Function::StartsWith | Function::EndsWith), mut arguments) = value else {
        return Expr::Test(Test { value, quantifier, predicate: Predicate::IsTrue });
    };
    if let [subject, ValueExpr::Literal(Literal::Bytes(_))] = arguments.as_slice() {
        let constant = matches!(subject, ValueExpr::Literal(_));
        let Some(ValueExpr::Literal(Literal::Bytes(part))) = arguments.pop() else { unreachable!("just seen") };
        let subject = arguments.pop().expect("two arguments");
        let starts = function == Function::StartsWith;
        if constant {
            let ValueExpr::Literal(Literal::Bytes(whole)) = subject else {
                unreachable!("just seen, and checked to be bytes")
            };
            return Expr::Const(if starts { whole.starts_with(&part) } else { whole.ends_with(&part) });
        }
        let predicate = if starts { Predicate::StartsWith(part) } else { Predicate::EndsWith(part) };
        return Expr::Test(Test { value: subject, quantifier, predicate });
    }
    Expr::Test(Test { value: ValueExpr::Call(function, arguments), quantifier, predicate: Predicate::IsTrue })
}

/// Whether there is always exactly one value, so that `any` and `all` mean the same.
fn single(value: &ValueExpr) -> bool {
    let mut single = true;
    value.fields(&mut |access| single &= access.field.info().shape == Shape::Scalar);
    single
}

fn opposite(quantifier: Quantifier) -> Quantifier {
    match quantifier {
        Quantifier::Any => Quantifier::All,
        Quantifier::All => Quantifier::Any,
    }
}

/// Explains why the conditions inside any() or all() cannot be distributed over it, if they cannot:
/// any(P or Q) equals any(P) or any(Q), but the same does not hold for `and`.
fn joins(node: &Node<'_>, quantifier: Quantifier) -> Option<String> {
    let (outer, wrong) = match quantifier {
        Quantifier::Any => ("any", "and"),
        Quantifier::All => ("all", "or"),
    };
    let message = |wrong: &str| Some(format!("`{wrong}` cannot stand inside {outer}()"));
    match (node, quantifier) {
        (Node::And(_), Quantifier::Any) | (Node::Or(_), Quantifier::All) => message(wrong),
        (Node::Xor(..), _) => message("xor"),
        (Node::Not(inner), _) => joins(inner, opposite(quantifier)),
        (Node::And(all) | Node::Or(all), _) => all.iter().find_map(|one| joins(one, quantifier)),
        _ => None,
    }
}

/// The operator with the same meaning when its sides are swapped.
fn swapped(operator: Operator) -> Operator {
    match operator {
        Operator::Lt => Operator::Gt,
        Operator::Le => Operator::Ge,
        Operator::Gt => Operator::Lt,
        Operator::Ge => Operator::Le,
        other => other,
    }
}

/// The comparison for an operator, if it is one of the six order operators.
pub(crate) fn comparison_of(operator: Operator) -> Option<Comparison> {
    Some(match operator {
        Operator::Eq => Comparison::Eq,
        Operator::Ne => Comparison::Ne,
        Operator::Lt => Comparison::Lt,
        Operator::Le => Comparison::Le,
        Operator::Gt => Comparison::Gt,
        Operator::Ge => Comparison::Ge,
        _ => return None,
    })
}

/// The name of a type in messages.
pub(crate) fn type_name(ty: ValueType) -> &'static str {
    match ty {
        ValueType::Bytes => "a string",
        ValueType::Int => "an integer",
        ValueType::Bool => "true or false",
        ValueType::Ip => "an IP address",
    }
}
