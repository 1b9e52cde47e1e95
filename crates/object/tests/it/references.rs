//! References in all their forms.

use oxorb_cdr::{ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, ErrorKind};
use oxorb_object::code_sets::{self, CodeSetComponent, CodeSetComponentInfo, CodeSetContext};
use oxorb_object::components::{DecodedComponent, orb_type, tag};
use oxorb_object::corbaloc::{Address, Error, Location};
use oxorb_object::{
    CompletionStatus, Corbaloc, Corbaname, IiopEndpoint, IiopProfile, Ior, IorError, Malformed,
    ReferenceError, SystemException, TaggedComponent, TaggedProfile, Url, Version, describe, minor,
    parse_reference, profile_tag,
};
use oxorb_testkit::octets;
use proptest::prelude::*;

/// An IIOP 1.2 profile for host "h", port 2809, key "key", with an ORB type of TAO.
const PROFILE: &str = "00 01 02 00 00000002 6800 0af9 00000003 6b6579 00 \
     00000001 00000000 00000008 00000000 54414f00";

#[test]
fn an_iiop_profile_by_hand() {
    let data = octets(PROFILE);
    let profile = IiopProfile {
        components: vec![TaggedComponent::orb_type(orb_type::TAO)],
        ..IiopProfile::new(Version::V1_2, "h", 2809, b"key")
    };
    assert_eq!(profile.to_profile(), TaggedProfile { tag: 0, data: data.clone() });
    assert_eq!(IiopProfile::parse(&TaggedProfile { tag: 0, data: data.clone() }), Ok(profile));

    // Octets after the components belong to a later version of the profile, and are ignored.
    let mut longer = data.clone();
    longer.extend([1, 2, 3]);
    assert!(IiopProfile::parse(&TaggedProfile { tag: 0, data: longer }).is_ok());

    // Every truncation must be detected.
    for length in 0..data.len() {
        let cut = TaggedProfile { tag: 0, data: data[..length].to_vec() };
        assert!(IiopProfile::parse(&cut).is_err(), "{length}");
    }

    // A profile of version 1.0, here little-endian, has no components.
    let v1_0 = octets("01 01 00 00 02000000 6800 f90a 03000000 6b6579");
    let parsed = IiopProfile::parse(&TaggedProfile { tag: 0, data: v1_0 }).unwrap();
    assert_eq!(parsed, IiopProfile::new(Version::V1_0, "h", 2809, b"key"));
    assert_eq!(
        IiopProfile::parse(&TaggedProfile { tag: 5, data: vec![] }),
        Err(Malformed::NoObjectKey { tag: 5 })
    );
    let v2 = octets("00 02 00 00");
    assert_eq!(
        IiopProfile::parse(&TaggedProfile { tag: 0, data: v2 }),
        Err(Malformed::Profile { tag: 0 })
    );
}

#[test]
fn endpoints_include_alternates_and_leave_out_port_zero() {
    let mut profile = IiopProfile::new(Version::V1_2, "tls-only", 0, b"key");
    for (host, port) in [("::1", 4711), ("backup", 2809)] {
        let endpoint = IiopEndpoint { host: host.into(), port };
        profile.components.push(TaggedComponent::alternate_iiop_address(&endpoint));
    }
    let shown: Vec<_> = profile.endpoints().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["[::1]:4711", "backup:2809"]);
    assert_eq!(profile.component(tag::ORB_TYPE), None);
}

#[test]
fn stringified_references_are_read_in_either_case_and_order() {
    let ior = Ior {
        type_id: "IDL:X:1.0".into(),
        profiles: vec![TaggedProfile { tag: 0, data: octets(PROFILE) }],
    };
    let text = ior.to_string();
    assert!(text.starts_with("IOR:000000000000000a49444c3a583a312e3000"), "{text}");
    assert_eq!(text.parse(), Ok(ior.clone()));
    assert_eq!(format!(" ior:{}\n", text[4..].to_uppercase()).parse(), Ok(ior.clone()));

    let mut e = Encoder::new(Vec::new(), ByteOrder::Little, Dialect::GIOP_1_2);
    e.octet(1);
    ior.encode(&mut e).unwrap();
    let little: String = e.finish().to_vec().iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(format!("IOR:{little}").parse(), Ok(ior));
}

