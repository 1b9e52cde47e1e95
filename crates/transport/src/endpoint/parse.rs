//! The reader of the endpoint grammar.

use std::net::Ipv6Addr;

use super::{Endpoint, EndpointError};

const PORT: &str = "a port is a number from 0 to 65535";
const PROTOCOL: &str = "an endpoint begins with iiop:// or giop:tcp:";

pub(super) fn list(text: &str) -> Result<Vec<Endpoint>, EndpointError> {
    let mut endpoints = Vec::new();
    let mut rest = Some(Part { text, whole: text });
    while let Some(part) = rest {
        let (one, more) = part.split(';');
        rest = more;
        match one.after("iiop://") {
            Some(addresses) => iiop(addresses, &mut endpoints)?,
            None => match one.after("giop:tcp:") {
                Some(address) => endpoints.push(giop(address)?),
                None => return Err(one.error(PROTOCOL)),
            },
        }
    }
    Ok(endpoints)
}

pub(super) fn single(text: &str) -> Result<Endpoint, EndpointError> {
    let mut endpoints = list(text)?;
    match endpoints.pop() {
        Some(endpoint) if endpoints.is_empty() => Ok(endpoint),
        _ => Err(Part { text, whole: text }.error("one endpoint is wanted here, not a list")),
    }
}

/// TAO's notation, behind `iiop://`.
fn iiop(text: Part<'_>, endpoints: &mut Vec<Endpoint>) -> Result<(), EndpointError> {
    let (addresses, options) = text.split('/');
    let mut model = Endpoint::new("", 0);
    let mut rest = options.filter(|options| !options.text.is_empty());
    while let Some(part) = rest {
        let (one, more) = part.split('&');
        rest = more;
        option(one, &mut model)?;
    }
    let mut rest = Some(addresses);
    while let Some(part) = rest {
        let (one, more) = part.split(',');
        rest = more;
        let mut endpoint = model.clone();
        let address = match one.split('@') {
            (version, Some(address)) => {
                endpoint.version = Some(giop_version(version)?);
                address
            }
            (address, None) => address,
        };
        let (host, port) = split_port(address)?;
        endpoint.host = host_name(host)?;
        if let Some(port) = port {
            endpoint.port = number(port, PORT)?;
        }
        endpoints.push(checked_span(endpoint, one)?);
    }
    Ok(())
}

/// omniORB's notation, behind `giop:tcp:`.
fn giop(text: Part<'_>) -> Result<Endpoint, EndpointError> {
    let (host, port) = split_port(text)?;
    let mut endpoint = Endpoint::new(host_name(host)?, 0);
    let Some(port) = port else {
        return Err(text.error("host and port are separated by a colon, even if both are absent"));
    };
    if let (first, Some(last)) = port.split('-') {
        endpoint.port = number(first, PORT)?;
        let last: u16 = number(last, PORT)?;
        if endpoint.port == 0 || last < endpoint.port {
            return Err(port.error("a range of ports goes upwards, and begins at 1 or above"));
        }
        endpoint.port_span = last - endpoint.port + 1;
    } else if !port.text.is_empty() {
        endpoint.port = number(port, PORT)?;
    }
    Ok(endpoint)
}

