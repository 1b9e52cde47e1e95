//! Lookup of a channel, and connections to it.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use oxorb::{Builder, Interface, Orb, ResolveError};
use oxorb_event::rtec_event_channel_admin::{
    EventChannelRef, ProxyPushConsumerRef, ProxyPushSupplierRef,
};
use oxorb_event::rtec_event_comm::{Event, EventHeader, PushConsumerRef};
use oxorb_event::{Filter, INITIAL_NAME, asks_for, in_order, publishes};
use oxorb_naming::Names;

use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Failed, because};

/// Port of this machine at which a channel is looked for by default.
const PORT: u16 = 2811;

/// Options that select the channel.
#[derive(Clone, clap::Args)]
pub(super) struct ChannelArgs {
    /// Event channel: IOR:, corbaloc:, corbaname: or file:. Default: -ORBInitRef EventService=URL, or else the object
    /// bound as EventService in the Naming Service, or else, without -ORBInitRef NameService=URL,
    /// corbaloc::localhost:2811/EventService
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// Time limit for connecting, and for each call. For example 300ms; a bare number is milliseconds
    #[arg(long, default_value = "5s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    timeout: Duration,
}

/// Channel, and the ORB that calls it.
pub(super) struct Channel {
    orb: Orb,
    object: EventChannelRef,
}

impl ChannelArgs {
    /// Finds the channel. The ORB that calls the channel has no endpoints.
    pub(super) fn connect(&self) -> Result<Channel, Failed> {
        let orb = with_args(self.in_time(in_order(Orb::builder()))).build()?;
        self.connect_by(&orb)
    }

    /// Finds the channel, which `orb` calls.
    pub(super) fn connect_by(&self, orb: &Orb) -> Result<Channel, Failed> {
        let object = self.find(orb).map_err(|why| {
            because(format!(
                "{why}\nno event channel was found. Specify one with --at URL or -ORBInitRef {INITIAL_NAME}=URL; \
                 `oxorb event serve --port {PORT}` starts one on this machine, which is found without options"
            ))
        })?;
        Ok(Channel { orb: orb.clone(), object })
    }

    /// Applies the time limit to all calls of an ORB.
    pub(super) fn in_time(&self, builder: Builder) -> Builder {
        builder.connect_timeout(self.timeout).round_trip_timeout(self.timeout)
    }

    /// Looks the channel up again: its address may have changed.
    pub(super) fn find_again(&self, before: &Channel) -> Result<Channel, Failed> {
        let object = self.find(&before.orb).map_err(because)?;
        Ok(Channel { orb: before.orb.clone(), object })
    }

    fn find(&self, orb: &Orb) -> Result<EventChannelRef, String> {
        let said = |error: ResolveError| error.to_string();
        if let Some(url) = &self.at {
            return orb.resolve(url).map_err(said);
        }
        match orb.resolve(&format!("corbaloc:rir:/{INITIAL_NAME}")) {
            Err(ResolveError::UnknownName { .. }) => {
                let names = crate::name::usual(orb).map_err(said);
                let found = names.and_then(|names| {
                    names.resolve(INITIAL_NAME).map_err(|error| error.to_string())
                });
                found.or_else(|why| here(orb, why))
            }
            found => found.map_err(said),
        }
    }
}

/// Returns the channel of this machine, unless a name server was specified that does not have it: events must not go
/// to another channel than the user expects. `why` is the reason why there is no other channel.
fn here(orb: &Orb, why: String) -> Result<EventChannelRef, String> {
    match Names::of(orb) {
        Err(ResolveError::UnknownName { .. }) => {
            let url = format!("corbaloc::localhost:{PORT}/{INITIAL_NAME}");
            orb.resolve(&url).map_err(|error| format!("{why}\n{error}"))
        }
        _ => Err(why),
    }
}

impl Channel {
    pub(super) fn orb(&self) -> &Orb {
        &self.orb
    }

    pub(super) fn object(&self) -> &EventChannelRef {
        &self.object
    }

    /// Returns the reference, for people.
    pub(super) fn url(&self) -> String {
        let url = self.object.to_corbaloc();
        url.unwrap_or_else(|| self.object.to_ior())
    }

    /// Connects a supplier of these types and sources; 0 stands for any.
    pub(super) fn supply(
        &self,
        publications: &[(i32, i32)],
    ) -> Result<ProxyPushConsumerRef, Failed> {
        let qos = publishes(publications.iter().copied());
        let suppliers = self.object.for_suppliers().map_err(|why| self.failed(why))?;
        let proxy = suppliers.ok_or_else(nil)?.obtain_push_consumer();
        let proxy = proxy.map_err(|why| self.failed(why))?.ok_or_else(nil)?;
        let connected = proxy.connect_push_supplier(None, &qos);
        connected.map_err(|why| self.failed(why))?;
        Ok(proxy)
    }

    /// Connects a consumer with a filter.
    pub(super) fn consume(
        &self,
        consumer: &PushConsumerRef,
        filter: &Filter,
    ) -> Result<ProxyPushSupplierRef, Failed> {
        let qos = asks_for(filter);
        let consumers = self.object.for_consumers().map_err(|why| self.failed(why))?;
        let proxy = consumers.ok_or_else(nil)?.obtain_push_supplier();
        let proxy = proxy.map_err(|why| self.failed(why))?.ok_or_else(nil)?;
        if let Err(why) = proxy.connect_push_consumer(Some(consumer), &qos) {
            // The call may have timed out after the channel had connected the consumer. Disconnect it, because another
            // attempt would otherwise make the channel deliver events twice.
            let _ = proxy.disconnect_push_supplier();
            return Err(self.failed(why));
        }
        Ok(proxy)
    }

    pub(super) fn failed(&self, why: impl std::fmt::Display) -> Failed {
        because(format!("the event channel {}: {why}", self.url()))
    }
}

/// Returns a receiver that disconnects when the process is asked to end (SIGINT, SIGTERM).
pub(super) fn end_of_process() -> Result<Receiver<()>, Failed> {
    let orb = Orb::builder().build()?;
    orb.shutdown_on_signal()?;
    let (until, end) = channel();
    std::thread::spawn(move || {
        orb.run();
        drop(until);
    });
    Ok(end)
}

fn nil() -> Failed {
    because("the event channel returned a nil reference: it accepts no consumers or suppliers")
}

/// Returns an event with only a type and a source.
pub(crate) fn event_of(kind: i32, source: i32) -> Event {
    let header = EventHeader { r#type: kind, source, ..EventHeader::default() };
    Event { header, ..Event::default() }
}
