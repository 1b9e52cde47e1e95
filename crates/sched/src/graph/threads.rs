//! Threads and events found in the graph of calls, with their rates and times (paper 0, 4.5.4 and 4.5.5).
//!
//! A thread begins at an operation that has threads of its own or that has no callers. Its two-way
//! callees run in it; receivers of its events are dispatched separately, at the rate of the events.

use std::collections::{BTreeMap, HashSet};

use super::CallGraph;
use crate::anomaly::{Anomaly, Severity};
use crate::error::Error;
use crate::repository::{CallKind, InfoType, Repository};
use crate::time::{LONGEST, Nanos, Show};

/// Rates: number of executions in each period.
pub(crate) type Rates = BTreeMap<Nanos, u64>;

/// Stream of dispatches of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dispatch {
    /// Index of the operation that begins the stream, in the order of handles.
    pub(crate) entry: usize,
    /// Period of the operation's thread, or of the events that trigger it.
    pub(crate) period: Nanos,
    /// Whether events trigger the operation.
    pub(crate) by_events: bool,
    /// Indices, in the order of handles, of the operations whose dispatches of this period send
    /// these events, themselves or by two-way calls.
    pub(crate) causes: Vec<usize>,
    /// Number of dispatches in each period.
    pub(crate) count: u64,
    /// Worst-case time of one dispatch with all its two-way calls, in ns.
    pub(crate) worst_case: Nanos,
    /// Typical time of a dispatch.
    pub(crate) typical: Nanos,
}

/// Rates computed from the graph.
#[derive(Debug)]
pub(crate) struct Flow {
    /// All dispatches, in the order of handles.
    pub(crate) dispatches: Vec<Dispatch>,
    /// Period of each operation, its own or implied; `None` if unknown.
    pub(crate) periods: Vec<Option<Nanos>>,
    /// Anomalies of the graph.
    pub(crate) anomalies: Vec<Anomaly>,
}

/// Follows the calls from the threads.
pub(crate) fn follow(repository: &Repository, graph: &CallGraph) -> Result<Flow, Error> {
    let mut walk = Walk::new(repository, graph);
    for &place in &graph.order {
        walk.visit(place)?;
    }
    walk.finish()
}

/// Reason why an operation has no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Unresolved {
    local: bool,
    remote: bool,
}

struct Walk<'a> {
    repository: &'a Repository,
    graph: &'a CallGraph,
    /// Executions of each operation, in any thread.
    rates: Vec<Rates>,
    /// Dispatches of each operation: index 0 by its own threads, index 1 by events.
    queued: Vec<[Rates; 2]>,
    /// Events received by each operation, one entry for each caller; a conjunction waits for the
    /// slowest.
    events: Vec<Vec<Rates>>,
    unresolved: Vec<Unresolved>,
    anomalies: Vec<Anomaly>,
}

impl<'a> Walk<'a> {
    fn new(repository: &'a Repository, graph: &'a CallGraph) -> Self {
        let many = repository.len();
        Walk {
            repository,
            graph,
            rates: vec![Rates::new(); many],
            queued: vec![[Rates::new(), Rates::new()]; many],
            events: vec![Vec::new(); many],
            unresolved: vec![Unresolved::default(); many],
            anomalies: Vec::new(),
        }
    }

    /// Visits an operation; its callers were visited before.
    fn visit(&mut self, place: usize) -> Result<(), Error> {
        let info = &self.repository.infos()[place];
        if !info.is_enabled() {
            return Ok(());
        }
        self.look_at_times(place);
        self.take_events(place)?;
        self.begin_thread(place)?;
        self.look_at_calls(place);
        let graph = self.graph;
        for call in &graph.callees[place] {
            let name = &info.entry_point;
            let scaled = scale(&self.rates[place], u64::from(call.calls), name)?;
            match call.kind {
                CallKind::TwoWay => add(&mut self.rates[call.other], &scaled, name)?,
                CallKind::OneWay => self.events[call.other].push(scaled),
            }
            let callers = self.unresolved[place];
            let callee = &mut self.unresolved[call.other];
            callee.local |= callers.local;
            callee.remote |= callers.remote;
        }
        Ok(())
    }

