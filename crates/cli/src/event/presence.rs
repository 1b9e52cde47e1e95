//! Whether a channel still has a consumer, and connecting to it again.

use std::time::{Duration, Instant};

use oxorb::{Interface as _, Printable};
use oxorb_event::Filter;
use oxorb_event::rtec_event_channel_admin::ProxyPushSupplierRef;
use oxorb_event::rtec_event_comm::PushConsumerRef;
use serde_json::json;

use super::channel::{At, Channel};
use super::taker::Takers;
use oxorb_terminal::output::{BAD, Done, Failed, Format, because, print_line};

/// Time between two attempts to connect again.
const PAUSE: Duration = Duration::from_millis(250);

/// A consumer's connection to a channel, which may be lost and made again.
pub(super) struct Presence {
    pub(super) at: At,
    pub(super) channel: Channel,
    pub(super) filter: Filter,
    /// Consumer that the channel pushes to.
    pub(super) consumer: PushConsumerRef,
    pub(super) takers: Takers,
    pub(super) state: State,
    /// Time without an event after which the channel is asked; `None`: never.
    pub(super) ping: Option<Duration>,
    /// Time for which a lost channel is looked for; `None`: its loss is an error.
    pub(super) reconnect: Option<Reconnect>,
    pub(super) format: Format,
}

/// Policy of a consumer whose channel is lost.
#[derive(Clone, Copy)]
pub(super) enum Reconnect {
    /// Look for the channel without end.
    Always,
    /// Give up after this time.
    Within(Duration),
}

/// State of the connection.
pub(super) enum State {
    /// The channel has the consumer; it was heard of last at this moment.
    Connected(ProxyPushSupplierRef, Instant),
    /// Channel that has not answered, or has no such consumer any more, since this moment. The connection
    /// before may still be there.
    Lost(Instant, String, Option<ProxyPushSupplierRef>),
}

impl Presence {
    /// Notes that an event came.
    pub(super) fn heard(&mut self) {
        if let State::Connected(_, heard) = &mut self.state {
            *heard = Instant::now();
        }
    }

    /// Looks whether the channel has the consumer, and connects again where that is wanted. Takes the time of
    /// a few calls at
    /// most.
    ///
    /// # Errors
    /// The channel is lost, and is not looked for any longer.
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
                        "it does not know this consumer any more: it was restarted, or let it go",
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

    /// Notes the end of the connection.
    ///
    /// # Errors
    /// The channel is not looked for.
    pub(super) fn lost(&mut self, why: &str) -> Done {
        let before = match &self.state {
            State::Connected(proxy, _) => Some(proxy.clone()),
            State::Lost(_, _, before) => before.clone(),
        };
        self.state = State::Lost(Instant::now(), why.to_owned(), before);
        let Some(_) = self.reconnect else {
            return Err(self.gone(why, "--reconnect 0 looks for it until it is back"));
        };
        // What the channel wrote to it may be on its way over connections that its ORB gave up, and come in any order.
        self.takers.deactivate(&self.consumer);
        match self.format {
            Format::Json => print_line(&json!({"event": "lost", "why": why})),
            Format::Text => {
                anstream::eprintln!("{BAD}lost{BAD:#} the channel: {}", Printable(why));
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
                        anstream::eprintln!(
                            "reconnected after {seconds:.1} s; events of that time did not come"
                        );
                        Ok(())
                    }
                }
            }
            (Err(_), Some(Reconnect::Within(limit))) if missed >= limit => Err(self.gone(
                why,
                &format!("it was looked for during {} s (--reconnect)", limit.as_secs_f64()),
            )),
            (Err(_), _) => Ok(()),
        }
    }

    /// Connects another object. The connection before may still be there after a partition.
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

    /// Returns the pause before the next look.
    pub(super) fn pause(&self) -> Duration {
        match (&self.state, self.ping) {
            (State::Lost(..), _) => PAUSE,
            (State::Connected(_, heard), Some(ping)) => ping.saturating_sub(heard.elapsed()),
            (State::Connected(..), None) => Duration::MAX,
        }
    }

    /// Disconnects. The channel may be gone already.
    pub(super) fn end(&self) {
        if let State::Connected(proxy, _) = &self.state {
            let _ = proxy.disconnect_push_supplier();
        }
    }
}
