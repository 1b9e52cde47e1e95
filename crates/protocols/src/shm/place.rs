//! Endpoints and addresses of shared memory, and their grammar.

use crate::unix::{Name, OwnOption, read_urls};
use oxorb_core::policy::LargePayloads;
use oxorb_sys::shared;
use oxorb_transport::{Address, Endpoint, EndpointError, Pages, Part};

use crate::shm::SCHEME;
use crate::shm::segment::Sizes;

/// Default size of a ring, in octets.
pub const DEFAULT_RING: u32 = 128 << 10;

/// Size of the smallest ring, in octets: a page.
pub const MIN_RING: u32 = 4 << 10;

/// Size of the largest ring, in octets.
pub const MAX_RING: u32 = 64 << 20;

/// Default size of the blocks of a direction, in octets.
pub const DEFAULT_BLOCKS: u32 = 4 << 20;

/// Largest size of the blocks of a direction, in octets.
pub const MAX_BLOCKS: u32 = 256 << 20;

/// Place of an [`Endpoint`] and of an address of shared memory.
///
/// # Grammar
///
/// The grammar of UNIX sockets ([`Place`](crate::unix::Place)), plus four options. The ORB reads
/// the last two, which override its own settings (`-ORBLargePayloads`, `-ORBSharedPages`).
/// Addresses begin with non-default sizes, as the client creates the memory.
///
/// ```text
/// option    = "ring=" octets | "blocks=" octets | "mode=" octal | ( "allow=" | "deny=" ) who
///           | "payloads=" ( "copied" | "single-copy" | "in-place" | "in-place-only" )
///           | "pages=" ( "on-demand" | "resident" | "locked" | "huge" | "huge-locked" | "give-back:" milliseconds )
/// octets    = number [ "K" | "M" ]
/// address   = "shm:" [ ring [ "+" blocks ] ":" ] ( path | "@" name )
/// ```
///
/// ```
/// use oxorb_protocols::shm::{Place, Shm};
/// use oxorb_transport::{Notation, Part, Transport};
///
/// let endpoint = &Shm.endpoints(Notation::Url, Part::new("/run/bank|ring=1M"))?[0];
/// assert_eq!(Place::of(endpoint).ring, 1 << 20);
/// assert_eq!(Shm.own_address(endpoint).to_string(), "shm:1048576:/run/bank");
/// # Ok::<(), oxorb_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the UNIX socket where both processes connect.
    pub name: Name,
    /// Size of the ring of each direction, in octets: the size that clients create, and the largest
    /// that a server accepts. A power of two from [`MIN_RING`] to [`MAX_RING`].
    pub ring: u32,
    /// Size of the memory for large payloads of each direction, in octets, with the same roles: a
    /// multiple of 4096 up to [`MAX_BLOCKS`]. With 0 all payloads pass through the rings.
    pub blocks: u32,
}

const RING: &str = "ring";
const BLOCKS: &str = "blocks";

impl Place {
    /// Returns the place of an endpoint that this transport made.
    pub fn of(endpoint: &Endpoint) -> Self {
        let option = |which: &str| endpoint.option(which).and_then(octets);
        Self {
            name: crate::unix::Place::of(endpoint).name,
            ring: option(RING).unwrap_or(DEFAULT_RING),
            blocks: option(BLOCKS).unwrap_or(DEFAULT_BLOCKS),
        }
    }

    /// Parses the place of an address.
    ///
    /// # Errors
    /// Sentence about an address of another transport, or an invalid one.
    pub fn at(address: &Address) -> Result<Self, String> {
        if address.of(SCHEME).is_none() {
            return Err(format!("{address} is not an address in shared memory"));
        }
        let place = address.name();
        let (sizes, name) = match place.split_once(':') {
            Some((sizes, name)) if !place.starts_with(['/', '@']) => (Some(sizes), name),
            _ => (None, place),
        };
        let (ring, blocks) = match sizes.map(|sizes| sizes.split_once('+')) {
            Some(Some((ring, blocks))) => (Some(ring), Some(blocks)),
            Some(None) => (sizes, None),
            None => (None, None),
        };
        let ring = match ring {
            None => DEFAULT_RING,
            Some(text) => octets(text)
                .filter(|ring| is_ring(*ring))
                .ok_or_else(|| format!("{text} in {address}: {RINGS}"))?,
        };
        let blocks = match blocks {
            None => DEFAULT_BLOCKS,
            Some(text) => octets(text)
                .filter(|blocks| are_blocks(*blocks))
                .ok_or_else(|| format!("{text} in {address}: {MULTIPLES}"))?,
        };
        Ok(Self { ring, blocks, name: Name::read(name)? })
    }

    pub(crate) fn sizes(&self) -> Sizes {
        Sizes { ring: self.ring, blocks: self.blocks }
    }

    /// Returns the address of the place.
    pub fn address(&self) -> Address {
        match (self.ring, self.blocks) {
            (DEFAULT_RING, DEFAULT_BLOCKS) => self.name.address(SCHEME),
            (ring, DEFAULT_BLOCKS) => Address::new(SCHEME, &format!("{ring}:{}", self.name)),
            (ring, blocks) => Address::new(SCHEME, &format!("{ring}+{blocks}:{}", self.name)),
        }
    }
}

