//! What may be shortened of two or three tokens side by side.
//!
//! The rules and their order are libinjection's (`libinjection_sqli_fold`), down to this: a rule drops
//! the last tokens that are held, which need not be those that it looked at.

use super::fold::{Folder, Step};
use super::kind::Kind::{self, *};

/// Names that are functions where a parenthesis follows, and else columns.
const CALLABLE: [&[u8]; 11] = [
    b"USER_ID",
    b"USER_NAME",
    b"DATABASE",
    b"PASSWORD",
    b"USER",
    b"CURRENT_USER",
    b"CURRENT_DATE",
    b"CURRENT_TIME",
    b"CURRENT_TIMESTAMP",
    b"LOCALTIME",
    b"LOCALTIMESTAMP",
];

/// Is `name`, before a parenthesis, a function's?
pub(super) fn is_callable(name: &[u8]) -> bool {
    CALLABLE.iter().any(|callable| name.eq_ignore_ascii_case(callable))
}

impl Folder<'_> {
    /// Drops the last `count` tokens and looks again from `left` on.
    fn drop(&mut self, count: usize, left: usize) -> Step {
        self.end -= count;
        self.left = left;
        Step::Again
    }

    /// The same, with the next token in place of the one at `at`.
    fn replace(&mut self, at: usize) -> Step {
        self.tokens[at] = self.tokens[at + 1];
        self.drop(1, 0)
    }

    fn change(&mut self, at: usize, kind: Kind) -> Step {
        self.tokens[at].kind = kind;
        Step::Again
    }

    /// The rules for two tokens.
    pub(super) fn pair(&mut self) -> Step {
        let left = self.left;
        let [first, second] = [self.tokens[left], self.tokens[left + 1]];
        match (first.kind, second.kind) {
            (Text, Text) | (Semicolon, Semicolon) => return self.drop(1, left),
            (Operator | Logic, kind) if kind == Type || second.is_unary() => return self.drop(1, 0),
            (Open, _) if second.is_unary() => return self.drop(1, left.saturating_sub(1)),
            _ => {}
        }
        if let Some(phrase) = first.merge(&second) {
            self.tokens[left] = phrase;
            return self.drop(1, left.saturating_sub(1));
        }
        match (first.kind, second.kind) {
            // In Transact-SQL IF begins a statement.
            (Semicolon, Function) if matches!(second.text, [b'i' | b'I', b'f' | b'F', ..]) => {
                self.change(left + 1, Statement)
            }
            (Bareword | Variable, Open) if is_callable(first.text) => self.change(left, Function),
            (Keyword, after) if first.is(Keyword, b"IN") || first.is(Keyword, b"NOT IN") => {
                self.change(left, if after == Open { Operator } else { Bareword })
            }
            (Operator, after) if first.is(Operator, b"LIKE") || first.is(Operator, b"NOT LIKE") => {
                if after == Open {
                    self.tokens[left].kind = Function;
                }
                Step::Keep
            }
            (Type, Bareword | Number | Type | Open | Function | Variable | Text) => self.replace(left),
            // There are too many collations to list: their names have an underscore.
            (Collate, Bareword) => {
                if second.text.iter().take_while(|byte| **byte != 0).any(|byte| *byte == b'_') {
                    self.tokens[left + 1].kind = Type;
                    self.left = 0;
                }
                Step::Keep
            }
            (Backslash, _) if second.is_arithmetic() => {
                self.left = 0;
                self.change(left, Number)
            }
            (Backslash, _) => self.replace(left),
            (Open, Open) | (Close, Close) => self.drop(1, 0),
            // MySQL takes {``.``.id} for a name.
            (OpenBrace, Bareword) if second.text.is_empty() => {
                self.tokens[left + 1].kind = Kind::Evil;
                Step::Evil
            }
            (OpenBrace, Bareword) => self.drop(2, 0),
            (_, CloseBrace) => self.drop(1, 0),
            _ => Step::Keep,
        }
    }

    /// The rules for three tokens.
    pub(super) fn triple(&mut self) -> Step {
        let left = self.left;
        let [first, second, third] = [self.tokens[left], self.tokens[left + 1], self.tokens[left + 2]];
        let unary = second.is_unary();
        match (first.kind, second.kind, third.kind) {
            (Number, Operator, Number) | (Logic, _, Logic) => self.drop(2, 0),
            (Operator, middle, Operator) if middle != Open => self.drop(2, 0),
            (Variable, Operator, Variable | Number | Bareword) => self.drop(2, 0),
            (Bareword | Number, Operator, Number | Bareword) => self.drop(2, 0),
            (Bareword | Number | Variable | Text, Operator, Type) if second.text == b"::" => self.drop(2, 0),
            (Bareword | Number | Text | Variable, Comma, Number | Bareword | Text | Variable) => self.drop(2, 0),
            (Expression | Group | Comma, _, Open) if unary => self.replace(left + 1),
            (Keyword | Expression | Group, _, Number | Bareword | Variable | Text | Function) if unary => {
                self.replace(left + 1)
            }
            // Of ", -1" nothing stays, nor does the token before it: it is read as a list.
            (Comma, _, Number | Bareword | Variable | Text) if unary => {
                self.tokens[left + 1] = third;
                self.drop(3, 0)
            }
            (Comma, _, Function) if unary => self.replace(left + 1),
            (Bareword, Dot, Bareword) => self.drop(2, 0),
            (Expression, Dot, Bareword) => self.replace(left + 1),
            (Function, Open, after) => {
                // USER takes no arguments; with some it is a column.
                if after != Close && first.text.eq_ignore_ascii_case(b"USER") {
                    self.tokens[left].kind = Bareword;
                }
                Step::Keep
            }
            _ => Step::Keep,
        }
    }
}
