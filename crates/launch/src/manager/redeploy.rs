//! Redeployment: the difference between a running plan and a new one, and the change to the new plan while unchanged
//! instances keep running.

use std::collections::{BTreeMap, BTreeSet};

use oxorb_core::Interface as _;
use oxorb_deploy::plan::{Connection, Instance, Plan};

use super::application::merged;
use super::domain::{Domain, Phase, placed};
use super::member::same_ends;
use super::split;
use super::together::together;
use super::trouble::Trouble;
use crate::idl::deployment as d;
use crate::wire;

/// Difference between two plans, by the names of their elements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Instances that exist only in the new plan.
    pub added: BTreeSet<String>,
    /// Instances that exist only in the old plan.
    pub removed: BTreeSet<String>,
    /// Instances in both plans whose node, implementation, artifact or values differ.
    pub changed: BTreeSet<String>,
    /// Connections of the old plan that must be ended: they are removed or changed, or an end is at a removed or
    /// changed instance.
    pub broken: BTreeSet<String>,
}

impl Difference {
    /// Compares two plans.
    pub fn between(old: &Plan, new: &Plan) -> Difference {
        let mut difference = Difference::default();
        let before: BTreeMap<&str, &Instance> = named(old);
        let after: BTreeMap<&str, &Instance> = named(new);
        for (&name, one) in &before {
            match after.get(name) {
                None => {
                    difference.removed.insert(name.to_owned());
                }
                Some(other) if !same(old, one, new, other) => {
                    difference.changed.insert(name.to_owned());
                }
                Some(_) => {}
            }
        }
        let added = after.keys().filter(|name| !before.contains_key(*name));
        difference.added.extend(added.map(|&name| name.to_owned()));
        let connections: BTreeMap<&str, &Connection> = new
            .connection
            .iter()
            .map(|connection| (connection.name.as_str(), connection))
            .collect();
        for connection in &old.connection {
            let is_same = connections
                .get(connection.name.as_str())
                .is_some_and(|other| ends(old, connection) == ends(new, other));
            let touches = |names: &BTreeSet<String>| {
                let mut ends = connection.internal_endpoint.iter();
                ends.any(|end| {
                    let instance = old.instance_at(&end.instance);
                    instance.is_some_and(|at| names.contains(&old.instance[at].name))
                })
            };
            if !is_same || touches(&difference.removed) || touches(&difference.changed) {
                difference.broken.insert(connection.name.clone());
            }
        }
        difference
    }

    /// Reports whether the plans have the same instances and connections.
    pub fn is_empty(&self) -> bool {
        *self == Difference::default()
    }
}

pub(super) fn named(plan: &Plan) -> BTreeMap<&str, &Instance> {
    let instances = plan.instance.iter();
    instances.map(|one| (one.name.as_str(), one)).collect()
}

/// Reports whether an instance, including its implementation, is the same in two plans.
fn same(old: &Plan, one: &Instance, new: &Plan, other: &Instance) -> bool {
    one.node == other.node
        && one.config_property == other.config_property
        && one.deployed_resource == other.deployed_resource
        && one.deployed_shared_resource == other.deployed_shared_resource
        && same_making(old, one, new, other)
}

/// Reports whether an instance has the same implementation and artifacts in two plans.
pub(super) fn same_making(old: &Plan, one: &Instance, new: &Plan, other: &Instance) -> bool {
    let made_of = |plan: &Plan, instance: &Instance| {
        let at = plan.implementation_at(&instance.implementation)?;
        let implementation = plan.implementation.get(at)?.clone();
        let artifacts: Vec<_> = implementation
            .artifact
            .iter()
            .filter_map(|to| plan.artifact.get(plan.artifact_at(to)?).cloned())
            .collect();
        Some((implementation, artifacts))
    };
    made_of(old, one) == made_of(new, other)
}

/// Returns descriptions of the ends of a connection, sorted.
pub(super) fn ends(plan: &Plan, connection: &Connection) -> BTreeSet<String> {
    let inner = connection.internal_endpoint.iter().map(|end| {
        let at = plan.instance_at(&end.instance);
        let instance = at.map_or("", |at| plan.instance[at].name.as_str());
        format!("{instance}.{} {}", end.port_name, end.kind.text())
    });
    let outer = connection.external_reference.iter();
    let outer = outer.map(|one| format!("{} {:?} {:?}", one.location, one.port_name, one.provider));
    inner.chain(outer).collect()
}

