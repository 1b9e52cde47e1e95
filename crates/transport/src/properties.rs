//! Properties of a connection.

use std::str::FromStr;
use std::time::Duration;

/// Properties to give a link ([`Link::apply`](crate::Link::apply)); `None` leaves one as it is.
///
/// A link ignores those that its transport does not have: an application may ask every transport
/// for the same.
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
    /// Octets of the kernel's send buffer.
    pub send_buffer: Option<usize>,
    /// Octets of the kernel's receive buffer.
    pub receive_buffer: Option<usize>,
    /// Silence after which the system asks whether the peer still exists, ending the link of one
    /// that does not answer for about as long again; `Some(None)`: never.
    pub keep_alive: Option<Option<Duration>>,
    /// Whether small writes may wait to be sent together with others (not `TCP_NODELAY`).
    pub delay: Option<bool>,
    /// Whether packets pass all routers by.
    pub dont_route: Option<bool>,
    /// DSCP, 0 to 63, of the packets sent from now on.
    pub dscp: Option<u8>,
    /// Queue of the network device that packets go to, 0 to 6 (`SO_PRIORITY`).
    pub queue_priority: Option<u8>,
    /// Time that a read looks for packets in the device (`SO_BUSY_POLL`). Without the privilege for
    /// it, [`apply`](crate::Link::apply) sets all other properties and reports
    /// [`PermissionDenied`](std::io::ErrorKind::PermissionDenied); reads then wait for the interrupt of the device.
    pub busy_poll: Option<Duration>,
    /// Octets that leave in a second, at most: the transport paces what is sent.
    pub bandwidth: Option<u64>,
    /// Pages of memory that both ends share. To be said before the first octet is written.
    pub pages: Option<Pages>,
}

/// Handling of the pages of memory that the two ends of a link share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// Pages are taken from the system when octets come there for the first time, and kept until the
    /// link ends.
    #[default]
    OnDemand,
    /// All pages are taken at once, and mapped by this end: it never faults.
    Resident {
        /// Pages are put together into large ones, which need fewer entries of the processor's caches
        /// of addresses.
        huge: bool,
        /// Pages are kept in RAM (`mlock`).
        locked: bool,
    },
    /// Pages that this end wrote are given back when nothing was written for this time, and all of it
    /// was read.
    GivenBack(Duration),
}

impl Pages {
    /// Values in text.
    pub const VALUES: &'static str = "on-demand|resident|locked|huge|huge-locked|give-back:MS";

    /// Shortest time without a write after which pages are given back.
    pub const MIN_REST: Duration = Duration::from_millis(10);
}

/// Reads one of [`VALUES`](Pages::VALUES). The error is a sentence without the full stop.
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
