//! Properties of a connection.

use std::str::FromStr;
use std::time::Duration;

/// Properties to set on a link ([`Link::apply`](crate::Link::apply)); `None` leaves a property
/// unchanged.
///
/// A link ignores properties that its transport does not have: an application may request the same
/// ones of every transport.
///
/// ```
/// use oxorb_transport::{Link, Properties, mem};
///
/// let (client, _server) = mem::pair(64);
/// client.apply(&Properties { dscp: Some(46), ..Properties::default() })?; // there is no network
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Size of the kernel's send buffer, in octets.
    pub send_buffer: Option<usize>,
    /// Size of the kernel's receive buffer, in octets.
    pub receive_buffer: Option<usize>,
    /// Time without traffic after which the system probes the peer; the link breaks if the peer
    /// does not answer for about the same time again. `Some(None)`: never.
    pub keep_alive: Option<Option<Duration>>,
    /// Whether small writes may wait to be sent together with others (not `TCP_NODELAY`).
    pub delay: Option<bool>,
    /// Whether packets bypass all routers.
    pub dont_route: Option<bool>,
    /// DSCP, 0 to 63, of the packets sent from now on.
    pub dscp: Option<u8>,
    /// Queue of the network device for packets, 0 to 6 (`SO_PRIORITY`).
    pub queue_priority: Option<u8>,
    /// Time for which a read polls the device for packets (`SO_BUSY_POLL`). Without the required
    /// privilege, [`apply`](crate::Link::apply) sets all other properties and reports
    /// [`PermissionDenied`](std::io::ErrorKind::PermissionDenied); reads then wait for the
    /// interrupt of the device.
    pub busy_poll: Option<Duration>,
    /// Maximum send rate in octets per second: the transport paces its output.
    pub bandwidth: Option<u64>,
    /// Handling of the pages of memory that both ends share. To be set before the first octet is
    /// written.
    pub pages: Option<Pages>,
}

/// Handling of the pages of memory that the two ends of a link share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Pages are allocated when octets are first written to them, and kept until the link ends.
    #[default]
    OnDemand,
    /// All pages are allocated at once and mapped by this end, which never faults.
    Resident {
        /// Whether pages are merged into large ones, which need fewer TLB entries.
        huge: bool,
        /// Whether pages are kept in RAM (`mlock`).
        locked: bool,
    },
    /// Pages that this end wrote are returned to the system once all their octets were read and
    /// nothing was written for this time.
    GivenBack(Duration),
}

impl Pages {
    /// Text that lists the values, for messages.
    pub const VALUES: &'static str = "on-demand|resident|locked|huge|huge-locked|give-back:MS";

    /// Shortest time without a write after which pages are returned to the system.
    pub const MIN_REST: Duration = Duration::from_millis(10);
}

/// Parses one of [`VALUES`](Pages::VALUES). The error is a sentence without the full stop.
///
/// ```
/// use oxorb_transport::Pages;
///
/// assert_eq!("locked".parse(), Ok(Pages::Resident { huge: false, locked: true }));
/// assert!("give-back:9".parse::<Pages>().unwrap_err().contains("at least 10 milliseconds"));
/// ```
impl FromStr for Pages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let resident = |huge, locked| Ok(Self::Resident { huge, locked });
        match text {
            "on-demand" => Ok(Self::OnDemand),
            "resident" => resident(false, false),
            "locked" => resident(false, true),
            "huge" => resident(true, false),
            "huge-locked" => resident(true, true),
            _ => {
                let time = text.strip_prefix("give-back:");
                let time = time.filter(|time| time.bytes().all(|digit| digit.is_ascii_digit()));
                let time = time.and_then(|time| time.parse().ok());
                let time = time.map(Duration::from_millis);
                time.filter(|time| *time >= Self::MIN_REST).map(Self::GivenBack).ok_or_else(|| {
                    let (values, rest) = (Self::VALUES, Self::MIN_REST.as_millis());
                    format!("expected {values}, with at least {rest} milliseconds")
                })
            }
        }
    }
}
