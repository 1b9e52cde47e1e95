//! Enforcement of a table on a virtual clock: the queues of the ORB's dispatching modules, with one
//! thread for each.

use super::event::collect;
use super::gates::Gates;
use super::{Release, Slice, Timeline};
use crate::queue::{DispatchQueue, Heap, Missed, Taken, Timing};
use crate::table::DispatchTable;
use crate::task::TaskSet;
use crate::time::Nanos;

/// Capacity of one queue, sufficient for all simulated jobs.
const CAPACITY: usize = 4_000_000;

/// Runs a table on a virtual clock: each release of a task puts its requests into the queue of the
/// row at `rows[task]`, with the timing that an ORB gives them; of the threads with work the one
/// with the highest priority runs. Returns `None` if the table is not
/// [enforceable](DispatchTable::enforceable).
///
/// Each request takes the worst-case time of its row, plus the actual
/// [overheads](TaskSet::overheads) of the set. Equal releases always give equal timelines.
///
/// ```
/// use oxorb_sched::simulate::{enforce, releases, table_1};
/// use oxorb_sched::{DispatchModel, DispatchTable, OsPriorities, Schedule, Strategy};
///
/// let priorities = OsPriorities::range(1, 99)?;
/// let operations = table_1::operations()?;
/// let schedule = Schedule::compute(&operations, &Strategy::MUF, &DispatchModel::Band, &priorities)?;
/// let table = DispatchTable::from(&schedule);
/// let releases = releases(&schedule.tasks, table_1::FRAME).expect("72 jobs");
/// let timeline = enforce(&table, &schedule.rows(), &schedule.tasks, &releases).expect("bands");
/// // Of the critical operations none is late; of the others, some are.
/// assert!(timeline.jobs.iter().any(|job| job.missed()));
/// assert!(timeline.jobs.iter().all(|job| !job.missed() || job.task < 4));
/// # Ok::<(), oxorb_sched::Error>(())
/// ```
pub fn enforce(
    table: &DispatchTable,
    rows: &[usize],
    set: &TaskSet,
    releases: &[Release],
) -> Option<Timeline> {
    table.enforceable().ok()?;
    let jobs = collect(set, releases);
    let threads = table.queues().iter().map(|queue| Thread {
        os_priority: queue.os_priority,
        queue: DispatchQueue::with_capacity(queue.dispatching, Missed::Run, 0),
        running: None,
    });
    let mut clock = Clock {
        table,
        rows,
        set,
        now: 0,
        threads: threads.collect(),
        left: jobs.iter().map(|job| set.tasks[job.task].parts.max(1)).collect(),
        timeline: Timeline {
            frame: releases.last().map_or(0, |release| release.at + 1),
            slices: Vec::new(),
            jobs: Vec::new(),
        },
        gates: Gates::of(set, &jobs),
        last: None,
        next: 0,
    };
    // The capacity of a queue is fixed, so each queue gets room for all requests that could wait in
    // it.
    let mut room = vec![0usize; clock.threads.len()];
    for job in &jobs {
        let requests = set.tasks[job.task].parts.max(1);
        let at = table.operations()[rows[job.task]].queue;
        room[at] = room[at].saturating_add(usize::try_from(requests).ok()?);
    }
    if room.iter().sum::<usize>() > CAPACITY {
        return None;
    }
    for ((thread, queue), room) in clock.threads.iter_mut().zip(table.queues()).zip(room) {
        thread.queue = DispatchQueue::with_capacity(queue.dispatching, Missed::Run, room);
    }
    clock.timeline.jobs = jobs;
    clock.run(releases);
    Some(clock.timeline)
}

/// Dispatching module: one queue and its thread.
struct Thread {
    os_priority: i32,
    queue: DispatchQueue<Heap<usize>>,
    /// Running job, and its remaining time.
    running: Option<(usize, Nanos)>,
}

struct Clock<'a> {
    table: &'a DispatchTable,
    rows: &'a [usize],
    set: &'a TaskSet,
    now: Nanos,
    threads: Vec<Thread>,
    /// Number of pending requests of each job.
    left: Vec<u64>,
    timeline: Timeline,
    gates: Gates,
    /// Thread that had the processor last, and the job that it ran.
    last: Option<(usize, usize)>,
    /// Index of the next job to arrive.
    next: usize,
}

impl Clock<'_> {
    fn run(&mut self, releases: &[Release]) {
        loop {
            while let Some(release) = releases.get(self.next)
                && release.at <= self.now
            {
                self.next += 1;
                if self.gates.is_open(self.next - 1) {
                    self.arrive(self.next - 1);
                }
            }
            let next_release = releases.get(self.next).map(|release| release.at);
            let busy = |thread: &Thread| thread.running.is_some() || !thread.queue.is_empty();
            let threads = self.threads.iter().enumerate();
            let most_urgent = threads
                .filter(|(_, thread)| busy(thread))
                .max_by_key(|(_, thread)| thread.os_priority);
            match (most_urgent, next_release) {
                (Some((at, _)), _) => self.advance(at, next_release),
                (None, Some(release)) => self.now = release,
                (None, None) => return,
            }
        }
    }

    /// Puts the requests of a job into the queue of their row.
    fn arrive(&mut self, job: usize) {
        let said = &self.timeline.jobs[job];
        let row = &self.table.operations()[self.rows[said.task]];
        let timing = Timing {
            deadline: said.release + row.deadline,
            execution: row.worst_case,
            order: u32::MAX - row.subpriority.max(0).cast_unsigned(),
        };
        for _ in 0..self.left[job] {
            let queue = &mut self.threads[row.queue].queue;
            let _ = queue.enqueue(job, timing);
        }
    }

    /// Runs a thread until its request is done, or something arrives.
    fn advance(&mut self, at: usize, next_release: Option<Nanos>) {
        let overheads = &self.set.overheads;
        let thread = &mut self.threads[at];
        let (job, left) = match thread.running.take() {
            Some(running) => running,
            None => {
                let Some(Taken::Due(job) | Taken::Late(job) | Taken::Dropped(job)) =
                    thread.queue.dequeue(self.now)
                else {
                    return;
                };
                let row = self.rows[self.timeline.jobs[job].task];
                let takes = self.table.operations()[row].worst_case;
                (job, takes + if takes > 0 { overheads.dispatch } else { 0 })
            }
        };
        let switched = self.last.replace((at, job)) != Some((at, job)) && left > 0;
        let left = left + if switched { overheads.switch } else { 0 };
        let one = &mut self.timeline.jobs[job];
        one.began.get_or_insert(self.now);
        let until = next_release.map_or(self.now + left, |next| next.min(self.now + left));
        if until > self.now {
            self.timeline.slices.push(Slice { job, from: self.now, to: until });
        }
        let left = left - (until - self.now);
        self.now = until;
        match left {
            0 => self.end(job),
            left => self.threads[at].running = Some((job, left)),
        }
    }

    /// Ends a request and, with its last one, its job, whose events then arrive.
    fn end(&mut self, job: usize) {
        self.left[job] -= 1;
        if self.left[job] > 0 {
            return;
        }
        self.timeline.jobs[job].done = Some(self.now);
        for released in self.gates.done(job) {
            let one = &mut self.timeline.jobs[released];
            one.release = one.release.max(self.now);
            one.deadline = one.release + self.set.tasks[one.task].deadline;
            if released < self.next {
                self.arrive(released);
            }
        }
    }
}
