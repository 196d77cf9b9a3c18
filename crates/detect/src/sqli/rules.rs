//! Reductions of two or three adjacent tokens.
//!
//! The rules and their order are libinjection's (`libinjection_sqli_fold`), including a quirk: a
//! rule drops the last tokens that are held, which need not be those that it examined.

use super::fold::{FoldStep, Folder};
use super::token_kind::TokenKind::{self, *};

/// Names that are functions before a parenthesis, and otherwise columns.
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

/// Whether `name`, before a parenthesis, is a function name.
pub(super) fn is_callable(name: &[u8]) -> bool {
    CALLABLE.iter().any(|callable| name.eq_ignore_ascii_case(callable))
}

impl Folder<'_> {
    /// Drops the last `count` tokens and continues from `left`.
    fn drop(&mut self, count: usize, left: usize) -> FoldStep {
        self.end -= count;
        self.left = left;
        FoldStep::Again
    }

    /// The same, with the next token replacing the one at `at`.
    fn replace(&mut self, at: usize) -> FoldStep {
        self.tokens[at] = self.tokens[at + 1];
        self.drop(1, 0)
    }

    fn change(&mut self, at: usize, kind: TokenKind) -> FoldStep {
        self.tokens[at].kind = kind;
        FoldStep::Again
    }

    /// The rules for two tokens.
    pub(super) fn pair(&mut self) -> FoldStep {
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
                FoldStep::Keep
            }
            (Type, Bareword | Number | Type | Open | Function | Variable | Text) => self.replace(left),
            // There are too many collations to list: their names contain an underscore.
            (Collate, Bareword) => {
                if second.text.iter().take_while(|byte| **byte != 0).any(|byte| *byte == b'_') {
                    self.tokens[left + 1].kind = Type;
                    self.left = 0;
                }
                FoldStep::Keep
            }
            (Backslash, _) if second.is_arithmetic() => {
                self.left = 0;
                self.change(left, Number)
            }
            (Backslash, _) => self.replace(left),
            (Open, Open) | (Close, Close) => self.drop(1, 0),
            // MySQL reads {``.``.id} as a name.
            (OpenBrace, Bareword) if second.text.is_empty() => {
                self.tokens[left + 1].kind = TokenKind::Evil;
                FoldStep::Evil
            }
            (OpenBrace, Bareword) => self.drop(2, 0),
            (_, CloseBrace) => self.drop(1, 0),
            _ => FoldStep::Keep,
        }
    }

    /// The rules for three tokens.
    pub(super) fn triple(&mut self) -> FoldStep {
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
            // ", -1" is dropped with the token before it, because it is read as a list.
            (Comma, _, Number | Bareword | Variable | Text) if unary => {
                self.tokens[left + 1] = third;
                self.drop(3, 0)
            }
            (Comma, _, Function) if unary => self.replace(left + 1),
            (Bareword, Dot, Bareword) => self.drop(2, 0),
            (Expression, Dot, Bareword) => self.replace(left + 1),
            (Function, Open, after) => {
                // USER takes no arguments; with arguments it is a column.
                if after != Close && first.text.eq_ignore_ascii_case(b"USER") {
                    self.tokens[left].kind = Bareword;
                }
                FoldStep::Keep
            }
            _ => FoldStep::Keep,
        }
    }
}
