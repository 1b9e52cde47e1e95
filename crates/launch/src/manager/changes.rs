//! Description, for users, of the changes that a redeployment makes: restarted instances with the reasons, and values
//! and connections that differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use oxorb_deploy::plan::{Instance, Plan};
use oxorb_deploy::processes;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::value::Any;

use super::redeploy::{Difference, ends, named, same_making};
use crate::locality::{explicit_home, same_quality};
use crate::resources::resources_of;
use crate::wire::{self, WireError};

/// Changes that redeployment makes to a running plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Instances that exist only in the new plan.
    pub added: BTreeSet<String>,
    /// Instances that exist only in the old plan.
    pub removed: BTreeSet<String>,
    /// Instances in both plans that are reinstalled and lose their state, with the reasons.
    pub restarted: BTreeMap<String, Vec<String>>,
    /// Names of connections that are ended. Those of restarted instances are made again, and are also in `connected`.
    pub disconnected: BTreeSet<String>,
    /// Names of connections that are made.
    pub connected: BTreeSet<String>,
    /// Changed properties of restarted instances.
    pub properties: Vec<PropertyChange>,
}

/// Property of an instance with different values in two plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyChange {
    /// Name of the instance.
    pub instance: String,
    /// Name of the property.
    pub property: String,
    /// Value in the running plan, as text; `None` if it has none.
    pub before: Option<String>,
    /// Value in the new plan, as text; `None` if it has none.
    pub after: Option<String>,
}

impl Changes {
    /// Compares a running plan with its replacement, in the same way as managers compare them. Processes that have
    /// ended must be added by calling [`Changes::restart`].
    ///
    /// # Errors
    /// One of the plans cannot be converted for sending.
    pub fn between(old: &Plan, new: &Plan) -> Result<Changes, WireError> {
        // Plans are sent without the ids of the document. Convert both plans to what a manager receives, so that they
        // differ only where a manager sees a difference.
        let sent = |plan: &Plan| wire::from_wire(&wire::to_wire(plan)?);
        let (old, new) = (&sent(old)?, &sent(new)?);
        let difference = Difference::between(old, new);
        let mut changes = Changes {
            added: difference.added,
            removed: difference.removed,
            disconnected: difference.broken,
            ..Changes::default()
        };
        let (one, other) = (Side::of(old), Side::of(new));
        let (before, after) = (named(old), named(new));
        for (&name, &instance) in &before {
            let Some(&next) = after.get(name) else {
                continue;
            };
            changes.compare_properties(instance, next);
            let why = reasons(&one, instance, &other, next);
            if !why.is_empty() {
                changes.restarted.insert(name.to_owned(), why);
            }
        }
        for instance in after.values() {
            let Some(home) = explicit_home(instance) else {
                continue;
            };
            if before.contains_key(&*instance.name) && changes.restarted.contains_key(home) {
                let why = format!("its home {home} is installed again");
                changes.restarted.entry(instance.name.clone()).or_default().push(why);
            }
        }
        changes.connect(Some(old), new);
        Ok(changes)
    }

    /// Adds the instances of processes that are not running. They are reinstalled too.
    pub fn restart(&mut self, new: &Plan, ended: &BTreeSet<(String, String)>) {
        for process in processes(new) {
            if !ended.contains(&(process.node.clone(), process.name.clone())) {
                continue;
            }
            let why = format!("process {} on node {} is not running", process.name, process.node);
            for &at in &process.instances {
                let name = &new.instance[at].name;
                if !self.added.contains(name) {
                    self.restarted.entry(name.clone()).or_default().push(why.clone());
                }
            }
        }
        self.connect(None, new);
    }

