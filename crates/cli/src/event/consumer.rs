//! A consumer in this process: events that came, in a queue of bounded size.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb, SystemException};
use oxorb_event::rtec_event_channel_admin::ProxyPushSupplierRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{Filter, in_order};

use super::channel::{At, Channel};
use super::filter;
use super::value::ValueTypes;
use crate::orb::with_args;
use crate::output::{Failed, because};

/// Options of a consumer.
#[derive(clap::Args)]
pub(super) struct Wanted {
    #[command(flatten)]
    at: At,
    /// Events wanted, as `type==17 && source!=3`; all of them unless given
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Address to receive events at. Unless given: this machine alone for a channel on it, and all addresses for others
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Port to receive events at. 0: the system chooses
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Most events that wait to be written; further ones are counted as missed
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(1..))]
    queue: u32,
    /// End after so many events
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// End after so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    duration: Option<Duration>,
}

/// A connected consumer.
pub(super) struct Consumer {
    channel: Channel,
    proxy: ProxyPushSupplierRef,
    events: Receiver<Arrived>,
    missed: Arc<AtomicU64>,
    left: Option<u64>,
    end: Option<Instant>,
    /// Serves the consumer until it is dropped.
    orb: Orb,
}

/// An event with the time of its arrival.
pub(super) struct Arrived {
    pub(super) event: Event,
    /// Nanoseconds since 1970.
    pub(super) at: u64,
    /// Time since it was created; `None` if it does not say.
    pub(super) age: Option<Duration>,
}

impl Wanted {
    /// Connects the consumer. It ends on SIGINT and SIGTERM, too.
    pub(super) fn connect(&self, types: &ValueTypes) -> Result<Consumer, Failed> {
        let filter = match &self.filter {
            None => Filter::ALL,
            Some(text) => filter::parse(text).map_err(because)?,
        };
        let channel = self.at.connect()?;
        let listen = format!("iiop://{}:{}", self.address(&channel), self.port);
        let orb = with_args(in_order(Orb::builder()).listen(&listen)).build()?;
        types.register(&orb);
        let missed = Arc::<AtomicU64>::default();
        let (to, events) = sync_channel(self.queue as usize);
        let servant = Taker {
            to: Mutex::new(Some(to)),
            missed: missed.clone(),
        };
        let consumer: PushConsumerRef = orb.root_poa().activate(servant)?;
        orb.shutdown_on_signal()?;
        let proxy = channel.consume(&consumer, &filter)?;
        Ok(Consumer {
            channel,
            proxy,
            events,
            missed,
            left: self.count,
            end: self.duration.map(|duration| Instant::now() + duration),
            orb,
        })
    }

    /// Returns the address to listen at.
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
    /// Whether all addresses of the channel are of this machine alone.
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
        self.channel.orb()
    }

    pub(super) fn url(&self) -> String {
        self.channel.url()
    }

    /// Returns the next event, waiting for it at most so long: `Ok(None)` when the time is over, an error when no more
    /// events are wanted or come.
    pub(super) fn next(&mut self, most: Duration) -> Result<Option<Arrived>, Over> {
        if self.left == Some(0) {
            return Err(Over);
        }
        let left = self
            .end
            .map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(Over);
        }
        match self
            .events
            .recv_timeout(left.map_or(most, |left| left.min(most)))
        {
            Ok(event) => {
                self.left = self.left.map(|left| left - 1);
                Ok(Some(event))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Over),
        }
    }

    /// Returns the number of events that came while the queue was full.
    pub(super) fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }

    /// Disconnects. The channel may be gone already.
    pub(super) fn end(self) {
        let _ = self.proxy.disconnect_push_supplier();
        let _ = self.orb.shutdown(true);
    }
}

/// No more events come, or are wanted.
pub(super) struct Over;

/// The servant: never waits for whoever writes the events.
struct Taker {
    /// `None` once the channel ended.
    to: Mutex<Option<SyncSender<Arrived>>>,
    missed: Arc<AtomicU64>,
}

impl PushConsumer for Taker {
    fn push(&self, data: &[Event]) {
        let at = super::time::now_ns();
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        for event in data {
            let created = super::time::since_1970(event.header.creation_time);
            let age = created.and_then(|created| at.checked_sub(created));
            let arrived = Arrived {
                event: event.clone(),
                at,
                age: age.map(Duration::from_nanos),
            };
            if let Some(to) = &*to
                && let Err(TrySendError::Full(_)) = to.try_send(arrived)
            {
                self.missed.fetch_add(1, Relaxed);
            }
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        *to = None;
        Ok(())
    }
}

/// Reads a number of seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
