//! Transport of groups.

use std::io;
use std::sync::OnceLock;

use oxorb_sys::multicast;
use oxorb_transport::{
    Acceptor, Address, Endpoint, EndpointError, Facts, ListenError, Multicast, Notation, Part,
    Publish, Scheme, Start, Transport,
};

use super::SCHEME;
use super::acceptor::GroupAcceptor;
use super::place;
use super::profile::split;
use super::send::{MOST_MESSAGE, Sender};
use crate::datagram::link::facts;

/// UDP multicast transport over IPv4 and IPv6: a message is one or several packets, and is only
/// sent to groups.
#[derive(Debug, Default)]
pub struct Groups {
    sending: OnceLock<Sending>,
}

/// Settings for sending packets.
#[derive(Clone, Debug, Default)]
struct Sending {
    settings: Multicast,
    interface: Option<multicast::Interface>,
}

impl Groups {
    fn begin(&self, to: &Address, dscp: Option<u8>) -> io::Result<Start> {
        let (group, _) = split(to).ok_or_else(|| {
            let problem = format!("{to} is not an address of a group");
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        let usual;
        let sending = match self.sending.get() {
            Some(sending) => sending,
            None => {
                usual = Sending::default();
                &usual
            }
        };
        let Sending { settings, interface } = sending;
        let socket = multicast::sender(group, *interface, settings.ttl, settings.loopback, dscp)?;
        let sender = Sender::new(socket, group, settings.packet)?;
        Ok(Start::Done(Box::new(sender)))
    }
}

impl Transport for Groups {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        facts(MOST_MESSAGE)
    }

    fn endpoints(
        &self,
        notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        match notation {
            Notation::Url => place::url(text),
            Notation::Colon => Err(text.error(
                "omniORB's form of endpoints does not support groups: write \
                                               miop://ADDRESS:PORT",
            )),
        }
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(GroupAcceptor::listen(at)?))
    }

    /// Returns no addresses: an object belongs to no group until associated with one.
    fn published(&self, _: &Endpoint, _: &[Publish]) -> io::Result<Vec<Address>> {
        Ok(Vec::new())
    }

    /// Returns an address without a group's name, so that no reference leads there: this process,
    /// too, receives calls to a group over the network.
    fn own_address(&self, at: &Endpoint) -> Address {
        Address::new(SCHEME, &at.place)
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        place::group(&at.place).is_some_and(|group| group.port() != 0)
    }

    fn is_local(&self, _: &Endpoint) -> bool {
        false
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        let mut group = place::group(&at.place)?;
        let port = u32::from(group.port()).checked_add(number)?;
        group.set_port(u16::try_from(port).ok().filter(|_| group.port() != 0)?);
        let mut next = at.clone();
        next.place = group.to_string();
        Some(next)
    }

    fn prepare_multicast(&self, settings: &Multicast) -> Result<(), String> {
        let interface = settings.interface.as_deref().map(|named| {
            multicast::interface(named).map_err(|error| {
                format!("interface={named}: {error}: specify the name or an address of an interface of this host")
            })
        });
        let sending = Sending { settings: settings.clone(), interface: interface.transpose()? };
        let _ = self.sending.set(sending);
        Ok(())
    }

    /// Connects at once: members need not exist.
    fn start(&self, to: &Address) -> io::Result<Start> {
        self.begin(to, None)
    }

    fn start_marked(&self, to: &Address, dscp: u8) -> io::Result<Start> {
        self.begin(to, Some(dscp))
    }
}