fn option(text: Part<'_>, endpoint: &mut Endpoint) -> Result<(), EndpointError> {
    let (name, Some(value)) = text.split('=') else {
        return Err(text.error("an option is written name=value"));
    };
    match name.text {
        "portspan" => {
            endpoint.port_span = number(value, "a port span is a number from 1 to 65535")?;
            if endpoint.port_span == 0 {
                return Err(value.error("a port span is a number from 1 to 65535"));
            }
        }
        "hostname_in_ior" if value.text.is_empty() => {
            return Err(text.error("hostname_in_ior needs a host"));
        }
        "hostname_in_ior" => endpoint.publish = Some(host_name(value)?),
        "reuse_addr" => {
            endpoint.reuse_address = match value.text {
                "0" => false,
                "1" => true,
                _ => return Err(value.error("reuse_addr is 0 or 1")),
            }
        }
        "allow" | "deny" => endpoint
            .access
            .add(name.text == "allow", value.text)
            .map_err(|error| value.error(error.problem))?,
        _ => {
            return Err(
                name.error("the options are portspan, hostname_in_ior, reuse_addr, allow and deny")
            );
        }
    }
    Ok(())
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets.
fn split_port(address: Part<'_>) -> Result<(Part<'_>, Option<Part<'_>>), EndpointError> {
    if !address.text.starts_with('[') {
        let (host, port) = address.split(':');
        return match port {
            Some(port) if port.text.contains(':') => {
                Err(address.error("an IPv6 address is written in brackets, as in [::1]:2809"))
            }
            _ => Ok((host, port)),
        };
    }
    let Some(end) = address.text.find(']') else {
        return Err(address.error("the bracket is never closed"));
    };
    let (host, rest) = address.split_at(end + 1);
    match rest.after(":") {
        Some(port) => Ok((host, Some(port))),
        None if rest.text.is_empty() => Ok((host, None)),
        None => Err(rest.error("only a colon and a port may follow the bracket")),
    }
}

fn host_name(host: Part<'_>) -> Result<String, EndpointError> {
    if host.text == "*" {
        return Ok(String::new());
    }
    if let Some(inner) = host.text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        // A zone (`%eth0`) names an interface of this host; the resolver understands it.
        let (address, _zone) = inner.split_once('%').unwrap_or((inner, ""));
        return match address.parse::<Ipv6Addr>() {
            Ok(_) => Ok(inner.to_owned()),
            Err(_) => Err(host.error("this is no IPv6 address")),
        };
    }
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    match host.text.chars().all(in_name) {
        true => Ok(host.text.to_owned()),
        false => Err(host.error("a host name has letters, digits, dots and hyphens only")),
    }
}

fn giop_version(version: Part<'_>) -> Result<(u8, u8), EndpointError> {
    match version.text {
        "1.0" => Ok((1, 0)),
        "1.1" => Ok((1, 1)),
        "1.2" => Ok((1, 2)),
        _ => Err(version.error("the GIOP versions are 1.0, 1.1 and 1.2")),
    }
}

fn checked_span(endpoint: Endpoint, place: Part<'_>) -> Result<Endpoint, EndpointError> {
    match endpoint.port.checked_add(endpoint.port_span - 1) {
        Some(_) => Ok(endpoint),
        None => Err(place.error("the port span goes beyond port 65535")),
    }
}

fn number(part: Part<'_>, problem: &'static str) -> Result<u16, EndpointError> {
    let digits = part.text.bytes().all(|octet| octet.is_ascii_digit());
    match part.text.parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(part.error(problem)),
    }
}

/// A piece of the text that knows where it stands.
#[derive(Clone, Copy)]
struct Part<'t> {
    text: &'t str,
    whole: &'t str,
}

impl<'t> Part<'t> {
    fn split(self, separator: char) -> (Self, Option<Self>) {
        match self.text.split_once(separator) {
            Some((before, after)) => (self.piece(before), Some(self.piece(after))),
            None => (self, None),
        }
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let (before, after) = self.text.split_at(at);
        (self.piece(before), self.piece(after))
    }

    fn after(self, prefix: &str) -> Option<Self> {
        Some(self.piece(self.text.strip_prefix(prefix)?))
    }

    fn piece(self, text: &'t str) -> Self {
        Self { text, ..self }
    }

    fn error(self, problem: &'static str) -> EndpointError {
        let start = self.text.as_ptr() as usize - self.whole.as_ptr() as usize;
        EndpointError {
            text: self.whole.to_owned(),
            place: start..start + self.text.len(),
            problem,
        }
    }
}
