//! Ranking of all operations by urgency at the critical instant (paper 3, 3.3 steps 3 and 5).

use std::cmp::Reverse;

use crate::graph::CallGraph;
use crate::graph::threads::Dispatch;
use crate::level::Importance;
use crate::repository::Repository;
use crate::strategy::{Dispatching, InputMapping, MappedOperation, by_deadline, by_laxity};
use crate::time::Nanos;

/// Operation with its rank.
#[derive(Debug)]
pub(super) struct Ranked {
    /// Index in the order of handles.
    pub(super) place: usize,
    /// Static priority level, counted from 0.
    pub(super) level: u32,
    /// Streams of dispatches; empty if it only runs in its callers' threads.
    pub(super) streams: Vec<Dispatch>,
    /// Number of dispatches in a period; at least 1.
    pub(super) dispatches: u64,
    pub(super) period: Nanos,
    pub(super) worst_case: Nanos,
    pub(super) dispatching: Dispatching,
    pub(super) critical: bool,
    static_priority: u64,
    /// Dynamic subpriority at the critical instant.
    dynamic: u64,
    importance: Importance,
    finish: u32,
}

/// Sorts the operations that have a rate: by static priority, by dynamic subpriority if all arrive
/// together, by importance, and then callees before callers. The last criterion is unique, so that
/// the order is total.
pub(super) fn rank(
    repository: &Repository,
    graph: &CallGraph,
    dispatches: &[Dispatch],
    periods: &[Option<Nanos>],
    input: &dyn InputMapping,
) -> Vec<Ranked> {
    let mut streams: Vec<Vec<Dispatch>> = vec![Vec::new(); repository.len()];
    for dispatch in dispatches {
        streams[dispatch.entry].push(dispatch.clone());
    }
    let mut ranked = Vec::new();
    for (place, (info, streams)) in repository.infos().iter().zip(streams).enumerate() {
        let shortest = streams.iter().map(|stream| stream.period).min();
        let Some(period) = shortest.or(periods[place]).filter(|_| info.is_enabled()) else {
            continue;
        };
        let said = &info.characteristics;
        let worst_case = streams.first().map_or(said.worst_case, |one| one.worst_case);
        let operation = MappedOperation {
            info,
            period,
            deadline: said.constraints.deadline.unwrap_or(period),
            worst_case,
        };
        let dispatching = input.dispatching(&operation);
        let deadline = operation.deadline as i64;
        ranked.push(Ranked {
            place,
            level: 0,
            dispatches: streams
                .iter()
                .fold(0, |sum: u64, stream| sum.saturating_add(stream.count))
                .max(1),
            streams,
            period,
            worst_case,
            dispatching,
            critical: input.is_critical(&operation),
            static_priority: input.static_priority(&operation),
            dynamic: match dispatching {
                Dispatching::Static => 0,
                Dispatching::Deadline => by_deadline(deadline),
                Dispatching::Laxity => by_laxity(deadline - worst_case as i64),
            },
            importance: said.importance,
            finish: graph.finish[place],
        });
    }
    ranked.sort_by_key(|one| {
        let subpriority = (Reverse(one.importance), one.finish);
        (one.static_priority, one.dynamic, subpriority)
    });
    let mut level = 0;
    for at in 1..ranked.len() {
        level += u32::from(ranked[at].static_priority != ranked[at - 1].static_priority);
        ranked[at].level = level;
    }
    ranked
}