#[test]
fn an_empty_type_id_may_have_no_octets_at_all() {
    let octets = octets("00000000 00000000");
    let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::new(0));
    assert_eq!(Ior::decode(&mut d), Ok(Ior::nil()));
    let unterminated = oxorb_testkit::octets("00000001 41000000 00000000");
    let mut d = Decoder::new(&unterminated, ByteOrder::Big, Dialect::new(0));
    let error = Ior::decode(&mut d).unwrap_err();
    assert_eq!((error.kind, error.at), (ErrorKind::BadString, 4));
}

#[test]
fn broken_stringified_references_say_where() {
    let parse = |text: &str| text.parse::<Ior>().unwrap_err();
    assert_eq!(parse(""), IorError::Prefix);
    assert_eq!(parse("IO"), IorError::Prefix);
    assert_eq!(parse("IOR:0g"), IorError::Digit { at: 5 });
    assert_eq!(parse("IOR:000"), IorError::Digit { at: 7 });
    assert!(matches!(parse("IOR:"), IorError::Content(error) if error.at == 0));
    let IorError::Content(error) = parse("IOR:0000000000000001000000ff00000001") else { panic!() };
    assert!(matches!(error.kind, ErrorKind::LengthImplausible { .. }), "{error}");
    let whole = Ior { type_id: "IDL:X:1.0".into(), profiles: vec![] }.to_string();
    for length in (4..whole.len()).step_by(2) {
        assert!(whole[..length].parse::<Ior>().is_err(), "{length}");
    }
    assert_eq!(
        parse("IOR:02").to_exception(),
        SystemException::inv_objref(minor::inv_objref::MALFORMED, CompletionStatus::No)
    );
}

proptest! {
    /// All profiles of a reference, known or unknown, well-formed or not, are passed through
    /// octet by octet.
    #[test]
    fn references_pass_through_octet_for_octet(
        type_id in "[ -~]{0,20}",
        profiles in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..50)), 0..5),
        order in prop::sample::select(&[ByteOrder::Big, ByteOrder::Little][..]),
        offset in 0usize..8,
    ) {
        let profiles = profiles.into_iter().map(|(tag, data)| TaggedProfile { tag, data }).collect();
        let ior = Ior { type_id, profiles };
        prop_assert_eq!(&ior.to_string().parse::<Ior>().unwrap(), &ior);

        let mut e = Encoder::new(Vec::new(), order, Dialect::new(2));
        e.copy_octets(&vec![0; offset]);
        ior.encode(&mut e).unwrap();
        let first = e.finish().to_vec();
        let mut d = Decoder::new(&first, order, Dialect::new(2)).at(offset);
        let read = Ior::decode(&mut d).unwrap();
        d.finish().unwrap();
        let mut e = Encoder::new(Vec::new(), order, Dialect::new(2));
        e.copy_octets(&vec![0; offset]);
        read.encode(&mut e).unwrap();
        prop_assert_eq!(e.finish().to_vec(), first);
        // Malformed profiles must be explained, too.
        prop_assert_eq!(describe::reference(&ior).profiles.len(), ior.profiles.len());
    }

    /// Unknown components are preserved in a profile that is parsed and written again.
    #[test]
    fn unknown_components_survive(
        components in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u8>(), 0..30)), 0..5),
        host in "[a-z.]{1,20}",
        port in any::<u16>(),
        key in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let components = components.into_iter().map(|(tag, data)| TaggedComponent { tag, data }).collect();
        let profile = IiopProfile { components, ..IiopProfile::new(Version::V1_1, &host, port, &key) };
        let tagged = profile.to_profile();
        let read = IiopProfile::parse(&tagged).unwrap();
        prop_assert_eq!(read.to_profile(), tagged);
        prop_assert_eq!(read, profile);
    }

    #[test]
    fn corbaloc_round_trips(
        hosts in prop::collection::vec(("[a-z][a-z0-9.-]{0,10}", 1u16.., 0u8..3), 1..4),
        key in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let address = |(host, port, minor)| Address {
            version: Version { major: 1, minor },
            endpoint: IiopEndpoint { host, port },
        };
        let location = Location::Iiop(hosts.into_iter().map(address).collect());
        let url = Corbaloc { location, key };
        prop_assert_eq!(&url.to_string().parse::<Corbaloc>().unwrap(), &url);
        prop_assert_eq!(Corbaloc::from_ior(&url.to_ior().unwrap()), Some(url));
    }

    #[test]
    fn any_text_is_a_reference_or_an_error(text in "(IOR:|corbaloc:|corbaname:|file:)?[ -~é]{0,60}") {
        if let Err(error) = parse_reference(&text) {
            prop_assert!(!error.to_string().is_empty());
            error.to_exception();
        }
    }
}

