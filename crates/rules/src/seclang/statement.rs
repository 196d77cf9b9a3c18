//! The directives that define and change rules.

use super::action;
use super::actions::{self, Actions};
use super::control;
use super::cursor::{Cursor, is_blank};
use super::diagnostic::{SourceLocation, shown};
use super::draft::{Defaults, DraftItem, Link, RuleChange, RuleSelector, RuleUpdate, Test};
use super::ir::Phase;
use super::operator::{self, Context};
use super::reader::Reader;
use super::selector;
use super::table::directive::DirectiveKind;

impl Reader<'_> {
    pub(super) fn rule(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let targets = selector::targets(cursor, &mut self.report);
        if !targets.whole {
            // Continue with the operator, so that it and the actions are checked too.
            cursor.take_while(|byte| !is_blank(byte) && byte != b'\n');
        }
        cursor.blanks();
        let (text, at) = self.operator_text(cursor)?;
        let context = Context { files: self.files, directory: &self.directory, geo: self.geo };
        let operator = operator::parse(text, at, &context, &mut self.report);
        let behind = *cursor;
        cursor.blanks();
        if cursor.at_line_end() {
            // Actions may be on the next line even without a backslash.
            let mut ahead = *cursor;
            ahead.take_while(|byte| byte == b'\r');
            if ahead.eat(b'\n') {
                ahead.take_while(is_blank);
            }
            *cursor = if ahead.peek() == Some(b'"') { ahead } else { behind };
        }
        let actions = self.actions(cursor);
        let whole = targets.whole && operator.is_some() && actions.whole;
        self.link(Link { spot, root: self.root, test: Some(Test { targets, operator }), actions, whole })
    }

    /// The text of the operator, in quotes or up to a blank.
    fn operator_text<'t>(&mut self, cursor: &mut Cursor<'t>) -> Option<(&'t [u8], SourceLocation)> {
        let open = cursor.spot();
        if cursor.eat(b'"') {
            let at = cursor.spot();
            let text = cursor.closed(b'"');
            if text.is_none() {
                self.report.error(open, "\"", "the operator's quote is not closed", None);
            }
            return text.map(|text| (text, at));
        }
        if cursor.at_line_end() {
            let hint = "such as SecRule ARGS \"@contains x\" \"id:1,phase:2,deny\"";
            self.report.error(open, "", "expected an operator", Some(hint));
            return None;
        }
        if cursor.peek() == Some(b'\'') {
            self.report.error(open, "'", "expected an operator in double quotes", Some("write \"...\" for '...'"));
            return None;
        }
        let start = cursor.at;
        let word = cursor.take_while(|byte| !byte.is_ascii_whitespace());
        if word.starts_with(b"@") || word.starts_with(b"!@") {
            let mut ahead = *cursor;
            ahead.take_while(is_blank);
            if !ahead.at_line_end() && !matches!(ahead.peek(), Some(b'"' | b'\\')) {
                ahead.take_while(|byte| !byte.is_ascii_whitespace());
                *cursor = ahead;
            }
        }
        Some((&cursor.bytes[start..cursor.at], open))
    }

    fn actions(&mut self, cursor: &mut Cursor<'_>) -> Actions {
        if cursor.at_line_end() {
            return Actions { whole: true, ..Actions::default() };
        }
        let list = action::list(cursor, &mut self.report);
        actions::read(&list, &mut self.report)
    }

    fn link(&mut self, link: Link) -> Option<()> {
        self.rules += 1;
        if self.rules == self.report.limits.rules + 1 {
            let message = format!("more than {} rules", self.report.limits.rules);
            self.report.error(link.spot, "", message, None);
        }
        if self.rules <= self.report.limits.rules {
            self.draft.items.push(DraftItem::Link(Box::new(link)));
        }
        Some(())
    }

    pub(super) fn action(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        if cursor.at_line_end() {
            self.report.error(spot, "SecAction", "`SecAction` needs actions", None);
            return None;
        }
        let actions = self.actions(cursor);
        let whole = actions.whole;
        self.link(Link { spot, root: self.root, test: None, actions, whole })
    }

    pub(super) fn default_action(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let actions = self.actions(cursor);
        let unsuitable = [
            ("id", actions.id.map(|(_, spot)| spot)),
            ("chain", actions.chain),
            ("t:none", actions.cleared.then_some(spot)),
            ("rev", actions.revision.is_some().then_some(spot)),
            ("ver", actions.version.is_some().then_some(spot)),
        ];
        for (name, place) in unsuitable {
            if let Some(place) = place {
                self.report.error(place, name, format!("`{name}` is not allowed in `SecDefaultAction`"), None);
            }
        }
        if actions.disruptive.is_none() && actions.whole {
            let hint = "write pass, deny, drop, redirect or allow";
            self.report.error(spot, "SecDefaultAction", "expected a disruptive action", Some(hint));
        }
        let phase = actions.phase.map_or(Phase::RequestHeaders, |(phase, _)| phase);
        let same = |other: &&Defaults| other.phase == phase && other.root == self.root;
        if let Some(other) = self.draft.defaults.iter().find(same) {
            let first = self.report.place(other.spot);
            let message = format!("phase {} already has a `SecDefaultAction`, at {first}", phase as u8);
            self.report.error(spot, "SecDefaultAction", message, Some("one applies to all rules of its phase"));
        } else {
            self.draft.defaults.push(Defaults { spot, root: self.root, phase, actions });
        }
        Some(())
    }

    pub(super) fn marker(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (name, _) = self.argument(cursor)?;
        self.draft.items.push(DraftItem::Marker(name));
        Some(())
    }

    /// One parameter, in quotes or up to a blank.
    pub(super) fn argument(&mut self, cursor: &mut Cursor<'_>) -> Option<(String, SourceLocation)> {
        let open = cursor.spot();
        let (text, at) = match cursor.peek() {
            Some(quote @ (b'"' | b'\'')) => {
                cursor.at += 1;
                let at = cursor.spot();
                (cursor.closed(quote), at)
            }
            _ => (Some(cursor.take_while(|byte| !byte.is_ascii_whitespace())), open),
        };
        let Some(text) = text else {
            self.report.error(open, "\"", "the quote is not closed", None);
            return None;
        };
        if text.is_empty() || text.len() > self.report.limits.value_bytes {
            self.report.error(open, "", "expected a parameter", None);
            return None;
        }
        Some((String::from_utf8_lossy(text).into_owned(), at))
    }

    /// The rest of the line, without enclosing quotes.
    fn line(&mut self, cursor: &mut Cursor<'_>) -> Option<(String, SourceLocation)> {
        if matches!(cursor.peek(), Some(b'"' | b'\'')) {
            return self.argument(cursor);
        }
        let at = cursor.spot();
        let text = cursor.take_while(|byte| byte != b'\n').trim_ascii();
        if text.is_empty() {
            self.report.error(at, "", "expected a parameter", None);
            return None;
        }
        Some((String::from_utf8_lossy(text).into_owned(), at))
    }

    pub(super) fn remove_by_id(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let at = cursor.spot();
        let line = cursor.take_while(|byte| byte != b'\n' && byte != b'#').trim_ascii();
        let ids = control::ids(&String::from_utf8_lossy(line), at, &mut self.report)?;
        self.draft.removals.push((RuleSelector::Ids(ids), spot));
        Some(())
    }

    pub(super) fn remove_by_tag(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let (tag, _) = self.line(cursor)?;
        self.draft.removals.push((RuleSelector::Tag(tag), spot));
        Some(())
    }

    pub(super) fn remove_by_message(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let (message, _) = self.line(cursor)?;
        self.draft.removals.push((RuleSelector::Message(message), spot));
        Some(())
    }

    pub(super) fn update(&mut self, kind: DirectiveKind, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<()> {
        let (text, at) = self.argument(cursor)?;
        cursor.blanks();
        let which = match kind {
            DirectiveKind::UpdateTargetByTag => RuleSelector::Tag(text),
            DirectiveKind::UpdateTargetByMsg => RuleSelector::Message(text),
            _ => RuleSelector::Ids(control::ids(&text, at, &mut self.report)?),
        };
        let change = if matches!(kind, DirectiveKind::UpdateActionById) {
            RuleChange::Actions(Box::new(self.new_actions(spot, cursor)?))
        } else {
            let targets = selector::targets(cursor, &mut self.report);
            if !targets.whole {
                return None;
            }
            RuleChange::Targets(targets)
        };
        self.draft.updates.push(RuleUpdate { spot, which, change });
        Some(())
    }

    fn new_actions(&mut self, spot: SourceLocation, cursor: &mut Cursor<'_>) -> Option<Actions> {
        if cursor.at_line_end() {
            self.report.error(spot, "", "expected actions", None);
            return None;
        }
        let actions = self.actions(cursor);
        let fixed = [
            ("id", actions.id.map(|(_, spot)| spot)),
            ("phase", actions.phase.map(|(_, spot)| spot)),
            ("chain", actions.chain),
        ];
        for (name, place) in fixed {
            if let Some(place) = place {
                self.report.error(
                    place,
                    &shown(name.as_bytes()),
                    format!("`{name}` of a rule cannot be changed"),
                    None,
                );
            }
        }
        actions.whole.then_some(actions)
    }
}
