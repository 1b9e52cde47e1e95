//! Entry points of the fuzz targets of datagrams and groups: no input may cause a panic or a hang, or
//! make a session hold more octets than a datagram has.

use std::io::IoSlice;

use oxorb_core::protocol::ProfileKind;
use oxorb_object::{TaggedProfile, profile_tag};
use oxorb_transport::{Notation, Part, Transport};

use crate::datagram::message::Header;
use crate::datagram::{Arrival, Departure, Diop, Role, Session, USUAL_MOST, Udp};

/// Splits `data` into datagrams, each after an octet with its length and direction, and passes them
/// to a client and a server; then parses it as a profile, a URL and an endpoint.
pub fn datagrams(data: &[u8]) {
    let nonce = 0x0102_0304_0506_0708;
    let [client, server] =
        [Role::Client, Role::Server].map(|role| Session::new(role, USUAL_MOST, nonce));
    let mut rest = data;
    let (mut came, mut left) = (0, 0);
    while let Some((&first, more)) = rest.split_first() {
        let (datagram, more) = more.split_at(usize::from(first >> 1).min(more.len()));
        rest = more;
        let to = if first & 1 == 0 { &server } else { &client };
        match to.arrived(datagram) {
            Arrival::Message => {
                let header = Header::read(datagram).expect("it is a message");
                assert_eq!(header.octets, datagram.len());
                // If the datagram arrives a second time, a request or reply is dropped, and a cancel is accepted again.
                match to.arrived(datagram) {
                    Arrival::Message if first & 1 == 0 => came += datagram.len(),
                    again => assert!(matches!(again, Arrival::Message | Arrival::Dropped(_))),
                }
            }
            Arrival::Release(held) => {
                assert!(held.len() <= USUAL_MOST);
                left = 0;
                came = usize::MAX / 2;
            }
            Arrival::Dropped(_) | Arrival::Respond(_) => {}
        }
        if first & 1 == 0 {
            came += datagram.len();
        }
        // The server must not send more octets to an unverified source than it received, so both are counted.
        if let Some(header) = Header::read(datagram).filter(|it| it.octets == datagram.len()) {
            match server.departs(header, &[IoSlice::new(datagram)]) {
                Departure::Send => left += datagram.len(),
                Departure::Hold(challenge) => left += challenge.map_or(0, |word| word.len()),
                Departure::Skip | Departure::Refuse => {}
            }
            assert!(left <= came, "more than came from an unverified source");
        }
    }
    let tagged = TaggedProfile { tag: profile_tag::TAO_DIOP, data: data.to_vec() };
    if let Ok(read) = Diop.read(&tagged) {
        let again = Diop.read(&Diop.write(&read)).expect("it was written");
        assert_eq!((again.addresses.first(), again.key), (read.addresses.first(), read.key));
    }
    if let Ok(text) = str::from_utf8(data) {
        if let Ok(located) = Diop.locate(text) {
            assert!(text.ends_with(located.rest));
        }
        if let Ok(endpoints) = Udp.endpoints(Notation::Url, Part::new(text)) {
            for endpoint in endpoints {
                let written = endpoint.to_string();
                let (_, behind) = written.split_once("://").expect("a protocol");
                let again = Udp.endpoints(Notation::Url, Part::new(behind));
                assert_eq!(again.expect("it was written"), [endpoint]);
            }
        }
    }
}
