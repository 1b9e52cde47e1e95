//! Jobs of a plan: for each time-released work, the tree of all works that it triggers.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use oxorb_sched::time::{Nanos, SECOND, Show};

use super::Timing;
use super::lookup::{Accepts, Lookup};
use crate::finding::{Finding, Place, Severity, Source, listed};
use crate::model::basic::PortKind;
use crate::model::plan::{Instance, Plan};
use crate::model::rtcad::{Attachment, Events, Level, Period, ServerResources, Work};
use crate::rates::{Periods, enforced_rates};

/// Piece of work within a chain.
pub(super) struct Job<'p> {
    /// `instance.port`, or the instance.
    pub(super) name: String,
    pub(super) instance: &'p Instance,
    pub(super) node: usize,
    /// Job that triggers this one; `None`: released by time.
    pub(super) from: Option<usize>,
    /// Preceding job: the job that triggers this one, or, if that job pushes to several consumers, the last job before
    /// this one.
    pub(super) parent: Option<usize>,
    /// Whether the parent waits for this job.
    pub(super) is_call: bool,
    /// Whether the job may begin before its parent ends: a call that is analysed as a part of the parent triggers it.
    pub(super) is_early: bool,
    /// Execution time, including calls that run as a part of the job.
    pub(super) wcet: Nanos,
    /// Period of the time-released work.
    pub(super) period: Nanos,
    /// Deadline, relative to that release.
    pub(super) deadline: Nanos,
    pub(super) jitter: Nanos,
    pub(super) blocking: Nanos,
    /// CORBA priority; `None`: an ordinary thread, less urgent than all others.
    pub(super) priority: Option<i16>,
    /// Delay of the message that triggers the job.
    pub(super) delay: Nanos,
    pub(super) level: Level,
    pub(super) importance: Level,
    /// Position of the work.
    pub(super) place: Place,
}

/// Execution of a work, once in each period of its chain.
pub(super) struct Visit {
    /// `instance.port`, or the instance.
    pub(super) name: String,
    /// Index of the instance that executes the work, in the instances of the plan.
    pub(super) instance: usize,
    /// Job that the work is, or of which it is a part.
    pub(super) job: usize,
    /// Visit that triggers this one; `None`: released by time.
    pub(super) from: Option<usize>,
    /// Whether the thread of `from` waits for the end of this visit.
    pub(super) is_awaited: bool,
}

/// Call or event that reaches a port once in each period of its chain.
pub(super) struct Arrival<'p> {
    pub(super) port: End<'p>,
    /// Job that makes the call.
    pub(super) from: usize,
    /// Job that the call triggers; `from` if the call is analysed as a part of the calling job.
    pub(super) job: usize,
}

/// End of the thread that executes a time-released work, and that waits for its calls and direct pushes.
#[derive(Clone, Copy)]
pub(super) struct ThreadEnd {
    /// The time-released job.
    pub(super) root: usize,
    /// Last job that the thread waits for.
    pub(super) last: usize,
    /// Time that the answers of the last pushes take after the end of that job.
    pub(super) returning: Nanos,
}

/// All jobs; parents come before their children.
pub(super) struct Jobs<'p> {
    pub(super) jobs: Vec<Job<'p>>,
    /// Ends of the threads of all time-released jobs.
    pub(super) ends: Vec<ThreadEnd>,
    /// Arrivals at all ports.
    pub(super) arrivals: Vec<Arrival<'p>>,
    /// Executions of all works; the visit that triggers another one comes before it.
    pub(super) visits: Vec<Visit>,
    pub(super) nodes: Vec<&'p str>,
    pub(super) findings: Vec<Finding>,
}

/// A port of an instance, by index and name.
pub(super) type End<'p> = (usize, &'p str);

/// Way in which a job triggers another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The triggering job waits for the triggered one, and then continues.
    Call,
    /// The triggering job waits for the triggered one after its own work.
    Push,
    /// The triggering job does not wait. It may continue if it is a part of its caller (`is_part`).
    HandOver { is_part: bool },
}

