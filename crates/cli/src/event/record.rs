//! `oxorb event record`: events into an MCAP file.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use oxorb_mcap::{Recorder, Topic};
use serde_json::json;

use super::consumer::{Arrived, Wanted};
use super::subscribe::told_missed;
use super::time;
use super::topic::{native_header, to_message};
use super::value::{TypeArgs, ValueTypes};
use crate::output::{Done, Failed, Format, because, print, print_line};

/// Arguments of `oxorb event record`.
#[derive(clap::Args)]
#[command(
    after_help = "Foxglove, PlotJuggler and the mcap tools open the file: each type and source has a topic /TYPE/SOURCE, with \
    values as CDR and their IDL as schema. Values come with their type in the any of an event; payloads have none, so that \
    --idl, --as and --payload name it, or they are recorded as octets. The file is written twice a second: what is on disk \
    when the process is killed can be read. SIGINT (Ctrl-C) and SIGTERM finish it with its indexes.\n\nExamples:\n  \
    oxorb event record run.mcap\n  \
    oxorb event record run.mcap 'type==17' --duration 60\n  \
    oxorb event record run.mcap --idl plant.idl --as plant::Level --payload"
)]
pub(crate) struct Args {
    /// File to write; must not exist yet unless --force is given
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    types: TypeArgs,
    /// Write over a file that exists
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Time between two writes of what was recorded.
const FLUSH: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Done {
    let types = args.types.load()?;
    let mut recording = Recording::create(args)?;
    let mut consumer = args.wanted.connect(&types)?;
    match args.format {
        Format::Text => {
            anstream::eprintln!("recording {} to {}", consumer.url(), args.file.display())
        }
        Format::Json => print_line(&json!({"event": "recording", "channel": consumer.url()}))?,
    }
    let mut next_flush = Instant::now() + FLUSH;
    let done = loop {
        let left = next_flush.saturating_duration_since(Instant::now());
        match consumer.next(left) {
            Err(_) => break Ok(()),
            Ok(Some(arrived)) => {
                if let Err(why) = recording.write(&arrived, &types) {
                    break Err(why);
                }
            }
            Ok(None) => {}
        }
        if Instant::now() >= next_flush {
            next_flush = Instant::now() + FLUSH;
            if let Err(why) = recording.flush() {
                break Err(why);
            }
        }
    };
    let missed = consumer.missed();
    consumer.end();
    done?;
    let (events, topics) = (recording.events, recording.topics.len());
    recording.finish()?;
    match args.format {
        Format::Text => print(format_args!(
            "recorded {events} events of {topics} topics to {}\n",
            args.file.display()
        ))?,
        Format::Json => print_line(
            &json!({"event": "recorded", "events": events, "topics": topics, "missed": missed}),
        )?,
    }
    match (missed, args.format) {
        (0, _) | (_, Format::Json) => Ok(()),
        (missed, format) => told_missed(format, missed),
    }
}

/// The file that is written.
struct Recording {
    file: String,
    recorder: Recorder<BufWriter<File>>,
    /// Number of each topic, by its name and type code.
    topics: HashMap<String, Vec<(Topic, u16)>>,
    events: u64,
}

impl Recording {
    fn create(args: &Args) -> Result<Self, Failed> {
        let file = args.file.display().to_string();
        let opened = match args.force {
            true => File::create(&args.file),
            false => File::create_new(&args.file),
        };
        let opened = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                because(format!("{file}: the file exists; --force writes over it"))
            }
            _ => because(format!("{file}: {error}")),
        })?;
        let recorder = Recorder::new(BufWriter::new(opened));
        Ok(Recording {
            recorder: recorder.map_err(|error| because(format!("{file}: {error}")))?,
            file,
            topics: HashMap::new(),
            events: 0,
        })
    }

    fn write(&mut self, arrived: &Arrived, types: &ValueTypes) -> Done {
        let event = &arrived.event;
        let (topic, cdr) = to_message(event, types)
            .map_err(|why| because(format!("an event of type {}: {why}", event.header.r#type)))?;
        let id = self.topic(topic)?;
        let created = time::since_1970(event.header.creation_time).unwrap_or(arrived.at);
        let parts: [&[u8]; 2] = [&native_header(), &cdr];
        let written = self.recorder.write(id, arrived.at, created, &parts);
        written.map_err(|error| because(format!("{}: {error}", self.file)))?;
        self.events += 1;
        Ok(())
    }

    fn topic(&mut self, topic: Topic) -> Result<u16, Failed> {
        let known = self.topics.entry(topic.name.clone()).or_default();
        if let Some((_, id)) = known.iter().find(|(known, _)| *known == topic) {
            return Ok(*id);
        }
        let id = self.recorder.topic(&topic);
        let id = id.map_err(|error| because(format!("{}: {error}", self.file)))?;
        known.push((topic, id));
        Ok(id)
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
