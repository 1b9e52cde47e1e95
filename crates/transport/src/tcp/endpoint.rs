//! TCP endpoints and their grammar.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::endpoint::{Endpoint, EndpointError, Part};

const PORT: &str = "a port must be a number from 0 to 65535";

/// Place of a TCP [`Endpoint`]: hosts, ports and options.
///
/// # Grammar
///
/// The notation of TAO's `-ORBListenEndpoints` and, in the second line, that of omniORB's
/// `-ORBendPoint`. The words before it belong to a protocol, not to TCP.
///
/// ```text
/// url       = [ address *( "," address ) ] [ "/" option *( "&" option ) ]
/// colon     = [ host ] ":" [ port [ "-" last ] ]
/// address   = [ version "@" ] [ host ] [ ":" port ]
/// host      = name | IPv4 address | "[" IPv6 address "]" | "*"
/// option    = "portspan=" count | "hostname_in_ior=" host | "reuse_addr=" ( "0" | "1" )
///           | ( "allow=" | "deny=" ) network
/// network   = address [ "/" bits ] | "all"
/// ```
///
/// An empty host and `*` mean all interfaces, IPv4 and IPv6; `0.0.0.0` and `[::]` mean all
/// interfaces of one family. A missing port and 0 let the system choose.
///
/// ```
/// use oxorb_transport::{Notation, Part, Transport, tcp::{Place, Tcp}};
///
/// let read = |notation, text| Tcp.endpoints(notation, Part::new(text));
/// let endpoint = read(Notation::Url, "[::1]:2809/portspan=10")?.remove(0);
/// assert_eq!(endpoint, read(Notation::Colon, "[::1]:2809-2818")?.remove(0));
/// let place = Place::of(&endpoint);
/// assert_eq!((place.host.as_str(), place.port, place.port_span), ("::1", 2809, 10));
///
/// let error = read(Notation::Url, "gateway:99999").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"endpoint "gateway:99999", at "99999": a port must be a number from 0 to 65535"#
/// );
/// # Ok::<(), oxorb_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name, or address without brackets; empty for all interfaces.
    pub host: String,
    /// Port; 0 lets the system choose.
    pub port: u16,
    /// Number of ports to try, from `port` upwards (TAO's `portspan`). At least 1.
    pub port_span: u16,
    /// Host to publish instead of the detected addresses (TAO's option `hostname_in_ior`), for
    /// servers behind NAT, and for names that outlive addresses.
    pub publish: Option<String>,
    /// Whether to take the port although connections of an earlier process linger there (TAO's
    /// `reuse_addr`; here true by default).
    pub reuse_address: bool,
}

impl Place {
    /// Returns a place with default options.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port, port_span: 1, publish: None, reuse_address: true }
    }

    /// Returns the place of an endpoint that TCP made. Any other endpoint is treated as an
    /// unresolvable host.
    pub fn of(endpoint: &Endpoint) -> Self {
        let named = Part::new(&endpoint.place);
        let parts = split_port(named).and_then(|(host, port)| {
            let port = port.map_or(Ok(0), |port| number(port, PORT))?;
            Ok(Self::new(host_name(host)?, port))
        });
        let mut place = parts.unwrap_or_else(|_| Self::new(&endpoint.place, 0));
        for (name, value) in &endpoint.options {
            // Parsing cannot fail: `endpoint` below has formatted these options.
            let _ = option(Part::new(name), Part::new(value), &mut place);
        }
        place
    }

    /// Returns the place as an endpoint; version, protocol and access rules are those of `like`.
    pub fn endpoint(&self, like: &Endpoint) -> Endpoint {
        let mut options = Vec::new();
        if self.port_span != 1 {
            options.push((PORT_SPAN, self.port_span.to_string()));
        }
        if let Some(host) = &self.publish {
            options.push((HOST_PUBLISHED, bracketed(host).into_owned()));
        }
        if !self.reuse_address {
            options.push((REUSE_ADDRESS, "0".to_owned()));
        }
        Endpoint {
            place: host_port(&self.host, self.port),
            options,
            separator: '/',
            ..like.clone()
        }
    }

    /// Reports whether the host means all interfaces, of one family or of both.
    pub fn is_wildcard(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.is_unspecified(),
            Err(_) => self.host.is_empty(),
        }
    }

    /// Reports whether a wildcard serves clients over IPv4, and over IPv6.
    pub(super) fn wildcard_families(&self) -> (bool, bool) {
        match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => (true, false),
            Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => (false, true),
            _ => (true, true),
        }
    }
}

impl From<Place> for Endpoint {
    /// Returns the endpoint of a place, without protocol, version and access rules.
    fn from(place: Place) -> Endpoint {
        place.endpoint(&Endpoint::new(super::SCHEME, ""))
    }
}

/// Formats `host:port`, with brackets around an IPv6 address.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&host_port(&self.host, self.port))
    }
}

/// Joins a host and a port, with brackets around an IPv6 address.
pub(super) fn host_port(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

fn bracketed(host: &str) -> Cow<'_, str> {
    match host.contains(':') || host.starts_with('[') {
        true => Cow::Owned(format!("[{host}]")),
        false => Cow::Borrowed(host),
    }
}

