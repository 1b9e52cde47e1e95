//! Rewriting of a capture, so that each port has its own address.
//!
//! The GIOP dissector (Wireshark 4.0) joins fragments by the two addresses and the request id. On loopback all
//! addresses are equal, and ORBs number the requests of each connection alike: if two connections, or both directions
//! of one, send fragments of the same id at the same time, the dissector joins them into one message and reports the
//! rest as malformed ("KeyAddr key length bigger than packet size"). Only the port distinguishes them, so here it
//! becomes the address.

/// Sizes in octets of the file's header, and of each packet's header.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Magic number of pcap in this machine's byte order, with microseconds or nanoseconds.
const MAGIC: [u32; 2] = [0xA1B2_C3D4, 0xA1B2_3C4D];
const ETHERNET: u32 = 1;

/// Rewrites addresses in place: 127.0.0.1:21000 becomes 127.82.8.1:21000. The checksums are not corrected, because the
/// dissector does not need them.
///
/// # Errors
/// The format of the input, if it is no capture of Ethernet frames.
pub(super) fn by_port(capture: &mut [u8]) -> Result<(), String> {
    let word = |at: usize, octets: &[u8]| {
        let word = octets.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(word))
    };
    if !word(0, capture).is_some_and(|magic| MAGIC.contains(&magic)) {
        return Err("the capture is no pcap file of this machine".to_owned());
    }
    if word(20, capture) != Some(ETHERNET) {
        return Err("the capture is not of Ethernet frames".to_owned());
    }
    let mut rest = &mut capture[FILE_HEADER..];
    // A packet truncated at the end of the file is not changed.
    while let Some(length) = word(8, rest) {
        let Some((packet, next)) = rest.split_at_mut_checked(PACKET_HEADER + length as usize)
        else {
            break;
        };
        spread(&mut packet[PACKET_HEADER..]);
        rest = next;
    }
    Ok(())
}

/// Rewrites one frame if it is Ethernet, IPv4 and TCP.
fn spread(frame: &mut [u8]) {
    const IP: usize = 14;
    let [0x08, 0x00, version, ..] = frame.get(12..).unwrap_or_default() else {
        return;
    };
    let tcp = IP + usize::from(version & 0x0F) * 4;
    if version >> 4 != 4 || frame.get(IP + 9) != Some(&6) {
        return;
    }
    for (address, port) in [(IP + 12, tcp), (IP + 16, tcp + 2)] {
        if let Some(&[high, low]) = frame.get(port..port + 2) {
            frame[address + 1..address + 4].copy_from_slice(&[high, low, 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture;
    use super::*;

    const ID: u32 = 0x80_0000;

    /// Returns a GIOP 1.2 request in two fragments.
    fn fragments(key: &[u8], operation: &str) -> [Vec<u8>; 2] {
        let mut octets = Vec::new();
        let word = |octets: &mut Vec<u8>, word: usize| {
            octets.resize(octets.len().next_multiple_of(4), 0);
            octets.extend((word as u32).to_le_bytes());
        };
        octets.extend(ID.to_le_bytes());
        octets.extend([3, 0, 0, 0, 0, 0]);
        word(&mut octets, key.len());
        octets.extend(key);
        word(&mut octets, operation.len() + 1);
        octets.extend(operation.bytes());
        octets.push(0);
        word(&mut octets, 0);
        // Arguments follow the header at a multiple of 8 of the whole message.
        octets.resize(112 - 12, 0);
        octets.extend([0x7F; 40]);
        let message = |kind: u8, flags: u8, body: &[u8]| {
            let mut message = b"GIOP\x01\x02".to_vec();
            message.extend([flags, kind]);
            message.extend((body.len() as u32).to_le_bytes());
            message.extend(body);
            message
        };
        let (first, last) = octets.split_at(116 - 12);
        let last = [&ID.to_le_bytes(), last].concat();
        [message(0, 3, first), message(7, 1, &last)]
    }

    /// Returns a packet of a connection from this port to port 21000.
    fn packet(source: u16, sequence: usize, data: &[u8]) -> Vec<u8> {
        let mut packet = [0; 12].to_vec();
        packet.extend([0x08, 0x00, 0x45, 0]);
        packet.extend(((40 + data.len()) as u16).to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        packet.extend(source.to_be_bytes());
        packet.extend(21_000_u16.to_be_bytes());
        packet.extend((sequence as u32).to_be_bytes());
        packet.extend([0, 0, 0, 1, 0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
        packet.extend(data);
        packet
    }

    /// Returns a capture of two connections with interleaved fragments of one request id.
    fn interleaved() -> Vec<u8> {
        let one = fragments(&[b'K'; 20], "one");
        let other = fragments(&[b'Q'; 24], "another");
        let packets = [
            packet(40_000, 1, &one[0]),
            packet(40_001, 1, &other[0]),
            packet(40_000, 1 + one[0].len(), &one[1]),
            packet(40_001, 1 + other[0].len(), &other[1]),
        ];
        let mut file = Vec::new();
        for word in [MAGIC[0], 0x0004_0002, 0, 0, 0x4_0000, ETHERNET] {
            file.extend(word.to_ne_bytes());
        }
        for packet in packets {
            let length = packet.len() as u32;
            for word in [0, 0, length, length] {
                file.extend(word.to_ne_bytes());
            }
            file.extend(packet);
        }
        file
    }

    /// Case that the interoperability test sporadically reported as malformed, and its solution.
    #[test]
    fn fragments_of_two_connections_are_not_joined() {
        if !oxorb_testkit::peers::is_there("tshark") {
            return;
        }
        let mut file = interleaved();
        let path = std::env::temp_dir().join(format!("oxorb-apart-{}.pcap", std::process::id()));
        let mut malformed = || {
            std::fs::write(&path, &file).unwrap();
            let text = capture::dissect(&path, &[21_000], true).unwrap();
            assert_eq!(text.lines().count(), 4, "{text}");
            by_port(&mut file).unwrap();
            text.contains("Malformed")
        };
        let (together, apart) = (malformed(), malformed());
        std::fs::remove_file(&path).unwrap();
        assert!(together, "the dissector tells them apart itself: by_port can go");
        assert!(!apart);
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        assert!(by_port(&mut []).is_err());
        assert!(by_port(&mut [0; 64]).is_err());
        let mut cut = interleaved();
        cut.truncate(200);
        assert!(by_port(&mut cut).is_ok());
    }
}
