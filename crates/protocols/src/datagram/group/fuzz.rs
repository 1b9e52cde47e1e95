//! Entry point of the fuzz target of groups: no packets may cause a panic or exceed the memory
//! limits.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use oxorb_core::protocol::ProfileKind;
use oxorb_object::{TaggedProfile, profile_tag};
use oxorb_transport::{Notation, Part, Transport};

use super::{Groups, Limits, Reassembly, Uipmc};

const LIMITS: Limits = Limits { sources: 2, kept: 2048, timeout: Duration::from_secs(1) };

/// Splits `data` into packets, each after an octet with its source and whether time passes before
/// it, and one with its length, and reassembles messages; then parses it as a profile, a URL and an
/// endpoint.
pub fn groups(data: &[u8]) {
    let mut reassembly = Reassembly::new(LIMITS);
    let mut now = Instant::now();
    let (mut rest, mut came) = (data, 0);
    while let [how, length, more @ ..] = rest {
        let (packet, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        if how & 4 != 0 {
            now += Duration::from_millis(600);
        }
        let source = SocketAddr::from(([10, 0, 0, 1], u16::from(how & 3)));
        came += packet.len();
        if let Some(message) = reassembly.take(now, source, packet) {
            assert!(message.len() <= came, "octets that never came");
            assert_eq!(reassembly.take(now, source, packet), None, "a message twice");
        }
        assert!(reassembly.kept() <= LIMITS.kept);
    }
    let tagged = TaggedProfile { tag: profile_tag::UIPMC, data: data.to_vec() };
    if let Ok(read) = Uipmc.read(&tagged)
        && !read.addresses.is_empty()
    {
        let again = Uipmc.read(&Uipmc.write(&read)).expect("it was written");
        assert_eq!((again.addresses, again.key), (read.addresses, read.key));
    }
    if let Ok(text) = str::from_utf8(data) {
        if let Ok(located) = Uipmc.locate(text) {
            let printed = Uipmc.print(located.version, &located.address);
            let again = Uipmc.locate(&printed["miop:".len()..]).expect("it was written");
            assert_eq!(again.address, located.address);
        }
        if let Ok(endpoints) = Groups::default().endpoints(Notation::Url, Part::new(text)) {
            for endpoint in endpoints {
                let written = endpoint.to_string();
                let (_, behind) = written.split_once("://").expect("a protocol");
                let again = Groups::default().endpoints(Notation::Url, Part::new(behind));
                assert_eq!(again.expect("it was written"), [endpoint]);
            }
        }
    }
}
