//! A supplier that falls silent, and a consumer that the channel's timer notifies.

use std::fmt::{self, Display};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use oxorb::SystemException;
use oxorb_event::event_type::DEADLINE_TIMEOUT;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use serde::Serialize;

use super::{PATIENCE, READING, event};
use oxorb_terminal::output::{Failed, GOOD, because};
use oxorb_terminal::statistics::Time;

/// Filter of the consumer.
const FILTER: &str = "type==17 || deadline(200ms)";

/// Number of beats before the silence, and the time between two beats.
const BEATS: u64 = 10;
const BEAT: Duration = Duration::from_millis(50);

/// Result of the act.
#[derive(Serialize)]
pub(super) struct Seen {
    filter: &'static str,
    /// Number of beats that arrived.
    beats: u64,
    /// Time from the arrival of the last beat to the channel's event.
    silence_ns: u64,
}

/// Consumer that records type and arrival time.
struct Ear(SyncSender<(i32, Instant)>);

impl PushConsumer for Ear {
    fn push(&self, events: &[Event]) {
        for event in events {
            // The receiver no longer exists after the act.
            let _ = self.0.try_send((event.header.r#type, Instant::now()));
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Plays the act.
pub(super) fn play() -> Result<Seen, Failed> {
    let channel = EventChannel::new(ChannelOptions::default());
    let (ear, heard) = sync_channel(1024);
    let filter: Filter = FILTER.parse()?;
    let _consumer = channel.connect_consumer(std::sync::Arc::new(Ear(ear)), &asks_for(&filter))?;
    let supplier = channel.connect_supplier(None, &publishes([(READING, 1)]))?;
    for beat in 0..BEATS {
        supplier.push(&[event(READING, 1, beat)])?;
        std::thread::sleep(BEAT);
    }
    listen(&heard)
}

/// Counts beats up to the first timeout after the last of them.
fn listen(heard: &Receiver<(i32, Instant)>) -> Result<Seen, Failed> {
    let mut beats = 0;
    let mut last = Instant::now();
    loop {
        match heard.recv_timeout(PATIENCE) {
            Ok((DEADLINE_TIMEOUT, at)) if beats == BEATS => {
                let silence = at.saturating_duration_since(last);
                return Ok(Seen { filter: FILTER, beats, silence_ns: silence.as_nanos() as u64 });
            }
            // A pause of this process between two beats causes a timeout, too.
            Ok((DEADLINE_TIMEOUT, _)) => {}
            Ok((_, at)) => {
                beats += 1;
                last = at;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(because(format!(
                    "{beats} of {BEATS} beats arrived, and no timeout within {PATIENCE:?} after them"
                )));
            }
        }
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { filter, beats, silence_ns } = self;
        writeln!(
            f,
            "{filter}: {beats} beats, then silence, and {GOOD}notified{GOOD:#} {} after the last beat.",
            Time(*silence_ns)
        )
    }
}
