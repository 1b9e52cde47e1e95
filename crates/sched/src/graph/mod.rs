//! Call graph, made from dependencies: its cycles and its order (paper 0, 4.5.4).

use std::fmt;

use crate::repository::{CallKind, Enabled, Repository};

pub(crate) mod threads;

/// Edge of the graph, as seen from one of its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// Index of the other end, in the order of handles.
    pub(crate) other: usize,
    /// Number of calls in each execution of the caller.
    pub(crate) calls: u32,
    /// Kind of the edge: event or call.
    pub(crate) kind: CallKind,
}

/// Names of operations that call each other in a cycle; the first one is not repeated at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle(pub Vec<String>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.0 {
            write!(f, "{name} -> ")?;
        }
        f.write_str(self.0.first().map_or("", String::as_str))
    }
}

/// Call graph without cycles. Indices are in the order of handles.
#[derive(Debug)]
pub(crate) struct CallGraph {
    /// Callees of each operation.
    pub(crate) callees: Vec<Vec<Call>>,
    /// Callers of each operation.
    pub(crate) callers: Vec<Vec<Call>>,
    /// Finishing number of each operation in a depth-first search from callers to callees: callees
    /// before callers.
    pub(crate) finish: Vec<u32>,
    /// All operations, callers before callees.
    pub(crate) order: Vec<usize>,
}

/// Maximum number of cycles reported.
const MOST_CYCLES: usize = 20;

impl CallGraph {
    /// Builds the graph from the enabled dependencies. A two-way dependency of `h` on `d` means
    /// that `h` calls `d`, a one-way dependency that `d` calls `h`.
    pub(crate) fn of(repository: &Repository) -> Result<CallGraph, Vec<Cycle>> {
        let infos = repository.infos();
        let mut graph = CallGraph {
            callees: vec![Vec::new(); infos.len()],
            callers: vec![Vec::new(); infos.len()],
            finish: vec![0; infos.len()],
            order: Vec::with_capacity(infos.len()),
        };
        for dependency in repository.dependencies() {
            let ends = (dependency.dependent.index(), dependency.on.index());
            let (Some(dependent), Some(on)) = ends else {
                continue;
            };
            let counts = dependency.enabled != Enabled::Disabled
                && infos[dependent].is_enabled()
                && infos[on].is_enabled();
            if !counts {
                continue;
            }
            let (caller, callee) = match dependency.kind {
                CallKind::TwoWay => (dependent, on),
                CallKind::OneWay => (on, dependent),
            };
            let edge = |other| Call { other, calls: dependency.calls, kind: dependency.kind };
            graph.callees[caller].push(edge(callee));
            graph.callers[callee].push(edge(caller));
        }
        let cycles = graph.walk();
        if cycles.is_empty() {
            graph.order.reverse();
            return Ok(graph);
        }
        let name = |&place: &usize| infos[place].entry_point.clone();
        let named = cycles.iter().map(|ring| Cycle(ring.iter().map(name).collect()));
        Err(named.collect())
    }

    /// Searches depth first without recursion, records finishing numbers, and returns the cycles
    /// found.
    fn walk(&mut self) -> Vec<Vec<usize>> {
        let many = self.callees.len();
        let mut done = vec![false; many];
        let mut on_path = vec![false; many];
        let mut cycles = Vec::new();
        // Nodes of the current path, each with the index of its next edge.
        let mut path: Vec<(usize, usize)> = Vec::new();
        for root in 0..many {
            if done[root] {
                continue;
            }
            path.push((root, 0));
            on_path[root] = true;
            while let Some(step) = path.last_mut() {
                let (here, edge) = *step;
                step.1 += 1;
                let Some(call) = self.callees[here].get(edge) else {
                    self.finish[here] = self.order.len() as u32;
                    self.order.push(here);
                    done[here] = true;
                    on_path[here] = false;
                    path.pop();
                    continue;
                };
                let next = call.other;
                if on_path[next] {
                    let ring = path.iter().map(|&(place, _)| place);
                    cycles.push(ring.skip_while(|&place| place != next).collect());
                    if cycles.len() == MOST_CYCLES {
                        return cycles;
                    }
                } else if !done[next] {
                    path.push((next, 0));
                    on_path[next] = true;
                }
            }
        }
        cycles
    }

    /// Returns all operations that run in the thread of `entry`, itself included, callers before
    /// callees: those reached by two-way calls.
    pub(crate) fn thread_of(&self, entry: usize) -> Vec<usize> {
        let mut seen = vec![entry];
        let mut known = std::collections::HashSet::from([entry]);
        let mut next = 0;
        while let Some(&here) = seen.get(next) {
            next += 1;
            for call in &self.callees[here] {
                if call.kind == CallKind::TwoWay && known.insert(call.other) {
                    seen.push(call.other);
                }
            }
        }
        seen.sort_by_key(|&place| std::cmp::Reverse(self.finish[place]));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(names: &[&str], edges: &[(&str, &str, CallKind)]) -> Repository {
        let mut repository = Repository::new();
        for name in names {
            repository.create(name).unwrap();
        }
        for &(dependent, on, kind) in edges {
            let [dependent, on] = [dependent, on].map(|name| repository.lookup(name).unwrap());
            repository.add_dependency(dependent, on, 1, kind).unwrap();
        }
        repository
    }

    #[test]
    fn both_directions_of_a_dependency() {
        use CallKind::{OneWay, TwoWay};
        // a depends on b and calls it. b depends on c, which pushes events to b.
        let graph =
            CallGraph::of(&repository(&["a", "b", "c"], &[("a", "b", TwoWay), ("b", "c", OneWay)]))
                .unwrap();
        let callers: Vec<usize> = graph.callers[1].iter().map(|call| call.other).collect();
        assert_eq!(callers, [0, 2]);
        assert_eq!(graph.thread_of(0), [0, 1]);
        assert_eq!(graph.thread_of(2), [2]);
        assert!(graph.finish[1] < graph.finish[0]);
    }

    #[test]
    fn cycles_are_named_and_no_hang() {
        use CallKind::TwoWay;
        let cycles = CallGraph::of(&repository(
            &["a", "b", "c", "d"],
            &[("a", "b", TwoWay), ("b", "c", TwoWay), ("c", "b", TwoWay), ("d", "d", TwoWay)],
        ))
        .unwrap_err();
        let told: Vec<String> = cycles.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["b -> c -> b", "d -> d"]);
        // An event goes from the supplier to the dependent, so a one-way and a two-way dependency
        // of a on b form a cycle.
        let ring = repository(&["a", "b"], &[("a", "b", CallKind::OneWay), ("a", "b", TwoWay)]);
        assert_eq!(CallGraph::of(&ring).unwrap_err().len(), 1);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let names: Vec<String> = (0..50_000).map(|at| format!("n{at}")).collect();
        let mut repository = Repository::new();
        let handles: Vec<_> = names.iter().map(|name| repository.create(name).unwrap()).collect();
        for pair in handles.windows(2) {
            repository.add_dependency(pair[0], pair[1], 1, CallKind::TwoWay).unwrap();
        }
        let graph = CallGraph::of(&repository).unwrap();
        assert_eq!(graph.order.first(), Some(&0));
        assert_eq!(graph.finish[49_999], 0);
    }
}
