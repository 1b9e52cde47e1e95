//! Parsers of setting values.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::{ByteOrder, CharSet};
use oxorb_object::Version;
use oxorb_sys::schedule::SchedulingClass;

use super::ClientConnections;
use crate::threads::rt::MappingChoice;

/// Smallest fragment size in octets, because the first fragment must hold header and service contexts.
pub(crate) const MIN_FRAGMENT: usize = 1024;

pub(super) fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match number(text)? {
        0 => Err("expected a number of at least 1".to_owned()),
        n => Ok(n),
    }
}

/// Parses a limit that zero switches off.
pub(super) fn or_none(text: &str) -> Result<Option<usize>, String> {
    number(text).map(|n| (n != 0).then_some(n))
}

pub(super) fn milliseconds(text: &str) -> Result<Duration, String> {
    number(text).map(Duration::from_millis)
}

/// Parses a time in microseconds; zero means none.
pub(super) fn microseconds(text: &str) -> Result<Duration, String> {
    number(text).map(Duration::from_micros)
}

/// Parses a time in milliseconds that must not be zero, because nothing would ever complete in it.
pub(super) fn some_milliseconds(text: &str) -> Result<Duration, String> {
    positive(text).map(|n| Duration::from_millis(n as u64))
}

/// Parses a port of the loopback interface, or an address and a port.
pub(super) fn port_or_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    match port.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().map_err(|_| {
            "expected a port, or an address and a port, as in 9464, 0.0.0.0:9464 or [::1]:9464"
                .to_owned()
        }),
    }
}

pub(super) fn zero_or_one(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("expected 0 or 1".to_owned()),
    }
}

pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("expected yes or no".to_owned()),
    }
}

pub(super) fn client_connections(text: &str) -> Result<ClientConnections, String> {
    match text {
        "private" => Ok(ClientConnections::Private),
        "cached" => Ok(ClientConnections::Cached),
        "multiplexed" => Ok(ClientConnections::Multiplexed),
        "leader-followers" => Ok(ClientConnections::LeaderFollowers),
        _ => Err("expected private, cached, multiplexed or leader-followers".to_owned()),
    }
}

pub(super) fn giop_version(text: &str) -> Result<Version, String> {
    match text {
        "1.0" => Ok(Version::V1_0),
        "1.1" => Ok(Version::V1_1),
        "1.2" => Ok(Version::V1_2),
        _ => Err("expected 1.0, 1.1 or 1.2".to_owned()),
    }
}

pub(super) fn char_set(text: &str) -> Result<CharSet, String> {
    match text.to_ascii_uppercase().replace('_', "-").as_str() {
        "UTF-8" | "UTF8" => Ok(CharSet::Utf8),
        "ISO-8859-1" | "ISO8859-1" => Ok(CharSet::Iso8859_1),
        _ => Err("expected UTF-8 or ISO-8859-1".to_owned()),
    }
}

pub(super) fn byte_order(text: &str) -> Result<ByteOrder, String> {
    match text {
        "native" => Ok(ByteOrder::NATIVE),
        "big" => Ok(ByteOrder::Big),
        "little" => Ok(ByteOrder::Little),
        _ => Err("expected native, big or little".to_owned()),
    }
}

/// Parses a fragment size in octets; zero means that messages are never fragmented.
pub(super) fn fragment_size(text: &str) -> Result<Option<usize>, String> {
    match or_none(text)? {
        Some(size) if size < MIN_FRAGMENT => {
            Err(format!("a fragment must have at least {MIN_FRAGMENT} octets"))
        }
        size => Ok(size),
    }
}

pub(super) fn scheduling_class(text: &str) -> Result<SchedulingClass, String> {
    match text {
        "SCHED_OTHER" => Ok(SchedulingClass::Other),
        "SCHED_FIFO" => Ok(SchedulingClass::Fifo),
        "SCHED_RR" => Ok(SchedulingClass::RoundRobin),
        _ => Err("expected SCHED_OTHER, SCHED_FIFO or SCHED_RR".to_owned()),
    }
}

pub(super) fn priority_mapping(text: &str) -> Result<MappingChoice, String> {
    match text {
        "direct" => Ok(MappingChoice::Direct),
        "linear" => Ok(MappingChoice::Linear),
        "continuous" => Ok(MappingChoice::Continuous),
        _ => Err("expected direct, linear or continuous".to_owned()),
    }
}
