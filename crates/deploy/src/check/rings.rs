//! Check for rings of facets: components that call each other in a cycle, each of which may wait for the next.

use std::collections::{HashMap, VecDeque};

use crate::finding::{Finding, Findings};
use crate::model::basic::PortKind;
use crate::model::plan::{Connection, Endpoint, Plan};

/// Maximum number of calls of a ring that is written out.
const MOST: usize = 12;

/// Calls that a connection permits.
struct Call<'p> {
    connection: &'p Connection,
    /// Receptacle, with the index of its instance.
    from: (usize, &'p Endpoint),
    /// Facet, with the index of its instance.
    to: (usize, &'p Endpoint),
}

/// Warns of each group of components that call each other in a ring, with one ring as an example. Takes time linear in
/// the ends of connections: of a connection with several users and providers, the first of each is paired with all of
/// the other.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let calls = calls(plan);
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); plan.instance.len()];
    for (at, call) in calls.iter().enumerate() {
        from[call.from.0].push(at);
    }
    let group = groups(&calls, &from);
    let mut told = vec![false; plan.instance.len()];
    for start in 0..plan.instance.len() {
        if std::mem::replace(&mut told[group[start]], true) {
            continue;
        }
        let Some(ring) = ring(start, &calls, &from, &group) else {
            continue;
        };
        findings.push(finding(plan, &ring));
    }
}

fn calls(plan: &Plan) -> Vec<Call<'_>> {
    let instances: HashMap<&str, usize> =
        plan.instance.iter().enumerate().map(|(at, one)| (&*one.id.0, at)).collect();
    let mut calls = Vec::new();
    for connection in &plan.connection {
        let of = |is_wanted: fn(PortKind) -> bool| {
            let ends = connection.internal_endpoint.iter().filter(move |end| is_wanted(end.kind));
            let placed = ends.filter_map(|end| Some((*instances.get(&*end.instance.id)?, end)));
            placed.collect::<Vec<_>>()
        };
        let facets = of(|kind| kind == PortKind::Facet);
        let receptacles =
            of(|kind| matches!(kind, PortKind::SimplexReceptacle | PortKind::MultiplexReceptacle));
        let pairs = match (receptacles.as_slice(), facets.as_slice()) {
            ([], _) | (_, []) => continue,
            ([from, more @ ..], [to, others @ ..]) => {
                let first = std::iter::once((*from, *to));
                let users = more.iter().map(|&from| (from, *to));
                first.chain(users).chain(others.iter().map(|&to| (*from, to)))
            }
        };
        calls.extend(pairs.map(|(from, to)| Call { connection, from, to }));
    }
    calls
}

/// Returns a group number for each instance; instances in a common ring have the same number (Tarjan, without
/// recursion).
fn groups(calls: &[Call<'_>], from: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let many = from.len();
    let (mut order, mut low) = (vec![UNSEEN; many], vec![0; many]);
    let mut group = vec![UNSEEN; many];
    let mut next = 0;
    let mut open: Vec<usize> = Vec::new();
    for root in 0..many {
        if order[root] != UNSEEN {
            continue;
        }
        // Path of instances, each with the number of its calls that were followed.
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((at, followed)) = path.last_mut() {
            let at = *at;
            if *followed == 0 && order[at] == UNSEEN {
                (order[at], low[at]) = (next, next);
                next += 1;
                open.push(at);
            }
            if let Some(&call) = from[at].get(*followed) {
                *followed += 1;
                let to = calls[call].to.0;
                match (order[to], group[to]) {
                    (UNSEEN, _) => path.push((to, 0)),
                    (known, UNSEEN) => low[at] = low[at].min(known),
                    _ => {}
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before] = low[*before].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(one) = open.pop() {
                    group[one] = at;
                    if one == at {
                        break;
                    }
                }
            }
        }
    }
    group
}

/// Returns the shortest ring of calls that starts at an instance and stays within its group.
fn ring<'c, 'p>(
    start: usize,
    calls: &'c [Call<'p>],
    from: &[Vec<usize>],
    group: &[usize],
) -> Option<Vec<&'c Call<'p>>> {
    let mut by: HashMap<usize, usize> = HashMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(at) = next.pop_front() {
        for &call in &from[at] {
            let to = calls[call].to.0;
            if to == start {
                let mut ring = vec![&calls[call]];
                while let Some(&call) = by.get(&ring.last().map_or(start, |call| call.from.0)) {
                    ring.push(&calls[call]);
                }
                ring.reverse();
                return Some(ring);
            }
            if group[to] == group[start] && !by.contains_key(&to) {
                by.insert(to, call);
                next.push_back(to);
            }
        }
    }
    None
}

fn finding(plan: &Plan, ring: &[&Call<'_>]) -> Finding {
    let name =
        |(at, end): (usize, &Endpoint)| format!("{}.{}", plan.instance[at].name, end.port_name);
    let shown = ring.iter().take(MOST);
    let mut steps: Vec<String> =
        shown.map(|call| format!("{} -> {}", name(call.from), name(call.to))).collect();
    if ring.len() > MOST {
        steps.push(format!("and {} more", ring.len() - MOST));
    }
    let what = match ring {
        [one] => format!(
            "{} calls itself: {}; a container whose threads all wait for such calls answers none of them",
            plan.instance[one.from.0].name, steps[0]
        ),
        _ => format!(
            "components call each other's facets in a cycle: {}; each may wait for the next, and containers whose \
             threads all wait answer none of them",
            steps.join(", ")
        ),
    };
    let place = ring.first().map(|call| call.connection.place).unwrap_or_default();
    Finding::warning(place, what).cure(
        "call back by an event through a channel, or give each of their pools more threads than calls that can wait at \
         the same time",
    )
}
