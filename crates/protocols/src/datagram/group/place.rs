//! Endpoints of groups, and their grammar.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use oxorb_transport::{Access, Endpoint, EndpointError, Part};

use super::SCHEME;
use super::reassembly::{USUAL_KEPT, USUAL_TIMEOUT};
use crate::datagram::place::{MOST_SOURCES, USUAL_SOURCES, number};

const INTERFACE: &str = "interface";
const SOURCES: &str = "sources";
const MEMORY: &str = "memory";
const TIMEOUT: &str = "timeout";

/// Largest `memory` of an endpoint, in octets.
const MOST_MEMORY: usize = 1 << 30;

/// Smallest `memory` of an endpoint, in octets.
const LEAST_MEMORY: usize = 64 << 10;

/// Longest `timeout` of an endpoint, in milliseconds.
const MOST_TIMEOUT: usize = 60_000;

/// Place of an [`Endpoint`] of this transport.
///
/// ```text
/// url       = address *( "," address ) [ "/" option *( "&" option ) ]
/// address   = group ":" port                    IPv6 in brackets
/// option    = "interface=" ( name | address ) | "sources=" count | "memory=" octets | "timeout=" milliseconds
///           | ( "allow=" | "deny=" ) network
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) group: SocketAddr,
    pub(crate) interface: Option<String>,
    /// Maximum number of sources remembered.
    pub(crate) sources: usize,
    /// Maximum total size in octets of incomplete messages.
    pub(crate) kept: usize,
    /// Time for which an incomplete message is kept.
    pub(crate) timeout: Duration,
    pub(crate) access: Access,
}

impl Place {
    /// Returns the place of an endpoint that this transport made.
    pub(crate) fn of(endpoint: &Endpoint) -> Option<Place> {
        let number = |name| endpoint.option(name).and_then(|value| value.parse::<usize>().ok());
        let timeout =
            number(TIMEOUT).map(|milliseconds| Duration::from_millis(milliseconds as u64));
        Some(Place {
            group: group(&endpoint.place)?,
            interface: endpoint.option(INTERFACE).map(str::to_owned),
            sources: number(SOURCES).unwrap_or(USUAL_SOURCES),
            kept: number(MEMORY).unwrap_or(USUAL_KEPT),
            timeout: timeout.unwrap_or(USUAL_TIMEOUT),
            access: endpoint.access.clone(),
        })
    }

    /// Returns an endpoint like `like` at the group.
    pub(crate) fn endpoint(&self, like: &Endpoint) -> Endpoint {
        let mut endpoint = like.clone();
        endpoint.place = self.group.to_string();
        endpoint
    }
}

/// Parses the address and port of a group.
pub(crate) fn group(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.rsplit_once(':')?;
    let ip: IpAddr = match ip.strip_prefix('[') {
        Some(ip) => IpAddr::V6(ip.strip_suffix(']')?.parse().ok()?),
        None => IpAddr::V4(ip.parse().ok()?),
    };
    let digits = !port.is_empty() && port.bytes().all(|octet| octet.is_ascii_digit());
    let port = port.parse().ok().filter(|_| digits)?;
    ip.is_multicast().then_some(SocketAddr::new(ip, port))
}

/// Parses the text after `miop://`.
pub(crate) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    let (addresses, options) = text.split('/');
    let mut like = Endpoint::new(SCHEME, "");
    let mut rest = options.filter(|options| !options.text().is_empty());
    while let Some(part) = rest {
        let (one, more) = part.split('&');
        rest = more;
        let (name, Some(value)) = one.split('=') else {
            return Err(one.error("an option must have the form NAME=VALUE"));
        };
        let (option, range, problem) = match name.text() {
            INTERFACE if !value.text().is_empty() => {
                like.options.push((INTERFACE, value.text().to_owned()));
                continue;
            }
            SOURCES => (
                SOURCES,
                1..=MOST_SOURCES,
                "the number of sources of an endpoint must be from 1 to 4096",
            ),
            MEMORY => (
                MEMORY,
                LEAST_MEMORY..=MOST_MEMORY,
                "the memory for incomplete messages of an endpoint must be from 65536 to 1073741824 octets",
            ),
            TIMEOUT => (
                TIMEOUT,
                1..=MOST_TIMEOUT,
                "the time limit for the rest of a message must be from 1 to 60000 milliseconds",
            ),
            _ if like.common_option(name, value)? => continue,
            _ => {
                return Err(name
                    .error("the options are interface, sources, memory, timeout, allow and deny"));
            }
        };
        let number = number(value, range).ok_or_else(|| value.error(problem))?;
        like.options.push((option, number.to_string()));
    }
    let mut endpoints = Vec::new();
    let mut rest = Some(addresses);
    while let Some(part) = rest {
        let (one, more) = part.split(',');
        rest = more;
        let group = group(one.text()).ok_or_else(|| {
            one.error(
                "a group must be a multicast address and a port, such as 239.255.0.1:5000 or [ff05::1]:5000",
            )
        })?;
        endpoints.push(Endpoint { place: group.to_string(), ..like.clone() });
    }
    Ok(endpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_back_as_they_are_written() {
        let text = "239.1.2.3:5,[ff05::1]:0/interface=lo&sources=9&memory=65536&timeout=20&allow=10.0.0.0/8";
        let all = url(Part::new(text)).unwrap();
        assert_eq!(all.len(), 2);
        for endpoint in &all {
            let place = Place::of(endpoint).unwrap();
            assert_eq!(place.interface.as_deref(), Some("lo"));
            assert_eq!((place.sources, place.kept), (9, 65536));
            assert_eq!(place.timeout, Duration::from_millis(20));
            let written = endpoint.to_string();
            let (_, behind) = written.split_once("://").unwrap();
            assert_eq!(&url(Part::new(behind)).unwrap()[0], endpoint, "{written}");
        }
    }

    #[test]
    fn errors_point_at_the_fault() {
        for (text, place, problem) in [
            ("", "", "a group must be"),
            ("10.0.0.1:5", "10.0.0.1:5", "a group must be"),
            ("239.1.2.3", "239.1.2.3", "a group must be"),
            ("239.1.2.3:+5", "239.1.2.3:+5", "a group must be"),
            ("239.1.2.3:5/memory=1", "1", "65536 to"),
            ("239.1.2.3:5/ttl=1", "ttl", "the options are"),
            ("239.1.2.3:5/timeout", "timeout", "NAME=VALUE"),
        ] {
            let error = url(Part::new(text)).unwrap_err();
            assert_eq!(&error.text[error.place.clone()], place, "{error}");
            assert!(error.problem.contains(problem), "{error}");
        }
    }
}