/// Origin of a new job.
#[derive(Clone, Copy)]
struct Origin {
    from: usize,
    parent: usize,
    is_call: bool,
    is_early: bool,
    is_awaited: bool,
}

struct Maker<'p> {
    plan: &'p Plan,
    lookup: Lookup<'p>,
    /// Connections by user, with their providers.
    leads: HashMap<End<'p>, Vec<(usize, End<'p>)>>,
    /// Connected sources and receptacles by instance, in the order of the plan.
    uses: Vec<Vec<(&'p str, PortKind)>>,
    /// Connected event sinks.
    sinks: HashSet<End<'p>>,
    nodes: Vec<&'p str>,
    node_at: HashMap<&'p str, usize>,
    /// Ports that each work uses, and whether they are event sources; only connected ones, events first.
    used: HashMap<*const Work, Rc<[(&'p str, bool)]>>,
    jobs: Vec<Job<'p>>,
    ends: Vec<ThreadEnd>,
    arrivals: Vec<Arrival<'p>>,
    visits: Vec<Visit>,
    /// Visit whose ports are being followed.
    visit: Option<usize>,
    /// Ports on the path from the root to the present job.
    path: Vec<End<'p>>,
    /// Latest job of the thread of control that pushes events to one consumer after the other.
    last: Option<usize>,
    /// Number of calls on the path from the root.
    calls: usize,
    /// Time that answers take from the latest job back to the one that pushes next.
    returning: Nanos,
    /// Number of connections followed so far.
    steps: usize,
    findings: Vec<Finding>,
    told: HashSet<(usize, String)>,
    /// Calls per second, by port.
    rates: HashMap<End<'p>, f64>,
}

impl<'p> Jobs<'p> {
    /// Creates the jobs of a plan with valid structure and policies.
    pub(super) fn of(
        plan: &'p Plan,
        resources: &'p ServerResources,
    ) -> Result<Jobs<'p>, Vec<Finding>> {
        let places: HashMap<&str, usize> =
            plan.instance.iter().enumerate().map(|(at, one)| (&*one.id.0, at)).collect();
        let nodes = plan.nodes();
        let node_at = nodes.iter().enumerate().map(|(at, node)| (*node, at));
        let mut maker = Maker {
            plan,
            lookup: Lookup::of(resources),
            leads: HashMap::new(),
            uses: vec![Vec::new(); plan.instance.len()],
            sinks: HashSet::new(),
            node_at: node_at.collect(),
            nodes,
            used: HashMap::new(),
            jobs: Vec::new(),
            ends: Vec::new(),
            arrivals: Vec::new(),
            visits: Vec::new(),
            visit: None,
            path: Vec::new(),
            last: None,
            calls: 0,
            returning: 0,
            steps: 0,
            findings: Vec::new(),
            told: HashSet::new(),
            rates: HashMap::new(),
        };
        let mut known = HashSet::new();
        for (at, connection) in plan.connection.iter().enumerate() {
            let ends = &connection.internal_endpoint;
            let end = |index: usize| -> End<'p> {
                (places[&*ends[index].instance.id], &ends[index].port_name)
            };
            let (providers, users): (Vec<usize>, Vec<usize>) =
                (0..ends.len()).partition(|&index| ends[index].kind.provides());
            let sinks = providers.iter().copied();
            let sinks = sinks.filter(|&index| ends[index].kind == PortKind::EventConsumer);
            maker.sinks.extend(sinks.map(end));
            for user in users {
                let used = (&*ends[user].port_name, ends[user].kind);
                if known.insert((end(user).0, used)) {
                    maker.uses[end(user).0].push(used);
                }
                let leads = maker.leads.entry(end(user)).or_default();
                leads.extend(providers.iter().map(|&provider| (at, end(provider))));
            }
        }
        for (at, instance) in plan.instance.iter().enumerate() {
            let Some(attachment) = maker.lookup.attachment(&instance.name) else {
                continue;
            };
            maker.ports(attachment);
            let periods = Periods::new(instance);
            let mut has_periods = true;
            for work in &attachment.work {
                maker.checked(attachment, work);
                if work.port.is_some() {
                    continue;
                }
                match periods.of(work) {
                    Ok(period) => maker.root(at, attachment, work, period),
                    Err(finding) => {
                        has_periods = false;
                        maker.say(finding);
                    }
                }
            }
            if has_periods && let Err(finding) = enforced_rates(instance, attachment) {
                maker.say(finding);
            }
        }
        maker.constraints();
        let is_wrong = |finding: &Finding| finding.severity == Severity::Error;
        match maker.findings.iter().any(is_wrong) {
            true => Err(maker.findings),
            false => Ok(Jobs {
                jobs: maker.jobs,
                ends: maker.ends,
                arrivals: maker.arrivals,
                visits: maker.visits,
                nodes: maker.nodes,
                findings: maker.findings,
            }),
        }
    }
}

