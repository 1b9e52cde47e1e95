//! Endpoints of datagrams, and their grammar.

use oxorb_transport::tcp::{self, Tcp};
use oxorb_transport::{Endpoint, EndpointError, Notation, Part, Transport};

use crate::datagram::SCHEME;

/// Default of the largest datagram, in octets: the size that TAO accepts.
pub const USUAL_MOST: usize = 8192;

/// Smallest allowed value of `max`, in octets.
pub const LEAST_MOST: usize = 512;

/// Default of the number of concurrent sources of an endpoint.
pub const USUAL_SOURCES: usize = 256;

/// Largest allowed number of concurrent sources.
pub const MOST_SOURCES: usize = 4096;

const MAX: &str = "max";
const SOURCES: &str = "sources";
const PUBLISHED: &str = "hostname_in_ior";

/// Place of an [`Endpoint`] of this transport.
///
/// ```text
/// url       = [ address *( "," address ) ] [ "/" option *( "&" option ) ]
/// address   = [ version "@" ] [ host ] [ ":" port ]            as of iiop://
/// option    = "max=" octets | "sources=" count | "hostname_in_ior=" host | ( "allow=" | "deny=" ) network
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Host, port and host to publish, as TCP's.
    pub(crate) tcp: tcp::Place,
    /// Largest datagram in octets, in both directions.
    pub(crate) most: usize,
    /// Maximum number of sources with a socket.
    pub(crate) sources: usize,
}

impl Place {
    /// Returns the place of an endpoint that this transport made.
    pub(crate) fn of(endpoint: &Endpoint) -> Place {
        let number = |name| endpoint.option(name).and_then(|value| value.parse().ok());
        Place {
            tcp: tcp::Place::of(endpoint),
            most: number(MAX).unwrap_or(USUAL_MOST),
            sources: number(SOURCES).unwrap_or(USUAL_SOURCES),
        }
    }

    /// Returns the place with another port.
    pub(crate) fn at_port(&self, port: u16) -> Place {
        let mut place = self.clone();
        place.tcp.port = port;
        place
    }

    /// Returns the place as an endpoint; version, protocol and access rules are those of `like`.
    pub(crate) fn endpoint(&self, like: &Endpoint) -> Endpoint {
        let mut endpoint = self.tcp.endpoint(like);
        if self.most != USUAL_MOST {
            endpoint.options.push((MAX, self.most.to_string()));
        }
        if self.sources != USUAL_SOURCES {
            endpoint.options.push((SOURCES, self.sources.to_string()));
        }
        endpoint
    }
}

/// Parses the text after `diop://`.
pub(crate) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    let (addresses, options) = text.split('/');
    let mut like = Endpoint::new(SCHEME, "");
    let mut model = Place::of(&like);
    let mut rest = options.filter(|options| !options.text().is_empty());
    while let Some(part) = rest {
        let (one, more) = part.split('&');
        rest = more;
        let (name, Some(value)) = one.split('=') else {
            return Err(one.error("an option must have the form NAME=VALUE"));
        };
        match name.text() {
            MAX => {
                let most = oxorb_sys::datagram::MOST_OCTETS;
                model.most = number(value, LEAST_MOST..=most).ok_or_else(|| {
                    value.error("the size of a datagram must be from 512 to 65507 octets")
                })?;
            }
            SOURCES => {
                model.sources = number(value, 1..=MOST_SOURCES).ok_or_else(|| {
                    value.error("the number of sources of an endpoint must be from 1 to 4096")
                })?;
            }
            PUBLISHED if !value.text().is_empty() => {
                // The option has the same syntax as TCP's, so TCP parses it.
                let option = format!("/{PUBLISHED}={}", value.text());
                let read = Tcp.endpoints(Notation::Url, Part::new(&option));
                let read = read.map_err(|error| value.error(error.problem))?;
                model.tcp.publish = tcp::Place::of(&read[0]).publish;
            }
            _ if like.common_option(name, value)? => {}
            _ => {
                return Err(
                    name.error("the options are max, sources, hostname_in_ior, allow and deny")
                );
            }
        }
    }
    let mut endpoints = Tcp.endpoints(Notation::Url, addresses)?;
    for endpoint in &mut endpoints {
        let named = tcp::Place::of(endpoint);
        let mut place = model.clone();
        (place.tcp.host, place.tcp.port) = (named.host, named.port);
        like.version = endpoint.version;
        *endpoint = place.endpoint(&like);
    }
    Ok(endpoints)
}

pub(crate) fn number(value: Part<'_>, range: std::ops::RangeInclusive<usize>) -> Option<usize> {
    let digits = value.text().bytes().all(|octet| octet.is_ascii_digit());
    let number = value.text().parse().ok().filter(|_| digits)?;
    range.contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Endpoint>, EndpointError> {
        url(Part::new(text))
    }

    #[test]
    fn endpoints_are_read_back_as_they_are_written() {
        let text = "1.1@[::1]:5,:0/max=1400&sources=9&hostname_in_ior=gate&allow=10.0.0.0/8";
        let all = read(text).unwrap();
        let places: Vec<_> = all.iter().map(Place::of).collect();
        assert_eq!((places[0].tcp.host.as_str(), places[0].tcp.port), ("::1", 5));
        assert_eq!((places[1].tcp.host.as_str(), places[1].tcp.port), ("", 0));
        assert_eq!((all[0].version, all[1].version), (Some((1, 1)), None));
        for (endpoint, place) in all.iter().zip(places) {
            assert_eq!((place.most, place.sources), (1400, 9));
            assert_eq!(place.tcp.publish.as_deref(), Some("gate"));
            let written = endpoint.to_string();
            let (_, behind) = written.split_once("://").unwrap();
            assert_eq!(&read(behind).unwrap()[0], endpoint, "{written}");
        }
        assert_eq!(read("").unwrap()[0].to_string(), "udp://:0");
    }

    #[test]
    fn errors_point_at_the_fault() {
        for (text, place, problem) in [
            ("h:5/max=511", "511", "512 to 65507"),
            ("h:5/max=65508", "65508", "512 to 65507"),
            ("h:5/sources=0", "0", "1 to 4096"),
            ("h:5/portspan=2", "portspan", "the options are"),
            ("h:70000", "70000", "a port must be"),
            ("h:5/hostname_in_ior=a b", "a b", "host name"),
            ("h:5/max", "max", "NAME=VALUE"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(&error.text[error.place.clone()], place, "{error}");
            assert!(error.problem.contains(problem), "{error}");
        }
    }
}