    /// Reports whether there are no changes.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    fn compare_properties(&mut self, instance: &Instance, next: &Instance) {
        let values = |instance: &Instance| -> BTreeMap<String, Any> {
            let properties = instance.config_property.iter();
            properties.map(|one| (one.name.clone(), one.value.clone())).collect()
        };
        let (before, after) = (values(instance), values(next));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
        self.properties.extend(changed.map(|name| PropertyChange {
            instance: instance.name.clone(),
            property: name.clone(),
            before: before.get(name).map(Any::to_string),
            after: after.get(name).map(Any::to_string),
        }));
    }

    /// Adds the connections of instances that are installed, and those that differ from the old plan's.
    fn connect(&mut self, old: Option<&Plan>, new: &Plan) {
        let before = old.map(|old| {
            let ends = old.connection.iter().map(|one| (&*one.name, ends(old, one)));
            ends.collect::<HashMap<_, _>>()
        });
        let names: HashMap<&str, &str> =
            new.instance.iter().map(|one| (&*one.id.0, &*one.name)).collect();
        for connection in &new.connection {
            let name = &connection.name;
            let mut touched = connection.internal_endpoint.iter();
            let starts_anew = touched.any(|end| {
                let instance = names.get(&*end.instance.id).copied().unwrap_or_default();
                self.added.contains(instance) || self.restarted.contains_key(instance)
            });
            let known = before.as_ref().map(|before| before.get(&**name));
            let is_new = known == Some(None);
            let differs = known.flatten().is_some_and(|known| *known != ends(new, connection));
            if !is_new && !self.connected.contains(name) && (starts_anew || differs) {
                self.disconnected.insert(name.clone());
            }
            if is_new || starts_anew || differs {
                self.connected.insert(name.clone());
            }
        }
    }
}

/// Either of the two plans, with data derived from it.
struct Side<'p> {
    plan: &'p Plan,
    resources: Option<ServerResources>,
    /// Name of the process of each instance, by the instance's id.
    processes: HashMap<&'p str, String>,
}

impl<'p> Side<'p> {
    fn of(plan: &'p Plan) -> Side<'p> {
        let mut by_instance = HashMap::new();
        for process in processes(plan) {
            for &at in &process.instances {
                by_instance.insert(&*plan.instance[at].id.0, process.name.clone());
            }
        }
        // Unreadable resources count as missing: managers refuse such a plan with a proper error.
        Side { plan, resources: resources_of(plan).unwrap_or_default(), processes: by_instance }
    }

    fn arguments(&self) -> &[String] {
        let line = self.resources.as_ref().and_then(|resources| resources.cmdline.as_ref());
        line.map_or(&[], |line| &line.arg)
    }
}

/// Returns the reasons why an instance that is in both plans is reinstalled.
fn reasons(old: &Side<'_>, one: &Instance, new: &Side<'_>, other: &Instance) -> Vec<String> {
    let mut why = Vec::new();
    let node = |instance: &Instance| instance.node.clone().unwrap_or_default();
    if one.node != other.node {
        why.push(format!("it moves from node {} to {}", node(one), node(other)));
    } else {
        let process =
            |side: &Side<'_>, id: &str| side.processes.get(id).cloned().unwrap_or_default();
        let (before, after) = (process(old, &one.id.0), process(new, &other.id.0));
        if before != after {
            why.push(format!("it moves from process {before} to {after}"));
        } else if old.arguments() != new.arguments() {
            why.push("the arguments of its process differ".to_owned());
        }
    }
    if !same_making(old.plan, one, new.plan, other) {
        why.push("its implementation or artifact differs".to_owned());
    }
    if one.config_property != other.config_property {
        why.push("its properties differ".to_owned());
    }
    let resources = |instance: &Instance| {
        (instance.deployed_resource.clone(), instance.deployed_shared_resource.clone())
    };
    if resources(one) != resources(other)
        || !same_quality(one, old.resources.as_ref(), other, new.resources.as_ref())
    {
        why.push("its real-time resources differ".to_owned());
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach_resources;
    use crate::manager::split::tests::{PLAN, plan};
    use oxorb_deploy::{Document, Format, Limits};

    fn changes(old: &str, new: &str) -> Changes {
        Changes::between(&plan(old), &plan(new)).unwrap()
    }

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_owned).into()
    }

    #[test]
    fn equal_plans_change_nothing() {
        assert!(changes(PLAN, PLAN).is_empty());
    }