impl<'p> Maker<'p> {
    fn say(&mut self, finding: Finding) {
        self.findings.push(finding.within(Source::Rtcad));
    }

    /// Refuses works with contradictory members.
    fn checked(&mut self, attachment: &Attachment, work: &Work) {
        let name = &attachment.name;
        if work.port.is_some()
            && (work.period.is_some() || work.rate_from.is_some() || work.jitter.is_some())
        {
            let what = format!(
                "work of {name:?} at a port has a period, rateFrom or jitter, but its callers determine them"
            );
            self.say(
                Finding::error(work.place, what)
                    .cure("omit them; leastRate and mostRate bound the rate of callers"),
            );
        }
        if work.port.is_none() && (work.least_rate.is_some() || work.most_rate.is_some()) {
            let what = format!(
                "work of {name:?} without a port has leastRate or mostRate, which apply only to ports"
            );
            self.say(Finding::error(work.place, what));
        }
    }

    /// Refuses two works at the same port.
    fn ports(&mut self, attachment: &Attachment) {
        let mut works: HashMap<&str, (usize, Place)> = HashMap::new();
        for work in &attachment.work {
            if let Some(port) = &work.port {
                works.entry(port).or_insert((0, work.place)).0 += 1;
            }
        }
        let several = works.into_iter().filter(|(_, (same, _))| *same > 1);
        let mut several: Vec<_> = several.collect();
        several.sort_unstable_by_key(|(_, (_, place))| (place.line, place.column));
        for (port, (same, place)) in several {
            let what = format!("{}.{port} has {same} work entries", attachment.name);
            self.say(Finding::error(place, what).cure("combine them"));
        }
    }

    fn root(&mut self, at: usize, attachment: &'p Attachment, work: &'p Work, period: Nanos) {
        (self.last, self.calls, self.returning) = (None, 0, 0);
        let root = self.job(at, attachment, work, None, period, 0);
        let end = root.zip(self.last);
        let returning = self.returning;
        self.ends.extend(end.map(|(root, last)| ThreadEnd { root, last, returning }));
    }

    /// Reports once that a limit is reached, after which nothing more is followed.
    fn too_many(&mut self, place: Place, most: usize, what: &str) {
        if self.told.insert((usize::MAX, String::new())) {
            let what = format!(
                "the work entries of the plan result in more than {most} {what}, the limit"
            );
            self.say(
                Finding::error(place, what)
                    .cure("specify the ports that a work entry uses: emits = [\"ready\"], calls = [\"source\"]"),
            );
        }
    }