fn iiop(version: Version, host: &str, port: u16) -> Address {
    Address { version, endpoint: IiopEndpoint { host: host.into(), port } }
}

#[test]
fn corbaloc_forms() {
    let parse = |text: &str| text.parse::<Corbaloc>().unwrap();
    let v1_0 = Version::V1_0;
    for (text, addresses, key) in [
        ("corbaloc::host/Key", vec![iiop(v1_0, "host", 2809)], "Key"),
        ("corbaloc:iiop:host:99/Key", vec![iiop(v1_0, "host", 99)], "Key"),
        ("corbaloc::1.2@host", vec![iiop(Version::V1_2, "host", 2809)], "NameService"),
        ("CORBALOC:IIOP:1.1@host:/", vec![iiop(Version::V1_1, "host", 2809)], "NameService"),
        (
            "corbaloc::a,:b:1,iiop:1.2@[fe80::1%25eth0]:2/a/b;c",
            vec![iiop(v1_0, "a", 2809), iiop(v1_0, "b", 1), iiop(Version::V1_2, "fe80::1%eth0", 2)],
            "a/b;c",
        ),
        ("corbaloc::[::1]/%41%7a", vec![iiop(v1_0, "::1", 2809)], "Az"),
    ] {
        let url = parse(text);
        assert_eq!(url.location, Location::Iiop(addresses), "{text}");
        assert_eq!(url.key, key.as_bytes(), "{text}");
    }
    assert_eq!(parse("corbaloc:rir:").location, Location::InitialReference);
    assert_eq!(parse("corbaloc:rir:/RootPOA").key, b"RootPOA");
    assert_eq!(parse("corbaloc:rir:/RootPOA").to_string(), "corbaloc:rir:/RootPOA");
    let zone = "corbaloc:iiop:1.2@[fe80::1%25eth0]:2/k";
    assert_eq!(parse(zone).to_string(), zone);
    assert_eq!(parse("corbaloc:rir:").to_ior(), None);
    let ior = parse("corbaloc::1.2@a,:b/k").to_ior().unwrap();
    assert_eq!(ior.profiles.len(), 2);
    assert!(ior.profiles.iter().all(|profile| profile.tag == profile_tag::INTERNET_IOP));
}