    fn take_events(&mut self, place: usize) -> Result<(), Error> {
        let events = std::mem::take(&mut self.events[place]);
        let name = &self.repository.infos()[place].entry_point;
        let joined: Vec<&Rates> = match self.repository.infos()[place].characteristics.info_type {
            InfoType::Conjunction => slowest(&events).into_iter().collect(),
            _ => events.iter().collect(),
        };
        for rates in joined {
            add(&mut self.queued[place][1], rates, name)?;
            add(&mut self.rates[place], rates, name)?;
        }
        Ok(())
    }

    fn begin_thread(&mut self, place: usize) -> Result<(), Error> {
        let info = &self.repository.infos()[place];
        let said = &info.characteristics;
        let called = !self.graph.callers[place].is_empty();
        if said.threads == 0 && called {
            return Ok(());
        }
        let in_thread = self.graph.thread_of(place);
        let infos = self.repository.infos();
        let periods = in_thread.iter().map(|&at| infos[at].characteristics.period);
        let Some(period) = periods.filter(|&period| period > 0).min() else {
            if !called {
                let remote = said.info_type == InfoType::RemoteDependant;
                let unresolved = &mut self.unresolved[place];
                unresolved.remote |= remote;
                unresolved.local |= !remote;
            }
            return Ok(());
        };
        if said.period > period {
            let faster = in_thread.iter().find(|&&at| infos[at].characteristics.period == period);
            let faster = faster.map_or("", |&at| &infos[at].entry_point);
            let why = format!(
                "{}: its thread runs every {} instead of every {}, because {faster}, which it calls, requires that",
                info.entry_point,
                Show(period),
                Show(said.period)
            );
            self.warn(&info.entry_point, why);
        }
        let own = Rates::from([(period, u64::from(said.threads.max(1)))]);
        add(&mut self.queued[place][0], &own, &info.entry_point)?;
        add(&mut self.rates[place], &own, &info.entry_point)
    }

    /// Warns about times that contradict each other.
    fn look_at_times(&mut self, place: usize) {
        let info = &self.repository.infos()[place];
        let (name, said) = (&info.entry_point, &info.characteristics);
        let jitter = said.constraints.jitter;
        if said.cached > said.worst_case {
            let why = format!(
                "{name}: its cached time of {} is longer than its worst case of {}",
                Show(said.cached),
                Show(said.worst_case)
            );
            let found = Anomaly::new(Severity::Error, Some(name), why);
            self.anomalies.push(found);
        }
        if said.period > 0 && jitter > said.period {
            let why = format!(
                "{name}: its jitter of {} is longer than its period of {}, so up to {} requests can arrive together",
                Show(jitter),
                Show(said.period),
                jitter / said.period + 1
            );
            self.warn(name, why);
        }
    }

    fn look_at_calls(&mut self, place: usize) {
        let info = &self.repository.infos()[place];
        let joins =
            matches!(info.characteristics.info_type, InfoType::Conjunction | InfoType::Disjunction);
        let callers = &self.graph.callers[place];
        if joins && callers.iter().any(|call| call.kind == CallKind::TwoWay) {
            let why = format!(
                "{}: a conjunction or disjunction joins events and cannot be called two-way",
                info.entry_point
            );
            let found = Anomaly::new(Severity::Error, Some(&info.entry_point), why);
            self.anomalies.push(found);
        }
        if !info.characteristics.criticality.is_critical() {
            return;
        }
        let infos = self.repository.infos();
        let weak = self.graph.callees[place].iter().find(|call| {
            call.kind == CallKind::TwoWay
                && !infos[call.other].characteristics.criticality.is_critical()
        });
        if let Some(call) = weak {
            let why = format!(
                "{} is critical and calls {}, which is not",
                info.entry_point, infos[call.other].entry_point
            );
            self.warn(&info.entry_point, why);
        }
    }

    /// Returns the dispatched operations that run a sender of events to this operation, themselves
    /// or by two-way calls.
    fn senders(&self, place: usize) -> Vec<usize> {
        let callers = |at: usize, kind| {
            let callers = self.graph.callers[at].iter();
            callers.filter(move |call| call.kind == kind).map(|call| call.other)
        };
        let mut next: Vec<usize> = callers(place, CallKind::OneWay).collect();
        let mut seen: HashSet<usize> = next.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(here) = next.pop() {
            if self.queued[here].iter().any(|rates| !rates.is_empty()) {
                found.push(here);
            }
            next.extend(callers(here, CallKind::TwoWay).filter(|&caller| seen.insert(caller)));
        }
        found.sort_unstable();
        found
    }

