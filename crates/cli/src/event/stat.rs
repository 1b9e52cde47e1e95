//! `oxorb event ls` and `oxorb event stat`: connections to the channels of a server, and their traffic.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use oxorb::values::Printable;
use oxorb::{Interface, SystemExceptionKind};
use serde_json::{Value, json};

use super::channel::{Channel, ChannelArgs};
use super::latency::Latency;
use super::statistics::OBJECT;
use super::statistics::idl::{
    EventChannelState, EventConsumer, EventDrops, EventStatisticsRef, EventSupplier,
    NotificationState,
};
use oxorb_terminal::duration;
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, STRONG, because, control, print, print_json, print_line,
};

/// Shortest time between two reports.
const SHORTEST: Duration = Duration::from_millis(10);

/// Arguments of `oxorb event ls`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Lists suppliers with the numbers of events that they pushed. Lists consumers with the \
    numbers of events that were delivered, are waiting, and were dropped by cause, and the p50, p99 and maximum time \
    from the arrival of an event at the channel to the end of its delivery. For a Notification Service, the command \
    lists the events that its queues delivered, hold and dropped, and the memory of its filters. It works with servers \
    started by `oxorb event serve`: other event services do not report these numbers.\n\nExamples:\n  \
    oxorb event ls\n  oxorb event ls --at corbaloc::host:2811/EventService --format json")
)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    at: ChannelArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `oxorb event stat`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Shows for every supplier and consumer the events per second since the previous interval, and \
    the p50, p99 and maximum time from the arrival of an event at the channel to the end of its delivery. Also shows \
    the events that wait for a consumer, and the drops by cause; `oxorb event ls` shows totals. Percentiles are at \
    most a sixteenth too large. The command works with servers started by `oxorb event serve`: other event services do \
    not report these numbers.\n\nExamples:\n  oxorb event stat --at corbaloc::host:2811/EventService\n  \
    oxorb event stat --interval 500ms --count 20 --format json")
)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    at: ChannelArgs,
    /// Time between two reports, at least 10ms. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "1s", value_parser = duration::seconds().at_least(SHORTEST))]
    interval: Duration,
    /// Number of reports; 0: until the server or this command ends
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    count: u64,
    /// Output format; JSON writes one line for each report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn list(args: &ListArgs) -> Done {
    let server = Server::beside(&args.at.connect()?)?;
    let states = server.states()?;
    match args.format {
        Format::Json => print_json(&states.json(None)),
        Format::Text => print(states.table(None)),
    }
}

pub(super) fn watch(args: &WatchArgs) -> Done {
    let server = Server::beside(&args.at.connect()?)?;
    let live = args.format == Format::Text && std::io::stdout().is_terminal();
    let mut before = Look::new(&server.states()?);
    let mut lines = 0;
    let mut looks = 0;
    loop {
        std::thread::sleep(args.interval);
        let states = server.states()?;
        let look = Look::new(&states);
        let rates = Rates { before: &before, seconds: (look.at - before.at).as_secs_f64() };
        match args.format {
            Format::Json => print_line(&states.json(Some(&rates)))?,
            Format::Text => {
                let text = states.table(Some(&rates));
                if live && lines > 0 {
                    control(&format!("\x1b[{lines}A\x1b[J"))?;
                }
                lines = text.lines().count();
                print(text)?;
            }
        }
        before = look;
        looks += 1;
        if looks == args.count {
            return Ok(());
        }
    }
}

/// Object that reports statistics.
struct Server {
    object: EventStatisticsRef,
    url: String,
}

impl Server {
    /// Returns the statistics object at the endpoint of a channel.
    fn beside(channel: &Channel) -> Result<Server, Failed> {
        let ior = channel.object().reference().ior();
        let profile = ior.iiop_profiles().next();
        let endpoint = profile.as_ref().and_then(|profile| profile.endpoints().first().cloned());
        let endpoint = endpoint
            .ok_or_else(|| because("the channel has no IIOP endpoint that could be queried"))?;
        let url = format!("corbaloc::{endpoint}/{OBJECT}");
        let object = channel.orb().string_to_object(&url).map_err(because)?;
        Ok(Server { object: EventStatisticsRef::from_ref(object.reference().clone()), url })
    }