    /// Creates a job and all jobs that it triggers. Returns the job, or its caller if it is a part of the calling job;
    /// `None` if there are too many jobs.
    fn job(
        &mut self,
        at: usize,
        attachment: &'p Attachment,
        work: &'p Work,
        origin: Option<Origin>,
        period: Nanos,
        delay: Nanos,
    ) -> Option<usize> {
        if self.jobs.len() >= Timing::MOST_JOBS {
            self.too_many(work.place, Timing::MOST_JOBS, "jobs");
            return None;
        }
        let instance = &self.plan.instance[at];
        let own = self.lookup.accepts(instance);
        // The channel pushes at the priority that the consumer declares, and does not pass on that of the source.
        let caller = origin.filter(|origin| origin.is_awaited);
        let inherited = caller.and_then(|origin| self.jobs[origin.from].priority);
        let priority = match own {
            Accepts::Declared(priority) => Some(priority),
            Accepts::Propagated { default, .. } => inherited.or(Some(default)),
            Accepts::Ordinary(priority) => priority,
        };
        let node = instance.node.as_deref().unwrap_or_default();
        let node = self.node_at.get(node).copied().unwrap_or_default();
        let deadline = work.deadline.map_or(period, |deadline| deadline.0);
        let name = match &work.port {
            Some(port) => format!("{}.{port}", instance.name),
            None => instance.name.clone(),
        };
        // A call on the same node at the caller's priority is analysed as a part of the calling job, to which its
        // execution time is added.
        let part_of = origin.filter(|origin| {
            let caller = &self.jobs[origin.from];
            origin.is_call && caller.node == node && caller.priority == priority
        });
        let this = match part_of {
            Some(Origin { from: caller, .. }) => {
                let caller_job = &mut self.jobs[caller];
                let (level, importance) = (attachment.criticality, attachment.importance);
                caller_job.level = caller_job.level.max(level.unwrap_or(Level::Low));
                caller_job.importance = caller_job.importance.max(importance.unwrap_or(Level::Low));
                caller_job.wcet = caller_job.wcet.saturating_add(work.wcet.0);
                caller_job.deadline = caller_job.deadline.min(deadline);
                let blocking = work.blocking.map_or(0, |time| time.0);
                caller_job.blocking = caller_job.blocking.saturating_add(blocking);
                caller
            }
            None => {
                self.jobs.push(Job {
                    name: name.clone(),
                    instance,
                    node,
                    from: origin.map(|origin| origin.from),
                    parent: origin.map(|origin| origin.parent),
                    is_call: origin.is_some_and(|origin| origin.is_call),
                    is_early: origin.is_some_and(|origin| origin.is_early),
                    wcet: work.wcet.0,
                    period,
                    deadline,
                    jitter: work.jitter.map_or(0, |time| time.0),
                    blocking: work.blocking.map_or(0, |time| time.0),
                    priority,
                    delay,
                    level: attachment.criticality.unwrap_or(Level::Low),
                    importance: attachment.importance.unwrap_or(Level::Low),
                    place: work.place,
                });
                let this = self.jobs.len() - 1;
                if origin.is_none_or(|origin| !origin.is_call) {
                    self.last = Some(this);
                }
                this
            }
        };
        let from = self.visit;
        let is_awaited = origin.is_some_and(|origin| origin.is_awaited);
        self.visits.push(Visit { name, instance: at, job: this, from, is_awaited });
        self.visit = Some(self.visits.len() - 1);
        self.follow(at, work, this, part_of.is_some(), period);
        self.visit = from;
        Some(this)
    }

    fn follow(&mut self, at: usize, work: &'p Work, this: usize, is_part: bool, period: Nanos) {
        let instance = &self.plan.instance[at];
        let attachment = self.lookup.attachment(&instance.name);
        let events = attachment.and_then(|attachment| attachment.events);
        for &(port, is_event) in &*self.used(at, instance, work) {
            let how = match (is_event, events) {
                (false, _) => How::Call,
                (true, Some(Events::Channel | Events::Executable)) => How::HandOver { is_part },
                (true, Some(Events::Direct) | None) => How::Push,
            };
            for (connection, to) in self.leads.get(&(at, port)).cloned().unwrap_or_default() {
                self.step(connection, to, this, how, period);
            }
        }
    }

