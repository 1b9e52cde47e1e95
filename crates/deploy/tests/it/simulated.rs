//! Simulations of plans never exceed the bounds of the analysis.

use std::collections::HashMap;
use std::fmt::Write as _;

use oxorb_deploy::check::Report;

use crate::checks::{declared, plain};

/// Number of nanoseconds in a unit of simulated time.
const UNIT: u64 = 1_000_000;

/// Pseudo-random numbers, reproducible from their seed.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Work of one instance, and the works that it triggers, by their indices.
struct Work {
    name: String,
    node: u64,
    priority: i16,
    wcet: u64,
    /// Part of the execution time during which it holds the lock of its node.
    section: u64,
    /// Whether a channel delivers its events, so that it does not wait for its consumers.
    by_channel: bool,
    calls: Vec<usize>,
    pushes: Vec<usize>,
    /// Delay of the messages that trigger it, and of their replies.
    delay: u64,
    /// Whether its caller waits for it.
    is_called: bool,
}

/// Chain: works, the first of which is released by time.
struct Chain {
    period: u64,
    works: Vec<Work>,
}

/// Step of a thread of control.
#[derive(Clone)]
enum Step {
    /// Uses a node's processor, and holds the node's lock meanwhile if `locks` is set; ends a work if it has a name.
    Run { node: u64, priority: i16, time: u64, locks: bool, ends: Option<String> },
    /// Waits for a message.
    Wait(u64),
    /// Starts another thread of control.
    Start(Vec<Step>),
}

impl Chain {
    /// Makes a chain of up to five works on up to two nodes. If `locks` is set, some of them lock their nodes.
    fn random(number: usize, numbers: &mut Numbers, locks: bool) -> Chain {
        let mut works: Vec<Work> = Vec::new();
        for at in 0..=numbers.below(5) as usize {
            let node = numbers.below(2);
            let mut work = Work {
                name: format!("w{number}_{at}"),
                node,
                priority: [10, 20, 30][numbers.below(3) as usize],
                wcet: 1 + numbers.below(4),
                section: 0,
                by_channel: numbers.below(3) == 0,
                calls: Vec::new(),
                pushes: Vec::new(),
                delay: 0,
                is_called: false,
            };
            if locks && numbers.below(2) == 0 {
                work.section = 1 + numbers.below(work.wcet);
            }
            if at > 0 {
                let from = &mut works[numbers.below(at as u64) as usize];
                work.delay = if from.node == node { 0 } else { numbers.below(4) };
                work.is_called = numbers.below(3) == 0;
                let triggered = if work.is_called { &mut from.calls } else { &mut from.pushes };
                triggered.push(at);
            }
            works.push(work);
        }
        Chain { period: [20, 30, 40, 60][numbers.below(4) as usize], works }
    }

    /// Appends the steps of a work and of all works that it triggers. Some executions are shorter than their limit.
    fn steps(&self, at: usize, numbers: &mut Numbers, into: &mut Vec<Step>) {
        let Work { node, priority, .. } = self.works[at];
        let work = &self.works[at];
        let mut left = match numbers.below(4) {
            0 => numbers.below(work.wcet + 1),
            _ => work.wcet,
        };
        let mut section = work.section.min(left);
        left -= section;
        let run = |time, locks| Step::Run { node, priority, time, locks, ends: None };
        if section > 0 && numbers.below(2) == 0 {
            into.push(run(std::mem::take(&mut section), true));
        }
        for &called in &work.calls {
            let time = numbers.below(left + 1);
            left -= time;
            into.push(run(time, false));
            self.message(called, numbers, into);
        }
        into.push(run(section, true));
        // The name of a work in the report.
        let name = match at {
            0 => work.name.clone(),
            _ => format!("{}.p", work.name),
        };
        into.push(Step::Run { node, priority, time: left, locks: false, ends: Some(name) });
        for &pushed in &work.pushes {
            match work.by_channel {
                false => self.message(pushed, numbers, into),
                true => {
                    let mut steps = vec![Step::Wait(self.works[pushed].delay)];
                    self.steps(pushed, numbers, &mut steps);
                    into.push(Step::Start(steps));
                }
            }
        }
    }

    /// Appends a call or a direct push, which ends with the reply.
    fn message(&self, to: usize, numbers: &mut Numbers, into: &mut Vec<Step>) {
        into.push(Step::Wait(self.works[to].delay));
        self.steps(to, numbers, into);
        into.push(Step::Wait(self.works[to].delay));
    }