    fn warn(&mut self, operation: &str, why: String) {
        let found = Anomaly::new(Severity::Warning, Some(operation), why);
        self.anomalies.push(found);
    }

    fn finish(mut self) -> Result<Flow, Error> {
        let mut dispatches = Vec::new();
        let infos = self.repository.infos();
        for (place, queued) in self.queued.iter().enumerate() {
            if queued.iter().all(Rates::is_empty) {
                continue;
            }
            let (worst_case, typical) = cost(self.repository, self.graph, place)?;
            let roots = match queued[1].is_empty() {
                true => Vec::new(),
                false => self.senders(place),
            };
            for (by_events, rates) in [(false, &queued[0]), (true, &queued[1])] {
                for (&period, &count) in rates {
                    let sends = |root: &usize| {
                        by_events && self.queued[*root].iter().any(|it| it.contains_key(&period))
                    };
                    dispatches.push(Dispatch {
                        entry: place,
                        period,
                        by_events,
                        causes: roots.iter().copied().filter(sends).collect(),
                        count,
                        worst_case,
                        typical,
                    });
                }
            }
        }
        let periods: Vec<Option<Nanos>> = (0..infos.len())
            .map(|place| {
                let implied = implied_period(self.repository, place);
                implied.or_else(|| self.rates[place].keys().next().copied())
            })
            .collect();
        for (place, unresolved) in self.unresolved.iter().enumerate() {
            let name = &infos[place].entry_point;
            let rest = format!(
                "{name}: its rate is unknown; specify a period for it, or for one of its callers"
            );
            if unresolved.local {
                let why = format!("unresolved local dependencies: {rest}");
                let found = Anomaly::new(Severity::Error, Some(name), why);
                self.anomalies.push(found);
            }
            if unresolved.remote {
                let why = format!("unresolved remote dependencies: {rest}");
                let found = Anomaly::new(Severity::Warning, Some(name), why);
                self.anomalies.push(found);
            }
        }
        Ok(Flow { dispatches, periods, anomalies: self.anomalies })
    }
}

/// Returns the slowest of several event streams, for which a conjunction waits.
fn slowest(events: &[Rates]) -> Option<&Rates> {
    // Compare rates as numbers of events in 2^60 ns (`LONGEST`), to avoid fractions.
    let speed = |rates: &Rates| -> u128 {
        let parts = rates.iter();
        parts
            .map(|(&period, &count)| u128::from(count) * u128::from(LONGEST) / u128::from(period))
            .sum()
    };
    events.iter().min_by_key(|rates| speed(rates))
}

fn scale(rates: &Rates, by: u64, name: &str) -> Result<Rates, Error> {
    rates
        .iter()
        .map(|(&period, &count)| Ok((period, count.checked_mul(by).ok_or_else(|| too_many(name))?)))
        .collect()
}

fn add(to: &mut Rates, more: &Rates, name: &str) -> Result<(), Error> {
    for (&period, &count) in more {
        let sum = to.entry(period).or_default();
        *sum = sum.checked_add(count).ok_or_else(|| too_many(name))?;
    }
    Ok(())
}

fn too_many(name: &str) -> Error {
    Error::Overflow { operation: name.into(), what: "the number of its calls in a period" }
}

/// Returns the implied period (rule 2): an operation without its own period runs at the rate
/// of its fastest dependency.
fn implied_period(repository: &Repository, place: usize) -> Option<Nanos> {
    let infos = repository.infos();
    let mut seen = HashSet::from([place]);
    let mut next = vec![place];
    let mut fastest = None;
    while let Some(here) = next.pop() {
        match infos[here].characteristics.period {
            0 => {}
            period => {
                fastest = Some(fastest.map_or(period, |fastest: Nanos| fastest.min(period)));
                continue;
            }
        }
        for dependency in &infos[here].dependencies {
            let on = dependency.on.index();
            next.extend(on.filter(|&on| infos[on].is_enabled() && seen.insert(on)));
        }
    }
    fastest
}

