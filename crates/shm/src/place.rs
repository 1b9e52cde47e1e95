//! Endpoints and addresses, and their grammar.

use oxorb_transport::{Address, Endpoint, EndpointError, Part};
use oxorb_uiop::{Name, OwnOption, read_urls};

use crate::SCHEME;

/// Octets of a ring, unless an endpoint says otherwise.
pub const DEFAULT_RING: u32 = 128 << 10;

/// Octets of the smallest ring: a page.
pub const MIN_RING: u32 = 4 << 10;

/// Octets of the largest ring.
pub const MAX_RING: u32 = 64 << 20;

/// The part of an [`Endpoint`] and of an address that shared memory understands.
///
/// # Grammar
///
/// That of UNIX sockets ([`oxorb_uiop::Place`]), and one option more. Addresses have the ring in front
/// where it is not the default, since the client makes the memory.
///
/// ```text
/// option    = "ring=" number [ "K" | "M" ] | "mode=" octal | ( "allow=" | "deny=" ) who
/// address   = "shm:" [ ring ":" ] ( path | "@" name )
/// ```
///
/// ```
/// use oxorb_shm::{Place, Shm};
/// use oxorb_transport::{Notation, Part, Transport};
///
/// let endpoint = &Shm.endpoints(Notation::Url, Part::new("/run/bank|ring=1M"))?[0];
/// assert_eq!(Place::of(endpoint).ring, 1 << 20);
/// assert_eq!(Shm.own_address(endpoint).to_string(), "shm:1048576:/run/bank");
/// # Ok::<(), oxorb_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the UNIX socket at which both meet.
    pub name: Name,
    /// Octets of the ring of each direction: what clients make, and what a server takes at most. A
    /// power of two from [`MIN_RING`] to [`MAX_RING`].
    pub ring: u32,
}

const RING: &str = "ring";

impl Place {
    /// Reads the place out of an endpoint that this transport made.
    pub fn of(endpoint: &Endpoint) -> Self {
        let ring = endpoint.options.iter().find(|(name, _)| *name == RING);
        Self {
            name: oxorb_uiop::Place::of(endpoint).name,
            ring: ring
                .and_then(|(_, value)| octets(value))
                .unwrap_or(DEFAULT_RING),
        }
    }

    /// Reads the place out of an address.
    ///
    /// # Errors
    /// A sentence, when it is of another transport, or cannot be.
    pub fn at(address: &Address) -> Result<Self, String> {
        if address.of(SCHEME).is_none() {
            return Err(format!("{address} is no address in shared memory"));
        }
        let place = address.name();
        let (ring, name) = match place.split_once(':') {
            Some((ring, name)) if !place.starts_with(['/', '@']) => (Some(ring), name),
            _ => (None, place),
        };
        let read = |ring| octets(ring).ok_or_else(|| format!("{ring} in {address}: {PROBLEM}"));
        Ok(Self {
            ring: ring.map_or(Ok(DEFAULT_RING), read)?,
            name: Name::read(name)?,
        })
    }

    /// Returns the address of the place.
    pub fn address(&self) -> Address {
        match self.ring {
            DEFAULT_RING => self.name.address(SCHEME),
            ring => Address::new(SCHEME, &format!("{ring}:{}", self.name)),
        }
    }
}

const PROBLEM: &str =
    "the octets of a ring are a power of two from 4096 (4K) to 67108864 (64M), as in ring=256K";

/// Reads the notation of endpoints.
pub(crate) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    let ring = OwnOption {
        name: RING,
        read: |value| match octets(value.text()) {
            Some(DEFAULT_RING) => Ok(None),
            Some(octets) => Ok(Some(octets.to_string())),
            None => Err(value.error(PROBLEM)),
        },
    };
    let all = "the options are ring, mode, allow and deny";
    read_urls(text, SCHEME, &[ring], all)
}

/// Reads the size of a ring.
fn octets(text: &str) -> Option<u32> {
    let (number, shift) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 10),
        None => text
            .strip_suffix(['M', 'm'])
            .map_or((text, 0), |number| (number, 20)),
    };
    let digits = number.bytes().all(|it| it.is_ascii_digit());
    let number: u32 = number.parse().ok().filter(|_| digits)?;
    number
        .checked_mul(1 << shift)
        .filter(|octets| is_ring(*octets))
}

/// Whether rings may have that size.
pub(crate) fn is_ring(octets: u32) -> bool {
    octets.is_power_of_two() && (MIN_RING..=MAX_RING).contains(&octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Place, String> {
        let read = url(Part::new(text)).map_err(|error| error.to_string())?;
        Ok(Place::of(&read[0]))
    }

    #[test]
    fn sizes_of_rings_are_powers_of_two_within_limits() {
        for (text, ring) in [
            ("/a", DEFAULT_RING),
            ("/a|ring=4096", 4096),
            ("/a|ring=4K", 4096),
            ("/a|mode=600&ring=64M", MAX_RING),
            ("@a|ring=1m&ring=128K", DEFAULT_RING),
        ] {
            assert_eq!(read(text).unwrap().ring, ring, "{text}");
        }
        for text in [
            "2K",
            "128M",
            "5000",
            "0",
            "",
            "K",
            "+4K",
            "4097M",
            "9999999999",
            "4KK",
        ] {
            let error = read(&format!("/a|ring={text}")).unwrap_err();
            assert!(error.contains("power of two"), "{text}: {error}");
        }
        let error = read("/a|rings=4K").unwrap_err();
        assert!(error.contains("ring, mode, allow and deny"), "{error}");
        let error = read("a").unwrap_err();
        assert!(error.contains("shm:///a"), "{error}");
    }

    #[test]
    fn an_address_has_the_ring_that_is_not_the_default() {
        for text in [
            "shm:/run/a",
            "shm:4096:/run/a",
            "shm:@name",
            "shm:8192:@a:b",
            "shm:/a:b",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(Place::at(&address).unwrap().address(), address);
        }
        for (text, part) in [
            ("unix:/a", "no address in shared memory"),
            ("shm:5:/a", "power of two"),
            ("shm:x:/a", "power of two"),
            ("shm:4096:", "missing"),
            ("shm:", "missing"),
        ] {
            let error = Place::at(&text.parse().unwrap()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
