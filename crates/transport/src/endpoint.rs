//! Where to listen, as text.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::str::FromStr;

use crate::Access;

mod parse;

/// An endpoint to listen on.
///
/// # Grammar
///
/// The notation of TAO's `-ORBListenEndpoints`, and that of omniORB's `-ORBendPoint`:
///
/// ```text
/// list      = endpoint *( ";" endpoint )
/// endpoint  = "iiop://" [ address *( "," address ) ] [ "/" option *( "&" option ) ]
///           | "giop:tcp:" [ host ] ":" [ port [ "-" last ] ]
/// address   = [ version "@" ] [ host ] [ ":" port ]
/// host      = name | IPv4 address | "[" IPv6 address "]" | "*"
/// option    = "portspan=" count | "hostname_in_ior=" host | "reuse_addr=" ( "0" | "1" )
///           | ( "allow=" | "deny=" ) network
/// network   = address [ "/" bits ] | "all"
/// ```
///
/// An empty host and `*` mean all interfaces, IPv4 and IPv6; `0.0.0.0` and `[::]` mean all of
/// one kind. An absent port and 0 let the system choose.
///
/// ```
/// use oxorb_transport::Endpoint;
///
/// let endpoint: Endpoint = "iiop://[::1]:2809/portspan=10".parse()?;
/// assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 2809));
/// assert_eq!(endpoint, "giop:tcp:[::1]:2809-2818".parse()?);
///
/// let error = "iiop://gateway:99999".parse::<Endpoint>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"endpoint "iiop://gateway:99999", at "99999": a port is a number from 0 to 65535"#
/// );
/// # Ok::<(), oxorb_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What is spoken there.
    pub protocol: Protocol,
    /// The highest GIOP version to publish; `None` leaves it to the ORB.
    pub version: Option<(u8, u8)>,
    /// A name or an address without brackets; empty for all interfaces.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// How many ports to try, from `port` upwards (TAO's `portspan`). At least 1.
    pub port_span: u16,
    /// The host to write into references instead of the addresses found (TAO's
    /// `hostname_in_ior`): for servers behind NAT, and for names that outlive addresses.
    pub publish: Option<String>,
    /// Whether to take the port although connections of an earlier process linger there
    /// (TAO's `reuse_addr`, here on unless switched off).
    pub reuse_address: bool,
    /// Who may connect; without a rule, whom the ORB admits in general.
    pub access: Access,
}

impl Endpoint {
    /// An endpoint with nothing special about it.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            protocol: Protocol::Iiop,
            version: None,
            host: host.into(),
            port,
            port_span: 1,
            publish: None,
            reuse_address: true,
            access: Access::default(),
        }
    }

    /// Reads endpoints separated by `;` (and, within one, addresses separated by `,`).
    ///
    /// # Errors
    /// [`EndpointError`] for the first that cannot be understood.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, EndpointError> {
        parse::list(text)
    }

    /// Whether it stands for all interfaces, of one kind or of both.
    pub fn is_wildcard(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_unspecified(),
            Err(_) => self.host.is_empty(),
        }
    }

    /// Whether it serves clients that come by IPv4, and by IPv6, when it is a wildcard.
    pub(crate) fn wildcard_families(&self) -> (bool, bool) {
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => (true, false),
            Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => (false, true),
            _ => (true, true),
        }
    }
}

/// Reads exactly one endpoint.
impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        parse::single(text)
    }
}

/// Writes it so that reading it back gives the same.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.protocol)?;
        if let Some((major, minor)) = self.version {
            write!(f, "{major}.{minor}@")?;
        }
        write!(f, "{}", host_port(&self.host, self.port))?;
        let mut separator = '/';
        let mut option = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            f.write_char(std::mem::replace(&mut separator, '&'))?;
            f.write_fmt(text)
        };
        if self.port_span != 1 {
            option(f, format_args!("portspan={}", self.port_span))?;
        }
        if let Some(host) = &self.publish {
            option(f, format_args!("hostname_in_ior={}", bracketed(host)))?;
        }
        if !self.reuse_address {
            option(f, format_args!("reuse_addr=0"))?;
        }
        for (allow, network) in self.access.rules() {
            let verb = if allow { "allow" } else { "deny" };
            option(f, format_args!("{verb}={network}"))?;
        }
        Ok(())
    }
}

/// Joins a host and a port for people, with brackets round an IPv6 address.
pub(crate) fn host_port(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

fn bracketed(host: &str) -> Cow<'_, str> {
    match host.contains(':') {
        true => Cow::Owned(format!("[{host}]")),
        false => Cow::Borrowed(host),
    }
}

/// What is spoken at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// GIOP over TCP.
    Iiop,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iiop => "iiop",
        })
    }
}

/// Text that is no endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointError {
    /// The whole text.
    pub text: String,
    /// Where in it, in octets.
    pub place: Range<usize>,
    /// What is wrong there: a full sentence without the full stop.
    pub problem: &'static str,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.text[self.place.clone()];
        write!(f, "endpoint {:?}, ", self.text)?;
        if place.is_empty() {
            write!(f, "octet {}", self.place.start)?;
        } else {
            write!(f, "at {place:?}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Debug for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for EndpointError {}

#[cfg(test)]
mod tests;
