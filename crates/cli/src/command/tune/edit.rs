//! Adds items to `exclude:` of a rule's action in the text of a policy, byte for byte the same
//! elsewhere.
//!
//! Writing the document out again would lose comments, quotes and layout, which people care for.
//! So the parser's events say where things stand, and text is inserted there. What comes out is
//! loaded before it is written, so a layout that this does not understand is refused, not broken.

use std::rc::Rc;

use saphyr_parser::{Event, Parser};
use weir_policy::RULE_SET_ACTIONS;

/// Depth of a policy, which has been loaded before.
const MAX_DEPTH: usize = 128;

/// A value with its place: byte offsets of its first byte and behind its last.
#[derive(Debug)]
struct Node {
    start: usize,
    end: usize,
    /// Whether it is written in brackets.
    is_flow: bool,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Scalar(String),
    Alias,
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
}

impl Node {
    fn get(&self, key: &str) -> Option<&Rc<Node>> {
        let Content::Mapping(pairs) = &self.content else { return None };
        pairs.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }

    fn items(&self) -> &[Rc<Node>] {
        match &self.content {
            Content::Sequence(items) => items,
            _ => &[],
        }
    }

    /// Members by their names: the keys of a mapping, or the ids of a list's items.
    fn named(&self) -> Vec<(&Rc<Node>, Option<&str>)> {
        match &self.content {
            Content::Mapping(pairs) => pairs.iter().map(|(name, value)| (value, name.text())).collect(),
            Content::Sequence(items) => {
                items.iter().map(|item| (item, item.get("id").and_then(|id| id.text()))).collect()
            }
            Content::Scalar(_) | Content::Alias => Vec::new(),
        }
    }

