//! Jobs that wait for the events of others.

use super::Job;
use crate::task::TaskSet;

/// Jobs released by the end of others.
pub(super) struct Gates {
    /// Number of jobs that each job still waits for.
    closed: Vec<u32>,
    /// Jobs that wait for each job.
    waiting: Vec<Vec<usize>>,
}

impl Gates {
    /// Makes each job wait for the jobs of the same number of its task's senders.
    pub(super) fn of(set: &TaskSet, jobs: &[Job]) -> Gates {
        let mut gates = Gates { closed: vec![0; jobs.len()], waiting: Vec::new() };
        let causes = set.causes();
        if causes.iter().all(Vec::is_empty) {
            return gates;
        }
        gates.waiting = vec![Vec::new(); jobs.len()];
        let mut numbered: Vec<Vec<usize>> = vec![Vec::new(); set.tasks.len()];
        for (job, said) in jobs.iter().enumerate() {
            numbered[said.task].push(job);
        }
        for (task, causes) in causes.iter().enumerate() {
            for &cause in causes {
                for (&job, &sender) in numbered[task].iter().zip(&numbered[cause]) {
                    gates.waiting[sender].push(job);
                    gates.closed[job] += 1;
                }
            }
        }
        gates
    }

    /// Reports whether a job waits for no other.
    pub(super) fn is_open(&self, job: usize) -> bool {
        self.closed[job] == 0
    }

    /// Records the end of a job and returns those that waited only for it.
    pub(super) fn done(&mut self, job: usize) -> Vec<usize> {
        let mut waiting = match self.waiting.get_mut(job) {
            Some(waiting) => std::mem::take(waiting),
            None => return Vec::new(),
        };
        waiting.retain(|&job| {
            self.closed[job] -= 1;
            self.closed[job] == 0
        });
        waiting
    }
}
