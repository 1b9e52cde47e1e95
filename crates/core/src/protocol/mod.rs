//! Protocols: messagings over transports, and the profiles that publish them.
//!
//! A [`ProtocolStack`] joins three independent values: a transport, which moves octets; a messaging,
//! which encodes requests and replies; and a [`ProfileKind`], which encodes addresses in
//! references. The [`Protocols`] of an ORB are its only list of protocols. It is read when text is
//! parsed, when endpoints are opened, and when references are parsed or created, but never for a
//! call: a peer holds its protocol.

mod iiop;
mod placed;
mod profile;
mod table;
mod url;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use oxorb_giop::{Messaging, Needs};
use oxorb_transport::mem::Memory;
use oxorb_transport::tcp::Tcp;
use oxorb_transport::{Facts, Transport};

pub use self::iiop::Iiop;
pub use self::placed::Placed;
pub use self::profile::{ComponentAddresses, LocatedAddress, Profile, ProfileKind};
pub use self::table::Protocols;
pub(crate) use self::url::ParsedUrl;

/// Messaging over a transport, with the profile that publishes it to clients.
///
/// ```
/// use oxorb_core::protocol::{ProtocolStack, Protocols};
/// use oxorb_transport::mem::Memory;
///
/// let mut protocols = Protocols::default(); // IIOP
/// protocols.add(ProtocolStack::memory(Memory::new()))?;
/// let endpoints = protocols.parse("iiop://:2809;mem://bank").unwrap();
/// assert_eq!(endpoints[1].to_string(), "mem://bank");
/// assert!(protocols.add(ProtocolStack::memory(Memory::new())).is_err(), "there is one of this name");
/// # Ok::<(), oxorb_core::protocol::Mismatch>(())
/// ```
pub struct ProtocolStack {
    name: Cow<'static, str>,
    profile: Arc<dyn ProfileKind>,
    messaging: Option<&'static dyn Messaging>,
    transport: Arc<dyn Transport>,
}

impl ProtocolStack {
    /// Joins a messaging (`None` for GIOP) with a transport, under the name that endpoints begin
    /// with.
    ///
    /// # Errors
    /// [`Mismatch`] if the transport lacks a property that the messaging needs.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        profile: impl ProfileKind + 'static,
        messaging: Option<&'static dyn Messaging>,
        transport: Arc<dyn Transport>,
    ) -> Result<ProtocolStack, Mismatch> {
        let name = name.into();
        let problem = match is_name(&name) {
            false => Some(Cow::Borrowed(NOT_A_NAME)),
            true => unmet(messaging, transport.facts()),
        };
        if let Some(problem) = problem {
            return Err(Mismatch { name, problem });
        }
        Ok(ProtocolStack { name, profile: Arc::new(profile), messaging, transport })
    }

    /// Joins GIOP with a transport that may lose messages. Messages that are not lost must arrive complete and exactly
    /// once, and each write must be one message. Calls read from [`Facts::reliable`](oxorb_transport::Facts) that a
    /// reply may never arrive.
    ///
    /// # Errors
    /// [`Mismatch`] if the name is invalid.
    pub fn over_datagrams(
        name: impl Into<Cow<'static, str>>,
        profile: impl ProfileKind + 'static,
        transport: Arc<dyn Transport>,
    ) -> Result<ProtocolStack, Mismatch> {
        let name = name.into();
        if !is_name(&name) {
            let problem = Cow::Borrowed(NOT_A_NAME);
            return Err(Mismatch { name, problem });
        }
        Ok(ProtocolStack { name, profile: Arc::new(profile), messaging: None, transport })
    }

    /// Returns GIOP over TCP.
    pub fn iiop() -> ProtocolStack {
        ProtocolStack::iiop_over(Arc::new(Tcp))
    }

    /// Returns GIOP with IIOP's profile over a transport with TCP addresses.
    pub(crate) fn iiop_over(transport: Arc<dyn Transport>) -> ProtocolStack {
        ProtocolStack {
            name: Cow::Borrowed("iiop"),
            profile: Arc::new(Iiop),
            messaging: None,
            transport,
        }
    }

    /// Returns GIOP over memory, under the name `mem`: for ORBs of one process that share
    /// `network`.
    pub fn memory(network: Memory) -> ProtocolStack {
        ProtocolStack {
            name: Cow::Borrowed("mem"),
            profile: Arc::new(Placed::MEMORY),
            messaging: None,
            transport: Arc::new(network),
        }
    }

    /// Returns the name that endpoints begin with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kind of profile that publishes the protocol.
    pub fn profile(&self) -> &dyn ProfileKind {
        &*self.profile
    }

    /// Returns the messaging; `None` for GIOP.
    pub fn messaging(&self) -> Option<&'static dyn Messaging> {
        self.messaging
    }

    /// Returns the transport.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }
}

impl fmt::Debug for ProtocolStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProtocolStack({} over {})", self.name, self.transport.scheme())
    }
}

const NOT_A_NAME: &str = "its name contains characters other than a-z, 0-9, '-', '+' and '.'";

fn is_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+.".contains(c);
    !name.is_empty() && name.chars().all(part)
}

/// Returns the need of a messaging that a transport does not meet.
fn unmet(messaging: Option<&'static dyn Messaging>, facts: Facts) -> Option<Cow<'static, str>> {
    let (who, needs) = match messaging {
        // A GIOP message contains its length, so the transport need not preserve message boundaries, but it must lose
        // nothing.
        None => ("GIOP", Needs::default()),
        Some(messaging) => (messaging.name(), messaging.needs()),
    };
    if !facts.reliable {
        return Some(Cow::Owned(format!(
            "{who} needs a reliable transport, but this one may lose messages"
        )));
    }
    if needs.stream && !facts.stream {
        return Some(Cow::Owned(format!(
            "{who} needs a stream of octets, but the transport has datagrams"
        )));
    }
    match facts.mtu {
        Some(most) if needs.no_fragments => Some(Cow::Owned(format!(
            "{who} has no fragments, but the transport accepts at most {most} octets at a time"
        ))),
        _ => None,
    }
}

/// Error of an invalid combination of messaging, transport and profile, or of a conflict between
/// protocols.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the protocol {name:?} cannot be added: {problem}")]
pub struct Mismatch {
    /// Name of the protocol.
    pub name: Cow<'static, str>,
    /// Reason, as the rest of a sentence.
    pub problem: Cow<'static, str>,
}

impl fmt::Debug for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
