//! Several nodes, links between them, and flows across them, as declared in files.

use std::collections::{HashMap, HashSet};

use oxorb_sched::Repository;
use oxorb_sched::analysis::holistic::{self, Holistic, Resource, Step};
use oxorb_sched::repository::{Characteristics, Handle, Section};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{DispatchModel, OsPriorities, Schedule, Strategy};

use super::how::{How, RANGE, place_of};
use super::load::Loaded;
use super::set::Asked;
use oxorb_terminal::output::{Failed, because};

/// Name and its place.
pub(super) type Named = (String, String);

/// Nodes and flows of the files.
#[derive(Default)]
pub(super) struct System {
    pub(super) nodes: Vec<Node>,
    pub(super) flows: Vec<Flow>,
    /// Operation or message, and the node or link declared for it.
    pub(super) on: Vec<(String, Named)>,
    /// Messages that declare a length and no transmission time.
    pub(super) octets: HashMap<String, u64>,
    /// Node index of each operation.
    placed: HashMap<String, usize>,
}

/// Processor or link.
pub(super) struct Node {
    pub(super) name: Named,
    pub(super) asked: Asked,
    /// Declared bits per second of a link; the outer `None` marks a processor.
    pub(super) link: Option<Option<u64>>,
}

/// Flow: steps that follow one another.
pub(super) struct Flow {
    pub(super) name: Named,
    pub(super) steps: Vec<Named>,
    pub(super) deadline: Nanos,
    pub(super) period: Option<Nanos>,
}

fn wrong(place: &str, why: impl std::fmt::Display) -> Failed {
    because(format!("{place}: {why}"))
}