/// Returns the worst-case and typical time of a dispatch with all its two-way calls: the first
/// execution of each operation counts fully, further ones in the same dispatch count their cached
/// time.
fn cost(repository: &Repository, graph: &CallGraph, entry: usize) -> Result<(Nanos, Nanos), Error> {
    let infos = repository.infos();
    let mut runs = std::collections::HashMap::from([(entry, 1u64)]);
    let mut sum = (0u64, 0u64);
    let name = infos[entry].entry_point.as_str();
    for place in graph.thread_of(entry) {
        let many = runs[&place];
        for call in &graph.callees[place] {
            if call.kind == CallKind::TwoWay {
                let more = many.checked_mul(u64::from(call.calls)).ok_or_else(|| too_many(name))?;
                let known = runs.entry(call.other).or_default();
                *known = known.checked_add(more).ok_or_else(|| too_many(name))?;
            }
        }
        let said = &infos[place].characteristics;
        if matches!(said.info_type, InfoType::Conjunction | InfoType::Disjunction) {
            continue;
        }
        let takes = |first: Nanos| -> Option<Nanos> {
            let further = if said.cached > 0 { said.cached } else { first };
            further.checked_mul(many - 1)?.checked_add(first)
        };
        let added =
            |sum: Nanos, first| takes(first)?.checked_add(sum).filter(|&all| all <= LONGEST);
        let overflow = || Error::Overflow {
            operation: name.into(),
            what: "its execution time with all that it calls",
        };
        sum = (
            added(sum.0, said.worst_case).ok_or_else(overflow)?,
            added(sum.1, said.typical).ok_or_else(overflow)?,
        );
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::{Characteristics, Handle};
    use CallKind::{OneWay, TwoWay};

    struct Set(Repository);

    impl Set {
        fn new() -> Set {
            Set(Repository::new())
        }

        fn op(&mut self, name: &str, worst_case: Nanos, period: Nanos, threads: u32) -> Handle {
            let said =
                Characteristics { worst_case, period, threads, ..Characteristics::default() };
            self.with(name, said)
        }

        fn with(&mut self, name: &str, said: Characteristics) -> Handle {
            let handle = self.0.create(name).unwrap();
            self.0.set(handle, said).unwrap();
            handle
        }

        fn needs(&mut self, dependent: Handle, on: Handle, calls: u32, kind: CallKind) {
            self.0.add_dependency(dependent, on, calls, kind).unwrap();
        }

        fn flow(&self) -> Flow {
            follow(&self.0, &CallGraph::of(&self.0).unwrap()).unwrap()
        }

        /// Returns entry, period, number and time of each dispatch.
        fn dispatches(&self) -> Vec<(usize, Nanos, u64, Nanos)> {
            let flow = self.flow();
            let dispatches = flow.dispatches.iter();
            dispatches
                .map(|found| (found.entry, found.period, found.count, found.worst_case))
                .collect()
        }
    }

    #[test]
    fn passive_operations_run_in_their_callers_threads() {
        let mut set = Set::new();
        let a = set.op("a", 10, 100, 1);
        let b = set.op("b", 20, 200, 1);
        let shared = set.op("shared", 5, 0, 0);
        set.needs(a, shared, 3, TwoWay);
        set.needs(b, shared, 1, TwoWay);
        assert_eq!(set.dispatches(), [(0, 100, 1, 25), (1, 200, 1, 25)]);
        // `shared` has no period of its own, so it has that of its fastest caller.
        assert_eq!(set.flow().periods, [Some(100), Some(200), Some(100)]);
    }

    #[test]
    fn only_the_first_call_in_a_period_takes_the_whole_time() {
        let mut set = Set::new();
        let a = set.op("a", 10, 100, 1);
        let b = set.op("b", 0, 0, 0);
        let cached = Characteristics { worst_case: 20, cached: 3, ..Characteristics::default() };
        let cached = set.with("cached", cached);
        set.needs(a, cached, 2, TwoWay);
        set.needs(a, b, 2, TwoWay);
        set.needs(b, cached, 1, TwoWay);
        // `cached` runs four times in a dispatch: the first run takes 20 and each further one 3.
        assert_eq!(set.dispatches(), [(0, 100, 1, 39)]);
    }

    #[test]
    fn the_period_of_a_thread_is_the_shortest_it_visits() {
        let mut set = Set::new();
        let a = set.op("a", 1, 100, 0);
        let b = set.op("b", 1, 40, 0);
        set.needs(a, b, 1, TwoWay);
        assert_eq!(set.dispatches(), [(0, 40, 1, 2)]);
        let flow = set.flow();
        assert_eq!(flow.anomalies.len(), 1);
        assert!(flow.anomalies[0].description.contains("every 40 ns instead of every 100 ns"));
    }

    #[test]
    fn rule_2_takes_the_fastest_of_the_dependencies() {
        let mut set = Set::new();
        let consumer = set.op("consumer", 1, 0, 0);
        for (name, period) in [("slow", 300), ("fast", 20), ("middle", 100)] {
            let supplier = set.op(name, 1, period, 1);
            set.needs(consumer, supplier, 1, OneWay);
        }
        let relay = set.op("relay", 1, 0, 0);
        set.needs(relay, consumer, 1, OneWay);
        let periods = set.flow().periods;
        assert_eq!(periods[0], Some(20));
        assert_eq!(periods[4], Some(20));
    }

    #[test]
    fn events_are_dispatched_at_the_rate_of_their_suppliers() {
        let mut set = Set::new();
        let fast = set.op("fast", 1, 40, 1);
        let slow = set.op("slow", 1, 60, 2);
        let consumer = set.op("consumer", 5, 0, 0);
        set.needs(consumer, fast, 2, OneWay);
        set.needs(consumer, slow, 1, OneWay);
        let consumed: Vec<_> = set.dispatches().split_off(2);
        assert_eq!(consumed, [(2, 40, 2, 5), (2, 60, 2, 5)]);
    }

    #[test]
    fn a_conjunction_waits_for_the_slowest_and_a_disjunction_for_any() {
        for (joins, expected) in [
            (InfoType::Conjunction, vec![(3, 60, 1, 5)]),
            (InfoType::Disjunction, vec![(3, 40, 1, 5), (3, 60, 1, 5)]),
        ] {
            let mut set = Set::new();
            let fast = set.op("fast", 1, 40, 1);
            let slow = set.op("slow", 1, 60, 1);
            let said = Characteristics {
                info_type: joins,
                worst_case: 1_000,
                ..Characteristics::default()
            };
            let join = set.with("join", said);
            let consumer = set.op("consumer", 5, 0, 0);
            set.needs(join, fast, 1, OneWay);
            set.needs(join, slow, 1, OneWay);
            set.needs(consumer, join, 1, OneWay);
            let mut dispatches = set.dispatches();
            // The conjunction `join` runs nothing itself.
            assert!(dispatches.iter().all(|found| found.0 != 2 || found.3 == 0));
            dispatches.retain(|found| found.0 == 3);
            assert_eq!(dispatches, expected);
            set.needs(consumer, join, 1, TwoWay);
        }
    }

    #[test]
    fn a_conjunction_cannot_be_called() {
        let mut set = Set::new();
        let caller = set.op("caller", 1, 40, 1);
        let said =
            Characteristics { info_type: InfoType::Conjunction, ..Characteristics::default() };
        let join = set.with("join", said);
        set.needs(caller, join, 1, TwoWay);
        let anomalies = set.flow().anomalies;
        assert_eq!(anomalies[0].severity, Severity::Error);
        assert!(anomalies[0].description.contains("joins events"));
    }

    #[test]
    fn what_has_no_rate_is_told_local_or_remote() {
        let mut set = Set::new();
        let local = set.op("local", 1, 0, 0);
        let said =
            Characteristics { info_type: InfoType::RemoteDependant, ..Characteristics::default() };
        let remote = set.with("remote", said);
        let both = set.op("both", 1, 0, 0);
        set.needs(both, local, 1, OneWay);
        set.needs(both, remote, 1, OneWay);
        let flow = set.flow();
        let told: Vec<_> = flow
            .anomalies
            .iter()
            .map(|found| (found.operation.as_deref().unwrap(), found.severity))
            .collect();
        assert_eq!(
            told,
            [
                ("local", Severity::Error),
                ("remote", Severity::Warning),
                ("both", Severity::Error),
                ("both", Severity::Warning),
            ]
        );
    }

    #[test]
    fn numbers_of_calls_that_overflow_are_an_error() {
        let mut set = Set::new();
        let mut caller = set.op("n0", 1, 100, 1);
        for name in ["n1", "n2", "n3"] {
            let callee = set.op(name, 1, 0, 0);
            set.needs(caller, callee, u32::MAX, TwoWay);
            caller = callee;
        }
        let graph = CallGraph::of(&set.0).unwrap();
        let refused = follow(&set.0, &graph).unwrap_err();
        assert!(refused.to_string().contains("overflows"));
    }
}