impl Domain {
    /// Replaces the running plan. Instances that are the same in both plans keep running. If a step fails, the old plan
    /// is restored.
    pub(super) fn redeploy(&self, new: Plan) -> Result<(), Trouble> {
        let _pass = self.pass()?;
        let old = {
            let state = self.state.lock();
            if state.phase != Phase::Running {
                return Err(Trouble::new(
                    &self.label,
                    format!(
                        "its state is {:?}, but only a running plan can be changed",
                        state.phase
                    ),
                ));
            }
            state.plan.clone()
        };
        let Err(trouble) = self.change(&old, &new) else {
            self.state.lock().plan = new;
            return Ok(());
        };
        Err(match self.change(&new, &old) {
            Ok(()) => trouble.and("the previous plan continues to run"),
            Err(more) => trouble.and(format_args!(
                "and the previous plan could not be restored: {more}; `status` shows what is running"
            )),
        })
    }

    fn change(&self, old: &Plan, new: &Plan) -> Result<(), Trouble> {
        let before = self.provided();
        self.disconnect(&Difference::between(old, new).broken);
        let wanted: BTreeMap<String, Plan> = split::by_node(new).into_iter().collect();
        let left = self.nodes().into_iter();
        let left: Vec<_> =
            left.filter(|(name, node)| !wanted.contains_key(name) || node.lost.is_some()).collect();
        let ended = together(left, |(name, node)| self.end_node(&name, &node));
        ended.into_iter().collect::<Result<(), Trouble>>()?;
        let changed = together(wanted.into_iter().collect(), |(name, part): (String, Plan)| {
            self.change_node(&name, part)
        });
        changed.into_iter().collect::<Result<(), Trouble>>()?;
        // A reinstalled instance provides new objects even if its description has not changed. End connections to the
        // old objects.
        let after = self.provided();
        let moved = before.iter().filter(|one| {
            let other = after.iter().find(|other| other.name == one.name);
            other.is_none_or(|other| !same_ends(one, other))
        });
        self.disconnect(&moved.map(|one| one.name.clone()).collect());
        self.connect()?;
        self.run()
    }

    fn change_node(&self, name: &str, part: Plan) -> Result<(), Trouble> {
        let mut node = self.state.lock().nodes.get(name).cloned();
        // The plan is only prepared on this node, because its launch failed. No process is running there.
        if let Some(prepared) = node.take_if(|node| node.application.is_none()) {
            self.end_node(name, &prepared)?;
        }
        let Some(node) = node else {
            self.prepare_node(name, part)?;
            let node = self.state.lock().nodes.get(name).cloned();
            return match node {
                Some(node) => self.launch_node(name, &node),
                None => Err(Trouble::new(&self.label, "it is being stopped")),
            };
        };
        if node.part == part && node.ended.is_empty() && !node.is_half_changed {
            return Ok(());
        }
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            node.is_half_changed = true;
        }
        let plans = node.plans.with_timeout(self.settings.node_timeout);
        let provided = plans.redeploy(&wire::to_wire(&part)?);
        let provided = provided.map_err(|error| placed(error, name, &self.label))?;
        if let Some(node) = self.state.lock().nodes.get_mut(name) {
            node.part = part;
            node.is_half_changed = false;
            node.provided = provided;
            node.ended.clear();
        }
        Ok(())
    }

    fn provided(&self) -> Vec<d::Connection> {
        let nodes = self.nodes();
        merged(nodes.iter().flat_map(|(_, node)| &node.provided))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::split::tests::{PLAN, plan};

    #[test]
    fn equal_plans_do_not_differ() {
        let old = plan(PLAN);
        // A different order of elements is not a difference.
        let mut new = old.clone();
        new.instance.reverse();
        new.connection.reverse();
        assert!(Difference::between(&old, &new).is_empty());
    }

    #[test]
    fn an_instance_that_goes_breaks_its_connections() {
        let old = plan(PLAN);
        let mut new = old.clone();
        new.instance.retain(|one| one.name != "c2");
        new.connection.retain(|one| one.name != "two");
        let difference = Difference::between(&old, &new);
        assert_eq!(difference.removed, ["c2".to_owned()].into());
        assert_eq!(difference.broken, ["two".to_owned()].into());
        let back = Difference::between(&new, &old);
        assert_eq!(back.added, ["c2".to_owned()].into());
        assert_eq!(back.broken, [].into());
    }

    #[test]
    fn another_artifact_changes_the_instances_that_are_made_of_it() {
        let old = plan(PLAN);
        let new = plan(&PLAN.replace("bin/c", "bin/d"));
        let difference = Difference::between(&old, &new);
        assert_eq!(difference.changed, ["c1".to_owned(), "c2".to_owned()].into());
        assert_eq!(difference.broken, ["one".to_owned(), "two".to_owned()].into());
    }

    #[test]
    fn a_connection_to_another_port_is_another_connection() {
        let old = plan(PLAN);
        let new = plan(&PLAN.replace("c2.in", "c2.other"));
        let difference = Difference::between(&old, &new);
        assert_eq!(difference.changed, [].into());
        assert_eq!(difference.broken, ["two".to_owned()].into());
    }
}
