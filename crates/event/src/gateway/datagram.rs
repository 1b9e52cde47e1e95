//! Datagrams of TAO's multicast gateway. They contain a message in fragments, and each fragment follows a header of 32
//! octets.
//!
//! ```text
//!  0  octet 0 or 1: byte order of header and message    4  ulong number of the message    8  ulong octets of the message
//!  1  'A' 'B' 'C'                                      12  ulong octets here             16  ulong where they begin
//!                                                      20  ulong number of the fragment  24  ulong fragments in all
//!                                                      28  CRC-32 of all but these four, most significant octet first; or 0
//! ```

use std::fmt;

use oxorb::values::ByteOrder;

/// Size of a header in octets.
pub const HEADER: usize = 32;

/// Minimum size in octets of a datagram, including its header (TAO's limit).
pub const LEAST_MTU: usize = 40;

/// Maximum size in octets of a datagram, including its header. This is the limit of UDP over IPv4.
pub const MOST_MTU: usize = 65_507;

/// Minimum size in octets of a fragment that is not the last.
const LEAST_FRAGMENT: u32 = (LEAST_MTU - HEADER) as u32;

/// Offset of the checksum.
const CHECKSUM: usize = 28;

/// Header of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Byte order of the header and of the message.
    pub order: ByteOrder,
    /// Number of the message, counted by its sender.
    pub message: u32,
    /// Length of the message in octets.
    pub size: u32,
    /// Offset of the fragment in the message.
    pub offset: u32,
    /// Number of the fragment, from 0.
    pub fragment: u32,
    /// Total number of fragments.
    pub count: u32,
}

/// Error in a datagram.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// The datagram is shorter than a header.
    #[error("the datagram is shorter than the gateway's header of 32 octets")]
    Short,
    /// The datagram does not begin with a byte order and `ABC`, so it does not come from an event gateway.
    #[error(
        "the datagram does not begin like those of an event gateway: another kind of sender uses this address"
    )]
    Foreign,
    /// Sizes, offsets and numbers contradict each other or the length of the datagram.
    #[error("sizes and numbers in the header of the datagram contradict each other")]
    Contradiction,
    /// The checksum is wrong, because the datagram was damaged or its sender computes no checksums.
    #[error(
        "the checksum is wrong: the datagram was damaged, or its sender computes no checksums (option `checksum`)"
    )]
    Checksum,
}

impl fmt::Debug for DatagramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the header and the octets of the fragment that a datagram contains. If `checksum` is set, the sender
/// computes checksums, and the checksum of the datagram is verified.
///
/// ```
/// use oxorb_event::gateway::datagram;
///
/// let mut sent = Vec::new();
/// let mut buffer = Vec::new();
/// datagram::split(b"13 octets, so", 7, 40, true, &mut buffer, |one| {
///     sent.push(one.to_vec());
///     Ok::<(), std::io::Error>(())
/// })?;
/// assert_eq!(sent.len(), 2);
/// let (header, octets) = datagram::read(&sent[1], true)?;
/// assert_eq!((header.message, header.fragment, header.count, header.size), (7, 1, 2, 13));
/// assert_eq!(octets, b"s, so");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`DatagramError`]
pub fn read(datagram: &[u8], checksum: bool) -> Result<(Header, &[u8]), DatagramError> {
    let (head, octets) = datagram.split_at_checked(HEADER).ok_or(DatagramError::Short)?;
    let order = match head[..4] {
        [0, b'A', b'B', b'C'] => ByteOrder::Big,
        [1, b'A', b'B', b'C'] => ByteOrder::Little,
        _ => return Err(DatagramError::Foreign),
    };
    let ulong = |at: usize| {
        let octets = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        match order {
            ByteOrder::Big => u32::from_be_bytes(octets),
            ByteOrder::Little => u32::from_le_bytes(octets),
        }
    };
    let header = Header {
        order,
        message: ulong(4),
        size: ulong(8),
        offset: ulong(16),
        fragment: ulong(20),
        count: ulong(24),
    };
    let length = octets.len();
    let end = u64::from(header.offset) + length as u64;
    let alone = header.count == 1;
    let fits = ulong(12) as usize == length
        && end <= u64::from(header.size)
        && header.fragment < header.count
        && header.count <= header.size / LEAST_FRAGMENT + 1
        && (!alone || length as u64 == u64::from(header.size));
    if !fits {
        return Err(DatagramError::Contradiction);
    }
    let sent = [head[28], head[29], head[30], head[31]];
    if checksum && sent != checksum_of(&head[..CHECKSUM], octets) {
        return Err(DatagramError::Checksum);
    }
    Ok((header, octets))
}

/// Splits a message into datagrams of at most `mtu` octets, writes one after the other to `buffer`, and calls `send`
/// for each. The message is in this machine's byte order. `mtu` must be between [`LEAST_MTU`] and [`MOST_MTU`].
///
/// # Errors
/// The first error of `send`. After it, no further datagram is sent.
pub fn split<E>(
    message: &[u8],
    number: u32,
    mtu: usize,
    checksum: bool,
    buffer: &mut Vec<u8>,
    mut send: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let most = mtu.clamp(LEAST_MTU, MOST_MTU) - HEADER;
    let count = message.len().div_ceil(most).max(1);
    for fragment in 0..count {
        let offset = fragment * most;
        let octets = &message[offset..message.len().min(offset + most)];
        buffer.clear();
        let little = ByteOrder::NATIVE == ByteOrder::Little;
        buffer.extend_from_slice(&[u8::from(little), b'A', b'B', b'C']);
        let numbers = [number as usize, message.len(), octets.len(), offset, fragment, count];
        for number in numbers {
            buffer.extend_from_slice(&(number as u32).to_ne_bytes());
        }
        let sum = match checksum {
            true => checksum_of(buffer, octets),
            false => [0; 4],
        };
        buffer.extend_from_slice(&sum);
        buffer.extend_from_slice(octets);
        send(buffer)?;
    }
    Ok(())
}

fn checksum_of(head: &[u8], octets: &[u8]) -> [u8; 4] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(octets);
    sum.finalize().to_be_bytes()
}
