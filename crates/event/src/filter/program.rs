//! Filters compiled for matching events.

use std::mem;

use super::interest::{Interest, remembers};
use super::{Filter, TimeoutKind, meets};
use crate::event_type::ANY;
use crate::rtec_event_comm::{Event, EventHeader};

/// A compiled filter, which is applied to one event after the other.
///
/// A filter without conjunctions is stateless, and is applied by [`accepts`](Self::accepts). The state of other filters
/// is in a separate [`Progress`]. Applying a filter allocates no memory, except for copies of the events that a
/// conjunction collects.
#[derive(Clone, Debug)]
pub struct Program {
    root: Node,
    interest: Interest,
    timers: Vec<(TimeoutKind, u64)>,
    /// Number of members of each conjunction.
    conjunctions: Vec<usize>,
    remembers: bool,
}

/// Input of a program: an event, or the event of a timer.
#[derive(Clone, Copy, Debug)]
pub struct Trigger<'e> {
    /// The event.
    pub event: &'e Event,
    /// Timer that has expired, as an index into [`Program::timers`]; `None` for an event of a supplier.
    pub timer: Option<usize>,
}

/// Result of applying a program to an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Matched {
    /// The consumer gets no event.
    No,
    /// The consumer gets this event.
    Event,
    /// The consumer gets the events that a conjunction has collected.
    Set(Vec<Event>),
}

/// Events that the conjunctions of a program have collected.
#[derive(Clone, Debug)]
pub struct Progress {
    conjunctions: Vec<Collected>,
    /// Size in octets of all payloads and received values of the collected events.
    octets: usize,
    /// Maximum of `octets`.
    limit: usize,
    dropped: u64,
}

#[derive(Clone, Debug, Default)]
struct Collected {
    /// Flags, one for each member.
    met: Vec<bool>,
    missing: usize,
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
enum Node {
    Event(i32, i32),
    Disjunction(Box<[Node]>),
    Conjunction(usize, Box<[Node]>),
    LogicalAnd(Box<[Node]>),
    Negation(Box<Node>),
    Bitmask(i32, i32, Box<Node>),
    MaskedType { masks: (i32, i32), values: (i32, i32) },
    Timeout(usize),
}

/// Result of applying a node to an event: whether the node accepts the event, and which events it passes to its parent.
#[derive(Clone, Copy)]
struct Step {
    accepted: bool,
    pushed: Pushed,
}

#[derive(Clone, Copy)]
enum Pushed {
    Nothing,
    Event,
    /// All events that a conjunction has collected.
    Set(usize),
}

const REFUSED: Step = Step { accepted: false, pushed: Pushed::Nothing };

const ACCEPTED: Step = Step { accepted: true, pushed: Pushed::Event };

impl Program {
    /// Compiles a filter. Timers are numbered in the order in which they occur in the filter.
    pub fn new(filter: &Filter) -> Program {
        let (mut timers, mut conjunctions) = (Vec::new(), Vec::new());
        let root = compile(filter, &mut timers, &mut conjunctions);
        Program {
            root,
            interest: Interest::of(filter),
            timers,
            conjunctions,
            remembers: remembers(filter),
        }
    }

    /// Returns the events to which the program must be applied.
    pub fn interest(&self) -> &Interest {
        &self.interest
    }

    /// Returns the timers that the program needs, with their kinds and their periods in units of 100 ns.
    pub fn timers(&self) -> &[(TimeoutKind, u64)] {
        &self.timers
    }

    /// Reports whether the result depends on earlier events. If it does, [`accepts`](Self::accepts) must not be called.
    pub fn remembers(&self) -> bool {
        self.remembers
    }

    /// Reports whether the consumer gets this event. Only for programs that do not [depend on earlier
    /// events](Self::remembers).
    pub fn accepts(&self, trigger: Trigger<'_>) -> bool {
        debug_assert!(!self.remembers, "conjunctions need their progress");
        step(&self.root, trigger, &mut Progress::default()).accepted
    }

    /// Returns the initial state of the program's conjunctions.
    pub fn progress(&self) -> Progress {
        let conjunctions = self.conjunctions.iter().map(|members| Collected {
            met: vec![false; *members],
            missing: *members,
            events: Vec::new(),
        });
        Progress { conjunctions: conjunctions.collect(), ..Progress::default() }
    }

