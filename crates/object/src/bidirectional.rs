//! What a client says that offers its connection for requests of the other side (BI_DIR_IIOP).

use oxorb_cdr::{Decoder, Dialect, Encoder};

use crate::iiop_profile::PUBLISHED;
use crate::{IiopEndpoint, Malformed};

/// Most listening points accepted in one offer; real ORBs send one or two.
pub const MAX_LISTEN_POINTS: usize = 64;

/// The data of the BI_DIR_IIOP service context: where the sender listens, so that references to its objects are known
/// by their address (CORBA 3.3 part 2, 9.9.1).
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

/// Reads the data of the BI_DIR_IIOP service context.
///
/// # Errors
/// [`Malformed`] when it is malformed or names more than [`MAX_LISTEN_POINTS`].
pub fn parse_listen_points(data: &[u8]) -> Result<Vec<IiopEndpoint>, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let count = d.length(None, MIN_POINT)?;
    if count > MAX_LISTEN_POINTS {
        return Err(Malformed::Limit {
            what: "number of listening points in an offer of a bidirectional connection",
            size: count as u64,
            limit: MAX_LISTEN_POINTS as u64,
        });
    }
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        points.push(IiopEndpoint {
            host: d.string()?.into_owned(),
            port: d.ushort()?,
        });
    }
    Ok(points)
}

/// Octets of the smallest listening point: an empty host and a port.
const MIN_POINT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// As JacORB 3.9 sends it: big-endian, one point.
    #[test]
    fn a_big_endian_offer() {
        let data = [
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 10, b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.',
            b'1', 0, 0x1F, 0x90,
        ];
        let expected = IiopEndpoint {
            host: "127.0.0.1".to_owned(),
            port: 8080,
        };
        assert_eq!(parse_listen_points(&data), Ok(vec![expected]));
    }

    #[test]
    fn too_many_and_too_short_are_refused() {
        let point = IiopEndpoint {
            host: String::new(),
            port: 1,
        };
        let offer = listen_points(&vec![point; MAX_LISTEN_POINTS + 1]);
        assert!(matches!(
            parse_listen_points(&offer),
            Err(Malformed::Limit { size: 65, .. })
        ));
        assert!(parse_listen_points(&offer[..20]).is_err());
        assert!(parse_listen_points(&[]).is_err());
    }
}
