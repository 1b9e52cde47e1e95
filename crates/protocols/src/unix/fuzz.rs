//! Entry point of the fuzz target of profiles and names: no input may cause a panic, a hang, or a
//! change when it is written and read again.

use core::str;

use oxorb_core::protocol::{Placed, Profile, ProfileKind};
use oxorb_object::{TaggedProfile, profile_tag};
use oxorb_transport::{Notation, Part, Transport, tcp};

use crate::unix::known::Known;
use crate::unix::{SCHEME, Uiop, Unix};

/// Parses `data`, after an octet that selects a kind of profile, as such a profile, as an address
/// of a URL, and as an endpoint of UNIX sockets.
pub fn profiles(data: &[u8]) {
    let Some((&kind, octets)) = data.split_first() else {
        return;
    };
    let over_unix = Placed::new(profile_tag::OXORB_LITE_RT_UNIX, "rt+unix", SCHEME).with_paths();
    let over_tcp = Placed::new(profile_tag::OXORB_LITE_TCP, "lite+tcp", tcp::SCHEME);
    let kinds: [&dyn ProfileKind; 3] = [&Uiop, &over_unix, &over_tcp];
    let kind = kinds[usize::from(kind) % kinds.len()];
    profile(kind, octets);
    if let Ok(text) = str::from_utf8(octets) {
        url(kind, text);
        endpoints(text);
    }
}

fn profile(kind: &dyn ProfileKind, octets: &[u8]) {
    let tagged = TaggedProfile { tag: kind.tag(), data: octets.to_vec() };
    let Ok(read) = kind.read(&tagged) else {
        return;
    };
    let again = kind.read(&kind.write(&read)).expect("it was written");
    let essence = |profile: &Profile| {
        let Profile { addresses, lanes, version, key, .. } = profile.clone();
        (addresses.first().cloned(), lanes, version, key)
    };
    assert_eq!(essence(&again), essence(&read));
    for address in &read.addresses {
        if let Ok((name, known)) = Known::read(address) {
            assert_eq!(known.address(&name).bare(), name.address(SCHEME));
        }
        for component in kind.beside(address) {
            component.decode().expect("it was written");
        }
    }
    if let Some(Ok(address)) = Uiop.found_beside(&read) {
        Known::read(&address).expect("it was made here");
    }
}

fn url(kind: &dyn ProfileKind, text: &str) {
    let Ok(located) = kind.locate(text) else {
        return;
    };
    assert!(text.ends_with(located.rest));
    let printed = kind.print(located.version, &located.address);
    let behind = printed.strip_prefix(kind.url()).and_then(|it| it.strip_prefix(':'));
    let again = kind.locate(behind.expect("the word stands before it"));
    assert_eq!(again.expect("it was written").address, located.address);
}

fn endpoints(text: &str) {
    for notation in [Notation::Url, Notation::Colon] {
        match Unix.endpoints(notation, Part::new(text)) {
            Ok(endpoints) => {
                for endpoint in endpoints {
                    let text = endpoint.to_string();
                    let (_, behind) = text.split_once("://").expect("a protocol");
                    let again = Unix.endpoints(Notation::Url, Part::new(behind));
                    assert_eq!(again.expect("it was written"), [endpoint]);
                }
            }
            Err(error) => assert!(text.get(error.place).is_some()),
        }
    }
}