    /// Writes the instances, and what they declare, into the texts of the documents. `blocking` returns the longest
    /// section of less urgent works on a node.
    fn write(
        &self,
        plan: &mut String,
        connections: &mut String,
        rest: &mut String,
        blocking: &dyn Fn(u64, i16) -> u64,
    ) {
        for (at, work) in self.works.iter().enumerate() {
            let Work { name, node, priority, wcet, .. } = work;
            let _ = write!(
                plan,
                "[[instance]]\nname = {name:?}\nimplementation = \"I\"\nnode = \"n{node}\"\n"
            );
            let released = match at {
                0 => format!("period = \"{} ms\"", self.period),
                _ => "port = \"p\"".to_owned(),
            };
            let blocked = match work.section {
                0 => String::new(),
                _ => format!("blocking = \"{} ms\", ", blocking(*node, *priority)),
            };
            let used = |triggered: &[usize]| match triggered {
                [] => "[\"none\"]".to_owned(),
                triggered => {
                    format!("{:?}", triggered.iter().map(|to| format!("u{to}")).collect::<Vec<_>>())
                }
            };
            let _ = write!(
                rest,
                "[[instance]]\nname = {name:?}\npolicySet = \"p{priority}\"\nevents = {:?}\n\
                 work = [{{ {released}, {blocked}wcet = \"{wcet} ms\", emits = {}, calls = {} }}]\n",
                if work.by_channel { "channel" } else { "direct" },
                used(&work.pushes),
                used(&work.calls)
            );
            for &to in work.calls.iter().chain(&work.pushes) {
                let target = &self.works[to];
                let (user, provider) = match target.is_called {
                    true => ("SimplexReceptacle", "Facet"),
                    false => ("EventPublisher", "EventConsumer"),
                };
                let _ = write!(
                    connections,
                    "[[connection]]\nname = \"to {0}\"\n{user} = \"{name}.u{to}\"\n{provider} = \"{0}.p\"\n",
                    target.name
                );
                if target.delay > 0 {
                    let _ = write!(
                        rest,
                        "[[connection]]\nname = \"to {}\"\ndelay = \"{} ms\"\n",
                        target.name, target.delay
                    );
                }
            }
        }
    }
}

/// Returns the report of the check on chains.
fn report(chains: &[Chain]) -> (Report, String) {
    let mut plan = "[[implementation]]\nname = \"I\"\n".to_owned();
    let (mut connections, mut rest) = (String::new(), String::new());
    let blocking = |node: u64, priority: i16| {
        let works = chains.iter().flat_map(|chain| &chain.works);
        let below = works.filter(|work| work.node == node && work.priority < priority);
        below.map(|work| work.section).max().unwrap_or(0)
    };
    for chain in chains {
        chain.write(&mut plan, &mut connections, &mut rest, &blocking);
    }
    plan += &connections;
    let resources = declared(&[10, 20, 30], &rest);
    (plain(&plan, &resources), format!("{plan}\n{resources}"))
}

/// Thread of control.
struct Thread {
    chain: usize,
    /// Whether it is the thread that the next release of its chain waits for.
    is_first: bool,
    /// Time at which its chain was to be released.
    released: u64,
    steps: Vec<Step>,
    at: usize,
    /// Rest of the current step.
    left: u64,
    /// Number of the current step among all steps that were begun.
    begun: u64,
    /// Whether it holds the lock of the current step's node.
    holds: bool,
}

/// Simulates chains with fixed priorities, and returns the longest time from the release of a chain to the end of each
/// work. Steps of equal priority run in the order in which they were begun. The holder of a lock inherits the place of
/// the most urgent step that waits for the lock.
fn simulate(chains: &[Chain], numbers: &mut Numbers) -> HashMap<String, u64> {
    const END: u64 = 400;
    let mut next: Vec<u64> = chains.iter().map(|chain| numbers.below(chain.period)).collect();
    let mut threads: Vec<Thread> = Vec::new();
    let mut worst = HashMap::new();
    let mut begun = 0;
    for now in 0..END {
        advance(&mut threads, now, &mut begun, &mut worst);
        for (number, chain) in chains.iter().enumerate() {
            let is_busy = |thread: &Thread| thread.chain == number && thread.is_first;
            if next[number] <= now && !threads.iter().any(is_busy) {
                let mut steps = Vec::new();
                chain.steps(0, numbers, &mut steps);
                threads.push(Thread::new(number, true, next[number], steps));
                next[number] += chain.period;
            }
        }
        advance(&mut threads, now, &mut begun, &mut worst);
        let mut running: HashMap<u64, (i16, u64, usize)> = HashMap::new();
        let held = threads.iter().enumerate().filter(|(_, thread)| thread.holds);
        let holders: HashMap<u64, usize> =
            held.filter_map(|(at, thread)| Some((thread.node()?, at))).collect();
        for (at, thread) in threads.iter_mut().enumerate() {
            match thread.steps[thread.at] {
                Step::Run { node, priority, locks, .. } => {
                    let runs = holders.get(&node).filter(|_| locks).copied().unwrap_or(at);
                    let one = (-priority, thread.begun, runs);
                    running.entry(node).and_modify(|best| *best = one.min(*best)).or_insert(one);
                }
                Step::Wait(_) => thread.left -= 1,
                Step::Start(_) => unreachable!("it takes no time"),
            }
        }
        for (_, _, at) in running.into_values() {
            let thread = &mut threads[at];
            thread.left -= 1;
            thread.holds = matches!(thread.steps[thread.at], Step::Run { locks: true, .. });
        }
    }
    worst
}