    /// Returns the events that the consumer gets. After a match, all conjunctions restart, even those that are
    /// incomplete, as in TAO.
    pub fn advance(&self, trigger: Trigger<'_>, progress: &mut Progress) -> Matched {
        let matched = match step(&self.root, trigger, progress).pushed {
            Pushed::Nothing => return Matched::No,
            Pushed::Event => Matched::Event,
            Pushed::Set(which) => Matched::Set(mem::take(&mut progress.conjunctions[which].events)),
        };
        progress.clear();
        matched
    }

    /// Reports whether an event of this publication may contribute to a match (TAO: `can_match`). The routes of a
    /// supplier contain those consumers for which this is the case for at least one of its publications.
    pub fn can_match(&self, header: &EventHeader) -> bool {
        can_match(&self.root, header)
    }
}

impl Progress {
    /// Limits the size in octets of the payloads and received values that conjunctions may collect. If an event exceeds
    /// the limit, it is dropped and counted together with all collected events.
    pub fn limited(self, octets: usize) -> Progress {
        Progress { limit: octets, ..self }
    }

    /// Returns the number of events that were dropped because of the limit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn clear(&mut self) {
        self.octets = 0;
        self.conjunctions.iter_mut().for_each(Collected::clear);
    }

    /// Counts the size of one more event. If the limit is exceeded, drops everything that was collected and returns
    /// `false`.
    fn has_room(&mut self, octets: usize) -> bool {
        self.octets = self.octets.saturating_add(octets);
        if self.octets <= self.limit {
            return true;
        }
        let collected = self.conjunctions.iter().map(|one| one.events.len() as u64);
        self.dropped += collected.sum::<u64>() + 1;
        self.clear();
        false
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress { conjunctions: Vec::new(), octets: 0, limit: usize::MAX, dropped: 0 }
    }
}

impl Collected {
    fn clear(&mut self) {
        self.met.fill(false);
        self.missing = self.met.len();
        self.events.clear();
    }
}

fn compile(
    filter: &Filter,
    timers: &mut Vec<(TimeoutKind, u64)>,
    conjunctions: &mut Vec<usize>,
) -> Node {
    let mut all = |members: &[Filter], conjunctions: &mut Vec<usize>| -> Box<[Node]> {
        let compiled = members.iter();
        compiled.map(|member| compile(member, timers, conjunctions)).collect()
    };
    match filter {
        Filter::Event { event_type, source } => Node::Event(*event_type, *source),
        Filter::Disjunction(members) => Node::Disjunction(all(members, conjunctions)),
        Filter::LogicalAnd(members) => Node::LogicalAnd(all(members, conjunctions)),
        Filter::Conjunction(members) => {
            let which = conjunctions.len();
            conjunctions.push(members.len());
            Node::Conjunction(which, all(members, conjunctions))
        }
        Filter::Negation(member) => Node::Negation(Box::new(compile(member, timers, conjunctions))),
        Filter::Bitmask { type_mask, source_mask, then } => {
            let then = compile(then, timers, conjunctions);
            Node::Bitmask(*type_mask, *source_mask, Box::new(then))
        }
        Filter::MaskedType { type_mask, source_mask, type_value, source_value } => {
            Node::MaskedType {
                masks: (*type_mask, *source_mask),
                values: (*type_value, *source_value),
            }
        }
        Filter::Timeout { kind, period } => {
            timers.push((*kind, *period));
            Node::Timeout(timers.len() - 1)
        }
        Filter::Null => Node::Event(ANY, ANY),
    }
}

fn step(node: &Node, trigger: Trigger<'_>, progress: &mut Progress) -> Step {
    let header = &trigger.event.header;
    let accepted_if = |it: bool| if it { ACCEPTED } else { REFUSED };
    match node {
        Node::Event(event_type, source) => accepted_if(meets((*event_type, *source), header)),
        Node::MaskedType { masks, values } => accepted_if(masked(*masks, *values, header)),
        Node::Timeout(which) => accepted_if(trigger.timer == Some(*which)),
        Node::Negation(member) => accepted_if(!step(member, trigger, progress).accepted),
        Node::Bitmask(type_mask, source_mask, then) => match bits(*type_mask, *source_mask, header)
        {
            true => step(then, trigger, progress),
            false => REFUSED,
        },
        Node::LogicalAnd(members) => {
            let mut members = members.iter();
            accepted_if(members.all(|member| step(member, trigger, progress).accepted))
        }
        Node::Disjunction(members) => {
            let mut steps = members.iter().map(|member| step(member, trigger, progress));
            steps.find(|step| step.accepted).unwrap_or(REFUSED)
        }
        Node::Conjunction(which, members) => {
            for (member, node) in members.iter().enumerate() {
                let step = step(node, trigger, progress);
                if step.accepted {
                    let pushed = collect(*which, member, step.pushed, trigger, progress);
                    return Step { accepted: true, pushed };
                }
            }
            REFUSED
        }
    }
}

