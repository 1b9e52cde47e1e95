//! Tables of files beyond operations and calls: servers and their requests, critical sections, and distributions of
//! execution times.

use std::collections::HashMap;

use oxorb_sched::analysis::chance::ExecutionTimeDistribution;
use oxorb_sched::analysis::servers::{Kind, Server};
use oxorb_sched::repository::{Characteristics, Section};
use oxorb_sched::strategy::{DispatchModel, Dispatching};
use oxorb_sched::time::Nanos;
use oxorb_sched::{Repository, Schedule, Task};

use super::system::Named;
use oxorb_terminal::output::{Failed, because};

/// Distribution of an operation's execution times, as far as the file declares it.
pub(super) enum Times {
    /// Fraction of the executions that take at most the typical time.
    Share(f64),
    /// Times with their probabilities.
    Points(Vec<(Nanos, f64)>),
}

/// Server declared in a file.
pub(super) struct ServerSaid {
    pub(super) name: Named,
    pub(super) server: Server,
}

/// Operation whose requests wait in a server.
pub(super) struct Request {
    pub(super) name: Named,
    pub(super) server: Named,
    pub(super) said: Characteristics,
}

/// Critical section, to be resolved once all operations are known.
pub(super) struct Lock {
    pub(super) operation: Named,
    pub(super) resource: String,
    pub(super) longest: Nanos,
}

/// Extra tables of all files.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) servers: Vec<ServerSaid>,
    pub(super) requests: Vec<Request>,
    pub(super) locks: Vec<Lock>,
    pub(super) times: HashMap<String, (Times, String)>,
}

impl Extra {
    /// Adds critical sections and checks the requests of servers, once all operations are known.
    pub(super) fn settle(&self, repository: &mut Repository) -> Result<(), Failed> {
        for lock in &self.locks {
            let (name, place) = &lock.operation;
            let added = repository.lookup(name).and_then(|operation| {
                repository.add_section(Section {
                    operation,
                    resource: lock.resource.clone(),
                    longest: lock.longest,
                })
            });
            added.map_err(|error| because(format!("{place}: {error}")))?;
            let handle = repository.lookup(name)?;
            let worst = repository.get(handle)?.characteristics.worst_case;
            if lock.longest > worst {
                let why = format!(
                    "{name} takes at most {}, but holds {} longer",
                    oxorb_sched::time::Show(worst),
                    lock.resource
                );
                return Err(because(format!("{place}: {why}")));
            }
        }
        for request in &self.requests {
            let (server, place) = &request.server;
            if !self.servers.iter().any(|one| one.name.0 == *server) {
                return Err(because(format!("{place}: there is no server {server:?}")));
            }
            let (name, place) = &request.name;
            let why = match &request.said {
                said if said.period == 0 => "a request that is queued in a server needs a period",
                said if said.worst_case == 0 => "a request that is queued in a server needs a wcet",
                _ => continue,
            };
            return Err(because(format!("{place}: {name}: {why}")));
        }
        Ok(())
    }

    /// Sets how the tasks of servers delay other tasks, which depends on the kind of the server.
    pub(super) fn charge(&self, schedule: &mut Schedule) -> Result<(), Failed> {
        for said in &self.servers {
            let (name, place) = &said.name;
            let model = schedule.tasks.model;
            let mut tasks = schedule.tasks.tasks.iter_mut();
            let Some(task) = tasks.find(|task| task.name == *name) else {
                continue;
            };
            let kind = said.server.kind;
            let fits = match kind {
                Kind::ConstantBandwidth => {
                    task.dispatching == Dispatching::Deadline && model == DispatchModel::Urgency
                }
                Kind::Deferrable => task.dispatching == Dispatching::Static,
                // In other models, a less urgent task could start between two parts of the server's capacity, and delay
                // the second part.
                Kind::Sporadic => {
                    task.dispatching == Dispatching::Static && model == DispatchModel::Urgency
                }
                Kind::Polling => task.dispatching != Dispatching::Laxity,
            };
            if !fits {
                let why = match kind {
                    Kind::ConstantBandwidth => {
                        "needs one queue by deadline with full preemption: EDF and model urgency"
                    }
                    Kind::Sporadic => {
                        "needs static priorities with full preemption: RMS or DM, and model urgency"
                    }
                    Kind::Deferrable => "needs static priorities: RMS or DM",
                    Kind::Polling => {
                        "needs static priorities or a queue by deadline: RMS, DM or EDF"
                    }
                };
                return Err(because(format!("{place}: {name}: a {kind} server {why}")));
            }
            task.delay = said.server.delay();
        }
        Ok(())
    }

    /// Returns the requests of a server as tasks.
    pub(super) fn requests_of(&self, server: &str) -> Vec<Task> {
        let of = self.requests.iter().filter(|request| request.server.0 == server);
        of.map(|request| {
            let said = &request.said;
            Task {
                deadline: said.constraints.deadline.unwrap_or(said.period),
                jitter: said.constraints.jitter,
                burst: said.constraints.burst,
                ..Task::periodic(&request.name.0, said.worst_case, said.period)
            }
        })
        .collect()
    }

    /// Returns the distribution of one request of each task, including its calls at worst and the costs of dispatching.
    pub(super) fn distributions(
        &self,
        repository: &Repository,
        schedule: &Schedule,
    ) -> Result<Vec<ExecutionTimeDistribution>, Failed> {
        let set = &schedule.tasks;
        let costs = &set.overheads;
        let mut found = Vec::new();
        for task in &set.tasks {
            let worst = task.wcet.div_ceil(task.parts.max(1));
            let once = costs.dispatch.saturating_add(costs.switch.saturating_mul(2));
            let info = task.handle.map(|handle| repository.get(handle)).transpose()?;
            let times = info.and_then(|info| Some((info, self.times.get(&info.entry_point)?)));
            let own = match times {
                None => ExecutionTimeDistribution::always(worst),
                Some((info, (times, place))) => {
                    let said = &info.characteristics;
                    let made = match times {
                        Times::Share(share) => ExecutionTimeDistribution::typical(
                            said.typical,
                            *share,
                            said.worst_case,
                        ),
                        Times::Points(points) => ExecutionTimeDistribution::of(points),
                    };
                    let made = made.map_err(|error| because(format!("{place}: {error}")))?;
                    if made.longest() > said.worst_case {
                        let why = format!(
                            "a time of {} is longer than the wcet of {}",
                            oxorb_sched::time::Show(made.longest()),
                            oxorb_sched::time::Show(said.worst_case)
                        );
                        return Err(because(format!("{place}: {why}")));
                    }
                    made.longer_by(worst.saturating_sub(said.worst_case))
                }
            };
            found.push(own.longer_by(once));
        }
        Ok(found)
    }
}
