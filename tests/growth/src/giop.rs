//! Messages and references.

use oxorb_giop::fuzz::receive;
use oxorb_object::fuzz::{corbaloc, ior};

use crate::octets::Octets;
use crate::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("corbaloc: addresses", corbaloc, 50, |n| {
            format!("corbaloc:{}/key", vec!["iiop:1.2@host:2809"; n].join(",")).into()
        }),
        case("corbaloc: octets of a key", corbaloc, 200, |n| {
            format!("corbaloc::h/{}", "%00".repeat(n)).into()
        }),
        case("corbaloc: a long host", corbaloc, 200, |n| {
            format!("corbaloc::{}/k", "h.".repeat(n)).into()
        }),
        case("corbaloc: a long name", corbaloc, 200, |n| {
            format!("corbaname::h#{}", "a/".repeat(n)).into()
        }),
        case("corbaloc: a long IOR", corbaloc, 200, |n| format!("IOR:{}", "00".repeat(n)).into()),
        case("ior: profiles", ior, 50, profiles),
        case("ior: components", ior, 50, components),
        case("ior: a long type id", ior, 2000, |n| {
            let mut o = Octets(vec![0]);
            o.string(&"x".repeat(n));
            o.ulong(0);
            o.0
        }),
        case("giop_frame: messages", receive, 50, |n| {
            [&[255][..], &message(3, false, 12, &[0; 16]).repeat(n)].concat()
        }),
        case("giop_frame: octet by octet", receive, 50, |n| {
            [&[0][..], &message(3, false, 12, &[0; 16]).repeat(n)].concat()
        }),
        case("giop_frame: cancels", receive, 50, |n| {
            let cancels = (0..n as u32).map(|id| message(2, false, 12, &id.to_be_bytes()));
            [vec![255], cancels.collect::<Vec<_>>().concat()].concat()
        }),
        case("giop_frame: fragments of one message", receive, 50, fragments),
        case("giop_frame: fragments of many messages", receive, 50, interleaved),
        case("giop_frame: service contexts", receive, 50, contexts),
    ]
}

fn message(kind: u8, more: bool, minor: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![b'G', b'I', b'O', b'P', 1, minor % 10, more.into(), kind];
    octets[6] <<= 1;
    octets.extend((body.len() as u32).to_be_bytes());
    octets.extend(body);
    octets
}

/// Returns a request to no object.
fn request(id: u32, contexts: u32) -> Octets {
    let mut o = Octets::default();
    o.ulong(id);
    o.0.extend([3, 0, 0, 0]);
    o.0.extend([0, 0]);
    o.sequence(b"key");
    o.string("op");
    o.ulong(contexts);
    o
}

fn fragments(n: usize) -> Vec<u8> {
    let mut octets = vec![255];
    octets.extend(message(0, true, 12, &request(5, 0).0));
    for at in 0..n {
        let body = [&5u32.to_be_bytes()[..], &[0; 8]].concat();
        octets.extend(message(7, at + 1 < n, 12, &body));
    }
    octets
}

/// Returns the greatest number of interleaved messages.
fn interleaved(n: usize) -> Vec<u8> {
    let mut octets = vec![255];
    for _ in 0..n / 10 + 1 {
        for id in 0..16u32 {
            octets.extend(message(0, true, 12, &request(id, 0).0));
        }
        for id in (0..16u32).rev() {
            octets.extend(message(7, false, 12, &[&id.to_be_bytes()[..], &[0; 8]].concat()));
        }
    }
    octets
}

fn contexts(n: usize) -> Vec<u8> {
    let mut o = request(1, n as u32);
    for id in 0..n as u32 {
        o.ulong(id);
        o.sequence(b"");
    }
    [vec![255], message(0, false, 12, &o.0)].concat()
}

fn profiles(n: usize) -> Vec<u8> {
    let mut o = Octets(vec![0]);
    o.string("IDL:X:1.0");
    o.ulong(n as u32);
    for _ in 0..n {
        o.ulong(0);
        let mut profile = Octets(vec![0, 1, 0]);
        profile.string("host");
        profile.ushort(2809);
        profile.sequence(b"key");
        o.sequence(&profile.0);
    }
    o.0
}

fn components(n: usize) -> Vec<u8> {
    let mut o = Octets(vec![0]);
    o.string("IDL:X:1.0");
    o.ulong(1);
    o.ulong(0);
    let mut profile = Octets(vec![0, 1, 2]);
    profile.string("host");
    profile.ushort(2809);
    profile.sequence(b"key");
    profile.ulong(n as u32);
    for _ in 0..n {
        // TAG_ALTERNATE_IIOP_ADDRESS
        profile.ulong(3);
        let mut address = Octets(vec![0]);
        address.string("other");
        address.ushort(2809);
        profile.sequence(&address.0);
    }
    o.sequence(&profile.0);
    o.0
}