impl System {
    /// Reports whether the files declare one processor only.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.flows.is_empty()
    }

    fn node(&self, (name, place): &Named) -> Result<usize, Failed> {
        let found = self.nodes.iter().position(|node| node.name.0 == *name);
        found.ok_or_else(|| wrong(place, format!("there is no node or link {name:?}")))
    }

    /// Assigns operations to nodes, and periods and deadlines to the steps of flows, once all files are read.
    pub(super) fn settle(
        &mut self,
        repository: &mut Repository,
        place: impl Fn(&str) -> String,
    ) -> Result<(), Failed> {
        let mut names = HashSet::new();
        for node in &self.nodes {
            let (name, place) = &node.name;
            if !names.insert(name) {
                return Err(wrong(place, format!("another node or link has the name {name:?}")));
            }
        }
        for (operation, node) in &self.on {
            self.placed.insert(operation.clone(), self.node(node)?);
        }
        self.time(repository, &place)?;
        if self.is_empty() {
            return Ok(());
        }
        for info in repository.infos() {
            let name = &info.entry_point;
            let Some(&here) = self.placed.get(name) else {
                let why = format!(
                    "{name} is on no node; specify node = \"...\" or list it in [[node]] operations"
                );
                return Err(wrong(&place(name), why));
            };
            for one in &info.dependencies {
                let other = &repository.get(one.on)?.entry_point;
                if let Some(&there) = self.placed.get(other).filter(|&&there| there != here) {
                    let [here, there] = [here, there].map(|at| &self.nodes[at].name.0);
                    let why = format!(
                        "{name} on {here} depends on {other} on {there}; dependencies across nodes must be steps of a \
                         [[flow]]"
                    );
                    return Err(wrong(&place(name), why));
                }
            }
        }
        self.check_locks(repository, &place)?;
        let mut steps = HashSet::new();
        for flow in &self.flows {
            flow.settle(repository, &mut steps)?;
        }
        Ok(())
    }

    /// Returns the transmission time of messages.
    fn time(
        &self,
        repository: &mut Repository,
        place: impl Fn(&str) -> String,
    ) -> Result<(), Failed> {
        for (message, &octets) in &self.octets {
            let handle = repository.lookup(message)?;
            let node = self.placed.get(message).map(|&at| &self.nodes[at]);
            let Some(Some(rate)) = node.and_then(|node| node.link) else {
                let why = format!(
                    "{message}: octets need a link with a rate; otherwise specify time = \"...\""
                );
                return Err(wrong(&place(message), why));
            };
            let time = (u128::from(octets) * 8 * 1_000_000_000).div_ceil(u128::from(rate));
            let said = Characteristics {
                worst_case: u64::try_from(time).unwrap_or(u64::MAX),
                ..repository.get(handle)?.characteristics
            };
            let set = repository.set(handle, said);
            set.map_err(|error| wrong(&place(message), error))?;
        }
        Ok(())
    }

    /// Returns the index of a node named by an option.
    pub(super) fn find(&self, name: &str) -> Result<usize, Failed> {
        let found = self.nodes.iter().position(|node| node.name.0 == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.nodes.iter().map(|node| &*node.name.0).collect();
            because(format!("there is no node {name:?}; the nodes are {}", names.join(", ")))
        })
    }

    /// Returns the scheduling declared for a node: by the node itself, or else for all. The default order of nodes and
    /// links is by deadline.
    pub(super) fn asked(&self, at: usize, general: Asked) -> Asked {
        let node = &self.nodes[at];
        match node.link {
            Some(_) => Asked {
                strategy: node.asked.strategy.or(Some(Strategy::DM)),
                model: Some(DispatchModel::NonPreemptive),
                ..Asked::default()
            },
            None => Asked {
                strategy: node.asked.strategy.or(general.strategy).or(Some(Strategy::DM)),
                model: node.asked.model.or(general.model),
                priorities: node.asked.priorities.or(general.priorities),
                switch: node.asked.switch.or(general.switch),
                ..general
            },
        }
    }

    /// Returns the index of an operation's node.
    pub(super) fn place_of(&self, operation: &str) -> Option<usize> {
        self.placed.get(operation).copied()
    }

    /// Reports whether jobs of a node are released by the completion of jobs elsewhere.
    pub(super) fn is_fed(&self, at: usize) -> bool {
        let mut later = self.flows.iter().flat_map(|flow| flow.steps.iter().skip(1));
        later.any(|(step, _)| self.placed.get(step) == Some(&at))
    }

    /// Returns the operations of one node.
    pub(super) fn only(&self, repository: &Repository, at: usize) -> Result<Repository, Failed> {
        let mut handles: HashMap<Handle, Handle> = HashMap::new();
        let mut part = Repository::new();
        let here = |name: &str| self.placed.get(name) == Some(&at);
        for info in repository.infos().iter().filter(|info| here(&info.entry_point)) {
            let handle = part.create(&info.entry_point)?;
            part.set(handle, info.characteristics)?;
            handles.insert(info.handle, handle);
        }
        for one in repository.dependencies() {
            if let (Some(&dependent), Some(&on)) =
                (handles.get(&one.dependent), handles.get(&one.on))
            {
                part.add_dependency(dependent, on, one.calls, one.kind)?;
            }
        }
        for section in repository.sections() {
            if let Some(&operation) = handles.get(&section.operation) {
                part.add_section(Section { operation, ..section.clone() })?;
            }
        }
        part.set_protocol(repository.protocol());
        Ok(part)
    }

    /// Rejects resources that are locked on several nodes.
    fn check_locks(
        &self,
        repository: &Repository,
        place: impl Fn(&str) -> String,
    ) -> Result<(), Failed> {
        let mut on: HashMap<&str, usize> = HashMap::new();
        for section in repository.sections() {
            let name = &repository.get(section.operation)?.entry_point;
            let Some(&here) = self.placed.get(name) else {
                continue;
            };
            let first = *on.entry(&section.resource).or_insert(here);
            if first != here {
                let [there, here] = [first, here].map(|at| &self.nodes[at].name.0);
                let resource = &section.resource;
                let why = format!(
                    "{name} on {here} locks {resource}, which is locked on {there}, too; a resource must belong to one \
                     node"
                );
                return Err(wrong(&place(name), why));
            }
        }
        Ok(())
    }
}

