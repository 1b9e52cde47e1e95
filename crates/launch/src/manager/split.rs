//! Division of a plan into the parts of its nodes and processes.

use std::collections::{BTreeSet, HashMap, HashSet};

use oxorb_deploy::plan::{Connection, Plan};
use oxorb_deploy::{Process, processes};

use crate::idl::deployment as d;
use crate::part::instance_elsewhere;

/// Returns a plan reduced to some of its instances, like [`part`](crate::part). Constraints keep their positions,
/// because the names of processes are derived from them.
fn part(plan: &Plan, process: &Process) -> Plan {
    let mut part = crate::part(plan, process);
    let kept: HashSet<&str> = part.instance.iter().map(|one| one.id.0.as_str()).collect();
    let mut constraints = plan.locality_constraint.clone();
    for constraint in &mut constraints {
        let instances = &mut constraint.constrained_instance;
        instances.retain(|to| kept.contains(to.id.as_str()));
    }
    part.locality_constraint = constraints;
    part
}

/// Returns the parts of a plan by node, in the order in which the plan uses the nodes.
pub(crate) fn by_node(plan: &Plan) -> Vec<(String, Plan)> {
    let mut instances: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, instance) in plan.instance.iter().enumerate() {
        if let Some(node) = instance.node.as_deref() {
            instances.entry(node).or_default().push(at);
        }
    }
    let nodes = plan.nodes().into_iter();
    nodes
        .filter_map(|node| {
            let all = Process {
                node: node.to_owned(),
                name: String::new(),
                instances: instances.remove(node)?,
            };
            Some((node.to_owned(), part(plan, &all)))
        })
        .collect()
}

/// Returns the parts of a node's plan by process.
pub(crate) fn by_process(plan: &Plan) -> Vec<(String, Plan)> {
    processes(plan)
        .into_iter()
        .map(|process| (process.name.clone(), part(plan, &process)))
        .collect()
}

/// Returns the names of connections through which instances of a part use objects.
pub(crate) fn used(part: &Plan) -> BTreeSet<&str> {
    named(part, |connection| {
        let mut ends = connection.internal_endpoint.iter();
        ends.any(|end| !end.provides())
    })
}

/// Returns the names of connections for which instances of a part provide objects.
pub(crate) fn provided(part: &Plan) -> BTreeSet<&str> {
    named(part, |connection| {
        let mut ends = connection.internal_endpoint.iter();
        ends.any(|end| end.provides())
    })
}

/// Returns the names of connections for which `given` contains fewer references than there are providers in other
/// parts.
pub(crate) fn lacking<'p>(part: &'p Plan, given: &[d::Connection]) -> Vec<&'p str> {
    let used = used(part);
    let connections = part.connection.iter();
    connections
        .filter(|connection| used.contains(connection.name.as_str()))
        .filter(|connection| {
            let elsewhere = connection.external_reference.iter();
            let expected = elsewhere
                .filter(|end| end.provider == Some(true) && instance_elsewhere(end).is_some())
                .count();
            let given = given.iter().filter(|given| given.name == connection.name);
            given.map(|given| given.endpoint.len()).sum::<usize>() < expected
        })
        .map(|connection| connection.name.as_str())
        .collect()
}

fn named(part: &Plan, is_so: impl Fn(&Connection) -> bool) -> BTreeSet<&str> {
    let connections = part.connection.iter();
    connections
        .filter(|connection| is_so(connection))
        .map(|connection| connection.name.as_str())
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use oxorb_deploy::{Document, Format, Limits};

    use super::*;

    /// A plan of one producer and two consumers over two nodes.
    pub(crate) const PLAN: &str = r#"
        label = "split"
        [[implementation]]
        name = "P"
        artifact = "make-p"
        [[implementation]]
        name = "C"
        artifact = "make-c"
        [[instance]]
        name = "p"
        implementation = "P"
        node = "north"
        [[instance]]
        name = "c1"
        implementation = "C"
        node = "north"
        [[instance]]
        name = "c2"
        implementation = "C"
        node = "south"
        [[connection]]
        name = "one"
        Facet = "p.out"
        SimplexReceptacle = "c1.in"
        [[connection]]
        name = "two"
        Facet = "p.out"
        SimplexReceptacle = "c2.in"
        [[artifact]]
        name = "make-p"
        location = "bin/p"
        [[artifact]]
        name = "make-c"
        location = "bin/c"
        [[localityConstraint]]
        constraint = "SameProcess"
        constrainedInstance = ["c2"]
        [[localityConstraint]]
        constraint = "SameProcess"
        constrainedInstance = ["c1"]
    "#;

    pub(crate) fn plan(text: &str) -> Plan {
        Document::read(text, Format::Toml, &Limits::default())
            .and_then(Document::into_plan)
            .unwrap()
    }

    #[test]
    fn a_node_gets_its_instances_and_what_they_need() {
        let parts = by_node(&plan(PLAN));
        let names: Vec<&str> = parts.iter().map(|(node, _)| &**node).collect();
        assert_eq!(names, ["north", "south"]);
        let south = &parts[1].1;
        assert_eq!(south.instance.len(), 1);
        assert_eq!(south.implementation[0].name, "C");
        assert_eq!(south.artifact[0].name, "make-c");
        assert_eq!(south.connection.len(), 1);
        assert_eq!(south.connection[0].internal_endpoint.len(), 1);
        assert_eq!(used(south), ["two"].into());
        assert_eq!(provided(south), [].into());
        assert_eq!(provided(&parts[0].1), ["one", "two"].into());
        south.check_references().unwrap();
        assert_eq!(lacking(south, &[]), ["two"]);
        let two = d::Connection { name: "two".to_owned(), endpoint: vec![None] };
        assert!(lacking(south, &[two]).is_empty());
    }

    #[test]
    fn processes_keep_their_names_when_a_plan_is_divided() {
        let whole = plan(PLAN);
        let mut wanted: Vec<(String, String)> =
            processes(&whole).into_iter().map(|process| (process.node, process.name)).collect();
        let mut found = Vec::new();
        for (node, part) in by_node(&whole) {
            let names = by_process(&part).into_iter();
            found.extend(names.map(|(name, _)| (node.clone(), name)));
        }
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted);
        assert!(found.contains(&("south".to_owned(), "shared-1".to_owned())));
        assert!(found.contains(&("north".to_owned(), "shared-2".to_owned())));
    }
}
