//! Order in which instances start.

use std::collections::HashMap;

use oxorb_deploy::plan::Plan;

/// Sorts instances so that providers come before users. Otherwise, and within cycles, keeps the given order.
pub(super) fn providers_first<T>(
    plan: &Plan,
    instances: Vec<T>,
    name: impl Fn(&T) -> &str,
) -> Vec<T> {
    let ids: HashMap<&str, &str> =
        plan.instance.iter().map(|one| (one.id.0.as_str(), one.name.as_str())).collect();
    let at: HashMap<&str, usize> = instances.iter().map(&name).zip(0..).collect();
    let place = |id: &str| at.get(ids.get(id)?).copied();
    // Store users and providers separately for each connection. Listing all pairs would take quadratic time.
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); instances.len()];
    let mut provides: Vec<Vec<usize>> = Vec::new();
    for connection in &plan.connection {
        let ends = connection.internal_endpoint.iter();
        let (providers, users): (Vec<_>, Vec<_>) = ends.partition(|end| end.provides());
        let number = provides.len();
        let providers = providers.iter().filter_map(|end| place(&end.instance.id));
        provides.push(providers.collect());
        for user in users.iter().filter_map(|end| place(&end.instance.id)) {
            needs[user].push(number);
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(instances.len());
    let mut seen = vec![false; instances.len()];
    let mut done = vec![false; provides.len()];
    for first in 0..instances.len() {
        // Depth-first search. Each frame holds an instance and the next of its connections and of their providers to
        // visit.
        let mut stack = vec![(first, 0, 0)];
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        while let Some((instance, connection, provider)) = stack.last_mut() {
            let Some(&number) = needs[*instance].get(*connection) else {
                order.push(*instance);
                stack.pop();
                continue;
            };
            let next = match done[number] {
                true => None,
                false => provides[number].get(*provider).copied(),
            };
            match next {
                Some(next) => {
                    *provider += 1;
                    if !std::mem::replace(&mut seen[next], true) {
                        stack.push((next, 0, 0));
                    }
                }
                None => {
                    done[number] = true;
                    (*connection, *provider) = (*connection + 1, 0);
                }
            }
        }
    }
    let mut instances: Vec<Option<T>> = instances.into_iter().map(Some).collect();
    let taken = order.into_iter().map(|at| instances[at].take());
    taken.map(|one| one.expect("each comes once")).collect()
}

#[cfg(test)]
mod tests {
    use oxorb_deploy::{Document, Format, Limits};

    use super::*;

    fn order(connections: &[(&str, &str)], names: &[&str]) -> Vec<String> {
        let mut text = "[[implementation]]\nname = \"I\"\n".to_owned();
        for name in names {
            text += &format!("[[instance]]\nname = {name:?}\nimplementation = \"I\"\n");
        }
        for (at, (user, provider)) in connections.iter().enumerate() {
            text += &format!(
                "[[connection]]\nname = \"{at}\"\nMultiplexReceptacle = \"{user}.r\"\nFacet = \"{provider}.f\"\n"
            );
        }
        let plan = Document::read(&text, Format::Toml, &Limits::default());
        let plan = plan.unwrap().into_plan().unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        providers_first(&plan, names, |name: &String| name.as_str())
    }

    #[test]
    fn what_provides_comes_first() {
        let names = ["a", "b", "c", "d"];
        assert_eq!(order(&[], &names), names);
        assert_eq!(order(&[("a", "b"), ("b", "d")], &names), ["d", "b", "a", "c"]);
        assert_eq!(order(&[("a", "c"), ("b", "c")], &names), ["c", "a", "b", "d"]);
    }

    #[test]
    fn a_cycle_ends() {
        let names = ["a", "b", "c"];
        let found = order(&[("a", "b"), ("b", "a"), ("c", "a")], &names);
        assert_eq!(found, ["b", "a", "c"]);
    }
}