const MULTIPLES: &str =
    "the size of blocks must be a multiple of 4096 (4K) up to 268435456 (256M), as in blocks=16M";

const RINGS: &str =
    "the size of a ring must be a power of two from 4096 (4K) to 67108864 (64M), as in ring=256K";

/// Parses the text of endpoints.
pub(crate) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    let ring = OwnOption {
        name: RING,
        read: |value| match octets(value.text()).filter(|ring| is_ring(*ring)) {
            Some(DEFAULT_RING) => Ok(None),
            Some(octets) => Ok(Some(octets.to_string())),
            None => Err(value.error(RINGS)),
        },
    };
    let blocks = OwnOption {
        name: BLOCKS,
        read: |value| match octets(value.text()).filter(|blocks| are_blocks(*blocks)) {
            Some(DEFAULT_BLOCKS) => Ok(None),
            Some(octets) => Ok(Some(octets.to_string())),
            None => Err(value.error(MULTIPLES)),
        },
    };
    let payloads = OwnOption {
        name: Endpoint::PAYLOADS,
        read: |value| match value.text().parse::<LargePayloads>() {
            Ok(_) => Ok(Some(value.text().to_owned())),
            Err(problem) => Err(value.error(problem)),
        },
    };
    let pages = OwnOption {
        name: Endpoint::PAGES,
        read: |value| match value.text().parse::<Pages>() {
            Ok(_) => Ok(Some(value.text().to_owned())),
            Err(problem) => Err(value.error(problem)),
        },
    };
    let all = "the options are ring, blocks, payloads, pages, mode, allow and deny";
    read_urls(text, SCHEME, &[ring, blocks, payloads, pages], all)
}

/// Parses a size.
fn octets(text: &str) -> Option<u32> {
    let (number, shift) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 10),
        None => text.strip_suffix(['M', 'm']).map_or((text, 0), |number| (number, 20)),
    };
    let digits = number.bytes().all(|it| it.is_ascii_digit());
    let number: u32 = number.parse().ok().filter(|_| digits)?;
    number.checked_mul(1 << shift)
}

/// Reports whether rings may have this size.
pub(crate) fn is_ring(octets: u32) -> bool {
    octets.is_power_of_two() && (MIN_RING..=MAX_RING).contains(&octets)
}

/// Reports whether the blocks of a direction may have this total size.
pub(crate) fn are_blocks(octets: u32) -> bool {
    octets.is_multiple_of(shared::HEADER as u32) && octets <= MAX_BLOCKS
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
        for text in ["2K", "128M", "5000", "0", "", "K", "+4K", "4097M", "9999999999", "4KK"] {
            let error = read(&format!("/a|ring={text}")).unwrap_err();
            assert!(error.contains("power of two"), "{text}: {error}");
        }
        let error = read("/a|rings=4K").unwrap_err();
        assert!(error.contains("ring, blocks, payloads, pages, mode, allow and deny"), "{error}");
        assert_eq!(read("/a").unwrap().blocks, DEFAULT_BLOCKS);
        for (text, blocks) in [("0", 0), ("12K", 12 << 10), ("256M", MAX_BLOCKS)] {
            let place = read(&format!("/a|blocks={text}")).unwrap();
            assert_eq!((place.ring, place.blocks), (DEFAULT_RING, blocks));
        }
        for text in ["1", "4097", "257M", ""] {
            let error = read(&format!("/a|blocks={text}")).unwrap_err();
            assert!(error.contains("multiple of 4096"), "{text}: {error}");
        }
        let error = read("a").unwrap_err();
        assert!(error.contains("shm:///a"), "{error}");
    }

    #[test]
    fn options_of_the_orb_are_read_and_written() {
        let text = "/a|ring=4K&payloads=single-copy&pages=give-back:50";
        let endpoint = &url(Part::new(text)).unwrap()[0];
        assert_eq!(endpoint.option(Endpoint::PAYLOADS), Some("single-copy"));
        assert_eq!(endpoint.option(Endpoint::PAGES), Some("give-back:50"));
        let written = endpoint.to_string();
        let again = url(Part::new(written.strip_prefix("shm://").unwrap())).unwrap();
        assert_eq!(&again[0], endpoint);
        for (text, part) in [
            ("/a|payloads=none", "expected copied, single-copy"),
            ("/a|pages=", "expected on-demand|resident"),
            ("/a|pages=give-back:9", "at least 10 milliseconds"),
            ("/a|pages=give-back:+50", "expected"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_has_the_ring_that_is_not_the_default() {
        for text in [
            "shm:/run/a",
            "shm:4096:/run/a",
            "shm:@name",
            "shm:8192:@a:b",
            "shm:/a:b",
            "shm:131072+0:/run/a",
            "shm:4096+8192:@a",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(Place::at(&address).unwrap().address(), address);
        }
        for (text, part) in [
            ("unix:/a", "not an address in shared memory"),
            ("shm:5:/a", "power of two"),
            ("shm:x:/a", "power of two"),
            ("shm:4096:", "missing"),
            ("shm:4096+5:/a", "multiple of 4096"),
            ("shm:+4096:/a", "power of two"),
            ("shm:", "missing"),
        ] {
            let error = Place::at(&text.parse().unwrap()).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
