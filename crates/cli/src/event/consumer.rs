//! Consumer in this process: queues received events, up to a bound.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_comm::Event;
use oxorb_event::{Filter, in_order};

use super::channel::{Channel, ChannelArgs, end_of_process};
use super::filter;
use super::gaps::{Gaps, told_gap};
use super::presence::{Presence, Reconnect, State};
use super::taker::{Takers, Told};
use super::value::ValueTypes;
use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, Format, because};

/// Options of a consumer.
#[derive(clap::Args)]
pub(super) struct Wanted {
    #[command(flatten)]
    at: ChannelArgs,
    /// Filter of the events to receive, such as `type==17 && source!=3`; default: all events
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Address to receive events on. Default: loopback for a channel on this machine, all addresses for others
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Port to receive events on, from 0 to 65535; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Maximum number of events that wait to be written, from 1; further events are counted as missed
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,
    /// Time without an event after which the command asks the channel whether this consumer is still connected; 0:
    /// never. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "2s", value_parser = duration::seconds())]
    ping: Duration,
    /// Time for which the command tries to reconnect to a lost channel; 0: without limit. By default, the loss of the
    /// channel ends the command with status 1. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = duration::seconds())]
    reconnect: Option<Duration>,
    /// Report gaps in the numbers of `oxorb event pub --number`, and end with status 1 if there were any
    #[arg(long)]
    gaps: bool,
    /// End after this number of events, with status 0
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// End after this time, with status 0. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = duration::seconds())]
    duration: Option<Duration>,
}

/// Connected consumer.
pub(super) struct Consumer {
    presence: Presence,
    events: Receiver<Message>,
    missed: Arc<AtomicU64>,
    /// Whether the channel announced its end.
    ended: Arc<AtomicBool>,
    /// Whether the process was asked to end.
    stopped: Arc<AtomicBool>,
    /// Tracker of gaps; `None` if numbers are ignored.
    gaps: Option<Gaps>,
    format: Format,
    left: Option<u64>,
    end: Option<Instant>,
    /// ORB that serves the consumer until dropped.
    orb: Orb,
}

/// Event with the time of its arrival.
pub(super) struct Arrived {
    pub(super) event: Event,
    /// Nanoseconds since 1970.
    pub(super) at: u64,
    /// Time from creation to arrival; `None` if the event has no creation time.
    pub(super) age: Option<Duration>,
}

impl Wanted {
    /// Connects the consumer, which SIGINT and SIGTERM also end. Gaps and changes of the connection are reported in
    /// `format`.
    pub(super) fn connect(&self, types: &ValueTypes, format: Format) -> Result<Consumer, Failed> {
        let filter = match &self.filter {
            None => Filter::ALL,
            Some(text) => filter::parse(text).map_err(because)?,
        };
        let mut channel = self.at.connect()?;
        let listen = format!("iiop://{}:{}", self.address(&channel), self.port);
        let builder = self.at.in_time(in_order(Orb::builder())).listen(&listen);
        let orb = with_args(builder).build()?;
        types.register(&orb);
        if orb.options().offer_bidirectional {
            // An ORB offers its connections for calls to its own objects only, so the consumer's ORB calls the channel.
            channel = self.at.connect_by(&orb)?;
        }
        let missed = Arc::<AtomicU64>::default();
        let (to, events) = sync_channel(self.queue as usize);
        let (ended, stopped) = (Arc::<AtomicBool>::default(), stop(to.clone())?);
        let takers = Takers::new(
            orb.clone(),
            Told { to, missed: missed.clone(), ended: ended.clone(), stopped: stopped.clone() },
        );
        let consumer = takers.activate()?;
        let proxy = channel.consume(&consumer, &filter)?;
        let presence = Presence {
            at: self.at.clone(),
            channel,
            filter,
            consumer,
            takers,
            state: State::Connected(proxy, Instant::now()),
            ping: (!self.ping.is_zero()).then_some(self.ping),
            reconnect: self.reconnect.map(|limit| match limit.is_zero() {
                true => Reconnect::Always,
                false => Reconnect::Within(limit),
            }),
            format,
        };
        Ok(Consumer {
            presence,
            events,
            missed,
            ended,
            stopped,
            gaps: self.gaps.then(Gaps::default),
            format,
            left: self.count,
            end: self.duration.map(|duration| Instant::now() + duration),
            orb,
        })
    }

