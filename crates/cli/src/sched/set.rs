//! Task sets in TOML; `docs/scheduling.md` describes them.

use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use oxorb_sched::analysis::servers::{Kind, Server};
use oxorb_sched::repository::{CallKind, Characteristics, Constraints, InfoType, LockingProtocol};
use oxorb_sched::time::{self, Nanos};
use oxorb_sched::{Burst, DispatchModel, Strategy};
use serde::Deserialize;
use toml::Spanned;

use super::extra::{Lock, Request, ServerSaid, Times};
use super::load::{Call, Loaded};
use super::system::{Flow, Node};
use oxorb_terminal::output::{Failed, because};

/// Scheduling declared by a set.
#[derive(Default, Clone, Copy)]
pub(super) struct Asked {
    pub(super) strategy: Option<Strategy>,
    pub(super) model: Option<DispatchModel>,
    pub(super) priorities: Option<(i32, i32)>,
    pub(super) step: Option<Nanos>,
    pub(super) dispatch: Option<Nanos>,
    pub(super) switch: Option<Nanos>,
    pub(super) locking: Option<LockingProtocol>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    #[serde(default)]
    schedule: Schedule,
    #[serde(default)]
    operation: Vec<Operation>,
    #[serde(default)]
    call: Vec<Edge>,
    #[serde(default)]
    event: Vec<Edge>,
    #[serde(default)]
    node: Vec<NodeSaid>,
    #[serde(default)]
    link: Vec<LinkSaid>,
    #[serde(default)]
    message: Vec<Message>,
    #[serde(default)]
    flow: Vec<FlowSaid>,
    #[serde(default)]
    lock: Vec<LockSaid>,
    #[serde(default)]
    server: Vec<ServerRow>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Schedule {
    strategy: Option<Spanned<String>>,
    model: Option<Spanned<String>>,
    priorities: Option<(i32, i32)>,
    step: Text,
    dispatch: Text,
    switch: Text,
    locking: Text,
}

type Text = Option<Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    name: Spanned<String>,
    wcet: Text,
    typical: Text,
    cached: Text,
    period: Text,
    deadline: Text,
    jitter: Text,
    blocking: Text,
    offset: Text,
    quantum: Text,
    criticality: Text,
    importance: Text,
    #[serde(default)]
    threads: u32,
    #[serde(rename = "type")]
    kind: Text,
    node: Text,
    bcet: Text,
    overrun: Text,
    /// Number of requests within any window of one period.
    burst: Option<u32>,
    distance: Text,
    /// Fraction of the executions that take at most `typical`.
    usual: Option<Spanned<f64>>,
    times: Option<Spanned<Vec<(String, f64)>>>,
    server: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockSaid {
    operation: Spanned<String>,
    resource: Spanned<String>,
    time: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerRow {
    name: Spanned<String>,
    kind: Spanned<String>,
    capacity: Spanned<String>,
    period: Text,
    criticality: Text,
    importance: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeSaid {
    name: Spanned<String>,
    strategy: Text,
    model: Text,
    priorities: Option<(i32, i32)>,
    /// Operations of the node that do not declare it themselves, because they are in IDL.
    #[serde(default)]
    operations: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkSaid {
    name: Spanned<String>,
    rate: Text,
    strategy: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    name: Spanned<String>,
    link: Spanned<String>,
    time: Text,
    octets: Option<u64>,
    period: Text,
    criticality: Text,
    importance: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowSaid {
    name: Spanned<String>,
    steps: Vec<Spanned<String>>,
    deadline: Spanned<String>,
    period: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge {
    from: Spanned<String>,
    to: Spanned<String>,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

/// File and its text, for places in messages.
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn place(&self, span: Range<usize>) -> String {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        format!("{}:{line}:{column}", self.file.display())
    }

    fn wrong(&self, span: Range<usize>, why: impl std::fmt::Display) -> Failed {
        because(format!("{}: {why}", self.place(span)))
    }

    fn time(&self, text: &Text) -> Result<Option<Nanos>, Failed> {
        let read = |text: &Spanned<String>| {
            time::parse(text.get_ref()).map_err(|error| self.wrong(text.span(), error))
        };
        text.as_ref().map(read).transpose()
    }

    fn period(&self, text: &Text) -> Result<Nanos, Failed> {
        let Some(text) = text else {
            return Ok(0);
        };
        match time::parse_period(text.get_ref()) {
            Ok(0) => Err(self.wrong(
                text.span(),
                "a period cannot be 0; omit it if the callers determine the rate",
            )),
            Ok(period) => Ok(period),
            Err(error) => Err(self.wrong(text.span(), error)),
        }
    }

    /// Returns a rate in bits per second.
    fn rate(&self, text: &Text) -> Result<Option<u64>, Failed> {
        let Some(text) = text else {
            return Ok(None);
        };
        let (number, unit) = text.get_ref().split_once(' ').unwrap_or_default();
        let scale = match unit.trim() {
            "bit/s" => Some(1),
            "kbit/s" => Some(1_000),
            "Mbit/s" => Some(1_000_000),
            "Gbit/s" => Some(1_000_000_000),
            _ => None,
        };
        let rate = scale.and_then(|scale: u64| number.parse::<u64>().ok()?.checked_mul(scale));
        match rate.filter(|&rate| rate > 0) {
            Some(rate) => Ok(Some(rate)),
            None => {
                let why = format!(
                    "{:?} is not a rate; write for example \"100 Mbit/s\", with bit/s, kbit/s, Mbit/s or Gbit/s",
                    text.get_ref()
                );
                Err(self.wrong(text.span(), why))
            }
        }
    }

    fn read<T: FromStr<Err: std::fmt::Display>>(&self, text: &Text) -> Result<Option<T>, Failed> {
        let read = |text: &Spanned<String>| {
            let read = text.get_ref().parse();
            read.map_err(|error| self.wrong(text.span(), error))
        };
        text.as_ref().map(read).transpose()
    }

    fn named(&self, name: &Spanned<String>) -> (String, String) {
        (name.get_ref().clone(), self.place(name.span()))
    }
}

/// Reads one file.
pub(super) fn read(file: &Path, loaded: &mut Loaded) -> Result<(), Failed> {
    let text = crate::input::file(file, "a task set").map_err(because)?;
    let source = Source { file, text: &text };
    let set: Set = toml::from_str(&text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        source.wrong(span, error.message())
    })?;
    let asked = &mut loaded.asked;
    asked.strategy = source.read(&set.schedule.strategy)?.or(asked.strategy);
    asked.model = source.read(&set.schedule.model)?.or(asked.model);
    asked.priorities = set.schedule.priorities.or(asked.priorities);
    asked.step = source.time(&set.schedule.step)?.or(asked.step);
    asked.dispatch = source.time(&set.schedule.dispatch)?.or(asked.dispatch);
    asked.switch = source.time(&set.schedule.switch)?.or(asked.switch);
    asked.locking = source.read(&set.schedule.locking)?.or(asked.locking);
    for operation in &set.operation {
        let (name, place) = source.named(&operation.name);
        let said = characteristics(&source, operation)?;
        if let Some(server) = &operation.server {
            request(&source, operation, source.named(server), said, loaded)?;
            continue;
        }
        loaded.add(&name, place, said)?;
        if let Some(times) = times(&source, operation)? {
            loaded.extra.times.insert(name.clone(), times);
        }
        if let Some(node) = &operation.node {
            loaded.system.on.push((name, source.named(node)));
        }
    }
    nodes(&source, &set, loaded)?;
    servers(&source, &set, loaded)?;
    for lock in &set.lock {
        let longest = time::parse(lock.time.get_ref());
        loaded.extra.locks.push(Lock {
            operation: source.named(&lock.operation),
            resource: lock.resource.get_ref().clone(),
            longest: longest.map_err(|error| source.wrong(lock.time.span(), error))?,
        });
    }
    for (edges, kind) in [(set.call, CallKind::TwoWay), (set.event, CallKind::OneWay)] {
        for edge in edges {
            loaded.call(Call {
                from: source.named(&edge.from),
                to: source.named(&edge.to),
                times: edge.times,
                kind,
            });
        }
    }
    Ok(())
}

fn servers(source: &Source<'_>, set: &Set, loaded: &mut Loaded) -> Result<(), Failed> {
    for row in &set.server {
        let (name, place) = source.named(&row.name);
        let kind: Kind =
            row.kind.get_ref().parse().map_err(|error| source.wrong(row.kind.span(), error))?;
        let capacity = time::parse(row.capacity.get_ref());
        let capacity = capacity.map_err(|error| source.wrong(row.capacity.span(), error))?;
        let period = source.period(&row.period)?;
        if capacity == 0 || period < capacity {
            let why = format!(
                "{name}: a server needs a capacity greater than 0, and a period that is not shorter than the \
                         capacity"
            );
            return Err(source.wrong(row.capacity.span(), why));
        }
        let said = Characteristics {
            worst_case: capacity,
            typical: capacity,
            period,
            threads: 1,
            criticality: source.read(&row.criticality)?.unwrap_or_default(),
            importance: source.read(&row.importance)?.unwrap_or_default(),
            ..Characteristics::default()
        };
        loaded.add(&name, place.clone(), said)?;
        loaded
            .extra
            .servers
            .push(ServerSaid { name: (name, place), server: Server { kind, capacity, period } });
    }
    Ok(())
}

/// Adds an operation whose requests wait in a server.
fn request(
    source: &Source<'_>,
    operation: &Operation,
    server: (String, String),
    said: Characteristics,
    loaded: &mut Loaded,
) -> Result<(), Failed> {
    let name = source.named(&operation.name);
    let odd = [
        (operation.offset.is_some(), "an offset"),
        (operation.node.is_some(), "a node"),
        (operation.blocking.is_some(), "blocking"),
        (operation.overrun.is_some(), "an overrun"),
        (operation.threads > 0, "threads"),
        (operation.kind.is_some(), "a type"),
    ];
    if let Some((_, what)) = odd.into_iter().find(|(said, _)| *said) {
        let why =
            format!("{}: {what} has no effect on requests that are queued in a server", name.0);
        return Err(source.wrong(operation.name.span(), why));
    }
    if name.0.trim().is_empty() {
        return Err(source.wrong(operation.name.span(), "an operation without a name"));
    }
    loaded.claim(&name.0, name.1.clone())?;
    loaded.extra.requests.push(Request { name, server, said });
    Ok(())
}

/// Returns the distribution of an operation's execution times.
fn times(source: &Source<'_>, said: &Operation) -> Result<Option<(Times, String)>, Failed> {
    match (&said.usual, &said.times) {
        (None, None) => Ok(None),
        (Some(share), None) => match said.typical {
            Some(_) => Ok(Some((Times::Share(*share.get_ref()), source.place(share.span())))),
            None => Err(source.wrong(
                share.span(),
                "usual is the fraction of executions that take no longer than typical; specify typical, too",
            )),
        },
        (None, Some(points)) => {
            let read = |(text, chance): &(String, f64)| {
                let time = time::parse(text).map_err(|error| source.wrong(points.span(), error))?;
                Ok::<_, Failed>((time, *chance))
            };
            let all: Result<Vec<_>, Failed> = points.get_ref().iter().map(read).collect();
            Ok(Some((Times::Points(all?), source.place(points.span()))))
        }
        (Some(share), Some(_)) => {
            Err(source.wrong(share.span(), "usual and times state the same; specify one of them"))
        }
    }
}

fn burst(source: &Source<'_>, said: &Operation) -> Result<Option<Burst>, Failed> {
    let distance = source.time(&said.distance)?;
    match (said.burst, &said.distance) {
        (None, Some(distance)) => Err(source.wrong(
            distance.span(),
            "distance is the time between the requests of a burst; specify burst = N, too",
        )),
        (None, None) => Ok(None),
        (Some(most), _) => Ok(Some(Burst { most, distance: distance.unwrap_or(0) })),
    }
}

fn nodes(source: &Source<'_>, set: &Set, loaded: &mut Loaded) -> Result<(), Failed> {
    for node in &set.node {
        let name = source.named(&node.name);
        for operation in &node.operations {
            let on = (name.0.clone(), source.place(operation.span()));
            loaded.system.on.push((operation.get_ref().clone(), on));
        }
        loaded.system.nodes.push(Node {
            name,
            asked: Asked {
                strategy: source.read(&node.strategy)?,
                model: source.read(&node.model)?,
                priorities: node.priorities,
                ..Asked::default()
            },
            link: None,
        });
    }
    for link in &set.link {
        loaded.system.nodes.push(Node {
            name: source.named(&link.name),
            asked: Asked { strategy: source.read(&link.strategy)?, ..Asked::default() },
            link: Some(source.rate(&link.rate)?),
        });
    }
    for message in &set.message {
        let (name, place) = source.named(&message.name);
        let said = Characteristics {
            worst_case: source.time(&message.time)?.unwrap_or(0),
            period: source.period(&message.period)?,
            criticality: source.read(&message.criticality)?.unwrap_or_default(),
            importance: source.read(&message.importance)?.unwrap_or_default(),
            ..Characteristics::default()
        };
        match (&message.time, message.octets) {
            (Some(_), None) => {}
            (None, Some(octets)) => {
                loaded.system.octets.insert(name.clone(), octets);
            }
            _ => {
                let why = format!("{name} needs either time or octets");
                return Err(source.wrong(message.name.span(), why));
            }
        }
        loaded.add(&name, place, said)?;
        loaded.system.on.push((name, source.named(&message.link)));
    }
    for flow in &set.flow {
        let deadline = time::parse(flow.deadline.get_ref());
        let deadline = deadline.map_err(|error| source.wrong(flow.deadline.span(), error))?;
        loaded.system.flows.push(Flow {
            name: source.named(&flow.name),
            steps: flow.steps.iter().map(|step| source.named(step)).collect(),
            deadline,
            period: Some(source.period(&flow.period)?).filter(|&period| period > 0),
        });
    }
    Ok(())
}

fn characteristics(source: &Source<'_>, said: &Operation) -> Result<Characteristics, Failed> {
    let time = |text| Ok::<_, Failed>(source.time(text)?.unwrap_or(0));
    let worst_case = time(&said.wcet)?;
    Ok(Characteristics {
        criticality: source.read(&said.criticality)?.unwrap_or_default(),
        worst_case,
        typical: source.time(&said.typical)?.unwrap_or(worst_case),
        cached: time(&said.cached)?,
        period: source.period(&said.period)?,
        importance: source.read(&said.importance)?.unwrap_or_default(),
        quantum: time(&said.quantum)?,
        threads: said.threads,
        info_type: kind(source, &said.kind)?,
        constraints: Constraints {
            deadline: source.time(&said.deadline)?,
            jitter: time(&said.jitter)?,
            blocking: time(&said.blocking)?,
            offset: source.time(&said.offset)?,
            best_case: time(&said.bcet)?,
            burst: burst(source, said)?,
            overrun: source.time(&said.overrun)?,
        },
    })
}

fn kind(source: &Source<'_>, text: &Text) -> Result<InfoType, Failed> {
    let Some(text) = text else {
        return Ok(InfoType::Operation);
    };
    match text.get_ref().as_str() {
        "operation" => Ok(InfoType::Operation),
        "conjunction" => Ok(InfoType::Conjunction),
        "disjunction" => Ok(InfoType::Disjunction),
        "remote" => Ok(InfoType::RemoteDependant),
        other => Err(source.wrong(
            text.span(),
            format!(
                "{other:?} is not a type; the types are operation, conjunction, disjunction and remote"
            ),
        )),
    }
}