    #[test]
    fn instances_and_their_connections_come_and_go() {
        let without = PLAN.replace(
            "[[instance]]\n        name = \"c2\"\n        implementation = \"C\"\n        node = \"south\"",
            "",
        );
        let without = without
            .replace("[[connection]]\n        name = \"two\"\n        Facet = \"p.out\"\n        SimplexReceptacle = \"c2.in\"", "")
            .replace("constrainedInstance = [\"c2\"]", "constrainedInstance = [\"c1\"]");
        let gone = changes(PLAN, &without);
        assert_eq!((gone.removed, gone.disconnected), (names(["c2"]), names(["two"])));
        assert!(gone.connected.is_empty() && gone.added.is_empty());
        let back = changes(&without, PLAN);
        assert_eq!((back.added, back.connected), (names(["c2"]), names(["two"])));
        assert!(back.disconnected.is_empty());
    }

    #[test]
    fn another_value_restarts_an_instance_and_is_told() {
        let with = |value: &str| {
            let node = "name = \"c1\"\n";
            PLAN.replace(node, &format!("{node}        configProperty = {{ hertz = {value} }}\n"))
        };
        let changes = changes(&with("{ ulong = 20 }"), &with("{ ulong = 5 }"));
        assert_eq!(changes.restarted["c1"], ["its properties differ"]);
        assert_eq!(changes.connected, names(["one"]));
        assert_eq!(changes.disconnected, names(["one"]));
        let told = PropertyChange {
            instance: "c1".to_owned(),
            property: "hertz".to_owned(),
            before: Some("20".to_owned()),
            after: Some("5".to_owned()),
        };
        assert_eq!(changes.properties, [told]);
    }

    #[test]
    fn processes_that_differ_restart_their_instances() {
        let moved = changes(PLAN, &PLAN.replace("\"south\"", "\"west\""));
        assert_eq!(moved.restarted["c2"], ["it moves from node south to west"]);
        let shared = changes(PLAN, &PLAN.replace("\"SameProcess\"", "\"DifferentProcess\""));
        assert_eq!(shared.restarted["c1"], ["it moves from process shared-2 to c1"]);
        assert_eq!(shared.connected, names(["one", "two"]));
        let made = changes(PLAN, &PLAN.replace("bin/c", "bin/d"));
        assert_eq!(made.restarted["c2"], ["its implementation or artifact differs"]);
    }

    #[test]
    fn resources_restart_the_instances_that_they_are_about() {
        let with = |text: &str| {
            let mut plan = plan(PLAN);
            let text = format!("document = \"ServerResources\"\n{text}");
            let read = Document::read(&text, Format::Toml, &Limits::default()).unwrap();
            attach_resources(&mut plan, &read.into_resources().unwrap()).unwrap();
            plan
        };
        let set = |priority: u32| {
            with(&format!(
                "[[orbConfigs.policySet]]\nid = \"set\"\n\
                 priorityModel = {{ server_priority = {priority}, priority_model = \"SERVER_DECLARED\" }}\n\
                 [[instance]]\nname = \"p\"\npolicySet = \"set\"\n"
            ))
        };
        let changes = Changes::between(&set(10), &set(20)).unwrap();
        assert_eq!(changes.restarted.len(), 1);
        assert_eq!(changes.restarted["p"], ["its real-time resources differ"]);
        let spin = |times: u32| with(&format!("[cmdline]\narg = [\"-ORBSpin={times}\"]\n"));
        let changes = Changes::between(&spin(1), &spin(2)).unwrap();
        assert_eq!(changes.restarted.len(), 3);
        assert_eq!(changes.restarted["p"], ["the arguments of its process differ"]);
    }

    #[test]
    fn instances_of_ended_processes_start_anew() {
        let plan = plan(PLAN);
        let mut changes = Changes::between(&plan, &plan).unwrap();
        changes.restart(&plan, &[("south".to_owned(), "shared-1".to_owned())].into());
        assert_eq!(changes.restarted["c2"], ["process shared-1 on node south is not running"]);
        assert_eq!(changes.connected, names(["two"]));
    }
}
