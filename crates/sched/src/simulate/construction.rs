//! Timeline as constructed by TAO's scheduling service for paper 3.

use std::collections::VecDeque;

use super::event::{collect, releases};
use super::{Job, SimulationError, Slice, Timeline};
use crate::strategy::{Dispatching, by_laxity};
use crate::task::{Task, TaskSet};
use crate::time::Nanos;

/// Maximum number of evictions, as a multiple of the number of jobs.
const MOST_EVICTIONS: usize = 1_000;

/// Constructs the timeline of `frame` nanoseconds from the critical instant.
///
/// Operations are processed in the order of their urgency at the critical instant, the jobs of each
/// one after the other. A job begins at its release and fills gaps; it evicts a job that is no more
/// urgent by static priority and less urgent by dynamic subpriority at its own start, if that job
/// would start within the span still needed. Evicted jobs are inserted again, first come first
/// served. Laxity counts the whole worst-case time, not the remaining time.
///
/// A job is late once its laxity (LAXITY) or its time to deadline (DEADLINE) is 0 or less; late
/// jobs go behind all others, as in TAO's code for both kinds of queue. Late jobs are ordered as in
/// the paper's text, the latest first; TAO's code has the opposite order on 32-bit machines, which
/// for Table 1 changes completions but no missed deadline.
///
/// # Errors
/// [`SimulationError`] if the frame has too many jobs, or if jobs evict each other endlessly.
pub fn construct(set: &TaskSet, frame: Nanos) -> Result<Timeline, SimulationError> {
    let jobs = collect(set, &releases(set, frame)?);
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| {
        (set.tasks[jobs[job].task].level, set.tasks[jobs[job].task].order, jobs[job].number)
    });
    let mut construction = Construction { set, jobs, slices: Vec::new() };
    let mut evictions = MOST_EVICTIONS * (order.len() + 1);
    for job in order {
        let mut next = VecDeque::from([job]);
        while let Some(job) = next.pop_front() {
            construction.insert(job, &mut next);
            evictions = evictions.checked_sub(1).ok_or(SimulationError::NoEnd)?;
        }
    }
    Ok(construction.timeline(frame))
}

struct Construction<'a> {
    set: &'a TaskSet,
    jobs: Vec<Job>,
    /// Slices by time, and whether each is the first of its job.
    slices: Vec<(Slice, bool)>,
}

impl Construction<'_> {
    fn task(&self, job: usize) -> &Task {
        &self.set.tasks[self.jobs[job].task]
    }

    fn insert(&mut self, job: usize, evicted: &mut VecDeque<usize>) {
        let mut left = self.task(job).wcet;
        let mut stop = self.jobs[job].release;
        let mut first = true;
        let mut at = 0;
        while left > 0 && at < self.slices.len() {
            while let Some(out) = self.evicts(job, at, stop, left) {
                self.slices.retain(|(slice, _)| slice.job != out);
                evicted.push_back(out);
            }
            let Some(&(next, _)) = self.slices.get(at) else {
                break;
            };
            if next.from > stop {
                let to = next.from.min(stop + left);
                self.slices.insert(at, (Slice { job, from: stop, to }, first));
                left -= to - stop;
                first = false;
                at += 1;
            }
            stop = stop.max(next.to);
            at += 1;
        }
        if left > 0 {
            let slice = Slice { job, from: stop, to: stop + left };
            self.slices.push((slice, first));
        }
    }

    /// Returns the job of the slice at `at` if `job`, which needs `left` more from `stop` on,
    /// evicts it.
    fn evicts(&self, job: usize, at: usize, stop: Nanos, left: Nanos) -> Option<usize> {
        let &(slice, first) = self.slices.get(at)?;
        let begins_within = first && (stop..stop + left).contains(&slice.from);
        let other = slice.job;
        let evicts = begins_within
            && self.task(other).level >= self.task(job).level
            && self.dynamic(job, slice.from) < self.dynamic(other, slice.from);
        evicts.then_some(other)
    }

    /// Returns the dynamic subpriority of a job at a time; smaller is more urgent. A job goes behind all others if its
    /// deadline has passed or if it has no laxity left, because TAO treats both cases in the same way.
    fn dynamic(&self, job: usize, at: Nanos) -> u64 {
        let task = self.task(job);
        let left = self.jobs[job].deadline as i64 - at as i64;
        match task.dispatching {
            Dispatching::Static => 0,
            Dispatching::Deadline => by_laxity(left),
            Dispatching::Laxity => by_laxity(left - task.wcet as i64),
        }
    }

    fn timeline(self, frame: Nanos) -> Timeline {
        let mut jobs = self.jobs;
        let slices: Vec<Slice> = self.slices.into_iter().map(|(slice, _)| slice).collect();
        for slice in &slices {
            let job = &mut jobs[slice.job];
            job.began.get_or_insert(slice.from);
            job.done = job.done.max(Some(slice.to));
        }
        // A job without execution time has no slice, so it is done at its release.
        for job in &mut jobs {
            if job.began.is_none() {
                (job.began, job.done) = (Some(job.release), Some(job.release));
            }
        }
        Timeline { jobs, slices, frame }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::DispatchModel;

    fn done(set: &TaskSet, frame: Nanos) -> Vec<(usize, Nanos)> {
        let timeline = construct(set, frame).unwrap();
        timeline.jobs.iter().map(|job| (job.task, job.done.unwrap())).collect()
    }

    #[test]
    fn static_priorities_fill_gaps() {
        let set = TaskSet::fixed_priority([Task::periodic("a", 2, 5), Task::periodic("b", 4, 10)]);
        // a is released again at 5, so b runs from 2 to 5 and from 7 to 8.
        assert_eq!(done(&set, 10), [(0, 2), (1, 8), (0, 7)]);
        let timeline = construct(&set, 10).unwrap();
        let spans: Vec<_> =
            timeline.slices.iter().map(|slice| (slice.job, slice.from, slice.to)).collect();
        assert_eq!(spans, [(0, 0, 2), (1, 2, 5), (2, 5, 7), (1, 7, 8)]);
    }

    #[test]
    fn an_earlier_deadline_evicts_a_job_that_would_begin_in_its_span() {
        // a is inserted first, because its deadline is the nearest one at the critical instant.
        let mut set = TaskSet::dynamic(
            [Task::periodic("a", 2, 6), Task::periodic("b", 4, 9)],
            Dispatching::Deadline,
            DispatchModel::Urgency,
        );
        set.tasks[0].deadline = 6;
        // b needs 4 from 2 on, so it ends at 6, when the second job of a begins. That job is not evicted.
        assert_eq!(done(&set, 9), [(0, 2), (1, 6), (0, 8)]);
        // With a longer b, which needs 5 from 2 on, a's second job begins at 6 within that span and is evicted, as its
        // deadline is later; it then runs behind.
        set.tasks[1].wcet = 5;
        assert_eq!(done(&set, 9), [(0, 2), (1, 7), (0, 9)]);
    }
}
