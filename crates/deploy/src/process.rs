//! Processes of a plan, and the instances in them.

use std::collections::HashMap;

use crate::model::plan::{LocalityKind, Plan};

/// Process on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Name of the node.
    pub node: String,
    /// Name, unique on the node: `main`, `shared-N` for the N-th constraint, or the instance's name, prefixed by
    /// `instance-` if it could be mistaken for one of those.
    pub name: String,
    /// Indices of the instances in the plan, in its order.
    pub instances: Vec<usize>,
}

/// Returns the processes of a plan, on each node: one for each constraint `SameProcess`, one for each instance that
/// must not share, and one named `main` for the rest. Instances without a node have none.
pub fn processes(plan: &Plan) -> Vec<Process> {
    let mut group: HashMap<&str, usize> = HashMap::new();
    let mut alone: HashMap<&str, ()> = HashMap::new();
    for (at, constraint) in plan.locality_constraint.iter().enumerate() {
        for to in &constraint.constrained_instance {
            match constraint.constraint {
                LocalityKind::SameProcess => drop(group.insert(&to.id, at)),
                LocalityKind::DifferentProcess => drop(alone.insert(&to.id, ())),
                LocalityKind::NoConstraint => {}
            }
        }
    }
    let mut found: Vec<Process> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for (at, instance) in plan.instance.iter().enumerate() {
        let Some(node) = instance.node.as_ref().filter(|node| !node.trim().is_empty()) else {
            continue;
        };
        let id = instance.id.0.as_str();
        let name = match (group.get(id), alone.contains_key(id)) {
            (Some(constraint), _) => format!("shared-{}", constraint + 1),
            (None, true) => alone_name(&instance.name),
            (None, false) => "main".to_owned(),
        };
        let place = *known.entry((node.clone(), name.clone())).or_insert_with(|| {
            found.push(Process { node: node.clone(), name, instances: Vec::new() });
            found.len() - 1
        });
        found[place].instances.push(at);
    }
    found
}

/// Returns the name of the process of an instance that does not share one.
fn alone_name(instance: &str) -> String {
    let is_taken = instance == "main"
        || ["shared-", "instance-"].iter().any(|prefix| instance.starts_with(prefix));
    match is_taken {
        true => format!("instance-{instance}"),
        false => instance.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Format, Limits};

    #[test]
    fn constraints_divide_instances_into_processes() {
        let instance = |name: &str| {
            format!("[[instance]]\nname = {name:?}\nnode = \"n\"\nimplementation = \"I\"\n")
        };
        let text = format!(
            "[[implementation]]\nname = \"I\"\n{}{}{}{}{}\
             [[localityConstraint]]\nconstraint = \"SameProcess\"\nconstrainedInstance = [\"a\", \"b\"]\n\
             [[localityConstraint]]\nconstraint = \"DifferentProcess\"\nconstrainedInstance = [\"b\", \"c\"]\n",
            instance("a"),
            instance("b"),
            instance("c"),
            instance("d"),
            instance("e")
        );
        let plan =
            Document::read(&text, Format::Toml, &Limits::default()).unwrap().into_plan().unwrap();
        let found: Vec<(String, Vec<usize>)> =
            processes(&plan).into_iter().map(|one| (one.name, one.instances)).collect();
        let wanted = [("shared-1", vec![0, 1]), ("c", vec![2]), ("main", vec![3, 4])];
        assert_eq!(found, wanted.map(|(name, instances)| (name.to_owned(), instances)));
    }

    #[test]
    fn names_of_instances_are_told_from_those_of_processes() {
        let names = ["main", "shared-1", "instance-main", "a", "b"];
        let instances = names.map(|name| {
            format!("[[instance]]\nname = {name:?}\nnode = \"n\"\nimplementation = \"I\"\n")
        });
        let text = format!(
            "[[implementation]]\nname = \"I\"\n{}\
             [[localityConstraint]]\nconstraint = \"SameProcess\"\nconstrainedInstance = [\"a\"]\n\
             [[localityConstraint]]\nconstraint = \"DifferentProcess\"\n\
             constrainedInstance = [\"main\", \"shared-1\", \"instance-main\"]\n",
            instances.concat()
        );
        let plan =
            Document::read(&text, Format::Toml, &Limits::default()).unwrap().into_plan().unwrap();
        let found: Vec<String> = processes(&plan).into_iter().map(|one| one.name).collect();
        let wanted =
            ["instance-main", "instance-shared-1", "instance-instance-main", "shared-1", "main"];
        assert_eq!(found, wanted);
    }
}
