//! `oxorb event pub`: pushes events.

use std::io::BufRead as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use oxorb::Any;
use oxorb_event::rtec_event_channel_admin::ProxyPushConsumerRef;
use oxorb_event::rtec_event_comm::Event;
use serde_json::{Value, json};

use super::channel::{Channel, ChannelArgs, end_of_process, event_of};
use super::value::{TypeArgs, ValueTypes};
use super::{consumer, filter, time};
use crate::input;
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_line};

/// Arguments of `oxorb event pub`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("A VALUE is JSON (docs/json.md). Without --as it is a plain value or names its type: \
    {\"type\": \"short\", \"value\": 5}. With --as it has that type, whose IDL file --idl names. The value becomes the \
    any of the event, or with --payload its payload. Names of event types and sources are converted to the numbers \
    that publishers and subscribers of oxorb-event use. Events carry their creation time, which `oxorb event sub \
    --latency` uses for its measurement.\n\nExamples:\n  oxorb event pub --type 17 --source 3\n  \
    oxorb event pub --type level --source 'tank 1' \\\n    \
    --idl plant.idl --as plant::Level --payload '{\"cm\": 12}'\n  \
    oxorb event pub --type 17 --source 3 --idl plant.idl --as plant::Level '{\"cm\": 12}'\n  \
    oxorb event pub --type 17 --source 3 --rate 20 --count 1000 42\n  \
    producer | oxorb event pub --type 18 --source 1 --idl plant.idl --as plant::Level -")
)]
pub(crate) struct Args {
    #[command(flatten)]
    at: ChannelArgs,
    /// Values, one for each event; @FILE reads one from a file, - reads one from each line of standard input. If
    /// omitted, one event without a value is pushed
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,
    /// Type of the events, as a number from 1 (applications use those from 16) or a name
    #[arg(long = "type", value_name = "TYPE", value_parser = filter::type_number)]
    kind: i32,
    /// Source of the events, as a number from 1 or a name
    #[arg(long, value_name = "SOURCE", default_value = "1", value_parser = filter::source_number)]
    source: i32,
    /// Maximum number of gateways that the events pass; 0 or less: none
    #[arg(long, value_name = "N", default_value_t = 1)]
    ttl: i32,
    #[command(flatten)]
    types: TypeArgs,
    /// Events per second, above 0. Without --count, events are pushed until the process ends; after the last value, the
    /// first one is used again
    #[arg(long, value_name = "HZ", value_parser = rate)]
    rate: Option<Duration>,
    /// Total number of events. Without --rate, they are pushed as fast as the channel accepts them; after the last
    /// value, the first one is used again
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// Number the events: the value is an unsigned long long that counts from 0. Missing numbers are reported by `oxorb
    /// event sub --gaps`
    #[arg(long, conflicts_with = "values")]
    number: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Done {
    let types = args.types.load()?;
    let channel = args.at.connect()?;
    types.register(channel.orb());
    let end = end_of_process()?;
    let mut supplier = Supplier {
        proxy: channel.supply(&[(args.kind, args.source)])?,
        channel: &channel,
        pushed: 0,
    };
    let start = Instant::now();
    let done = push_all(args, &types, &mut supplier, &end);
    // The reply confirms that the channel has accepted all events before it.
    let gone = supplier.proxy.disconnect_push_consumer();
    done?;
    gone.map_err(|why| channel.failed(why))?;
    let (pushed, seconds) = (supplier.pushed, start.elapsed().as_secs_f64());
    match args.format {
        Format::Text => {
            let events = if pushed == 1 { "event" } else { "events" };
            print(format_args!("pushed {pushed} {events} in {seconds:.1} s\n"))
        }
        Format::Json => {
            print_line(&json!({"event": "pushed", "events": pushed, "seconds": seconds}))
        }
    }
}

/// A connected supplier.
struct Supplier<'c> {
    proxy: ProxyPushConsumerRef,
    channel: &'c Channel,
    pushed: u64,
}

