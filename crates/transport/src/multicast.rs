//! Settings for messages to groups.

/// Settings for messages to groups, for transports that support groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// Outgoing interface, as its name or one of its addresses; `None`: the one that the system's
    /// routes select.
    pub interface: Option<String>,
    /// Time to live, the number of routers passed plus one: 0 keeps messages on this host, 1 on its
    /// networks.
    pub ttl: u8,
    /// Whether members on this host receive the messages.
    pub loopback: bool,
    /// Largest datagram in octets, including the header of the group protocol.
    pub packet: usize,
}

impl Default for Multicast {
    fn default() -> Self {
        Multicast { interface: None, ttl: 1, loopback: true, packet: Multicast::USUAL_PACKET }
    }
}

impl Multicast {
    /// Default of `packet`: the size in octets of a datagram that one Ethernet frame carries over
    /// IPv6.
    pub const USUAL_PACKET: usize = 1452;

    /// Smallest allowed `packet`.
    pub const LEAST_PACKET: usize = 272;

    /// Largest datagram in octets over UDP and IPv4.
    pub const MOST_PACKET: usize = 65_507;

    /// Parses `interface=eth0,ttl=4,loopback=no,packet=1400`, any part of which may be missing.
    ///
    /// # Errors
    /// Sentence about the fault.
    pub fn parse(text: &str) -> Result<Multicast, String> {
        let mut multicast = Multicast::default();
        for one in text.split(',').filter(|one| !one.is_empty()) {
            let (name, value) = one.split_once('=').unwrap_or((one, ""));
            match name {
                "interface" if !value.is_empty() => multicast.interface = Some(value.to_owned()),
                "ttl" => {
                    multicast.ttl =
                        value.parse().map_err(|_| format!("ttl={value}: expected 0 to 255"))?;
                }
                "loopback" if value == "yes" => multicast.loopback = true,
                "loopback" if value == "no" => multicast.loopback = false,
                "packet" => {
                    let (least, most) = (Multicast::LEAST_PACKET, Multicast::MOST_PACKET);
                    let packet = value.parse().ok();
                    let packet = packet.filter(|octets| (least..=most).contains(octets));
                    multicast.packet = packet
                        .ok_or_else(|| format!("packet={value}: expected {least} to {most}"))?;
                }
                _ => {
                    return Err(format!(
                        "{one}: expected interface=NAME, ttl=0..255, loopback=yes|no or packet=OCTETS, separated by commas"
                    ));
                }
            }
        }
        Ok(multicast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_faults_named() {
        assert_eq!(Multicast::parse(""), Ok(Multicast::default()));
        let read = Multicast::parse("interface=lo,ttl=0,loopback=no,packet=272").unwrap();
        let expected =
            Multicast { interface: Some("lo".to_owned()), ttl: 0, loopback: false, packet: 272 };
        assert_eq!(read, expected);
        for fault in ["ttl=256", "packet=271", "loopback=maybe", "interface=", "speed=1", "ttl"] {
            assert!(Multicast::parse(fault).is_err(), "{fault}");
        }
    }
}