#[test]
fn corbaloc_errors_say_what_is_wrong() {
    let parse = |text: &str| text.parse::<Corbaloc>().unwrap_err();
    for (text, why) in [
        ("corbaloc:", "no protocol"),
        ("corbaloc:host", "no protocol"),
        ("corbaloc::", "no host"),
        ("corbaloc:::99", "no host"),
        ("corbaloc::host:0", "1 to 65535"),
        ("corbaloc::host:65536", "1 to 65535"),
        ("corbaloc::host:+1", "1 to 65535"),
        ("corbaloc::2.0@host", "1.x"),
        ("corbaloc::1@host", "<major>.<minor>"),
        ("corbaloc::::1", "brackets"),
        ("corbaloc::[::1", "not closed"),
        ("corbaloc::[host]", "no IPv6 address"),
        ("corbaloc::[::1]x", ":<port>"),
        ("corbaloc::[fe80::1%25a%25b]", "another %"),
        ("corbaloc::a b", "not allowed in host names"),
    ] {
        let error = parse(text);
        assert!(
            matches!(error, Error::Address { .. }) && error.to_string().contains(why),
            "{text}: {error}"
        );
        assert_eq!(error.to_exception().minor, minor::bad_param::URL_ADDRESS);
    }
    assert_eq!(parse("corbalok:"), Error::Scheme);
    assert_eq!(parse("corbaloc:ssliop:host"), Error::Protocol("ssliop".into()));
    let over_tls = parse("corbaloc:iiops:host").to_string();
    assert!(over_tls.contains("needs the feature tls"), "{over_tls}");
    assert_eq!(parse("corbaloc:rir:,:host"), Error::MixedInitialReference);
    assert_eq!(parse("corbaloc::host/%4"), Error::Escape { escape: "%4".into() });
    assert_eq!(
        parse("corbaloc::host/%4").to_exception().minor,
        minor::bad_param::URL_SCHEME_SPECIFIC
    );
    assert_eq!(parse("corbaloc::host/a%xyz"), Error::Escape { escape: "%xy".into() });
}

#[test]
fn corbaname_and_file_and_unknown_schemes() {
    let url: Corbaname = "corbaname:rir:#a/b".parse().unwrap();
    assert_eq!((url.context.location, url.name.as_str()), (Location::InitialReference, "a/b"));
    let url: Corbaname = "corbaname::host:1/Naming".parse().unwrap();
    assert_eq!((url.context.key.as_slice(), url.name.as_str()), (&b"Naming"[..], ""));
    assert_eq!("corbaname::host#%ff".parse::<Corbaname>(), Err(Error::Name));

    assert_eq!(parse_reference("file:///a/b"), Ok(Url::File("/a/b".into())));
    assert_eq!(parse_reference("FILE:a"), Ok(Url::File("a".into())));
    assert_eq!(parse_reference("file://"), Err(ReferenceError::NoPath));
    for (url, path) in [
        ("file://localhost/a/b", "/a/b"),
        ("FILE://LocalHost/a", "/a"),
        ("file:localhost/a", "localhost/a"),
        ("file://localhostess/a", "localhostess/a"),
        ("file:///a%20b/%c3%A9", "/a b/\u{e9}"),
        ("file:///a%2520b", "/a%20b"),
        ("file:///100%", "/100%"),
        ("file:///100%/a%20b", "/100%/a%20b"),
        ("file:///a%ff", "/a%ff"),
    ] {
        assert_eq!(parse_reference(url), Ok(Url::File(path.into())), "{url}");
    }
    let unknown = parse_reference("mailto:nobody").unwrap_err();
    assert_eq!(unknown.to_exception().minor, minor::bad_param::URL_SCHEME);
    assert!(matches!(parse_reference(""), Err(ReferenceError::Scheme { .. })));
    assert!(matches!(parse_reference("Corbaname:rir:"), Ok(Url::Corbaname(_))));
}

fn sets(native: u32, conversion: &[u32]) -> CodeSetComponent {
    CodeSetComponent { native, conversion: conversion.to_vec() }
}

