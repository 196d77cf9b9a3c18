//! Persistent collections: what rules remember from one request to the next.

use std::cell::RefCell;
use std::collections::BTreeMap;

use weir_engine::seclang::{Collections, StoredChange};
use weir_rules::seclang::ir::Collection;

use crate::site::{Request, Site};

type Key = (u8, Vec<u8>, Vec<u8>);

/// Memory of one process: value and the second at which it vanishes, by collection, key and name.
#[derive(Default)]
struct Memory(RefCell<BTreeMap<Key, (Vec<u8>, u64)>>);

impl Collections for Memory {
    fn read(&self, collection: Collection, key: &[u8], now_s: u64, each: &mut dyn FnMut(&[u8], &[u8])) {
        for ((of, record, name), (value, until)) in self.0.borrow().iter() {
            if (*of, record.as_slice()) == (collection as u8, key) && *until > now_s {
                each(name, value);
            }
        }
    }

    fn change(&self, collection: Collection, key: &[u8], name: &[u8], change: StoredChange<'_>, now_s: u64) -> bool {
        let mut members = self.0.borrow_mut();
        let at = (collection as u8, key.to_vec(), name.to_vec());
        members.retain(|other, (_, until)| *other != at || *until > now_s);
        match change {
            StoredChange::Set { value, timeout_s } => drop(members.insert(at, (value.to_vec(), now_s + timeout_s))),
            StoredChange::Add { delta, timeout_s } => {
                let known = members.get(&at).and_then(|(value, _)| std::str::from_utf8(value).ok()?.parse().ok());
                let sum: i64 = known.unwrap_or(0) + delta;
                members.insert(at, (sum.to_string().into_bytes(), now_s + timeout_s));
            }
            StoredChange::Unset => drop(members.remove(&at)),
            StoredChange::Expire { after_s } => {
                if let Some((_, until)) = members.get_mut(&at) {
                    *until = now_s + after_s;
                }
            }
        }
        true
    }
}

/// Requests with their times, and which rules they match.
fn follow(rules: &str, steps: &[(&str, u64, &str)]) {
    let (site, memories) = (Site::new(rules), [Memory::default(), Memory::default()]);
    for (number, (target, now_s, ids)) in steps.iter().enumerate() {
        let seen = site.see_with(&Request::get(target), [&memories[0], &memories[1]], *now_s);
        assert_eq!(seen.ids(), *ids, "step {number}, {target}");
    }
}

#[test]
fn counters_live_from_request_to_request() {
    let rules = "SecAction \"id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}_%{args.who}\"\n\
                 SecRule ARGS:bad \"@rx .\" \"id:2,phase:1,nolog,pass,setvar:ip.bad=+1,setvar:ip.last=%{args.bad}\"\n\
                 SecRule IP:bad \"@ge 2\" \"id:3,phase:1,pass\"\n\
                 SecRule IP:last \"@streq y\" \"id:4,phase:1,pass\"\n\
                 SecRule ARGS:forget \"@rx .\" \"id:5,phase:1,nolog,pass,setvar:!ip.bad\"\n\
                 SecRule &IP:bad \"@eq 0\" \"id:6,phase:2,pass\"\n";
    follow(
        rules,
        &[
            ("/?who=a", 10, "6"),
            ("/?who=a&bad=x", 11, ""),
            ("/?who=b", 11, "6"),
            ("/?who=a&bad=y", 12, "3 4"),
            ("/?who=a", 13, "3 4"),
            ("/?who=b&bad=y", 13, "4"),
            ("/?who=a&forget=1", 14, "3 4 6"),
            ("/?who=a", 15, "4 6"),
        ],
    );
}

#[test]
fn members_expire() {
    let rules = "SecCollectionTimeout 100\nSecAction \"id:1,phase:1,nolog,pass,initcol:global=all\"\n\
                 SecRule ARGS:set \"@rx .\" \"id:2,phase:1,nolog,pass,setvar:global.a=1,setvar:global.b=1,expirevar:global.b=5\"\n\
                 SecRule GLOBAL:a \"@eq 1\" \"id:3,phase:2,pass\"\n\
                 SecRule GLOBAL:b \"@eq 1\" \"id:4,phase:2,pass\"\n";
    follow(
        rules,
        &[("/", 10, ""), ("/?set=1", 10, "3 4"), ("/", 14, "3 4"), ("/", 15, "3"), ("/", 109, "3"), ("/", 110, "")],
    );
}

#[test]
fn without_memory_or_record_they_are_empty() {
    let rules = "SecAction \"id:1,phase:1,nolog,pass,setvar:ip.a=1\"\nSecRule &IP:a \"@eq 0\" \"id:2,phase:1,pass\"\n";
    follow(rules, &[("/", 1, "2"), ("/", 2, "2")]);
    assert_eq!(Site::new(rules).see(&Request::get("/")).ids(), "2");
}
