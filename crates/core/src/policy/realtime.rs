//! Client-side policies of RT-CORBA: sharing and properties of connections.

use std::fmt;

use oxorb_object::{
    PriorityBand, PriorityBands, Protocol, ProtocolProperties, Qos, TcpProtocolProperties,
    profile_tag,
};

use super::ProtocolList;

/// Private connections for calls through the reference: neither calls to other objects nor calls of other threads use
/// them.
///
/// RTCORBA::PrivateConnectionPolicy, type 44. Each calling thread keeps one connection for the reference and, under
/// [`PriorityBandedConnection`], one for each band; a call over it takes no lock. The connections close once the
/// reference is dropped and the thread opens another connection or ends. Asynchronous calls and `SyncScope::None` share
/// connections nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrivateConnection;

/// Separate connections for calls of different priorities: one for each band of priorities.
///
/// RTCORBA::PriorityBandedConnectionPolicy, type 45. The band is that of the caller's priority if the object's model is
/// client-propagated, of the object's priority if it is server-declared. INV_POLICY is raised if the priority lies in
/// no band, and if the reference has no priority model or has bands of its own. Asynchronous calls and
/// `SyncScope::None` observe the bands if lanes have ports of their own.
///
/// ```
/// use oxorb_core::policy::{PriorityBand, PriorityBandedConnection};
///
/// let bands = PriorityBandedConnection::new(&[
///     PriorityBand { low: 0, high: 9_999 },
///     PriorityBand { low: 10_000, high: 32_767 },
/// ])?;
/// assert_eq!(bands.bands().len(), 2);
/// let upside_down = PriorityBand { low: 7, high: 1 };
/// assert!(PriorityBandedConnection::new(&[upside_down]).is_err());
/// # Ok::<(), oxorb_core::policy::UnusableList>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PriorityBandedConnection(pub(crate) PriorityBands);

/// Protocols that a client uses, the preferred one first, with the properties of their connections.
///
/// RTCORBA::ClientProtocolPolicy, type 43. Profiles of other protocols are not used, unless
/// [`ProtocolFallback`](super::ProtocolFallback) permits it; INV_POLICY if the reference also has a list, or offers
/// none of the protocols. The properties apply to connections when they are opened; a protocol ignores properties of
/// another one.
///
/// ```
/// use oxorb_core::policy::{ClientProtocol, Protocol, TcpProtocolProperties};
///
/// let large = TcpProtocolProperties { send_buffer_size: 1 << 20, ..Default::default() };
/// assert_eq!(ClientProtocol::tcp(large).protocols()[0].tcp(), Some(large));
/// // UNIX sockets first (TAO's UIOP), then TCP.
/// let preferred = ClientProtocol::new(&[Protocol::new(0x5441_4f00), Protocol::with(0, large)])?;
/// assert_eq!(preferred.protocols().len(), 2);
/// # Ok::<(), oxorb_core::policy::UnusableList>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientProtocol(pub(crate) ProtocolList);

/// Quality of service of a request: travels with it in a service context that other ORBs ignore (RIOP).
///
/// OxORB's own, type 0x4f580004. For all calls of an ORB, of a thread ([`PolicyCurrent::scope`](super::PolicyCurrent)),
/// of an object, or for one call. If it sets no priority, the calling thread's CORBA priority applies, if any. Servants
/// read it by [`current_qos`](crate::current_qos), and their own calls propagate it. The importance determines the
/// schedule of the request's thread, or the request's position in a lane's queue; the class determines the connection.
/// `docs/realtime.md` has the rules and the encoding.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::policy::{CommunicationClass, PolicyCurrent, Qos, RequestQos};
/// use oxorb_core::{Options, Orb};
///
/// let orb = Orb::new(Options::default());
/// let rhythm = Qos {
///     period: Some(Duration::from_millis(50)),
///     class: CommunicationClass::Isochronous,
///     ..Qos::default()
/// };
/// let _calls_of_this_thread = PolicyCurrent::scope(&orb, RequestQos(rhythm));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestQos(pub Qos);

/// Error of a list that is not valid in a policy, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list is not a policy: {0}")]
pub struct UnusableList(pub(super) &'static str);

impl PriorityBandedConnection {
    /// Returns the policy for a list of bands, in the order in which a priority is looked up.
    ///
    /// # Errors
    /// The list is empty, has more than 16 bands, or has a band that contains no priority.
    pub fn new(bands: &[PriorityBand]) -> Result<Self, UnusableList> {
        if bands.is_empty() {
            return Err(UnusableList("the list contains no band"));
        }
        if bands.iter().any(|band| band.low < 0 || band.low > band.high) {
            return Err(UnusableList(
                "one of the bands contains no priority: a band goes from low to high, 0 to 32767",
            ));
        }
        let bands = PriorityBands::new(bands)
            .map_err(|_| UnusableList("the list contains more than 16 bands"))?;
        Ok(Self(bands))
    }

    /// Returns the bands.
    pub fn bands(&self) -> &[PriorityBand] {
        self.0.as_slice()
    }
}

impl ClientProtocol {
    /// Returns the policy for a list of protocols, the preferred one first.
    ///
    /// # Errors
    /// Those of [`ProtocolList::new`].
    pub fn new(protocols: &[Protocol]) -> Result<Self, UnusableList> {
        ProtocolList::new(protocols).map(Self)
    }

    /// Returns the policy for TCP alone, with these properties.
    ///
    /// # Panics
    /// Panics if this process has made [`MAX_PROTOCOL_LISTS`](super::MAX_PROTOCOL_LISTS) different
    /// lists.
    pub fn tcp(properties: TcpProtocolProperties) -> Self {
        let tcp = Protocol {
            protocol_type: profile_tag::INTERNET_IOP,
            transport: ProtocolProperties::Tcp(properties),
        };
        Self(ProtocolList::new(&[tcp]).expect("a program makes few lists of protocols"))
    }

    /// Returns the protocols.
    pub fn protocols(&self) -> &'static [Protocol] {
        self.0.protocols()
    }
}

impl From<ProtocolList> for ClientProtocol {
    fn from(protocols: ProtocolList) -> Self {
        Self(protocols)
    }
}

impl fmt::Debug for UnusableList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
