//! `oxorb event replay`: pushes the events of a recording again.

use std::fs::File;
use std::io::{BufReader, IsTerminal as _};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use oxorb::values::Printable;
use oxorb_event::recording::{Ending, Playback};
use oxorb_event::rtec_event_channel_admin::ProxyPushConsumerRef;
use serde_json::json;

use super::channel::{Channel, ChannelArgs, end_of_process};
use super::publish::sleep_until;
use super::time;
use super::topic::to_event;
use oxorb_terminal::output::{BAD, Done, Failed, Format, because, counted, print, print_line};

/// Arguments of `oxorb event replay`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Events are pushed in the order of the file, with the recorded intervals between them and \
    with a new creation time. An incomplete recording, such as that of a killed process, is replayed up to its end. \
    Messages that cannot be decoded as events of their topic are omitted, counted and reported.\n\nExamples:\n  \
    oxorb event replay run.mcap\n  oxorb event replay run.mcap --speed 10\n  \
    oxorb event replay run.mcap --step --at corbaloc::host:2811/EventService")
)]
pub(crate) struct Args {
    /// MCAP file written by `oxorb event record`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    at: ChannelArgs,
    /// Speed relative to the recording; 0: as fast as the channel accepts events
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Push the next event after each line of standard input (Enter)
    #[arg(long, conflicts_with = "speed")]
    step: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Done {
    let name = args.file.display().to_string();
    let within = |why: &dyn std::fmt::Display| because(format!("{name}: {why}"));
    let file = File::open(&args.file).map_err(|error| within(&error))?;
    let mut playback = Playback::new(BufReader::new(file)).map_err(|error| within(&error))?;
    let channel = args.at.connect()?;
    let end = end_of_process()?;
    // Declare any type and source, because finding out which ones occur would take another pass over the file.
    let proxy = channel.supply(&[(0, 0)])?;
    let mut replayed = Replayed::default();
    let done = push_all(args, &mut playback, (&channel, &proxy), &end, &mut replayed);
    let gone = proxy.disconnect_push_consumer();
    done.map_err(|failed| match failed {
        Stopped::File(why) => {
            within(&format!("{why}; {} events were pushed before", replayed.events))
        }
        Stopped::Channel(failed) => failed,
    })?;
    gone.map_err(|why| channel.failed(why))?;
    told(args, &replayed, playback.ending())
}

/// Counts of a replay.
#[derive(Default)]
struct Replayed {
    events: u64,
    /// Number of messages of topics that contain no events.
    skipped: u64,
    /// Number of messages that do not match their topic.
    unreadable: u64,
    /// Position and error of the first unreadable message.
    first_unreadable: Option<String>,
}

/// Reason to stop early.
enum Stopped {
    File(String),
    Channel(Failed),
}

fn push_all(
    args: &Args,
    playback: &mut Playback<BufReader<File>>,
    (channel, proxy): (&Channel, &ProxyPushConsumerRef),
    end: &Receiver<()>,
    replayed: &mut Replayed,
) -> Result<(), Stopped> {
    let mut clock = None;
    let mut number = 0u64;
    loop {
        let message = playback.next_message();
        let message = message.map_err(|error| Stopped::File(error.to_string()))?;
        let Some(message) = message else {
            return Ok(());
        };
        number += 1;
        let mut event = match to_event(message.topic, message.data) {
            Ok(Some(event)) => event,
            Ok(None) => {
                replayed.skipped += 1;
                continue;
            }
            Err(why) => {
                replayed.unreadable += 1;
                replayed.first_unreadable.get_or_insert_with(|| {
                    let topic = Printable(&message.topic.name);
                    format!("message {number} ({topic}): {why}")
                });
                continue;
            }
        };
        let (start, first) = *clock.get_or_insert((Instant::now(), message.log_time));
        let go = match args.step {
            true => step(args, &event.header, message.data.len()).map_err(Stopped::Channel)?,
            false => {
                let since = Duration::from_nanos(message.log_time.saturating_sub(first));
                let due = match args.speed == 0.0 {
                    true => Duration::ZERO,
                    false => Duration::try_from_secs_f64(since.as_secs_f64() / args.speed)
                        .unwrap_or(Duration::MAX),
                };
                let due = start.checked_add(due);
                due.is_some_and(|due| sleep_until(due, end))
            }
        };
        if !go {
            return Ok(());
        }
        event.header.creation_time = time::now();
        let pushed = proxy.push(std::slice::from_ref(&event));
        pushed.map_err(|why| Stopped::Channel(channel.failed(why)))?;
        replayed.events += 1;
    }
}

/// Shows the next event, and waits for a line. Returns false if standard input has ended.
fn step(
    args: &Args,
    header: &oxorb_event::rtec_event_comm::EventHeader,
    octets: usize,
) -> Result<bool, Failed> {
    let (kind, source) = (header.r#type, header.source);
    match args.format {
        Format::Text => {
            print(format_args!("next: {kind}/{source}, {octets} octets; Enter pushes it "))?
        }
        Format::Json => {
            print_line(&json!({"event": "next", "type": kind, "source": source, "octets": octets}))?
        }
    }
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    let is_read = read.map_err(because)? > 0;
    // Only a terminal has shown the end of the line.
    if args.format == Format::Text && !(is_read && std::io::stdin().is_terminal()) {
        print("\n")?;
    }
    Ok(is_read)
}

fn told(args: &Args, replayed: &Replayed, ending: Option<&Ending>) -> Done {
    let Replayed { events, skipped, unreadable, first_unreadable } = replayed;
    let cut_off = ending == Some(&Ending::CutOff);
    match args.format {
        Format::Json => print_line(&json!({
            "event": "replayed",
            "events": events,
            "skipped": skipped,
            "unreadable": unreadable,
            "first_unreadable": first_unreadable,
            "cut_off": cut_off,
        })),
        Format::Text => {
            print(format_args!("replayed {}\n", counted(events, "event")))?;
            if *skipped > 0 {
                oxorb_terminal::note!(
                    "{BAD}skipped{BAD:#} {skipped} messages of topics that contain no events"
                );
            }
            if let Some(first) = first_unreadable {
                oxorb_terminal::note!(
                    "{BAD}left out{BAD:#} {unreadable} messages that cannot be decoded; the first: {}",
                    Printable(first)
                );
            }
            if cut_off {
                oxorb_terminal::note!("the recording is incomplete: the file ends within a record");
            }
            Ok(())
        }
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed >= 0.0 && speed.is_finite() => Ok(speed),
        _ => Err("expected a number, 0 or greater".to_owned()),
    }
}