    fn states(&self) -> Result<States, Failed> {
        let silent = |why| {
            because(format!(
                "{} does not report its suppliers and consumers: {why}\n\
                 servers started by `oxorb event serve` report them; other event services do not",
                self.url
            ))
        };
        let notifications = match self.object.notifications() {
            // An earlier version of the server does not have this operation.
            Err(why) if why.kind == SystemExceptionKind::BadOperation => Vec::new(),
            answer => answer.map_err(silent)?,
        };
        Ok(States { channels: self.object.channels().map_err(silent)?, notifications })
    }
}

/// State of a server at one moment.
struct States {
    channels: Vec<EventChannelState>,
    notifications: Vec<NotificationState>,
}

/// Number that stands for all consumers of the Notification Service, which have no numbers of their own.
const NOTIFICATIONS: u64 = 0;

/// Snapshot of the counters, by channel, side and connection number.
struct Look {
    at: Instant,
    events: HashMap<(String, bool, u64), u64>,
    /// Latencies of consumers, by channel and number.
    latencies: HashMap<(String, u64), Latency>,
}

impl Look {
    fn new(states: &States) -> Look {
        let mut events = HashMap::new();
        let mut latencies = HashMap::new();
        for one in &states.notifications {
            events.insert((one.name.clone(), true, NOTIFICATIONS), one.delivered);
        }
        for state in &states.channels {
            for one in &state.consumers {
                let key = (state.name.clone(), one.number);
                latencies.insert(key, Latency::of(&one.latency));
                events.insert((state.name.clone(), true, one.number), one.delivered);
            }
            for one in &state.suppliers {
                events.insert((state.name.clone(), false, one.number), one.events);
            }
        }
        Look { at: Instant::now(), events, latencies }
    }
}

/// Difference between two snapshots.
struct Rates<'l> {
    before: &'l Look,
    seconds: f64,
}

impl Rates<'_> {
    fn of(&self, channel: &str, consumer: bool, number: u64, events: u64) -> f64 {
        let key = (channel.to_owned(), consumer, number);
        let before = self.before.events.get(&key).copied().unwrap_or(0);
        events.saturating_sub(before) as f64 / self.seconds
    }

    /// Returns the times of one consumer since the previous snapshot.
    fn latency(&self, channel: &str, one: &EventConsumer) -> Latency {
        let key = (channel.to_owned(), one.number);
        Latency::of(&one.latency).since(self.before.latencies.get(&key))
    }
}

impl States {
    fn json(&self, rates: Option<&Rates<'_>>) -> Value {
        let notification = |one: &NotificationState| {
            let rate = |rates: &Rates<'_>| rates.of(&one.name, true, NOTIFICATIONS, one.delivered);
            json!({
                "name": one.name, "offered": one.offered, "delivered": one.delivered,
                "waiting": one.waiting, "drops": causes(&one.drops), "held_octets": one.held_octets,
                "rate_hz": rates.map(rate),
            })
        };
        json!({
            "channels": shown(&self.channels, rates),
            "notifications": self.notifications.iter().map(notification).collect::<Vec<_>>(),
        })
    }

    fn table(&self, rates: Option<&Rates<'_>>) -> String {
        let mut out = table(&self.channels, rates);
        for one in &self.notifications {
            let _ = writeln!(
                out,
                "{STRONG}{}{STRONG:#}: Notification Service, {} octets of filters and subscriptions",
                Printable(&one.name),
                one.held_octets
            );
            let rate = rates.map_or(String::new(), |rates| {
                format!("{:>10.1}/s", rates.of(&one.name, true, NOTIFICATIONS, one.delivered))
            });
            let _ = write!(
                out,
                "  {:<14} {:>10} delivered{rate}  {} waiting",
                "all consumers", one.delivered, one.waiting
            );
            dropped(&mut out, &one.drops);
            out.push('\n');
        }
        out
    }
}

