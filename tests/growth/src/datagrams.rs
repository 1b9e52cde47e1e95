//! Datagrams of DIOP.

use oxorb_protocols::datagram::fuzz::datagrams;

use crate::octets::Octets;
use crate::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("datagrams: requests", datagrams, 50, |n| {
            let all = (0..n as u32).map(|id| request(2, &id.to_be_bytes()));
            all.collect::<Vec<_>>().concat()
        }),
        case("datagrams: numbers far apart", datagrams, 50, |n| {
            let all = (0..n as u32).map(|at| request(2, &(1000 * at).to_be_bytes()));
            all.collect::<Vec<_>>().concat()
        }),
        case("datagrams: contexts before the number", datagrams, 50, |n| {
            let contexts = [[0_u8, 0, 0, 9], [0, 0, 0, 1], [7, 0, 0, 0]].concat();
            let body = [&[0, 0, 0, 5][..], &contexts.repeat(5), &[0, 0, 0, 1]].concat();
            request(0, &body).repeat(n)
        }),
        case("datagrams: components of a profile", datagrams, 50, |n| {
            let mut o = Octets(vec![0, 1, 2]);
            o.string("host");
            o.ushort(1306);
            o.sequence(b"key");
            o.ulong(n as u32);
            for at in 0..n as u32 {
                o.ulong(if at.is_multiple_of(2) { 0x4f58_4f03 } else { 3 });
                o.encapsulation(|o| {
                    o.string("h");
                    o.ushort(at as u16);
                });
            }
            o.0
        }),
        case("datagrams: addresses of an endpoint", datagrams, 50, |n| {
            format!("{}/max=1400", vec!["1.2@host:1306"; n].join(",")).into()
        }),
        case("datagrams: options of an endpoint", datagrams, 50, |n| {
            format!("h:1/{}", vec!["allow=10.0.0.0/8"; n].join("&")).into()
        }),
    ]
}

/// Returns a request to the server, after the octet for its kind and its length.
fn request(minor: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![b'G', b'I', b'O', b'P', 1, minor, 0, 0];
    octets.extend((body.len() as u32).to_be_bytes());
    octets.extend(body);
    octets.insert(0, (octets.len() as u8) << 1);
    octets
}