    /// Returns the ports that a work uses, and whether they are event sources. The work is checked on the first call.
    fn used(&mut self, at: usize, instance: &'p Instance, work: &'p Work) -> Rc<[(&'p str, bool)]> {
        if let Some(known) = self.used.get(&std::ptr::from_ref(work)) {
            return Rc::clone(known);
        }
        // A port that is not a connected event sink is a facet, or nothing is connected to it. By default, the work of
        // such a port uses no other ports.
        let is_called =
            (work.port.as_deref()).is_some_and(|port| !self.sinks.contains(&(at, port)));
        let mut used = Vec::new();
        let mut wrong = Vec::new();
        for (said, is_event) in [(&work.emits, true), (&work.calls, false)] {
            let of_kind = self.uses[at].iter();
            let of_kind = of_kind.filter(|(_, kind)| kind.is_event() == is_event);
            let known: Vec<&'p str> = of_kind.map(|(port, _)| *port).collect();
            match said.as_slice() {
                [] if is_called => {}
                [] => used.extend(known.into_iter().map(|port| (port, is_event))),
                [none] if none == "none" => {}
                listed => {
                    let by_name: HashSet<&'p str> = known.iter().copied().collect();
                    for port in listed {
                        match by_name.get(port.as_str()) {
                            Some(port) => used.push((*port, is_event)),
                            None => wrong.push((port, is_event)),
                        }
                    }
                }
            }
        }
        for (port, is_event) in wrong {
            let kind =
                if is_event { "a connected source of events" } else { "a connected receptacle" };
            let of_kind = self.uses[at].iter();
            let of_kind = of_kind.filter(|(_, kind)| kind.is_event() == is_event);
            let cure = format!("it has {}", listed(of_kind.map(|(port, _)| *port)));
            let what = format!("{:?} has no port {port:?} that is {kind}", instance.name);
            self.say(Finding::error(work.place, what).cure(cure));
        }
        // Drops ports without a provider, because they have no connection to count or follow.
        let leads = |port: &str| self.leads.get(&(at, port)).is_some_and(|to| !to.is_empty());
        used.retain(|(port, _)| leads(port));
        let used: Rc<[(&'p str, bool)]> = used.into();
        self.used.insert(work, Rc::clone(&used));
        used
    }

    /// Follows one connection.
    fn step(&mut self, connection: usize, to: End<'p>, from: usize, how: How, period: Nanos) {
        let connection = &self.plan.connection[connection];
        let target = &self.plan.instance[to.0];
        let place = self.jobs[from].place;
        self.steps += 1;
        if self.steps > Timing::MOST_STEPS {
            return self.too_many(place, Timing::MOST_STEPS, "steps over connections");
        }
        if self.path.len() >= Timing::MOST_DEPTH {
            return self.too_many(place, Timing::MOST_DEPTH, "steps in a row");
        }
        *self.rates.entry(to).or_default() += SECOND as f64 / period as f64;
        if self.path.contains(&to) {
            let names = self
                .path
                .iter()
                .chain([&to])
                .map(|(at, port)| format!("{}.{port}", self.plan.instance[*at].name));
            let what =
                format!("connections form a cycle: {}", names.collect::<Vec<_>>().join(" -> "));
            let cure = "specify with emits and calls what a work entry triggers, or remove one of the connections";
            if self.told.insert((to.0, format!("ring {}", to.1))) {
                self.findings.push(Finding::error(connection.place, what).cure(cure));
            }
            return;
        }
        let attachment = self.lookup.attachment(&target.name);
        let work = attachment.and_then(|one| {
            Some((one, one.work.iter().find(|work| work.port.as_deref() == Some(to.1))?))
        });
        let Some((attachment, work)) = work else {
            if self.told.insert((to.0, to.1.to_owned())) {
                let place = attachment.map(|attachment| attachment.place).unwrap_or_default();
                let what = format!(
                    "the execution time of {}.{}, which {} triggers, is unknown",
                    target.name, to.1, self.jobs[from].name
                );
                let cure = format!(
                    "add work = [{{ port = {:?}, wcet = \"...\" }}] to instance {:?}",
                    to.1, target.name
                );
                self.say(Finding::error(place, what).cure(cure));
            }
            return;
        };
        let crosses = self.nodes.get(self.jobs[from].node).copied() != target.node.as_deref();
        let said = self.lookup.connection(&connection.name);
        if crosses
            && said.is_none()
            && self.told.insert((usize::MAX, format!("delay {}", connection.name)))
        {
            let what = format!(
                "connection {:?} crosses nodes, but the analysis assumes that its messages arrive immediately",
                connection.name
            );
            let cure = format!("add [[connection]] name = {:?}, delay = \"...\"", connection.name);
            self.say(Finding::warning(Place::default(), what).cure(cure));
        }
        let delay = said.filter(|_| crosses).map_or(0, |timing| timing.delay.0);
        self.path.push(to);
        let is_early = how == How::HandOver { is_part: true };
        let is_awaited = !matches!(how, How::HandOver { .. });
        let make = |maker: &mut Self, parent: usize, is_call: bool, delay: Nanos| {
            let origin = Some(Origin { from, parent, is_call, is_early, is_awaited });
            maker.job(to.0, attachment, work, origin, period, delay)
        };
        let job = match how {
            How::Call => {
                self.calls += 1;
                let job = make(self, from, true, delay);
                self.calls -= 1;
                job
            }
            // Within a call, the caller also waits for what the called job pushes.
            How::Push if self.calls > 0 => make(self, from, true, delay),
            How::Push => {
                let before = self.last.unwrap_or(from);
                let answers = std::mem::take(&mut self.returning);
                let job = make(self, before, false, answers.saturating_add(delay));
                self.returning = self.returning.saturating_add(delay);
                job
            }
            How::HandOver { .. } => {
                let known = (self.last, self.calls, self.returning);
                (self.calls, self.returning) = (0, 0);
                let job = make(self, from, false, delay);
                (self.last, self.calls, self.returning) = known;
                job
            }
        };
        self.arrivals.extend(job.map(|job| Arrival { port: to, from, job }));
        self.path.pop();
    }

    /// Compares the rates that ports demand with those of their callers.
    fn constraints(&mut self) {
        let mut findings = Vec::new();
        for (at, instance) in self.plan.instance.iter().enumerate() {
            let Some(attachment) = self.lookup.attachment(&instance.name) else {
                continue;
            };
            for work in &attachment.work {
                let Some(port) = &work.port else { continue };
                let rate = self.rates.get(&(at, port)).copied().unwrap_or(0.0);
                let hertz = |period: Period| SECOND as f64 / period.0 as f64;
                let name = format!("{}.{port}", instance.name);
                if rate == 0.0 {
                    let what = format!(
                        "nothing calls {name}, so the analysis ignores its {}",
                        Show(work.wcet.0)
                    );
                    findings.push(Finding::warning(work.place, what));
                }
                if let Some(least) =
                    work.least_rate.map(hertz).filter(|least| rate < least * (1.0 - 1e-6))
                {
                    let what = format!(
                        "{name} must be called at least {least:.3} times a second, but is called {rate:.3} times"
                    );
                    findings.push(
                        Finding::error(work.place, what)
                            .cure("raise the rate of its callers, or connect it"),
                    );
                }
                if let Some(most) =
                    work.most_rate.map(hertz).filter(|most| rate > most * (1.0 + 1e-6))
                {
                    let what = format!(
                        "{name} may be called at most {most:.3} times a second, but is called {rate:.3} times"
                    );
                    findings.push(
                        Finding::error(work.place, what).cure("lower the rate of its callers"),
                    );
                }
            }
        }
        findings.into_iter().for_each(|finding| self.say(finding));
    }
}