fn causes(drops: &[EventDrops]) -> serde_json::Map<String, Value> {
    drops.iter().map(|drop| (drop.cause.clone(), json!(drop.events))).collect()
}

fn dropped(out: &mut String, drops: &[EventDrops]) {
    for drop in drops {
        let _ = write!(out, "  {BAD}{} dropped{BAD:#} ({})", drop.events, Printable(&drop.cause));
    }
}

fn shown(states: &[EventChannelState], rates: Option<&Rates<'_>>) -> Vec<Value> {
    let channel = |state: &EventChannelState| {
        let rate = |consumer, number, events| {
            rates.map(|rates| rates.of(&state.name, consumer, number, events))
        };
        let consumer = |one: &EventConsumer| {
            json!({
                "number": one.number, "reference": one.reference, "gateway": one.is_gateway,
                "suspended": one.is_suspended, "matched": one.matched, "delivered": one.delivered,
                "waiting": one.waiting, "drops": causes(&one.drops),
                "rate_hz": rate(true, one.number, one.delivered),
                "latency": latency(state, one, rates).json(),
            })
        };
        let supplier = |one: &EventSupplier| {
            json!({
                "number": one.number, "reference": one.reference, "gateway": one.is_gateway,
                "events": one.events, "refused": one.refused, "beyond_rate": one.beyond_rate,
                "rate_hz": rate(false, one.number, one.events),
            })
        };
        json!({
            "name": state.name,
            "observers": state.observers,
            "consumers": state.consumers.iter().map(consumer).collect::<Vec<_>>(),
            "suppliers": state.suppliers.iter().map(supplier).collect::<Vec<_>>(),
        })
    };
    states.iter().map(channel).collect()
}

/// Returns the delivery times of a consumer: since the previous snapshot, or else since it connected.
fn latency(state: &EventChannelState, one: &EventConsumer, rates: Option<&Rates<'_>>) -> Latency {
    match rates {
        Some(rates) => rates.latency(&state.name, one),
        None => Latency::of(&one.latency),
    }
}

fn table(states: &[EventChannelState], rates: Option<&Rates<'_>>) -> String {
    let mut out = String::new();
    for state in states {
        let EventChannelState { name, consumers, suppliers, observers } = state;
        let _ = writeln!(
            out,
            "{STRONG}{}{STRONG:#}: {} suppliers, {} consumers, {observers} observers",
            Printable(name),
            suppliers.len(),
            consumers.len()
        );
        let rate = |consumer, number, events| match rates {
            Some(rates) => format!("{:>10.1}/s", rates.of(name, consumer, number, events)),
            None => String::new(),
        };
        for one in suppliers {
            let number = format!("supplier {}", one.number);
            let rate = rate(false, one.number, one.events);
            let _ = write!(out, "  {number:<14} {:>10} pushed{rate}", one.events);
            if one.refused > 0 {
                let _ = write!(out, "  {BAD}{} refused{BAD:#}", one.refused);
            }
            if one.beyond_rate > 0 {
                let _ = write!(out, "  {BAD}{} beyond the rate{BAD:#}", one.beyond_rate);
            }
            marks(&mut out, &[("gateway", one.is_gateway)]);
        }
        for one in consumers {
            let number = format!("consumer {}", one.number);
            let rate = rate(true, one.number, one.delivered);
            let _ = write!(
                out,
                "  {number:<14} {:>10} delivered{rate}  {} waiting",
                one.delivered, one.waiting
            );
            let _ = write!(out, "{}", latency(state, one, rates));
            dropped(&mut out, &one.drops);
            marks(&mut out, &[("gateway", one.is_gateway), ("suspended", one.is_suspended)]);
        }
    }
    out
}

fn marks(out: &mut String, marks: &[(&str, bool)]) {
    for (mark, _) in marks.iter().filter(|(_, set)| *set) {
        let _ = write!(out, "  {FAINT}{mark}{FAINT:#}");
    }
    out.push('\n');
}
