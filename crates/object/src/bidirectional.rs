//! Offer of a client to serve requests of the other side over its connection (BI_DIR_IIOP).

use crate::prelude::*;
use oxorb_cdr::{Decoder, Dialect, Encoder};

use crate::iiop_profile::PUBLISHED;
use crate::{IiopEndpoint, Malformed};

/// Maximum number of listening points accepted in one offer; real ORBs send one or two.
pub const MAX_LISTEN_POINTS: usize = 64;

/// Returns the data of the BI_DIR_IIOP service context: the addresses at which the sender listens,
/// by which references to its objects are recognised (CORBA 3.3 part 2, 9.9.1).
///
/// ```
/// use oxorb_object::{IiopEndpoint, listen_points, parse_listen_points};
///
/// let here = [IiopEndpoint { host: "10.0.0.7".to_owned(), port: 4711 }];
/// assert_eq!(parse_listen_points(&listen_points(&here))?, here);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
pub fn listen_points(points: &[IiopEndpoint]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), PUBLISHED, Dialect::GIOP_1_2);
    e.boolean(PUBLISHED.flag());
    e.ulong(points.len() as u32);
    for point in points {
        e.ulong(point.host.len() as u32 + 1);
        e.copy_octets(point.host.as_bytes());
        e.octet(0);
        e.ushort(point.port);
    }
    e.finish().to_vec()
}

/// Parses the data of the BI_DIR_IIOP service context.
///
/// # Errors
/// [`Malformed`] when it is malformed or has more than [`MAX_LISTEN_POINTS`].
pub fn parse_listen_points(data: &[u8]) -> Result<Vec<IiopEndpoint>, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let count = d.length(None, MIN_POINT)?;
    limit(
        "number of listening points in an offer of a bidirectional connection",
        count,
        MAX_LISTEN_POINTS,
    )?;
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        points.push(IiopEndpoint { host: d.string()?.into_owned(), port: d.ushort()? });
    }
    Ok(points)
}

/// Maximum number of non-TCP addresses in an offer, each of which is checked.
pub const MAX_LISTEN_ADDRESSES: usize = 16;

/// Maximum length of one address in an offer, in octets: the longest path of a UNIX socket, with
/// its identity and sizes.
pub const MAX_LISTEN_ADDRESS: usize = 512;

/// Returns the data of OxORB's own service context: the addresses at which the sender listens,
/// other than hosts and ports of TCP. The data is a sequence of strings in an encapsulation. Each
/// string is canonical, `SCHEME:PLACE|IDENTITY` (`unix:/run/bank|uid=..`).
///
/// ```
/// use oxorb_object::{listen_addresses, parse_listen_addresses};
///
/// let data = listen_addresses(&["unix:/run/bank"]);
/// assert_eq!(parse_listen_addresses(&data)?, ["unix:/run/bank"]);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
pub fn listen_addresses(addresses: &[impl AsRef<str>]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), PUBLISHED, Dialect::GIOP_1_2);
    e.boolean(PUBLISHED.flag());
    e.ulong(addresses.len() as u32);
    for address in addresses {
        let address = address.as_ref().as_bytes();
        e.ulong(address.len() as u32 + 1);
        e.copy_octets(address);
        e.octet(0);
    }
    e.finish().to_vec()
}

/// Parses the data of OxORB's own service context of listening addresses.
///
/// # Errors
/// [`Malformed`] when it is malformed, or has more than [`MAX_LISTEN_ADDRESSES`], or an address of
/// more than [`MAX_LISTEN_ADDRESS`] octets.
pub fn parse_listen_addresses(data: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let count = d.length(None, MIN_ADDRESS)?;
    limit(
        "number of addresses in an offer of a bidirectional connection",
        count,
        MAX_LISTEN_ADDRESSES,
    )?;
    let mut addresses = Vec::with_capacity(count);
    for _ in 0..count {
        let address = d.string()?;
        limit(
            "octets of an address in an offer of a bidirectional connection",
            address.len(),
            MAX_LISTEN_ADDRESS,
        )?;
        addresses.push(address.into_owned());
    }
    Ok(addresses)
}

fn limit(what: &'static str, size: usize, limit: usize) -> Result<(), Malformed> {
    match size <= limit {
        true => Ok(()),
        false => Err(Malformed::Limit { what, size: size as u64, limit: limit as u64 }),
    }
}

/// Minimum size of an address, in octets: the length and the final NUL of an empty string.
const MIN_ADDRESS: usize = 5;

/// Minimum size of a listening point, in octets: an empty host and a port.
const MIN_POINT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Offer that JacORB 3.9 sends: big-endian, a single point.
    #[test]
    fn a_big_endian_offer() {
        let data = [
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 10, b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.',
            b'1', 0, 0x1F, 0x90,
        ];
        let expected = IiopEndpoint { host: "127.0.0.1".to_owned(), port: 8080 };
        assert_eq!(parse_listen_points(&data), Ok(vec![expected]));
    }

    #[test]
    fn too_many_and_too_short_are_refused() {
        let point = IiopEndpoint { host: String::new(), port: 1 };
        let offer = listen_points(&vec![point; MAX_LISTEN_POINTS + 1]);
        assert!(matches!(parse_listen_points(&offer), Err(Malformed::Limit { size: 65, .. })));
        assert!(parse_listen_points(&offer[..20]).is_err());
        assert!(parse_listen_points(&[]).is_err());
    }

    #[test]
    fn addresses_are_bounded_in_number_and_length() {
        let all = vec!["unix:/s"; MAX_LISTEN_ADDRESSES];
        let offer = listen_addresses(&all);
        assert_eq!(parse_listen_addresses(&offer).unwrap(), all);
        for length in 0..offer.len() {
            assert!(parse_listen_addresses(&offer[..length]).is_err());
        }
        let size = |offer: &[u8]| match parse_listen_addresses(offer) {
            Err(Malformed::Limit { size, .. }) => size,
            other => panic!("{other:?}"),
        };
        let many = listen_addresses(&vec![""; MAX_LISTEN_ADDRESSES + 1]);
        assert_eq!(size(&many), MAX_LISTEN_ADDRESSES as u64 + 1);
        let long = listen_addresses(&["x".repeat(MAX_LISTEN_ADDRESS + 1)]);
        assert_eq!(size(&long), MAX_LISTEN_ADDRESS as u64 + 1);
        // The offer declares 64 addresses, but contains none.
        assert!(parse_listen_addresses(&[1, 0, 0, 0, 64, 0, 0, 0]).is_err());
    }
}