#[test]
fn code_sets_are_negotiated_as_the_specification_says() {
    use code_sets::{ISO_8859_1, UCS_2, UTF_8, UTF_16, negotiate};
    let chosen = |chars, wchars| {
        let server = CodeSetComponentInfo { for_char_data: chars, for_wchar_data: wchars };
        negotiate(Some(&server)).map(|context| (context.char_data, context.wchar_data))
    };
    let none = || sets(0, &[]);
    // The code set is chosen in this order: equal native sets, the server's native set, the
    // client's, a common conversion set, and the fallbacks.
    assert_eq!(chosen(sets(UTF_8, &[]), sets(UTF_16, &[])), Ok((UTF_8, UTF_16)));
    assert_eq!(chosen(sets(ISO_8859_1, &[UTF_8]), sets(UCS_2, &[UTF_16])), Ok((ISO_8859_1, UCS_2)));
    assert_eq!(
        chosen(sets(0x0001_0002, &[UTF_8]), sets(0x0001_0106, &[UTF_16])),
        Ok((UTF_8, UTF_16))
    );
    assert_eq!(
        chosen(sets(0x0001_0002, &[ISO_8859_1]), sets(0x0001_0106, &[UCS_2])),
        Ok((ISO_8859_1, UCS_2))
    );
    assert_eq!(chosen(sets(0x0001_0002, &[]), sets(0x0001_0106, &[])), Ok((UTF_8, UTF_16)));
    // The server has no wide code sets, or none at all.
    assert_eq!(chosen(sets(ISO_8859_1, &[]), none()), Ok((ISO_8859_1, 0)));
    assert_eq!(chosen(none(), none()), Ok((ISO_8859_1, 0)));
    assert_eq!(negotiate(None), Ok(CodeSetContext::DEFAULT));
    // The server's native set is unknown, which is an error for `char`, but only excludes wide
    // characters for `wchar`.
    let incompatible = SystemException::codeset_incompatible(minor::OMG | 1, CompletionStatus::No);
    assert_eq!(chosen(sets(0x7777_7777, &[]), none()), Err(incompatible));
    assert_eq!(chosen(sets(UTF_8, &[]), sets(0x7777_7777, &[])), Ok((UTF_8, 0)));
}

#[test]
fn the_code_sets_context_and_component() {
    let context = CodeSetContext { char_data: code_sets::UTF_8, wchar_data: code_sets::UTF_16 };
    assert_eq!(context.to_bytes().to_vec(), octets("00 000000 05010001 00010109"));
    assert_eq!(CodeSetContext::parse(&context.to_bytes()), Ok(context));
    assert_eq!(CodeSetContext::parse(&octets("01 000000 01000105 09010100")), Ok(context));
    assert!(CodeSetContext::parse(&octets("00 000000 05010001")).is_err());
    let dialect = context.dialect(2).unwrap();
    assert_eq!(
        (dialect.chars, dialect.wchars),
        (oxorb_cdr::CharSet::Utf8, oxorb_cdr::WcharSet::Utf16)
    );
    let unknown = CodeSetContext { char_data: 0x1002_0025, wchar_data: 0 };
    assert_eq!(
        unknown.dialect(2),
        Err(SystemException::codeset_incompatible(minor::OMG | 2, CompletionStatus::No))
    );

    let ours = CodeSetComponentInfo::ours();
    let component = TaggedComponent::code_sets(&ours);
    assert_eq!(
        component.data,
        octets("00 000000 05010001 00000001 00010001 00010109 00000001 00010100")
    );
    assert_eq!(component.decode(), Ok(DecodedComponent::CodeSets(ours)));
}