const PORT_SPAN: &str = "portspan";
const HOST_PUBLISHED: &str = "hostname_in_ior";
const REUSE_ADDRESS: &str = "reuse_addr";

/// Parses TAO's notation, after `PROTOCOL://`.
pub(super) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    let (addresses, options) = text.split('/');
    let mut model = Place::new("", 0);
    let mut like = Endpoint::new(super::SCHEME, "");
    let mut rest = options.filter(|options| !options.text().is_empty());
    while let Some(part) = rest {
        let (one, more) = part.split('&');
        rest = more;
        let (name, Some(value)) = one.split('=') else {
            return Err(one.error("an option must have the form NAME=VALUE"));
        };
        if !like.common_option(name, value)? && !option(name, value, &mut model)? {
            return Err(
                name.error("the options are portspan, hostname_in_ior, reuse_addr, allow and deny")
            );
        }
    }
    let mut endpoints = Vec::new();
    let mut rest = Some(addresses);
    while let Some(part) = rest {
        let (one, more) = part.split(',');
        rest = more;
        let mut place = model.clone();
        let (version, address) = one.version()?;
        let (host, port) = split_port(address)?;
        place.host = host_name(host)?;
        if let Some(port) = port {
            place.port = number(port, PORT)?;
        }
        endpoints.push(Endpoint { version, ..checked_span(place, one)?.endpoint(&like) });
    }
    Ok(endpoints)
}

/// Parses omniORB's notation, after `giop:tcp:`.
pub(super) fn colon(text: Part<'_>) -> Result<Endpoint, EndpointError> {
    let (host, port) = split_port(text)?;
    let mut place = Place::new(host_name(host)?, 0);
    let Some(port) = port else {
        return Err(
            text.error("host and port must be separated by a colon, even if both are absent")
        );
    };
    if let (first, Some(last)) = port.split('-') {
        place.port = number(first, PORT)?;
        let last: u16 = number(last, PORT)?;
        if place.port == 0 || last < place.port {
            return Err(port.error("a range of ports must be ascending, and begin at 1 or above"));
        }
        place.port_span = last - place.port + 1;
    } else if !port.text().is_empty() {
        place.port = number(port, PORT)?;
    }
    Ok(place.into())
}

/// Parses one of TCP's own options; returns false for any other.
fn option(name: Part<'_>, value: Part<'_>, place: &mut Place) -> Result<bool, EndpointError> {
    match name.text() {
        PORT_SPAN => {
            place.port_span = number(value, "a port span must be a number from 1 to 65535")?;
            if place.port_span == 0 {
                return Err(value.error("a port span must be a number from 1 to 65535"));
            }
        }
        HOST_PUBLISHED if value.text().is_empty() => {
            return Err(name.error("hostname_in_ior needs a host"));
        }
        HOST_PUBLISHED => place.publish = Some(host_name(value)?),
        REUSE_ADDRESS => {
            place.reuse_address = match value.text() {
                "0" => false,
                "1" => true,
                _ => return Err(value.error("reuse_addr must be 0 or 1")),
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Parses `host:port`, where both may be missing.
pub(super) fn host_and_port(text: Part<'_>) -> Result<(String, Option<u16>), EndpointError> {
    let (host, port) = split_port(text)?;
    let port = port.map(|port| number(port, PORT)).transpose()?;
    Ok((host_name(host)?, port))
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets.
fn split_port(address: Part<'_>) -> Result<(Part<'_>, Option<Part<'_>>), EndpointError> {
    if !address.text().starts_with('[') {
        let (host, port) = address.split(':');
        return match port {
            Some(port) if port.text().contains(':') => {
                Err(address.error("an IPv6 address must be in brackets, as in [::1]:2809"))
            }
            _ => Ok((host, port)),
        };
    }
    let Some(end) = address.text().find(']') else {
        return Err(address.error("the bracket is never closed"));
    };
    let (host, rest) = address.split_at(end + 1);
    match rest.after(":") {
        Some(port) => Ok((host, Some(port))),
        None if rest.text().is_empty() => Ok((host, None)),
        None => Err(rest.error("only a colon and a port may follow the bracket")),
    }
}

fn host_name(host: Part<'_>) -> Result<String, EndpointError> {
    if host.text() == "*" {
        return Ok(String::new());
    }
    if let Some(inner) = host.text().strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        // Only the address is checked. A zone, such as `%eth0`, names an interface of this host and is left to the
        // resolver.
        let (address, _zone) = inner.split_once('%').unwrap_or((inner, ""));
        return match address.parse::<Ipv6Addr>() {
            Ok(_) => Ok(inner.to_owned()),
            Err(_) => Err(host.error("this is not an IPv6 address")),
        };
    }
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    match host.text().chars().all(in_name) {
        true => Ok(host.text().to_owned()),
        false => Err(host.error("a host name can contain only letters, digits, dots and hyphens")),
    }
}

fn checked_span(place: Place, part: Part<'_>) -> Result<Place, EndpointError> {
    match place.port.checked_add(place.port_span - 1) {
        Some(_) => Ok(place),
        None => Err(part.error("the port span goes beyond port 65535")),
    }
}

fn number(part: Part<'_>, problem: &'static str) -> Result<u16, EndpointError> {
    let digits = part.text().bytes().all(|octet| octet.is_ascii_digit());
    match part.text().parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(part.error(problem)),
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