impl Supplier<'_> {
    fn push(&mut self, event: &mut Event) -> Done {
        event.header.creation_time = time::now();
        let pushed = self.proxy.push(std::slice::from_ref(event));
        pushed.map_err(|why| self.channel.failed(why))?;
        self.pushed += 1;
        Ok(())
    }
}

fn push_all(args: &Args, types: &ValueTypes, to: &mut Supplier<'_>, end: &Receiver<()>) -> Done {
    let make = |text: &str, place: &str| -> Result<Event, Failed> {
        let json: Value = serde_json::from_str(text)
            .map_err(|error| because(format!("{place}: this is not JSON: {error}")))?;
        let mut event = event_of(args.kind, args.source);
        event.header.ttl = args.ttl;
        event.data = types
            .to_data(&json, to.channel.orb())
            .map_err(|why| because(format!("{place}: {why}")))?;
        Ok(event)
    };
    if args.values == ["-"] {
        let mut pace = Pace::new(args, end);
        for (number, line) in lines().enumerate() {
            let place = format!("standard input, line {}", number + 1);
            let line = line.map_err(|error| because(format!("{place}: {error}")))?;
            let mut event = make(&line, &place)?;
            if !pace.wait() {
                return Ok(());
            }
            to.push(&mut event)?;
        }
        return Ok(());
    }
    let mut events = Vec::new();
    for (number, text) in args.values.iter().enumerate() {
        let event = match text.strip_prefix('@') {
            Some(file) => {
                let text = input::file(Path::new(file), "a JSON value").map_err(because)?;
                make(&text, file)?
            }
            None => make(text, &format!("value {}", number + 1))?,
        };
        events.push(event);
    }
    if events.is_empty() {
        let mut event = event_of(args.kind, args.source);
        event.header.ttl = args.ttl;
        events.push(event);
    }
    let once = args.rate.is_none() && args.count.is_none();
    let mut left = args.count.or(once.then_some(events.len() as u64));
    let mut pace = Pace::new(args, end);
    let all = events.len();
    for at in (0..all).cycle() {
        if left == Some(0) || !pace.wait() {
            break;
        }
        if args.number {
            events[at].data.any_value = Any::new(to.pushed);
        }
        to.push(&mut events[at])?;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

/// Returns the lines of standard input, of bounded length.
fn lines() -> impl Iterator<Item = std::io::Result<String>> {
    let mut input = std::io::stdin().lock();
    let mut first = true;
    std::iter::from_fn(move || {
        let mut line = String::new();
        let most = input::MOST_OCTETS + 1;
        match std::io::Read::take(&mut input, most).read_line(&mut line) {
            Ok(0) => None,
            Ok(octets) if octets as u64 == most => Some(Err(std::io::Error::other(format!(
                "a value can have at most {} octets, and this one is longer",
                input::MOST_OCTETS
            )))),
            Ok(_) if std::mem::take(&mut first) => Some(Ok(input::without_mark(line))),
            Ok(_) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    })
}

/// Moments at which events are due.
struct Pace<'e> {
    period: Option<Duration>,
    next: Instant,
    end: &'e Receiver<()>,
}

impl<'e> Pace<'e> {
    fn new(args: &Args, end: &'e Receiver<()>) -> Self {
        Pace { period: args.rate, next: Instant::now(), end }
    }

    /// Waits until the next event is due. Returns false if the process is asked to end.
    fn wait(&mut self) -> bool {
        let due = self.next;
        self.next += self.period.unwrap_or_default();
        sleep_until(due, self.end)
    }
}

/// Waits until a moment. Returns false if the process is asked to end.
pub(super) fn sleep_until(due: Instant, end: &Receiver<()>) -> bool {
    let left = due.saturating_duration_since(Instant::now());
    matches!(end.recv_timeout(left), Err(RecvTimeoutError::Timeout))
}

/// Parses a rate, and returns the time between two events.
fn rate(text: &str) -> Result<Duration, String> {
    let rate: f64 = text.parse().map_err(|_| "expected a number of events a second".to_owned())?;
    match rate > 0.0 {
        true => consumer::time(1.0 / rate),
        false => Err("a rate must be greater than 0".to_owned()),
    }
}
