//! References denote the same object if host, port and key are equal, regardless of their encoding
//! (P9).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_object::components::{orb_type, tag};
use oxorb_object::{IiopProfile, Ior, TaggedComponent, TaggedProfile, Version, profile_tag};

/// Returns a profile as written by an ORB that uses its own byte order everywhere.
fn profile_in(order: ByteOrder, iiop: &IiopProfile) -> TaggedProfile {
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    e.octet(u8::from(order == ByteOrder::Little));
    e.octet(iiop.version.major);
    e.octet(iiop.version.minor);
    e.string(&iiop.host).unwrap();
    e.ushort(iiop.port);
    e.sequence(&iiop.object_key, None).unwrap();
    if iiop.version >= Version::V1_1 {
        e.length(iiop.components.len(), None).unwrap();
        for component in &iiop.components {
            e.ulong(component.tag);
            e.sequence(&component.data, None).unwrap();
        }
    }
    TaggedProfile { tag: profile_tag::INTERNET_IOP, data: e.finish().to_vec() }
}

fn ior(profiles: impl Into<Vec<TaggedProfile>>) -> Ior {
    Ior { type_id: "IDL:test/Thing:1.0".to_owned(), profiles: profiles.into() }
}

fn hash(ior: &Ior) -> u64 {
    let mut hasher = DefaultHasher::new();
    ior.hash_identity(&mut hasher);
    hasher.finish()
}

fn with_components(host: &str, port: u16, key: &[u8]) -> IiopProfile {
    let mut profile = IiopProfile::new(Version::V1_2, host, port, key);
    profile.components.push(TaggedComponent::orb_type(orb_type::TAO));
    profile
}

#[test]
fn a_reference_is_equivalent_to_itself_in_the_other_byte_order() {
    let iiop = with_components("host.example", 2809, b"a key");
    let [big, little] = [ByteOrder::Big, ByteOrder::Little].map(|o| ior([profile_in(o, &iiop)]));
    assert_ne!(big, little, "the octets differ");
    assert!(big.is_equivalent(&little));
    assert_eq!(hash(&big), hash(&little));
}

#[test]
fn version_components_type_and_the_case_of_the_host_do_not_matter() {
    let full = ior([with_components("Host.Example", 2809, b"a key").to_profile()]);
    let plain = IiopProfile::new(Version::V1_0, "host.example", 2809, b"a key");
    let plain = Ior { type_id: String::new(), profiles: vec![plain.to_profile()] };
    assert!(full.is_equivalent(&plain));
    assert_eq!(hash(&full), hash(&plain));
}

#[test]
fn host_port_and_key_matter() {
    let all = [
        with_components("host.example", 2809, b"a key"),
        with_components("host.exampl", 2809, b"a key"),
        with_components("host.example", 2810, b"a key"),
        with_components("host.example", 2809, b"A key"),
    ]
    .map(|iiop| ior([iiop.to_profile()]));
    for (at, one) in all.iter().enumerate() {
        for (other_at, other) in all.iter().enumerate() {
            assert_eq!(one.is_equivalent(other), at == other_at);
        }
    }
    let hashes: HashSet<_> = all.iter().map(hash).collect();
    assert_eq!(hashes.len(), all.len());
}

#[test]
fn foreign_profiles_are_compared_by_octets() {
    let shmiop = |order| {
        let iiop = with_components("host.example", 2809, b"a key");
        let profile = profile_in(order, &iiop);
        ior([TaggedProfile { tag: profile_tag::TAO_SHMIOP, ..profile }])
    };
    assert!(shmiop(ByteOrder::Big).is_equivalent(&shmiop(ByteOrder::Big)));
    assert!(!shmiop(ByteOrder::Big).is_equivalent(&shmiop(ByteOrder::Little)));
    let iiop = ior([with_components("host.example", 2809, b"a key").to_profile()]);
    assert!(!shmiop(ByteOrder::Big).is_equivalent(&iiop));
}

#[test]
fn servers_behind_tls_only_are_told_apart_by_their_components() {
    let behind = |port: u16| {
        let mut iiop = IiopProfile::new(Version::V1_2, "host.example", 0, b"a key");
        let [high, low] = port.to_be_bytes();
        iiop.components.push(TaggedComponent {
            tag: tag::SSL_SEC_TRANS,
            data: vec![0, 0, 0, 0x66, 0, 0x66, high, low],
        });
        ior([iiop.to_profile()])
    };
    assert!(behind(4433).is_equivalent(&behind(4433)));
    assert!(!behind(4433).is_equivalent(&behind(4434)));
}

#[test]
fn as_many_profiles_in_the_same_order() {
    let [one, two] = [1, 2].map(|port| with_components("h", port, b"k").to_profile());
    let both = ior([one.clone(), two.clone()]);
    assert!(both.is_equivalent(&both.clone()));
    assert!(!both.is_equivalent(&ior([two.clone(), one.clone()])));
    assert!(!both.is_equivalent(&ior([one])));
    assert!(Ior::nil().is_equivalent(&Ior::nil()));
}

/// Returns the profile that omniORB 4.2.5 adds to every reference that it receives over a
/// bidirectional connection.
fn received_by_omniorb() -> TaggedProfile {
    let mut data = vec![1, 0, 0, 0, 1, 0, 0, 0];
    data.extend(*b"\x01TTA\x21\0\0\0\x01\0\0\0\x19\0\0\0giop:tcp:127.0.0.1:35932\0");
    TaggedProfile { tag: profile_tag::MULTIPLE_COMPONENTS, data }
}

#[test]
fn components_beside_an_address_do_not_matter() {
    let [one, two] = [1, 2].map(|port| with_components("h", port, b"k").to_profile());
    let plain = ior([one.clone()]);
    for more in [
        ior([one.clone(), received_by_omniorb()]),
        ior([received_by_omniorb(), one.clone()]),
        ior([one, received_by_omniorb(), received_by_omniorb()]),
    ] {
        assert!(plain.is_equivalent(&more) && more.is_equivalent(&plain));
        assert_eq!(hash(&plain), hash(&more));
        assert!(!more.is_equivalent(&ior([two.clone(), received_by_omniorb()])));
    }
}

#[test]
fn components_without_an_address_matter() {
    let nowhere = IiopProfile::new(Version::V1_2, "h", 0, b"k").to_profile();
    let plain = ior([nowhere.clone()]);
    let more = ior([nowhere, received_by_omniorb()]);
    assert!(!plain.is_equivalent(&more));
    let alone = ior([received_by_omniorb()]);
    assert!(alone.is_equivalent(&alone.clone()));
    assert!(!alone.is_equivalent(&Ior::nil()));
}
