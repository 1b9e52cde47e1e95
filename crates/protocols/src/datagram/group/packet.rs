//! Packets of MIOP 1.0: the header before each part of a message.

/// Size of the header when sent, with a collection id of [`SENT_ID`] octets.
pub const HEADER: usize = 32;

/// Size of the collection ids sent, in octets: with the size of TAO's, no padding follows the
/// header.
pub const SENT_ID: usize = 12;

/// Largest size of a collection id, in octets.
pub const MOST_ID: usize = 252;

/// Size of the header before the id, in octets.
const FIXED: usize = 20;

const MAGIC: [u8; 4] = *b"MIOP";

/// Version 1.0, a nibble each.
const VERSION: u8 = 0x10;

const LITTLE: u8 = 1;

const LAST: u8 = 2;

/// Parsed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'p> {
    /// Id of the collection of packets that make a message; unique for its source.
    pub id: &'p [u8],
    /// Index of the packet in its collection, from 0.
    pub number: u32,
    /// Number of packets of the collection; 0: unknown.
    pub of: u32,
    /// Whether the packet is the last of its collection.
    pub is_last: bool,
    /// Payload: octets of the message.
    pub payload: &'p [u8],
}

impl<'p> Packet<'p> {
    /// Parses a datagram; returns `None` if it is not a packet, or its size differs from that in
    /// the header.
    pub fn read(datagram: &'p [u8]) -> Option<Packet<'p>> {
        let (fixed, _) = datagram.split_first_chunk::<FIXED>()?;
        let &[b'M', b'I', b'O', b'P', VERSION, flags, ..] = fixed else {
            return None;
        };
        let little = flags & LITTLE != 0;
        let long = |at: usize| {
            let octets = [fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]];
            match little {
                true => u32::from_le_bytes(octets),
                false => u32::from_be_bytes(octets),
            }
        };
        let length = match little {
            true => u16::from_le_bytes([fixed[6], fixed[7]]),
            false => u16::from_be_bytes([fixed[6], fixed[7]]),
        };
        let id_length = usize::try_from(long(16)).ok()?;
        if id_length > MOST_ID {
            return None;
        }
        let id_end = FIXED + id_length;
        let id = datagram.get(FIXED..id_end)?;
        let payload = datagram.get(id_end.next_multiple_of(8)..)?;
        let (number, of, is_last) = (long(8), long(12), flags & LAST != 0);
        let fits = of == 0 || number < of && is_last == (number + 1 == of);
        let whole = payload.len() == usize::from(length);
        (fits && whole).then_some(Packet { id, number, of, is_last, payload })
    }
}

/// Returns the header of a packet to be sent, in native byte order. `octets` is the size of its
/// payload.
pub fn header(id: &[u8; SENT_ID], number: u32, of: u32, octets: u16) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let last = if number + 1 == of { LAST } else { 0 };
    let order = if cfg!(target_endian = "little") { LITTLE } else { 0 };
    header[..4].copy_from_slice(&MAGIC);
    header[4] = VERSION;
    header[5] = order | last;
    header[6..8].copy_from_slice(&octets.to_ne_bytes());
    header[8..12].copy_from_slice(&number.to_ne_bytes());
    header[12..16].copy_from_slice(&of.to_ne_bytes());
    header[16..20].copy_from_slice(&(SENT_ID as u32).to_ne_bytes());
    header[FIXED..].copy_from_slice(id);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_every_cut_refused() {
        let mut datagram = header(b"twelve octet", 2, 3, 5).to_vec();
        datagram.extend(b"hello");
        let packet = Packet::read(&datagram).unwrap();
        let expected =
            Packet { id: b"twelve octet", number: 2, of: 3, is_last: true, payload: b"hello" };
        assert_eq!(packet, expected);
        for cut in 0..datagram.len() {
            assert_eq!(Packet::read(&datagram[..cut]), None, "{cut}");
        }
        datagram.push(0);
        assert_eq!(Packet::read(&datagram), None, "one octet too many");
    }

    #[test]
    fn the_other_byte_order_and_padding_behind_the_id_are_understood() {
        let mut datagram = b"MIOP\x10\x02\0\x02\0\0\0\0\0\0\0\0\0\0\0\x05ident".to_vec();
        datagram.extend([0; 7]);
        datagram.extend(b"ab");
        let packet = Packet::read(&datagram).unwrap();
        assert_eq!((packet.id, packet.payload), (&b"ident"[..], &b"ab"[..]));
        assert_eq!((packet.number, packet.of, packet.is_last), (0, 0, true));
    }

    #[test]
    fn contradictions_are_refused() {
        let mut good = header(b"twelve octet", 0, 2, 0).to_vec();
        assert!(Packet::read(&good).is_some());
        for (at, octet) in [(0, b'm'), (4, 0x11), (5, good[5] | LAST), (6, 1), (16, 253), (8, 2)] {
            let before = std::mem::replace(&mut good[at], octet);
            // The offsets of numbers above are those of their low octets in little-endian order.
            if cfg!(target_endian = "little") {
                assert_eq!(Packet::read(&good), None, "octet {at}");
            }
            good[at] = before;
        }
    }
}