    /// Returns the address to listen on.
    fn address(&self, channel: &Channel) -> String {
        match &self.host {
            Some(host) if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            Some(host) => host.clone(),
            None if channel.is_local() => "127.0.0.1".to_owned(),
            None => String::new(),
        }
    }
}

impl Channel {
    /// Reports whether only this machine reaches the channel's addresses.
    fn is_local(&self) -> bool {
        let ior = self.object().reference().ior();
        let mut hosts = ior.iiop_profiles().map(|profile| profile.host.clone());
        hosts.all(|host| {
            let address: Option<IpAddr> = host.parse().ok();
            host == "localhost" || address.is_some_and(|address| address.is_loopback())
        })
    }
}

impl Consumer {
    pub(super) fn orb(&self) -> &Orb {
        self.presence.channel.orb()
    }

    pub(super) fn url(&self) -> String {
        self.presence.channel.url()
    }

    /// Returns the next event, after waiting for at most `most`: `Ok(None)` at the time-out, an error when no more
    /// events are wanted or will come. Reports gaps and changes of the connection.
    pub(super) fn next(&mut self, most: Duration) -> Result<Option<Arrived>, Over> {
        if self.left == Some(0) {
            return Err(Over(Ok(())));
        }
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(Over(Ok(())));
        }
        let wait = match self.stopped.load(Ordering::Acquire) {
            // After a signal, only events that have already arrived are returned.
            true => Duration::ZERO,
            false => left.unwrap_or(most).min(most).min(self.presence.pause()),
        };
        match self.events.recv_timeout(wait.max(SHORTEST)) {
            Ok(Message::Event(arrived)) => {
                self.left = self.left.map(|left| left - 1);
                self.presence.heard();
                if let Some(gap) = self.gaps.as_mut().and_then(|gaps| gaps.take(&arrived.event)) {
                    told_gap(self.format, &arrived.event, gap).map_err(|why| Over(Err(why)))?;
                }
                return Ok(Some(*arrived));
            }
            Ok(Message::Look) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Over(Ok(()))),
        }
        if self.stopped.load(Ordering::Acquire) {
            return Err(Over(Ok(())));
        }
        let looked = match self.ended.swap(false, Ordering::AcqRel) {
            true => self.presence.lost("it has ended"),
            false => self.presence.look(),
        };
        looked.map_err(|why| Over(Err(why)))?;
        Ok(None)
    }

    /// Returns the number of events that arrived while the queue was full.
    pub(super) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Disconnects the consumer.
    ///
    /// # Errors
    /// Numbered events are missing, if gaps are reported.
    pub(super) fn end(self) -> Done {
        self.presence.end();
        let _ = self.orb.shutdown(true);
        match self.gaps.map_or(0, |gaps| gaps.lost()) {
            0 => Ok(()),
            lost => Err(because(format!(
                "{lost} numbered events did not arrive: `oxorb event stat` shows which consumers lose events, and why"
            ))),
        }
    }
}

/// Shortest wait for an event.
const SHORTEST: Duration = Duration::from_millis(1);

/// End of the events, because none will arrive or none are wanted; contains the error, if there is one.
pub(super) struct Over(pub(super) Done);

/// Messages of the ORB's threads and the signal thread to the reader.
pub(super) enum Message {
    Event(Box<Arrived>),
    /// Change of another state, which the reader has to check.
    Look,
}

/// Returns a flag that SIGINT and SIGTERM set; they also wake the reader.
fn stop(wake: SyncSender<Message>) -> Result<Arc<AtomicBool>, Failed> {
    let stopped = Arc::<AtomicBool>::default();
    let (end, set) = (end_of_process()?, stopped.clone());
    std::thread::spawn(move || {
        // Nothing is ever sent on this channel: `recv` fails when the process is asked to end.
        let _ = end.recv();
        set.store(true, Ordering::Release);
        // If the queue is full, the reader is awake anyway.
        let _ = wake.try_send(Message::Look);
    });
    Ok(stopped)
}

/// Returns a time in seconds, but at most 50 years, which all systems can add to the current time.
pub(super) fn time(seconds: f64) -> Result<Duration, String> {
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    Ok(time.min(duration::LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_seconds_can_be_added_to_the_current_time() {
        for seconds in [1e10, 1e19] {
            let time = time(seconds).unwrap();
            assert!(Instant::now().checked_add(time).is_some(), "{seconds}");
        }
        assert_eq!(time(0.5), Ok(Duration::from_millis(500)));
        assert!(time(-1.0).is_err() && time(1e30).is_err());
    }
}
