//! `oxorb event sub`: prints events as they arrive, or their latencies.

use std::time::{Duration, Instant};

use oxorb::values::Printable;
use serde::Serialize;
use serde_json::{Value, json};

use super::consumer::{Arrived, Consumer, Over, Wanted};
use super::value::{TypeArgs, ValueTypes};
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, STRONG, because, print, print_line,
};
use oxorb_terminal::statistics::{Latencies, Percentiles, Time};

/// Arguments of `oxorb event sub`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Each event is printed with its type, source and value. With --latency the command measures \
    the time from the creation of an event to its arrival instead. Each host uses its own clock, so times of suppliers \
    on other hosts include the difference of the clocks. SIGINT (Ctrl-C) and SIGTERM end the command in an orderly \
    way.\n\nExamples:\n  oxorb event sub 'type==17 && source!=3'\n  oxorb event sub --at \
    corbaloc::host:2811/EventService --format json\n  oxorb event sub --idl plant.idl --as plant::Level --payload \
    'type==17'\n  oxorb event sub --latency --duration 10s")
)]
pub(crate) struct Args {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    types: TypeArgs,
    /// Print latencies, each second and at the end, instead of events
    #[arg(long)]
    latency: bool,
    /// Output format; JSON writes one line for each event
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Longest wait for an event before the clock is read.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn run(args: &Args) -> Done {
    let types = args.types.load()?;
    let mut consumer = args.wanted.connect(&types, args.format)?;
    match args.format {
        Format::Text => oxorb_terminal::note!("{FAINT}connected to {}{FAINT:#}", consumer.url()),
        Format::Json => print_line(&json!({"event": "connected", "channel": consumer.url()}))?,
    }
    let done = match args.latency {
        true => measure(args, &mut consumer),
        false => show(args, &mut consumer, &types),
    };
    let missed = consumer.missed();
    let ended = consumer.end();
    if missed > 0 {
        told_missed(args.format, missed)?;
    }
    done.and(ended)
}

/// Reports the number of events that arrived while the queue was full.
pub(super) fn told_missed(format: Format, missed: u64) -> Done {
    match format {
        Format::Text => oxorb_terminal::note!(
            "{BAD}missed{BAD:#} {missed} events: they arrived faster than they could be written (a larger --queue \
             holds more)"
        ),
        Format::Json => print_line(&json!({"event": "missed", "events": missed}))?,
    }
    Ok(())
}

fn show(args: &Args, consumer: &mut Consumer, types: &ValueTypes) -> Done {
    loop {
        let arrived = match consumer.next(LOOK) {
            Ok(None) => continue,
            Ok(Some(arrived)) => arrived,
            Err(Over(done)) => return done,
        };
        let orb = consumer.orb();
        let value = types.value(&arrived.event.data);
        let value = value.and_then(|value| match &value {
            None => Ok(Value::Null),
            Some(value) => {
                serde_json::to_value(types.json(value, orb)).map_err(|error| error.to_string())
            }
        });
        let line = Line::new(&arrived, value);
        match args.format {
            Format::Json => print_line(&line)?,
            Format::Text => print(text(&line))?,
        }
    }
}

/// Event as a line of JSON.
#[derive(Serialize)]
struct Line {
    r#type: i32,
    source: i32,
    ttl: i32,
    /// Time from creation to arrival in nanoseconds.
    age_ns: Option<u64>,
    payload_octets: usize,
    value: Value,
    /// Reason why the value cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
}

impl Line {
    fn new(arrived: &Arrived, value: Result<Value, String>) -> Line {
        let header = &arrived.event.header;
        let (value, unreadable) = match value {
            Ok(value) => (value, None),
            Err(why) => (Value::Null, Some(why)),
        };
        Line {
            r#type: header.r#type,
            source: header.source,
            ttl: header.ttl,
            age_ns: arrived.age.map(|age| age.as_nanos() as u64),
            payload_octets: arrived.event.data.payload.len(),
            value,
            unreadable,
        }
    }
}

fn text(line: &Line) -> String {
    let age = line.age_ns.map_or(String::new(), |age| Time(age).to_string());
    let value = match (&line.unreadable, &line.value) {
        (Some(why), _) => format!("{BAD}unreadable{BAD:#}: {}", Printable(why)),
        (None, Value::Null) if line.payload_octets > 0 => format!("{} octets", line.payload_octets),
        (None, Value::Null) => String::new(),
        (None, value) => Printable(&value.to_string()).to_string(),
    };
    let name = format!("{}/{}", line.r#type, line.source);
    format!("{STRONG}{name:<12}{STRONG:#} {FAINT}{age:>10}{FAINT:#}  {value}\n")
}

fn measure(args: &Args, consumer: &mut Consumer) -> Done {
    let (mut all, mut second) = (Latencies::new(), Latencies::new());
    let mut unstamped = 0u64;
    let mut next_look = Instant::now() + LOOK;
    let done = loop {
        let left = next_look.saturating_duration_since(Instant::now());
        match consumer.next(left) {
            Ok(Some(Arrived { age: Some(age), .. })) => {
                all.record(age);
                second.record(age);
            }
            Ok(Some(_)) => unstamped += 1,
            Ok(None) => {}
            Err(Over(done)) => break done,
        }
        if Instant::now() >= next_look {
            next_look += LOOK;
            let taken = std::mem::replace(&mut second, Latencies::new());
            told(args.format, "second", &taken.percentiles())?;
        }
    };
    told(args.format, "all", &all.percentiles())?;
    done?;
    match unstamped {
        0 => Ok(()),
        all => Err(unmeasured(all)),
    }
}

fn unmeasured(events: u64) -> Failed {
    because(format!(
        "{events} events could not be measured: their suppliers do not set creation_time, or have clocks that are \
         ahead of this one"
    ))
}

fn told(format: Format, what: &str, latency: &Percentiles) -> Done {
    match format {
        Format::Json => print_line(&json!({"event": what, "latency": latency})),
        Format::Text => print(format_args!(
            "{STRONG}{what:<7}{STRONG:#} {:>8} events: p50 {}, p99 {}, p99.9 {}, max {}\n",
            latency.calls,
            Time(latency.p50_ns),
            Time(latency.p99_ns),
            Time(latency.p999_ns),
            Time(latency.max_ns)
        )),
    }
}