/// Advances all threads, also those that are started meanwhile, and removes those that have ended.
fn advance(threads: &mut Vec<Thread>, now: u64, begun: &mut u64, worst: &mut HashMap<String, u64>) {
    let mut at = 0;
    while at < threads.len() {
        let started = threads[at].advance(now, begun, worst);
        threads.extend(started);
        at += 1;
    }
    threads.retain(|thread| thread.at < thread.steps.len());
}

impl Thread {
    fn new(chain: usize, is_first: bool, released: u64, steps: Vec<Step>) -> Thread {
        Thread { chain, is_first, released, steps, at: usize::MAX, left: 0, begun: 0, holds: false }
    }

    /// Returns the node on which the current step runs.
    fn node(&self) -> Option<u64> {
        match self.steps.get(self.at)? {
            Step::Run { node, .. } => Some(*node),
            _ => None,
        }
    }

    /// Ends the steps that have no time left, and begins the next one. Returns the threads that are started meanwhile.
    fn advance(
        &mut self,
        now: u64,
        begun: &mut u64,
        worst: &mut HashMap<String, u64>,
    ) -> Vec<Thread> {
        let mut started = Vec::new();
        while self.left == 0 {
            if let Some(Step::Run { ends: Some(work), .. }) = self.steps.get(self.at) {
                let took = now - self.released;
                let known = worst.entry(work.clone()).or_insert(took);
                *known = took.max(*known);
            }
            self.at = self.at.wrapping_add(1);
            self.holds = false;
            self.begun = *begun;
            *begun += 1;
            self.left = match self.steps.get(self.at) {
                None => break,
                Some(Step::Run { time, .. }) => *time,
                Some(Step::Wait(time)) => *time,
                Some(Step::Start(steps)) => {
                    let thread = Thread::new(self.chain, false, self.released, steps.clone());
                    started.push(thread);
                    0
                }
            };
        }
        started
    }
}

#[test]
fn no_work_ends_later_than_its_bound() {
    compare(false, 100);
}

#[test]
fn no_work_that_waits_for_locks_ends_later_than_its_bound() {
    compare(true, 10);
}

/// Compares the bounds of random chains with simulations, which reach more than `least` of the bounds.
fn compare(locks: bool, least: usize) {
    let times = std::env::var("OXORB_ANALYSES").ok();
    let times: u64 = times.map_or(1, |times| times.parse().expect("OXORB_ANALYSES is a number"));
    let (mut bounded, mut reached) = (0, 0);
    for seed in 0..400 * times {
        let numbers = &mut Numbers(seed);
        let chains: Vec<Chain> = (0..=numbers.below(3) as usize)
            .map(|number| Chain::random(number, numbers, locks))
            .collect();
        let (report, text) = report(&chains);
        let told: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        let timing = report.timing.unwrap_or_else(|| panic!("{told:?}\n{text}"));
        let bounds: HashMap<String, u64> = timing
            .chains
            .into_iter()
            .filter_map(|mut chain| Some((chain.steps.pop()?, chain.response? / UNIT)))
            .collect();
        bounded += bounds.len();
        for _ in 0..8 {
            for (work, took) in simulate(&chains, numbers) {
                let Some(&bound) = bounds.get(&work) else {
                    continue;
                };
                assert!(took <= bound, "seed {seed}: {work} took {took} of {bound} ms\n{text}");
                reached += usize::from(took == bound);
            }
        }
    }
    // The comparison is worth something only if many works have a bound, and many bounds are reached.
    assert!(bounded > 300 && reached > least, "{bounded} bounds, reached {reached} times");
}