    fn children(&self) -> Vec<&Rc<Node>> {
        match &self.content {
            Content::Scalar(_) | Content::Alias => Vec::new(),
            Content::Sequence(items) => items.iter().collect(),
            Content::Mapping(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
        }
    }
}

/// A rule whose action runs a rule set.
pub(super) struct RuleSetAction {
    /// The rule's id.
    pub rule: String,
    /// The id of its policy, if the rule is in one.
    pub policy: Option<String>,
    action: Rc<Node>,
}

impl RuleSetAction {
    /// Byte offset of its settings.
    pub fn at(&self) -> usize {
        self.action.start
    }
}

/// Every rule that runs a rule set, in the order of the text.
pub(super) fn rule_set_actions(text: &str) -> Result<Vec<RuleSetAction>, String> {
    let root = tree(text)?;
    let mut found = Vec::new();
    let mut left: Vec<(&Rc<Node>, Option<&str>)> = vec![(&root, None)];
    if let Some(policies) = root.get("policies") {
        left = policies.named().into_iter().rev().collect();
    }
    while let Some((node, policy)) = left.pop() {
        let id = node.get("id").and_then(|id| id.text());
        let actions = [node.get("action"), node.get("actions")].into_iter().flatten();
        for action in actions.flat_map(|action| std::iter::once(action).chain(action.items())) {
            for set in RULE_SET_ACTIONS.iter().filter_map(|name| action.get(name)) {
                let rule = |id: &str| RuleSetAction {
                    rule: id.to_owned(),
                    policy: policy.map(str::to_owned),
                    action: Rc::clone(set),
                };
                found.extend(id.map(rule));
            }
        }
        left.extend(node.children().into_iter().rev().map(|child| (child, policy)));
    }
    Ok(found)
}

/// The text with items added to the action's exclusions. `items` are in flow style.
pub(super) fn add(text: &str, action: &RuleSetAction, items: &[String]) -> Result<String, String> {
    let flow = || items.join(", ");
    let action = &*action.action;
    let insertion = match (&action.content, action.get("exclude")) {
        (_, Some(exclude)) => match &exclude.content {
            Content::Sequence(known) if exclude.is_flow => {
                let at = exclude.end - 1;
                let before = text[..at].trim_end();
                let comma = if known.is_empty() || before.ends_with(',') { "" } else { ", " };
                (at, at, format!("{comma}{}", flow()))
            }
            Content::Sequence(known) => {
                let first = known.first().ok_or("its `exclude` has no items")?;
                let dash = text[..first.start].rfind('-').ok_or("its `exclude` cannot be read")?;
                let indent = column(text, dash);
                let (at, lead) = line_after(text, exclude.end);
                let lines: String = items.iter().map(|item| format!("{}- {item}\n", " ".repeat(indent))).collect();
                (at, at, format!("{lead}{lines}"))
            }
            Content::Alias => return Err("its `exclude` is an alias, shared with another place".to_owned()),
            _ => return Err("its `exclude` is not a list".to_owned()),
        },
        (Content::Mapping(pairs), None) if action.is_flow => {
            let at = action.start + 1;
            let comma = if pairs.is_empty() { "" } else { ", " };
            (at, at, format!("exclude: [{}]{comma}", flow()))
        }
        (Content::Mapping(_), None) => {
            let indent = " ".repeat(column(text, action.start));
            let lines: String = items.iter().map(|item| format!("{indent}  - {item}\n")).collect();
            (action.start, action.start, format!("exclude:\n{lines}{indent}"))
        }
        (Content::Scalar(path), None) if !path.is_empty() => {
            let written = &text[action.start..action.end];
            (action.start, action.end, format!("{{path: {written}, exclude: [{}]}}", flow()))
        }
        (Content::Alias, None) => return Err("its settings are an alias, shared with another place".to_owned()),
        _ => return Err("its settings cannot be read".to_owned()),
    };
    let (from, to, new) = insertion;
    Ok(format!("{}{new}{}", &text[..from], &text[to..]))
}

/// Characters before a place on its line.
fn column(text: &str, at: usize) -> usize {
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[begin..at].chars().count()
}

/// Where the line after a value begins, and what has to be written first.
fn line_after(text: &str, end: usize) -> (usize, &'static str) {
    if text[..end].ends_with('\n') {
        return (end, "");
    }
    match text[end..].find('\n') {
        Some(length) => (end + length + 1, ""),
        None => (text.len(), "\n"),
    }
}

/// A container that is still open.
struct Frame {
    start: usize,
    is_mapping: bool,
    children: Vec<Rc<Node>>,
}

impl Frame {
    /// What it is once it ends; a block ends with its last value.
    fn close(self, end: usize, text: &str) -> Node {
        // A block may begin where its first value does, which may be in brackets.
        let is_within = self.children.first().is_some_and(|first| first.start == self.start);
        let is_flow = matches!(text.as_bytes().get(self.start), Some(b'{' | b'[')) && !is_within;
        let end = match self.children.last() {
            Some(last) if !is_flow => last.end,
            _ => end,
        };
        let content = if self.is_mapping {
            let mut pairs = Vec::new();
            let mut rest = self.children.into_iter();
            while let (Some(key), Some(value)) = (rest.next(), rest.next()) {
                pairs.push((key, value));
            }
            Content::Mapping(pairs)
        } else {
            Content::Sequence(self.children)
        };
        Node { start: self.start, end, is_flow, content }
    }
}

fn tree(text: &str) -> Result<Rc<Node>, String> {
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let offset = |index: usize| offsets.get(index).copied().unwrap_or(text.len());
    let mut open: Vec<Frame> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let (start, end) = (offset(span.start.index()), offset(span.end.index()));
        let node = match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MAX_DEPTH {
                    return Err(format!("more than {MAX_DEPTH} levels"));
                }
                let is_mapping = matches!(event, Event::MappingStart(..));
                open.push(Frame { start, is_mapping, children: Vec::new() });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(frame) => frame.close(end, text),
                None => return Err("it cannot be read".to_owned()),
            },
            Event::Scalar(scalar, ..) => {
                Node { start, end, is_flow: false, content: Content::Scalar(scalar.into_owned()) }
            }
            Event::Alias(_) => Node { start, end, is_flow: false, content: Content::Alias },
            _ => continue,
        };
        match open.last_mut() {
            Some(frame) => frame.children.push(Rc::new(node)),
            None => return Ok(Rc::new(node)),
        }
    }
    Err("it is empty".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn added(text: &str) -> String {
        let actions = rule_set_actions(text).expect("parses");
        add(text, &actions[0], &["{rule: 1}".to_owned(), "{rule: 2}".to_owned()]).expect("adds")
    }

    #[test]
    fn items_come_where_they_belong_and_nothing_else_changes() {
        let rule = |action: &str| format!("# ä\npolicies:\n  - id: p\n    rules:\n      - id: r # it\n{action}# end\n");
        for (before, after) in [
            (
                "        action:\n          crs:\n            paranoia: 2 # x\n",
                "        action:\n          crs:\n            exclude:\n              - {rule: 1}\n              \
                 - {rule: 2}\n            paranoia: 2 # x\n",
            ),
            (
                "        action:\n          crs:\n            exclude:\n              - rule: 9\n                \
                 when: 'a' # y\n            paranoia: 2\n",
                "        action:\n          crs:\n            exclude:\n              - rule: 9\n                \
                 when: 'a' # y\n              - {rule: 1}\n              - {rule: 2}\n            paranoia: 2\n",
            ),
            (
                "        action:\n          crs:\n            exclude:\n            - {rule: 9}\n",
                "        action:\n          crs:\n            exclude:\n            - {rule: 9}\n            \
                 - {rule: 1}\n            - {rule: 2}\n",
            ),
            (
                "        action: {crs: {paranoia: 1}}\n",
                "        action: {crs: {exclude: [{rule: 1}, {rule: 2}], paranoia: 1}}\n",
            ),
            ("        action: {crs: {}}\n", "        action: {crs: {exclude: [{rule: 1}, {rule: 2}]}}\n"),
            (
                "        action: {crs: {exclude: [{rule: 9}], paranoia: 1}}\n",
                "        action: {crs: {exclude: [{rule: 9}, {rule: 1}, {rule: 2}], paranoia: 1}}\n",
            ),
            (
                "        action: {rule_set: {exclude: []}}\n",
                "        action: {rule_set: {exclude: [{rule: 1}, {rule: 2}]}}\n",
            ),
            (
                "        action: {crs: /usr/share/x}\n",
                "        action: {crs: {path: /usr/share/x, exclude: [{rule: 1}, {rule: 2}]}}\n",
            ),
            (
                "        actions:\n          - log\n          - crs: {paranoia: 1}\n",
                "        actions:\n          - log\n          - crs: {exclude: [{rule: 1}, {rule: 2}], paranoia: 1}\n",
            ),
        ] {
            assert_eq!(added(&rule(before)), rule(after));
        }
    }

    #[test]
    fn policies_are_listed_or_stand_under_their_ids() {
        let rule = |id: &str| format!("{{rules: [{{id: {id}, action: {{crs: {{}}}}}}]}}");
        let listed = "policies:\n- id: a\n  rules: [{id: x, action: {crs: {}}}]\n- id: b\n  selectors: [{id: s, rules: \
             [{id: y, actions: [log, rule_set: {}]}]}]\n";
        for text in [listed.to_owned(), format!("policies:\n  a: {}\n  b: {}\nsites: {{}}\n", rule("x"), rule("y"))] {
            let actions = rule_set_actions(&text).expect("parses");
            let found: Vec<(Option<&str>, &str)> =
                actions.iter().map(|action| (action.policy.as_deref(), action.rule.as_str())).collect();
            assert_eq!(found, [(Some("a"), "x"), (Some("b"), "y")], "{text}");
        }
    }

    #[test]
    fn json_stays_json() {
        let text = r#"{"policies": [{"rules": [{"id": "r", "action": {"crs": {"exclude": [{"rule": 9}]}}}]}]}"#;
        let actions = rule_set_actions(text).expect("parses");
        let new = add(text, &actions[0], &[r#"{"rule": 1}"#.to_owned()]).expect("adds");
        assert!(new.contains(r#"[{"rule": 9}, {"rule": 1}]"#), "{new}");
    }

    #[test]
    fn the_end_of_the_file_needs_no_line_end() {
        let text = "rules:\n  - id: r\n    action:\n      crs:\n        exclude:\n          - {rule: 9}";
        assert!(added(text).ends_with("- {rule: 9}\n          - {rule: 1}\n          - {rule: 2}\n"));
    }

    #[test]
    fn what_is_shared_is_refused() {
        let text = "x: &x {paranoia: 1}\nrules:\n  - id: r\n    action: {crs: *x}\n";
        let actions = rule_set_actions(text).expect("parses");
        assert!(add(text, &actions[0], &["{rule: 1}".to_owned()]).expect_err("refuses").contains("alias"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-z]{0,3}[:\\-,\\[\\]{}&*'\"|> \n#ä]{0,3}){0,20}", kept in any::<bool>()) {
            let text = if kept { format!("id: r\naction:\n  crs:\n    x: 1\n    exclude: {text}\n") } else { text };
            if let Ok(actions) = rule_set_actions(&text) {
                for action in &actions {
                    let _ = add(&text, action, &["{rule: 1}".to_owned()]);
                }
            }
        }
    }
}
