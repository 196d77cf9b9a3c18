//! Boolean operations that simplify while building: nested chains are merged, constants disappear,
//! double negations cancel. The evaluation order of the rest does not change.

use crate::ir::Expr;

pub(crate) fn not(inner: Expr) -> Expr {
    match inner {
        Expr::Const(truth) => Expr::Const(!truth),
        Expr::Not(inner) => *inner,
        other => Expr::Not(Box::new(other)),
    }
}

pub(crate) fn and(all: Vec<Expr>) -> Expr {
    let mut kept = Vec::with_capacity(all.len());
    for one in all {
        match one {
            Expr::Const(true) => {}
            Expr::Const(false) => return Expr::Const(false),
            Expr::And(inner) => kept.extend(inner),
            other => kept.push(other),
        }
    }
    single(kept, true, Expr::And)
}

pub(crate) fn or(all: Vec<Expr>) -> Expr {
    let mut kept = Vec::with_capacity(all.len());
    for one in all {
        match one {
            Expr::Const(false) => {}
            Expr::Const(true) => return Expr::Const(true),
            Expr::Or(inner) => kept.extend(inner),
            other => kept.push(other),
        }
    }
    single(kept, false, Expr::Or)
}

pub(crate) fn xor(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(false), other) | (other, Expr::Const(false)) => other,
        (Expr::Const(true), other) | (other, Expr::Const(true)) => not(other),
        (left, right) => Expr::Xor(Box::new(left), Box::new(right)),
    }
}

/// An empty chain becomes its neutral value, a chain of one element that element.
fn single(mut all: Vec<Expr>, neutral: bool, join: fn(Vec<Expr>) -> Expr) -> Expr {
    match all.len() {
        0 => Expr::Const(neutral),
        1 => all.pop().expect("has one"),
        _ => join(all),
    }
}
