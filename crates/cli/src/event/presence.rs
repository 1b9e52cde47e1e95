//! Supervision of a consumer's connection to a channel, and reconnection.

use std::time::{Duration, Instant};

use oxorb::Interface as _;
use oxorb::values::Printable;
use oxorb_event::Filter;
use oxorb_event::rtec_event_channel_admin::ProxyPushSupplierRef;
use oxorb_event::rtec_event_comm::PushConsumerRef;
use serde_json::json;

use super::channel::{Channel, ChannelArgs};
use super::taker::Takers;
use oxorb_terminal::output::{BAD, Done, Failed, Format, because, print_line};

/// Time between two attempts to connect again.
const PAUSE: Duration = Duration::from_millis(250);

/// Connection of a consumer to a channel, which is restored after a loss.
pub(super) struct Presence {
    pub(super) at: ChannelArgs,
    pub(super) channel: Channel,
    pub(super) filter: Filter,
    /// Consumer that the channel pushes to.
    pub(super) consumer: PushConsumerRef,
    pub(super) takers: Takers,
    pub(super) state: State,
    /// Time without an event after which the channel is queried; `None` for never.
    pub(super) ping: Option<Duration>,
    /// Time for which a lost channel is searched for; `None` if its loss is an error.
    pub(super) reconnect: Option<Reconnect>,
    pub(super) format: Format,
}

/// Policy of a consumer whose channel is lost.
#[derive(Clone, Copy)]
pub(super) enum Reconnect {
    /// Search for the channel without limit.
    Always,
    /// Give up after this time.
    Within(Duration),
}

/// State of the connection.
pub(super) enum State {
    /// Connection to a channel, and the time of the channel's last sign of life.
    Connected(ProxyPushSupplierRef, Instant),
    /// Loss of the channel: the time since which it has not answered or no longer knows the consumer, the reason, and
    /// the previous connection, which may still exist.
    Lost(Instant, String, Option<ProxyPushSupplierRef>),
}

impl Presence {
    /// Records that an event arrived.
    pub(super) fn heard(&mut self) {
        if let State::Connected(_, heard) = &mut self.state {
            *heard = Instant::now();
        }
    }

    /// Checks that the channel knows the consumer, and reconnects if configured. Takes a few calls at most.
    ///
    /// # Errors
    /// The channel is lost, and is no longer searched for.
    pub(super) fn look(&mut self) -> Done {
        match &self.state {
            State::Connected(proxy, heard) => {
                if self.ping.is_none_or(|ping| heard.elapsed() < ping) {
                    return Ok(());
                }
                match proxy.reference().non_existent() {
                    Ok(false) => {
                        self.heard();
                        Ok(())
                    }
                    Ok(true) => self.lost(
                        "the channel no longer has this consumer: the channel was restarted, or disconnected the \
                         consumer",
                    ),
                    Err(why) => self.lost(&why.to_string()),
                }
            }
            State::Lost(since, why, before) => {
                let (since, why, before) = (*since, why.clone(), before.clone());
                self.find(since, &why, before)
            }
        }
    }

    /// Records the loss of the connection.
    ///
    /// # Errors
    /// The loss is an error by configuration.
    pub(super) fn lost(&mut self, why: &str) -> Done {
        let before = match &self.state {
            State::Connected(proxy, _) => Some(proxy.clone()),
            State::Lost(_, _, before) => before.clone(),
        };
        self.state = State::Lost(Instant::now(), why.to_owned(), before);
        let Some(_) = self.reconnect else {
            return Err(self.gone(why, "--reconnect 0 tries until the channel is available again"));
        };
        // Deactivate the consumer, because events that the channel has already written may still arrive, in any order,
        // over connections that its ORB dropped.
        self.takers.deactivate(&self.consumer);
        match self.format {
            Format::Json => print_line(&json!({"event": "lost", "why": why})),
            Format::Text => {
                oxorb_terminal::note!("{BAD}lost{BAD:#} the channel: {}", Printable(why));
                Ok(())
            }
        }
    }

    fn find(&mut self, since: Instant, why: &str, before: Option<ProxyPushSupplierRef>) -> Done {
        let found = self.connect_again(before.as_ref());
        let missed = since.elapsed();
        match (found, self.reconnect) {
            (Ok((proxy, channel)), _) => {
                self.channel = channel;
                self.state = State::Connected(proxy, Instant::now());
                let seconds = missed.as_secs_f64();
                match self.format {
                    Format::Json => {
                        print_line(&json!({"event": "reconnected", "after_s": seconds}))
                    }
                    Format::Text => {
                        oxorb_terminal::note!(
                            "reconnected after {seconds:.1} s; events pushed in between were not received"
                        );
                        Ok(())
                    }
                }
            }
            (Err(_), Some(Reconnect::Within(limit))) if missed >= limit => Err(self.gone(
                why,
                &format!("reconnecting failed for {} s (--reconnect)", limit.as_secs_f64()),
            )),
            (Err(_), _) => Ok(()),
        }
    }

    /// Connects a new consumer object. First disconnects the previous connection, which may still exist after a network
    /// partition.
    fn connect_again(
        &mut self,
        before: Option<&ProxyPushSupplierRef>,
    ) -> Result<(ProxyPushSupplierRef, Channel), Failed> {
        let channel = self.at.find_again(&self.channel)?;
        if let Some(proxy) = before {
            let _ = proxy.disconnect_push_supplier();
        }
        let consumer = self.takers.activate()?;
        match channel.consume(&consumer, &self.filter) {
            Ok(proxy) => {
                self.consumer = consumer;
                Ok((proxy, channel))
            }
            Err(why) => {
                self.takers.deactivate(&consumer);
                Err(why)
            }
        }
    }

    fn gone(&self, why: &str, next: &str) -> Failed {
        because(format!("the event channel {} is lost: {why}\n{next}", self.channel.url()))
    }

    /// Returns the pause before the next check.
    pub(super) fn pause(&self) -> Duration {
        match (&self.state, self.ping) {
            (State::Lost(..), _) => PAUSE,
            (State::Connected(_, heard), Some(ping)) => ping.saturating_sub(heard.elapsed()),
            (State::Connected(..), None) => Duration::MAX,
        }
    }

    /// Disconnects the consumer. Ignores errors, because the channel may no longer exist.
    pub(super) fn end(&self) {
        if let State::Connected(proxy, _) = &self.state {
            let _ = proxy.disconnect_push_supplier();
        }
    }
}
