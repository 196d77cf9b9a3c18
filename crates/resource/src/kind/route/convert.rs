//! From the checked document of a route to what workers get.

use weir_gateway::resource::{
    Condition, Forward, HashKey, HeaderChanges, Mirror, PathMatch, RequestMatch, Resource, ResourceKind, Retries,
    RetryOn, Rewrite, Route, RouteAction, Split, Stickiness, Test, Timeouts,
};
use weir_policy::check::{Fields, Item, Value};
use weir_policy::document::Node;
use weir_policy::leaf::form::{METHODS, is_name};

use super::unique;
use crate::convert::{Converter, hash_key};

/// Keys that only mean something where requests are forwarded.
const FORWARDING: [&str; 7] = ["sticky", "rewrite", "timeouts", "retries", "mirror", "websocket", "buffering"];

impl Converter<'_> {
    pub(super) fn route(&mut self, fields: &Fields<'_>) {
        let site = self.reference(fields, "site", ResourceKind::Sites).unwrap_or_default();
        let matches = self.matches(fields);
        let action = self.route_action(fields, &matches.path);
        let route = Route {
            id: self.id.to_owned(),
            site,
            matches,
            priority: i32::try_from(fields.integer_or("priority")).expect("the table bounds it"),
            action,
            request_headers: self.header_changes(fields, "request_headers"),
            response_headers: self.header_changes(fields, "response_headers"),
            body_limit: fields.bytes_or("body_limit"),
            policies: self.policies(fields),
        };
        let node = fields.key_node("path").unwrap_or(fields.node);
        for (what, key) in unique::keys(&route) {
            self.unique(what, key, node);
        }
        self.put(Resource::Route(route));
    }

    fn matches(&mut self, fields: &Fields<'_>) -> RequestMatch {
        let texts = |key: &str| fields.items(key).iter().filter_map(text).map(str::to_owned).collect::<Vec<_>>();
        for (item, method) in fields.items("methods").iter().filter_map(|item| Some((item, text(item)?))) {
            if !METHODS.iter().any(|(known, _)| *known == method) {
                let hint = "clients that send it are rare; standard methods are GET, HEAD, POST, PUT, PATCH, DELETE";
                self.warn(item.node, format!("`{method}` is not a method of any standard"), Some(hint));
            }
        }
        let mut methods = texts("methods");
        methods.sort_unstable();
        methods.dedup();
        RequestMatch {
            path: fields.fields("path").map_or(PathMatch::Prefix("/".to_owned()), |path| self.path(path)),
            methods,
            headers: self.conditions(fields, "headers", str::to_ascii_lowercase),
            query: self.conditions(fields, "query", str::to_owned),
            cookies: self.conditions(fields, "cookies", str::to_owned),
        }
    }

    fn path(&mut self, fields: &Fields<'_>) -> PathMatch {
        if let Some(path) = fields.text("exact") {
            return PathMatch::Exact(path.to_owned());
        }
        if let Some(template) = fields.text("template") {
            return PathMatch::Template(template.to_owned());
        }
        if let Some(pattern) = fields.text("regex") {
            return PathMatch::Regex(self.pattern(pattern));
        }
        PathMatch::Prefix(fields.text("prefix").unwrap_or("/").to_owned())
    }

    /// The conditions of a kind, in the order of their names.
    fn conditions(&mut self, fields: &Fields<'_>, key: &str, canonical: fn(&str) -> String) -> Vec<Condition> {
        let mut all: Vec<Condition> = Vec::new();
        for (node, name, item) in fields.map(key) {
            let Some(test) = item.as_fields() else { continue };
            let name = canonical(name);
            if all.iter().any(|known| known.name == name) {
                self.fault(
                    node,
                    format!("`{name}` is given twice in `{key}`"),
                    Some("names of header fields have no case"),
                );
            }
            let test = self.test(test);
            all.push(Condition { name, test });
        }
        all.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        all
    }

    fn test(&mut self, fields: &Fields<'_>) -> Test {
        if let Some(pattern) = fields.text("regex") {
            return Test::Regex(self.pattern(pattern));
        }
        if let Some(present) = fields.flag("present") {
            return Test::Present(present);
        }
        if fields.key_node("one_of").is_some() {
            return Test::OneOf(fields.items("one_of").iter().filter_map(text).map(str::to_owned).collect());
        }
        Test::Is(fields.text("is").unwrap_or_default().to_owned())
    }

    fn route_action(&mut self, fields: &Fields<'_>, path: &PathMatch) -> RouteAction {
        let answer = ["redirect", "respond", "messages"].into_iter().find(|key| fields.key_node(key).is_some());
        if let Some(answer) = answer {
            for (key, node) in FORWARDING.iter().filter_map(|key| Some((key, fields.key_node(key)?))) {
                let hint = format!("with `{answer}` no upstream sees the request");
                self.fault(node, format!("`{key}` goes with `to` or `split`"), Some(&hint));
            }
        }
        if let Some(redirect) = fields.fields("redirect") {
            let to = redirect.text_or("to").to_owned();
            let node = redirect.get("to").map_or(redirect.node, |item| item.node);
            self.placeholders(&to, node, path, &["host", "path", "query"]);
            return RouteAction::Redirect { to, status: redirect.status_or("status") };
        }
        if let Some(respond) = fields.fields("respond") {
            return RouteAction::Respond {
                status: respond.status_or("status"),
                body: respond.text_or("body").to_owned(),
                content_type: respond.text_or("content_type").to_owned(),
            };
        }
        if let Some(messages) = fields.fields("messages") {
            return RouteAction::Messages(self.messages(messages));
        }
        RouteAction::Forward(Box::new(self.forward(fields, path)))
    }

    fn forward(&mut self, fields: &Fields<'_>, path: &PathMatch) -> Forward {
        Forward {
            split: self.split(fields),
            sticky: self.sticky(fields),
            rewrite: fields.fields("rewrite").map(|rewrite| self.rewrite(rewrite, path)),
            timeouts: fields.fields_or("timeouts", |timeouts| Timeouts {
                connect_ms: timeouts.ms_or("connect"),
                send_ms: timeouts.ms_or("send"),
                read_ms: timeouts.ms_or("read"),
            }),
            retries: fields.fields_or("retries", retries),
            mirror: fields.fields("mirror").map(|mirror| Mirror {
                upstream: self.reference(mirror, "upstream", ResourceKind::Upstreams).unwrap_or_default(),
                per_10000: mirror.per_10000_or("percent"),
                shadow: mirror.flag_or("shadow"),
            }),
            websocket: fields.flag_or("websocket"),
            buffering: fields.flag_or("buffering"),
        }
    }

    fn split(&mut self, fields: &Fields<'_>) -> Vec<Split> {
        if let Some(upstream) = self.reference(fields, "to", ResourceKind::Upstreams) {
            return vec![Split { upstream, weight: 1 }];
        }
        let mut split: Vec<Split> = Vec::new();
        for side in fields.items("split").iter().filter_map(|item| item.as_fields()) {
            let upstream = self.reference(side, "upstream", ResourceKind::Upstreams).unwrap_or_default();
            if !upstream.is_empty() && split.iter().any(|known| known.upstream == upstream) {
                self.fault(side.node, format!("`{upstream}` is there twice"), Some("add up their weights"));
            }
            split.push(Split { upstream, weight: side.u32_or("weight") });
        }
        let nothing = !split.is_empty() && split.iter().all(|side| side.weight == 0);
        if let Some(node) = fields.key_node("split").filter(|_| nothing) {
            self.fault(node, "all weights are 0", Some("one side at least needs a share"));
        }
        split
    }

    fn sticky(&mut self, fields: &Fields<'_>) -> Option<Stickiness> {
        let sticky = fields.fields("sticky")?;
        if let (Some(node), Some(_)) = (fields.key_node("sticky"), fields.key_node("to")) {
            self.fault(node, "`sticky` goes with `split`", Some("within one upstream `balance: hash` does it"));
        }
        let item = sticky.get("by")?;
        let by = hash_key(sticky.text_or("by"));
        if by == HashKey::Uri {
            self.fault(
                item.node,
                "the URI does not tell clients apart",
                Some("go by `ip`, `header:NAME`, `cookie:NAME` or `query:NAME`"),
            );
        }
        Some(Stickiness { by })
    }

    fn rewrite(&mut self, fields: &Fields<'_>, path: &PathMatch) -> Rewrite {
        match (fields.key_node("regex"), fields.key_node("to")) {
            (Some(node), None) if fields.lacks(&["to"]) => {
                self.fault(node, "`regex` needs `to`: what takes the place of what it matches", None);
            }
            (None, Some(node)) => {
                self.fault(node, "`to` goes with `regex`", Some("to replace all of the path use `path`"))
            }
            _ => {}
        }
        if let Some(prefix) = fields.text("prefix") {
            if let (Some(node), PathMatch::Template(_) | PathMatch::Regex(_)) = (fields.key_node("prefix"), path) {
                self.fault(
                    node,
                    "there is no prefix to replace",
                    Some("the route's `path` is no prefix; use `path` or `regex`"),
                );
            }
            return Rewrite::Prefix(prefix.to_owned());
        }
        if let Some(pattern) = fields.text("regex") {
            return Rewrite::Regex { pattern: self.pattern(pattern), to: fields.text_or("to").to_owned() };
        }
        let to = fields.text_or("path").to_owned();
        let node = fields.get("path").map_or(fields.node, |item| item.node);
        self.placeholders(&to, node, path, &["path"]);
        Rewrite::Path(to)
    }

    /// Every `{name}` must be known.
    fn placeholders(&mut self, text: &str, node: &Node, path: &PathMatch, known: &[&str]) {
        let template = if let PathMatch::Template(template) = path { template.as_str() } else { "" };
        let own: Vec<&str> = names(template).map(|name| name.trim_end_matches('*')).collect();
        for name in names(text).filter(|name| is_name(name)) {
            if !known.contains(&name) && !own.contains(&name) {
                let all: Vec<String> = known.iter().chain(&own).map(|name| format!("{{{name}}}")).collect();
                let hint = format!("there are {}", all.join(", "));
                self.fault(node, format!("nothing is called {{{name}}}"), Some(&hint));
            }
        }
    }

    pub(in crate::kind) fn header_changes(&mut self, fields: &Fields<'_>, key: &str) -> HeaderChanges {
        let Some(changes) = fields.fields(key) else { return HeaderChanges::default() };
        let pairs = |key: &str| {
            let all = changes.map(key).iter();
            all.filter_map(|(_, name, item)| Some(((*name).to_owned(), text(item)?.to_owned()))).collect()
        };
        let remove = changes.items("remove").iter().filter_map(text).map(str::to_ascii_lowercase).collect();
        HeaderChanges { remove, set: pairs("set"), add: pairs("add") }
    }
}

fn retries(fields: &Fields<'_>) -> Retries {
    let kind = |name: &str| match name {
        "timeout" => RetryOn::Timeout,
        "invalid_header" => RetryOn::InvalidHeader,
        "500" => RetryOn::Status500,
        "502" => RetryOn::Status502,
        "503" => RetryOn::Status503,
        "504" => RetryOn::Status504,
        "429" => RetryOn::Status429,
        _ => RetryOn::Error,
    };
    let mut on: Vec<RetryOn> = Vec::new();
    for item in fields.items("on") {
        if let Value::Choice(name) = item.value
            && !on.contains(&kind(name))
        {
            on.push(kind(name));
        }
    }
    if fields.key_node("on").is_none() {
        on = vec![RetryOn::Error, RetryOn::Timeout];
    }
    Retries {
        attempts: fields.u32_or("attempts"),
        on,
        timeout_ms: fields.ms_or("timeout"),
        non_idempotent: fields.flag_or("non_idempotent"),
    }
}

fn text<'n>(item: &Item<'n>) -> Option<&'n str> {
    if let Value::Text(text) = item.value { Some(text) } else { None }
}

/// What stands between braces.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}
