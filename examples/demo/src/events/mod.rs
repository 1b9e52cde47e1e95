//! `oxorb demo events`: an event channel under overload, with filters, and with a supplier that falls silent.

mod filters;
mod overload;
mod silence;

use std::time::Duration;

use oxorb_event::delivery::Qos;
use oxorb_event::rtec_event_comm::Event;
use serde::Serialize;

use crate::whole_seconds;
use oxorb_terminal::duration;
use oxorb_terminal::output::{Done, FAINT, Failed, Format, STRONG, because, print, print_json};

/// Arguments of `oxorb demo events`.
#[derive(clap::Args)]
#[command(
    after_help = "A channel in this process has a queue for each consumer. Act 1: five consumers receive the same \
    readings and alarms; three of them are too slow, and one is blocked. Act 2: filters. Act 3: a supplier becomes \
    silent, and its consumer is notified. Every event is counted from end to end; the demo fails if the counts do not \
    match."
)]
pub(crate) struct Args {
    /// Duration of the first act, in whole seconds; the others together take about two seconds. For example 5s; a bare
    /// number is seconds
    #[arg(short, long = "duration", alias = "seconds", default_value = "4s", value_name = duration::VALUE_NAME, value_parser = whole_seconds(60))]
    seconds: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Type of readings, and of alarms.
const READING: i32 = 17;
const ALARM: i32 = 18;

/// Longest wait for an immediate result.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Told {
    overload: overload::Seen,
    filters: filters::Seen,
    silence: silence::Seen,
}

/// Plays all acts.
pub(crate) fn run(args: &Args) -> Done {
    let says = args.format == Format::Text;
    title(says, "Act 1 of 3, overload: 500 readings and 20 alarms a second")?;
    let overload = overload::play(Duration::from_secs(args.seconds.into()), says)?;
    title(says, "\nAct 2 of 3, filters: each consumer selects its events")?;
    let filters = filters::play()?;
    if says {
        print(&filters)?;
    }
    title(
        says,
        "\nAct 3 of 3, silence: a consumer requests a notification when no event arrived for 200 ms",
    )?;
    let silence = silence::play()?;
    if says {
        print(&silence)?;
        return print(format!(
            "\nNext: `oxorb event serve` serves a channel, `oxorb event pub`, `sub` and `stat` use and watch it; \
             {FAINT}docs/events.md{FAINT:#} shows\nchannels in your own program.\n"
        ));
    }
    print_json(&Told { overload, filters, silence })
}

fn title(says: bool, text: &str) -> Done {
    match says {
        true => print(format!("{STRONG}{text}{STRONG:#}\n")),
        false => Ok(()),
    }
}

/// Returns an event with a number.
fn event(kind: i32, source: i32, number: u64) -> Event {
    let mut event = Event::default();
    event.header.r#type = kind;
    event.header.source = source;
    event.data.payload = number.to_le_bytes().to_vec();
    event
}

/// Returns the number of an event; 0 for events of the channel's timers.
fn number(event: &Event) -> u64 {
    let octets = event.data.payload.first_chunk();
    octets.map_or(0, |octets| u64::from_le_bytes(*octets))
}

/// Returns the default queue of consumers.
fn queue() -> Qos {
    Qos { events: 8192, ..Qos::default() }
}

/// Waits until a condition holds.
fn until(what: &str, mut done: impl FnMut() -> bool) -> Result<(), Failed> {
    let end = std::time::Instant::now() + PATIENCE;
    while !done() {
        if std::time::Instant::now() > end {
            return Err(because(format!("not within {PATIENCE:?}: {what}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
