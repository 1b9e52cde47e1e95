//! Index of a document of resources by name.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::policies::deployed_policy;
use crate::model::plan::Instance;
use crate::model::rtcad::{
    Attachment, ConnectionTiming, PolicySet, PriorityModelKind, Resources, ServerResources,
    Threadpool,
};

/// Policies, attachments and connections of real-time resources by name. Creation takes time linear in the document;
/// the time of a search does not depend on its size.
#[derive(Debug)]
pub struct Lookup<'r> {
    attachments: HashMap<&'r str, &'r Attachment>,
    sets: HashMap<&'r str, (&'r PolicySet, Accepts)>,
    connections: HashMap<&'r str, &'r ConnectionTiming>,
}

/// Priorities at which an instance accepts requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Accepts {
    /// The server's priority, regardless of the client's.
    Declared(i16),
    /// The client's priority; with lanes, one of the priorities of the lanes.
    Propagated { default: i16, lanes: Option<Rc<BTreeSet<i16>>> },
    /// Absence of a priority: an ordinary server.
    Ordinary(Option<i16>),
}

impl<'r> Lookup<'r> {
    /// Indexes a document. Of two entries with the same name, the first one counts.
    pub fn of(resources: &'r ServerResources) -> Lookup<'r> {
        let mut found = Lookup {
            attachments: HashMap::new(),
            sets: HashMap::new(),
            connections: HashMap::new(),
        };
        for attachment in &resources.instance {
            found.attachments.entry(&attachment.name).or_insert(attachment);
        }
        for connection in &resources.connection {
            found.connections.entry(&connection.name).or_insert(connection);
        }
        if let Some(configs) = &resources.orb_configs {
            let pools = Pools::of(configs.resources.as_ref());
            for set in &configs.policy_set {
                found.sets.entry(&set.id.0).or_insert_with(|| (set, pools.accepts(set)));
            }
        }
        found
    }

    /// Returns the attachment of an instance.
    pub fn attachment(&self, instance: &str) -> Option<&'r Attachment> {
        self.attachments.get(instance).copied()
    }

    /// Returns the policy set with an id.
    pub fn policy_set(&self, id: &str) -> Option<&'r PolicySet> {
        self.sets.get(id).map(|(set, _)| *set)
    }

    /// Returns the policy set of an instance: that of its attachment, otherwise that of its deployed resource.
    pub fn set_of(&self, instance: &Instance) -> Option<&'r PolicySet> {
        self.policy_set(self.set_id(instance)?)
    }

    /// Returns the timing of a connection.
    pub(super) fn connection(&self, name: &str) -> Option<&'r ConnectionTiming> {
        self.connections.get(name).copied()
    }

    /// Returns the priorities at which an instance accepts requests.
    pub(super) fn accepts(&self, instance: &Instance) -> Accepts {
        let set = self.set_id(instance).and_then(|id| self.sets.get(id));
        set.map_or(Accepts::Ordinary(None), |(_, accepts)| accepts.clone())
    }

    fn set_id<'a>(&'a self, instance: &'a Instance) -> Option<&'a str> {
        let attached = self.attachment(&instance.name);
        match attached.and_then(|attachment| attachment.policy_set.as_ref()) {
            Some(to) => Some(&to.id),
            None => deployed_policy(instance).map(|(id, _)| id),
        }
    }
}

/// Pools by id.
struct Pools<'r> {
    plain: HashMap<&'r str, &'r Threadpool>,
    lanes: HashMap<&'r str, Rc<BTreeSet<i16>>>,
}

impl<'r> Pools<'r> {
    fn of(resources: Option<&'r Resources>) -> Pools<'r> {
        let mut pools = Pools { plain: HashMap::new(), lanes: HashMap::new() };
        let Some(resources) = resources else {
            return pools;
        };
        for pool in &resources.threadpool {
            pools.plain.entry(&pool.id.0).or_insert(pool);
        }
        for pool in &resources.threadpool_with_lanes {
            let lanes = || pool.lane.iter().map(|lane| lane.priority.0).collect();
            pools.lanes.entry(&pool.id.0).or_insert_with(|| Rc::new(lanes()));
        }
        pools
    }

    fn accepts(&self, set: &PolicySet) -> Accepts {
        let pool = set.threadpool.as_ref().map(|to| &*to.id);
        match &set.priority_model {
            Some(model) if model.priority_model == PriorityModelKind::ServerDeclared => {
                Accepts::Declared(model.server_priority.0)
            }
            Some(model) => Accepts::Propagated {
                default: model.server_priority.0,
                lanes: pool.and_then(|id| self.lanes.get(id).cloned()),
            },
            None => {
                let plain = pool.and_then(|id| self.plain.get(id));
                Accepts::Ordinary(plain.map(|pool| pool.default_priority.0))
            }
        }
    }
}