impl Flow {
    fn settle(
        &self,
        repository: &mut Repository,
        taken: &mut HashSet<String>,
    ) -> Result<(), Failed> {
        let (name, place) = &self.name;
        if self.steps.is_empty() {
            return Err(wrong(place, format!("{name} has no steps")));
        }
        let mut period = self.period;
        for (step, place) in &self.steps {
            let handle = repository.lookup(step).map_err(|error| wrong(place, error))?;
            if !taken.insert(step.clone()) {
                return Err(wrong(
                    place,
                    format!("{step} is a step of two flows, or occurs twice in one flow"),
                ));
            }
            let said = repository.get(handle)?.characteristics;
            match (said.period, period) {
                (0, _) => {}
                (own, Some(others)) if own != others => {
                    let why = format!(
                        "{step} runs every {}, but its flow every {}",
                        Show(own),
                        Show(others)
                    );
                    return Err(wrong(place, why));
                }
                (own, _) => period = Some(own),
            }
            if said.constraints.deadline.is_some() || said.constraints.offset.is_some() {
                let why =
                    format!("{step}: deadline and offset must be set for its flow {name} instead");
                return Err(wrong(place, why));
            }
        }
        let Some(period) = period else {
            return Err(wrong(place, format!("the rate of {name} is unknown; specify a period")));
        };
        for (step, _) in &self.steps {
            let handle = repository.lookup(step)?;
            let mut said = repository.get(handle)?.characteristics;
            said.period = period;
            said.constraints.deadline = Some(self.deadline);
            repository.set(handle, said)?;
        }
        Ok(())
    }
}

/// System with the analysed schedules of its nodes.
pub(super) struct Analysed {
    /// Schedules of the nodes, one each.
    pub(super) schedules: Vec<Schedule>,
    pub(super) found: Holistic,
}

/// Analyses flows over all nodes.
pub(super) fn analyse(loaded: &Loaded, how: &How) -> Result<Analysed, Failed> {
    let system = &loaded.system;
    let schedules = schedules(loaded, how)?;
    let mut flows = Vec::new();
    for flow in &system.flows {
        let mut steps = Vec::new();
        for (name, place) in &flow.steps {
            let resource = system.placed.get(name).copied();
            let resource = resource.ok_or_else(|| wrong(place, format!("{name} is on no node")))?;
            let task = step(&schedules[resource], name).map_err(|why| wrong(place, why))?;
            steps.push(Step { resource, task });
        }
        flows.push(holistic::Flow { name: flow.name.0.clone(), steps, deadline: flow.deadline });
    }
    let nodes = system.nodes.iter().zip(&schedules);
    let resources: Vec<Resource> = nodes
        .map(|(node, schedule)| Resource { name: node.name.0.clone(), set: schedule.tasks.clone() })
        .collect();
    let found = holistic::analyse_flows(&resources, &flows)?;
    Ok(Analysed { schedules, found })
}

/// Returns the schedule of each node.
pub(super) fn schedules(loaded: &Loaded, how: &How) -> Result<Vec<Schedule>, Failed> {
    let system = &loaded.system;
    let mut schedules = Vec::new();
    for (at, node) in system.nodes.iter().enumerate() {
        let part = system.only(&loaded.repository, at)?;
        let asked = system.asked(at, loaded.asked);
        // Options of the command apply to processors, not to links.
        let how = (node.link.is_none()).then_some(how);
        let strategy = how.and_then(|how| how.strategy).or(asked.strategy);
        let model = how.and_then(|how| how.model).or(asked.model);
        let range = how.and_then(|how| how.priorities).or(asked.priorities);
        let (least, most) = range.unwrap_or(RANGE);
        let schedule = Schedule::compute(
            &part,
            &strategy.unwrap_or(Strategy::DM),
            &model.unwrap_or_default(),
            &OsPriorities::range(least, most)?,
        );
        let mut schedule = schedule.map_err(|error| {
            let (name, place) = &node.name;
            let place = place_of(loaded, &error).unwrap_or(place);
            wrong(place, format!("{name}: {error}"))
        })?;
        if let Some(how) = how {
            how.charge(&mut schedule, &asked)?;
        }
        schedules.push(schedule);
    }
    Ok(schedules)
}

/// Returns the task of a step.
fn step(schedule: &Schedule, name: &str) -> Result<usize, String> {
    let row = schedule.assignments.iter().find(|row| row.entry_point == name);
    let tasks = schedule.tasks.tasks.iter().enumerate();
    let mut tasks = tasks.filter(|(_, task)| task.handle == row.map(|row| row.handle));
    let (Some(_), Some((at, task)), None) = (row, tasks.next(), tasks.next()) else {
        return Err(format!(
            "{name} is not dispatched by its flow alone; a step cannot have other callers"
        ));
    };
    match task.dispatching {
        oxorb_sched::Dispatching::Static => Ok(at),
        other => Err(format!(
            "{name} is queued by {other}; steps of flows need static priorities: RMS or DM on their nodes"
        )),
    }
}