/// Collects an event that a member of a conjunction passed on, if it is the member's first one.
fn collect(
    which: usize,
    member: usize,
    pushed: Pushed,
    trigger: Trigger<'_>,
    progress: &mut Progress,
) -> Pushed {
    if progress.conjunctions[which].met[member] {
        return Pushed::Nothing;
    }
    match pushed {
        Pushed::Nothing => return Pushed::Nothing,
        Pushed::Event => {
            if !progress.has_room(octets(trigger.event)) {
                return Pushed::Nothing;
            }
            let collected = &mut progress.conjunctions[which].events;
            collected.push(trigger.event.clone());
        }
        Pushed::Set(inner) => {
            let mut events = mem::take(&mut progress.conjunctions[inner].events);
            progress.conjunctions[which].events.append(&mut events);
        }
    }
    let ours = &mut progress.conjunctions[which];
    ours.met[member] = true;
    ours.missing -= 1;
    match ours.missing {
        0 => Pushed::Set(which),
        _ => Pushed::Nothing,
    }
}

/// Returns the size in octets of an event's data on the heap. The size of a value that was not received is unknown, and
/// is not counted.
fn octets(event: &Event) -> usize {
    let value = event.data.any_value.received_octets().unwrap_or(0);
    event.data.payload.len().saturating_add(value)
}

/// Reports whether some event of a publication may match. In the publication, 0 represents any type or source.
fn can_match(node: &Node, published: &EventHeader) -> bool {
    match node {
        Node::Event(event_type, source) => meets((*event_type, *source), published),
        Node::MaskedType { masks, values } => {
            let one = |of, mask: i32, value: i32| match of {
                0 => value & !mask == 0,
                of => of & mask == value,
            };
            one(published.r#type, masks.0, values.0) && one(published.source, masks.1, values.1)
        }
        Node::Timeout(_) => false,
        Node::Negation(member) => !always_matches(member, published),
        Node::Bitmask(type_mask, source_mask, then) => {
            let one = |of, mask| mask != 0 && (of == 0 || of & mask != 0);
            one(published.r#type, *type_mask)
                && one(published.source, *source_mask)
                && can_match(then, published)
        }
        Node::LogicalAnd(members) => members.iter().all(|member| can_match(member, published)),
        Node::Disjunction(members) | Node::Conjunction(_, members) => {
            members.iter().any(|member| can_match(member, published))
        }
    }
}

/// Reports whether all events of a publication match.
fn always_matches(node: &Node, published: &EventHeader) -> bool {
    match node {
        Node::Event(event_type, source) => {
            let one = |asked, of| asked == 0 || asked == of;
            one(*event_type, published.r#type) && one(*source, published.source)
        }
        // A published 0 may represent any value, so a match is certain only if the mask is 0.
        Node::MaskedType { masks, values } => {
            let one = |of, mask| of != 0 || mask == 0;
            one(published.r#type, masks.0)
                && one(published.source, masks.1)
                && masked(*masks, *values, published)
        }
        Node::Bitmask(type_mask, source_mask, then) => {
            bits(*type_mask, *source_mask, published) && always_matches(then, published)
        }
        Node::Negation(member) => !can_match(member, published),
        Node::LogicalAnd(members) => (members.iter()).all(|one| always_matches(one, published)),
        Node::Disjunction(members) => (members.iter()).any(|one| always_matches(one, published)),
        // The result depends on other events or on time, so a match is never certain.
        Node::Conjunction(..) | Node::Timeout(_) => false,
    }
}

fn masked(masks: (i32, i32), values: (i32, i32), header: &EventHeader) -> bool {
    (header.r#type & masks.0, header.source & masks.1) == values
}

fn bits(type_mask: i32, source_mask: i32, header: &EventHeader) -> bool {
    header.r#type & type_mask != 0 && header.source & source_mask != 0
}