#[test]
fn a_reference_explains_itself() {
    let mut profile = IiopProfile::new(Version::V1_2, "host", 2809, b"\x14\x01\x0f\x00Teller");
    profile.components = vec![
        TaggedComponent::orb_type(orb_type::OMNIORB),
        TaggedComponent::code_sets(&CodeSetComponentInfo::ours()),
        TaggedComponent::alternate_iiop_address(&IiopEndpoint { host: "::1".into(), port: 1 }),
        TaggedComponent { tag: tag::SSL_SEC_TRANS, data: octets("00 00 0066 0060 0af8") },
        TaggedComponent { tag: tag::POLICIES, data: vec![9] },
        TaggedComponent { tag: 0x1234_5678, data: vec![0xab] },
    ];
    let ior = Ior {
        type_id: "IDL:bank/Account:1.0".into(),
        profiles: vec![
            profile.to_profile(),
            TaggedProfile {
                tag: profile_tag::TAO_UIOP,
                data: octets("00 01 00 00 00000003 2f6100 00 00000001 6b"),
            },
            TaggedProfile {
                tag: profile_tag::MULTIPLE_COMPONENTS,
                data: octets("00000000 00000000"),
            },
            TaggedProfile { tag: 0xdead, data: vec![1] },
            TaggedProfile { tag: 0, data: vec![] },
        ],
    };
    let reference = describe::reference(&ior);
    assert_eq!((reference.type_id.as_str(), reference.is_nil), ("IDL:bank/Account:1.0", false));

    let describe::ExplainedContent::Iiop { endpoints, key, components, .. } =
        &reference.profiles[0].content
    else {
        panic!()
    };
    assert_eq!(endpoints.len(), 2);
    assert_eq!((key.text.as_str(), key.maker), (r"\x14\x01\x0f\x00Teller", Some("TAO")));
    let shown: Vec<_> = components
        .iter()
        .flat_map(|component| {
            component.fields.iter().map(|field| format!("{}: {}", field.label, field.value))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "ORB: omniORB (0x41545400)",
            "char native: UTF-8 (0x05010001)",
            "char conversion: ISO 8859-1 (0x00010001)",
            "wchar native: UTF-16 (0x00010109)",
            "wchar conversion: UCS-2 level 1 (0x00010100)",
            "address: [::1]:1",
            "TLS port: 2808",
            "supports: Integrity, Confidentiality, EstablishTrustInTarget, EstablishTrustInClient",
            "requires: EstablishTrustInTarget, EstablishTrustInClient",
        ]
    );
    assert!(components[4].error.is_some(), "a malformed component says so");
    assert_eq!((components[5].name, components[5].hex.as_str()), (None, "ab"));

    assert!(
        matches!(&reference.profiles[1].content, describe::ExplainedContent::Unix { path, .. } if path == "/a")
    );
    assert_eq!(reference.profiles[2].content, describe::ExplainedContent::Components(vec![]));
    assert_eq!(
        reference.profiles[3].content,
        describe::ExplainedContent::Opaque { hex: "01".into() }
    );
    assert!(matches!(reference.profiles[4].content, describe::ExplainedContent::Malformed { .. }));
}

/// Made by `genior IDL:X:1.0 localhost 1234 foo` of omniORB 4.2.5.
const FROM_OMNIORB: &str = "IOR:010000000a00000049444c3a583a312e30000000010000000000000054000000\
    010102000a0000006c6f63616c686f737400d20403000000666f6f000200000000000000080000000100000000545441\
    010000001c00000001000000010001000100000001000105090101000100000009010100";

#[test]
fn a_reference_made_by_omniorb() {
    let ior: Ior = FROM_OMNIORB.parse().unwrap();
    assert_eq!(ior.type_id, "IDL:X:1.0");
    let profile = ior.iiop_profiles().next().unwrap();
    assert_eq!(profile.endpoints()[0].to_string(), "localhost:1234");
    assert_eq!(profile.object_key, b"foo");
    let orb = profile.component(tag::ORB_TYPE).unwrap().decode();
    assert_eq!(orb, Ok(DecodedComponent::OrbType(orb_type::OMNIORB)));
    let Ok(DecodedComponent::CodeSets(sets)) = profile.component(tag::CODE_SETS).unwrap().decode()
    else {
        panic!("a code set component");
    };
    assert_eq!(sets.for_char_data, self::sets(code_sets::ISO_8859_1, &[code_sets::UTF_8]));
    let chosen = code_sets::negotiate(Some(&sets)).unwrap();
    assert_eq!((chosen.char_data, chosen.wchar_data), (code_sets::ISO_8859_1, code_sets::UTF_16));
}
