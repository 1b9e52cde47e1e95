//! Jobs that wait for the events of others.

use super::Job;
use crate::task::TaskSet;

/// Jobs that are released by the end of others.
pub(super) struct Gates {
    /// Number of jobs that each job still waits for.
    closed: Vec<u32>,
    /// Jobs that wait for each job.
    waiting: Vec<Vec<usize>>,
}

impl Gates {
    /// Lets the job with each number wait for the jobs with that number of the tasks that send its task events.
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

    /// Notes that a job is done; returns those that waited for it alone.
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
