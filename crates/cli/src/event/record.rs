//! `oxorb event record`: records events in an MCAP file.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oxorb::values::Printable;
use oxorb_event::recording::{Recorder, RecordingError, Topic};
use serde_json::json;

use super::consumer::{Arrived, Consumer, Over, Wanted};
use super::subscribe::told_missed;
use super::time;
use super::topic::{native_header, to_message};
use super::value::{TypeArgs, ValueTypes};
use oxorb_terminal::output::{BAD, Done, Failed, Format, at_file, because, print, print_line};

/// Arguments of `oxorb event record`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Foxglove, PlotJuggler and the mcap tools open the file: each type and source has a topic \
    /TYPE/SOURCE, with values as CDR and their IDL as schema. The any of an event contains the type of its value. \
    Payloads contain no type: specify it with --idl, --as and --payload, otherwise payloads are recorded as octets. \
    Events that the format cannot represent are omitted, counted and reported. The file is written twice a second: if \
    the process is killed, the events written so far can be read. On SIGINT (Ctrl-C) and SIGTERM the command completes \
    the file with its indexes.\n\nExamples:\n  oxorb event record run.mcap\n  \
    oxorb event record run.mcap 'type==17' --duration 1m\n  oxorb event record run.mcap --idl plant.idl --as \
    plant::Level --payload")
)]
pub(crate) struct Args {
    /// File to write; must not exist unless --force is given
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    types: TypeArgs,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Time between two flushes.
const FLUSH: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Done {
    let types = args.types.load()?;
    let mut consumer = args.wanted.connect(&types, args.format)?;
    // Create the file only now: without a channel there is nothing to record.
    let mut recording = match Recording::create(&args.file, args.force) {
        Ok(recording) => recording,
        Err(failed) => {
            let _ = consumer.end();
            return Err(failed);
        }
    };
    match args.format {
        Format::Text => {
            oxorb_terminal::note!("recording {} to {}", consumer.url(), args.file.display())
        }
        Format::Json => print_line(&json!({"event": "recording", "channel": consumer.url()}))?,
    }
    let done = record_all(&mut recording, &mut consumer, &types);
    let missed = consumer.missed();
    let ended = consumer.end();
    let Recording { events, skipped, .. } = &recording;
    let (events, skipped, topics) = (*events, skipped.clone(), recording.recorder.topics());
    // Write the indexes even after an error, so that the file is complete. Below, the first error is reported.
    let finished = recording.finish();
    if finished.is_ok() {
        told(args, events, topics, missed, skipped.as_ref())?;
    }
    done.and(finished).and(ended)
}

/// Records until the consumer ends.
fn record_all(recording: &mut Recording, consumer: &mut Consumer, types: &ValueTypes) -> Done {
    let mut next_flush = Instant::now() + FLUSH;
    loop {
        let left = next_flush.saturating_duration_since(Instant::now());
        match consumer.next(left) {
            Err(Over(done)) => return done,
            Ok(Some(arrived)) => recording.write(&arrived, types)?,
            Ok(None) => {}
        }
        if Instant::now() >= next_flush {
            next_flush = Instant::now() + FLUSH;
            recording.flush()?;
        }
    }
}

fn told(args: &Args, events: u64, topics: usize, missed: u64, skipped: Option<&Skipped>) -> Done {
    match args.format {
        Format::Text => print(format_args!(
            "recorded {events} events of {topics} topics to {}\n",
            args.file.display()
        ))?,
        Format::Json => print_line(&json!({
            "event": "recorded",
            "events": events,
            "topics": topics,
            "missed": missed,
            "skipped": skipped.map_or(0, |skipped| skipped.events),
        }))?,
    }
    if let Some(Skipped { events, first }) = skipped {
        oxorb_terminal::note!(
            "{BAD}skipped{BAD:#} {events} events that cannot be recorded; the first: {}",
            Printable(first)
        );
    }
    match (missed, args.format) {
        (0, _) | (_, Format::Json) => Ok(()),
        (missed, format) => told_missed(format, missed),
    }
}

/// Events that the file cannot contain.
#[derive(Clone)]
struct Skipped {
    events: u64,
    /// Reason for the first.
    first: String,
}

/// File being written.
struct Recording {
    file: String,
    recorder: Recorder<BufWriter<File>>,
    events: u64,
    skipped: Option<Skipped>,
}

impl Recording {
    fn create(path: &Path, force: bool) -> Result<Self, Failed> {
        let file = path.display().to_string();
        let opened = match force {
            true => File::create(path),
            false => File::create_new(path),
        };
        let opened = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                because(format!("{file}: the file exists; --force overwrites it"))
            }
            _ => at_file(path, error),
        })?;
        let recorder = Recorder::new(BufWriter::new(opened));
        Ok(Recording {
            recorder: recorder.map_err(|error| because(format!("{file}: {error}")))?,
            file,
            events: 0,
            skipped: None,
        })
    }

    /// Writes an event, or counts it if the file cannot contain it.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write(&mut self, arrived: &Arrived, types: &ValueTypes) -> Done {
        let event = &arrived.event;
        let placed = match to_message(event, types) {
            Ok((topic, cdr)) => self.topic(&topic)?.map(|id| (id, cdr)),
            Err(why) => Err(why),
        };
        let (id, cdr) = match placed {
            Ok(placed) => placed,
            Err(why) => {
                self.skip(format!("an event of type {}: {why}", event.header.r#type));
                return Ok(());
            }
        };
        let created = time::since_1970(event.header.creation_time).unwrap_or(arrived.at);
        let parts: [&[u8]; 2] = [&native_header(), &cdr];
        let written = self.recorder.write(id, arrived.at, created, &parts);
        written.map_err(|error| because(format!("{}: {error}", self.file)))?;
        self.events += 1;
        Ok(())
    }

    fn skip(&mut self, why: String) {
        let skipped = self.skipped.get_or_insert(Skipped { events: 0, first: why });
        skipped.events += 1;
    }

    /// Returns the number of a topic, or the reason why the file format cannot contain it.
    ///
    /// # Errors
    /// The file cannot be written.
    fn topic(&mut self, topic: &Topic) -> Result<Result<u16, String>, Failed> {
        match self.recorder.topic(topic) {
            Ok(id) => Ok(Ok(id)),
            Err(RecordingError::Io(error)) => Err(because(format!("{}: {error}", self.file))),
            Err(why) => Ok(Err(why.to_string())),
        }
    }

    fn flush(&mut self) -> Done {
        let flushed = self.recorder.flush();
        flushed.map_err(|error| because(format!("{}: {error}", self.file)))
    }

    fn finish(self) -> Done {
        let finished = self.recorder.finish();
        finished.map_err(|error| because(format!("{}: {error}", self.file)))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oxorb_event::recording::{Ending, Playback};

    use super::super::channel::event_of;
    use super::*;

    /// MCAP numbers topics with 16 bits, so a file cannot contain events of more topics.
    #[test]
    fn events_beyond_what_the_format_holds_are_counted_and_the_file_is_whole() {
        let path = std::env::temp_dir().join(format!("oxorb-record-{}.mcap", std::process::id()));
        let types = ValueTypes::default();
        let mut recording = Recording::create(&path, true).ok().unwrap();
        let mut write = |kind: i32| {
            let event = event_of(kind, 1);
            let arrived = Arrived { event, at: 1, age: None };
            assert!(recording.write(&arrived, &types).is_ok(), "{kind}");
        };
        (16..16 + 65_534).for_each(&mut write);
        (0..5).for_each(|kind| write(70_000 + kind));
        write(16);
        let skipped = recording.skipped.clone().unwrap();
        assert_eq!((recording.events, skipped.events), (65_535, 5));
        assert!(skipped.first.contains("type 70000"), "{}", skipped.first);
        assert!(recording.finish().is_ok());
        let octets = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut playback = Playback::new(octets.as_slice()).unwrap();
        let mut messages = 0;
        while playback.next_message().unwrap().is_some() {
            messages += 1;
        }
        assert_eq!((messages, playback.ending()), (65_535, Some(&Ending::Complete)));
    }
}
