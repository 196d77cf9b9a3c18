//! From changes to the members that have to be resolved or checked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use weir_gateway::op::Op;
use weir_gateway::resource::{HostHeader, Member, Protocol, Resource, ResourceKind, Upstream};

use super::check::Check;
use crate::resolve::{Address, address};

/// Shortest interval of lookups, whatever an upstream says.
const MIN_RESOLVE: Duration = Duration::from_secs(1);

/// A member of an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub upstream: Arc<str>,
    pub member: Arc<str>,
}

/// A command to the supervisor about a member. A later one replaces an earlier one.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// Watch the member from the beginning.
    Watch(Work),
    /// The member no longer needs watching.
    Rest,
    /// The member is deleted.
    Forget,
}

/// The watching of a member.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// The address.
    pub address: Address,
    /// The interval of lookups, if the address is a name.
    pub resolve: Option<Duration>,
    /// The active check.
    pub check: Option<Arc<Check>>,
}

/// The upstreams and their members.
#[derive(Debug, Default)]
pub(super) struct Targets {
    upstreams: HashMap<Arc<str>, Target>,
}

#[derive(Debug, Default)]
struct Target {
    resolve: Duration,
    check: Option<Arc<Check>>,
    /// The addresses of members as configured.
    members: HashMap<Arc<str>, Box<str>>,
}

impl Targets {
    /// Applies a change and returns the commands that follow from it.
    pub fn apply(&mut self, op: &Op) -> Vec<(Key, Command)> {
        match op {
            Op::Put(Resource::Upstream(upstream)) => self.put_upstream(upstream),
            Op::Delete { kind: ResourceKind::Upstreams, id } => self.delete_upstream(id),
            Op::Put(Resource::Member { upstream, member }) => self.put_member(upstream, member).into_iter().collect(),
            Op::Delete { kind: ResourceKind::Members, id } => self.delete_member(id).into_iter().collect(),
            Op::Put(_) | Op::Delete { .. } | Op::Health { .. } | Op::Addresses { .. } => Vec::new(),
        }
    }

    fn put_upstream(&mut self, upstream: &Upstream) -> Vec<(Key, Command)> {
        let id: Arc<str> = upstream.id.as_str().into();
        let target = self.upstreams.entry(Arc::clone(&id)).or_default();
        let resolve = Duration::from_millis(upstream.resolve_every_ms).max(MIN_RESOLVE);
        let check = upstream.active.as_ref().map(|active| Check {
            active: active.clone(),
            tls: matches!(upstream.protocol, Protocol::Https | Protocol::Grpcs).then(|| upstream.tls.clone()),
            host: match &upstream.host {
                HostHeader::Is(name) => Some(name.clone()),
                HostHeader::Preserve | HostHeader::Member => None,
            },
            client: std::sync::OnceLock::new(),
        });
        let same_check = match (&check, &target.check) {
            (Some(new), Some(old)) => new.is_same(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        if same_check && resolve == target.resolve {
            return Vec::new();
        }
        target.resolve = resolve;
        if !same_check {
            target.check = check.map(Arc::new);
        }
        let key = |member: &Arc<str>| Key { upstream: Arc::clone(&id), member: Arc::clone(member) };
        let commands = target.members.iter().map(|(member, written)| (key(member), target.command(written)));
        commands.collect()
    }

    fn delete_upstream(&mut self, id: &str) -> Vec<(Key, Command)> {
        let Some((upstream, target)) = self.upstreams.remove_entry(id) else { return Vec::new() };
        let key = |member| Key { upstream: Arc::clone(&upstream), member };
        target.members.into_keys().map(|member| (key(member), Command::Forget)).collect()
    }

    fn put_member(&mut self, upstream: &str, member: &Member) -> Option<(Key, Command)> {
        // Within a revision, a member may come before its upstream.
        if !self.upstreams.contains_key(upstream) {
            self.upstreams.insert(upstream.into(), Target { resolve: MIN_RESOLVE, ..Target::default() });
        }
        let (upstream, target) = self.upstreams.get_key_value(upstream)?;
        if target.members.get(member.id.as_str()).is_some_and(|written| **written == *member.address) {
            return None;
        }
        let key = Key { upstream: Arc::clone(upstream), member: member.id.as_str().into() };
        let command = target.command(&member.address);
        let written = member.address.as_str().into();
        self.upstreams.get_mut(&key.upstream)?.members.insert(Arc::clone(&key.member), written);
        Some((key, command))
    }

    fn delete_member(&mut self, id: &str) -> Option<(Key, Command)> {
        let (upstream, id) = id.split_once('/')?;
        let (name, _) = self.upstreams.get_key_value(upstream)?;
        let upstream = Arc::clone(name);
        let (member, _) = self.upstreams.get_mut(&upstream)?.members.remove_entry(id)?;
        Some((Key { upstream, member }, Command::Forget))
    }
}

impl Target {
    fn command(&self, written: &str) -> Command {
        let address = address(written);
        let resolve = matches!(address, Address::Name { .. }).then_some(self.resolve);
        if resolve.is_none() && self.check.is_none() {
            return Command::Rest;
        }
        Command::Watch(Work { address, resolve, check: self.check.clone() })
    }
}

#[cfg(test)]
mod tests;
