//! Descriptions of `oxorb ior show` for policies, security mechanisms and protocols other than IIOP (P6, P10, P12, P13,
//! N13).

use oxorb_cdr::{ByteOrder, Dialect, Encoder};
use oxorb_object::components::tag;
use oxorb_object::describe::{self, ExplainedComponent, ExplainedContent};
use oxorb_object::{
    Group, IiopEndpoint, IiopProfile, Ior, PlaceProfile, SocketIdentity, TaggedComponent,
    TaggedProfile, UipmcProfile, Version, profile_tag,
};
use oxorb_testkit::octets;

/// Returns an encapsulation in either byte order.
fn encapsulated(order: ByteOrder, write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    e.octet(u8::from(order == ByteOrder::Little));
    write(&mut e);
    e.finish().to_vec()
}

fn explained(profile: TaggedProfile) -> ExplainedContent {
    let ior = Ior { type_id: String::new(), profiles: vec![profile] };
    describe::reference(&ior).profiles.swap_remove(0).content
}

/// Returns the description of one component in an IIOP profile.
fn component(tag: u32, data: Vec<u8>) -> ExplainedComponent {
    let mut profile = IiopProfile::new(Version::V1_2, "host", 2809, b"key");
    profile.components.push(TaggedComponent { tag, data });
    match explained(profile.to_profile()) {
        ExplainedContent::Iiop { mut components, .. } => components.swap_remove(0),
        other => panic!("{other:?}"),
    }
}

fn shown(component: &ExplainedComponent) -> Vec<String> {
    assert_eq!(component.error, None);
    let line = |field: &describe::ExplainedField| format!("{}: {}", field.label, field.value);
    component.fields.iter().map(line).collect()
}

#[test]
fn policies_are_explained_by_name_and_value() {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let model = |model, priority| {
            encapsulated(order, |e| {
                e.ulong(model);
                e.short(priority);
            })
        };
        let protocols = encapsulated(order, |e| {
            e.ulong(2);
            e.ulong(profile_tag::TAO_UIOP);
            e.long(4096);
            e.long(8192);
            e.ulong(profile_tag::INTERNET_IOP);
            e.long(65536);
            e.long(65536);
            e.boolean(true);
            e.boolean(false);
            e.boolean(true);
        });
        let bands = encapsulated(order, |e| {
            e.ulong(2);
            [0, 9, 10, 32767].into_iter().for_each(|v| e.short(v));
        });
        let timeout = encapsulated(order, |e| e.ulonglong(50_000));
        let policies = [
            (40, model(0, 5)),
            (40, model(1, 10)),
            (42, protocols.clone()),
            (43, protocols),
            (45, bands),
            (32, timeout),
            (44, vec![0]),
            (40, vec![0]),
            (999, vec![1, 2]),
        ];
        let data = encapsulated(order, |e| {
            e.ulong(policies.len() as u32);
            for (kind, value) in &policies {
                e.ulong(*kind);
                e.ulong(value.len() as u32);
                e.copy_octets(value);
            }
        });
        let protocols = "TAO UIOP (Unix sockets): send buffer 4096, receive buffer 8192; TAG_INTERNET_IOP: send buffer \
                         65536, receive buffer 65536, keep alive true, don't route false, no delay true";
        let shown = shown(&component(tag::POLICIES, data));
        assert_eq!(
            shown[..7],
            [
                "PriorityModelPolicy: CLIENT_PROPAGATED, priority 5 where a request has none"
                    .to_owned(),
                "PriorityModelPolicy: SERVER_DECLARED, priority 10".to_owned(),
                format!("ServerProtocolPolicy: {protocols}"),
                format!("ClientProtocolPolicy: {protocols}"),
                "PriorityBandedConnectionPolicy: 0 to 9, 10 to 32767".to_owned(),
                "RelativeRoundtripTimeoutPolicy: 5000 us".to_owned(),
                "PrivateConnectionPolicy: 00".to_owned(),
            ]
        );
        assert!(shown[7].starts_with("PriorityModelPolicy: 00 (malformed: "));
        assert_eq!(shown[8], "policy: type 999, value 0102");
    }
}

#[test]
fn security_mechanisms_are_explained() {
    const GSSUP: &str = "06 06 67 81 02 01 01 01";
    let tls = encapsulated(ByteOrder::Big, |e| {
        e.ushort(0x66);
        e.ushort(0x20);
        e.ulong(1);
        e.string("secure.example").unwrap();
        e.ushort(4433);
    });
    let target = octets(&format!("04 01 0008 {GSSUP} 00000004 62616e6b"));
    let write = |e: &mut Encoder<'_>, data: &[u8]| {
        e.ulong(data.len() as u32);
        e.copy_octets(data);
    };
    let data = encapsulated(ByteOrder::Little, |e| {
        e.boolean(true);
        e.ulong(2);
        // The first mechanism has TLS, authentication by name and password, and identity assertion.
        e.ushort(0x60);
        e.ulong(36);
        write(e, &tls);
        e.ushort(0x40);
        e.ushort(0x40);
        write(e, &octets(GSSUP));
        write(e, &target);
        e.ushort(0x400);
        e.ushort(0);
        e.ulong(0);
        e.ulong(1);
        write(e, &octets(GSSUP));
        e.ulong(3);
        // The second mechanism has no transport, no authentication and no attributes.
        e.ushort(0);
        e.ulong(34);
        write(e, &[]);
        [0, 0].into_iter().for_each(|v| e.ushort(v));
        [0, 0].into_iter().for_each(|v| e.ulong(v));
        [0, 0].into_iter().for_each(|v| e.ushort(v));
        [0, 0, 0].into_iter().for_each(|v| e.ulong(v));
    });
    let explained = component(tag::CSI_SEC_MECH_LIST, data.clone());
    assert_eq!(
        shown(&explained),
        [
            "stateful: yes",
            "mechanism: 1, requires EstablishTrustInTarget, EstablishTrustInClient",
            "transport: TLS at secure.example:4433, supports Integrity, Confidentiality, EstablishTrustInTarget, \
             EstablishTrustInClient, requires EstablishTrustInTarget",
            "authentication: GSSUP (name and password) for bank, supports EstablishTrustInClient, requires \
             EstablishTrustInClient",
            "attributes: supports IdentityAssertion, requires nothing, identities anonymous, principal name",
            "mechanism: 2, requires nothing",
            "transport: none",
        ]
    );
    for end in 0..data.len() {
        let cut = component(tag::CSI_SEC_MECH_LIST, data[..end].to_vec());
        assert!(cut.error.is_some(), "{end}");
    }
    let java = component(tag::RMI_CUSTOM_MAX_STREAM_FORMAT, vec![0, 2]);
    assert_eq!(shown(&java), ["stream format: up to 2"]);
}

#[test]
fn shared_memory_and_udp_are_not_iiop() {
    for (tag, name) in [
        (profile_tag::TAO_SHMIOP, "TAO SHMIOP (shared memory)"),
        (profile_tag::TAO_DIOP, "TAO DIOP (UDP)"),
    ] {
        let profile = TaggedProfile {
            tag,
            data: IiopProfile::new(Version::V1_2, "host", 2809, b"key").to_profile().data,
        };
        assert!(IiopProfile::parse(&profile).is_err());
        let ior = Ior { type_id: String::new(), profiles: vec![profile.clone()] };
        assert_eq!(ior.iiop_profiles().count(), 0);
        assert_eq!(oxorb_object::Corbaloc::from_ior(&ior), None);
        assert_eq!(describe::reference(&ior).profiles[0].name, Some(name));
        let ExplainedContent::Addressed { address, key, .. } = explained(profile) else {
            panic!("not as a TCP address")
        };
        assert_eq!((address.to_string().as_str(), key.text.as_str()), ("host:2809", "key"));
    }
}

#[test]
fn endpoints_of_unix_sockets_are_paths() {
    let endpoints = encapsulated(ByteOrder::Little, |e| {
        e.ulong(2);
        e.string("/tmp/a").unwrap();
        e.short(-1);
        e.string("/tmp/b").unwrap();
        e.short(7);
    });
    let data = encapsulated(ByteOrder::Big, |e| {
        e.octet(1);
        e.octet(2);
        e.string("/tmp/a").unwrap();
        e.ulong(3);
        e.copy_octets(b"key");
        e.ulong(1);
        e.ulong(tag::TAO_ENDPOINTS);
        e.ulong(endpoints.len() as u32);
        e.copy_octets(&endpoints);
    });
    let ExplainedContent::Unix { components, .. } =
        explained(TaggedProfile { tag: profile_tag::TAO_UIOP, data })
    else {
        panic!()
    };
    assert_eq!(shown(&components[0]), ["socket: /tmp/a", "socket: /tmp/b, priority 7"]);
}

#[test]
fn sockets_read_back() {
    let sockets = [("/run/a", -1), ("@b", 7)];
    let component = TaggedComponent::tao_sockets(sockets.into_iter());
    let read = component.sockets().unwrap();
    assert_eq!(read, sockets.map(|(path, it)| (path.to_owned(), it)));
    let cut = TaggedComponent { data: component.data[..15].to_vec(), ..component };
    assert!(cut.sockets().is_err());
}

#[test]
fn the_socket_beside_a_port_is_explained() {
    let component = TaggedComponent::omniorb_unix("here", "/tmp/omni-me/1");
    let mut profile = IiopProfile::new(Version::V1_2, "here", 1, b"key");
    profile.components = vec![component];
    let ExplainedContent::Iiop { components, .. } = explained(profile.to_profile()) else {
        panic!()
    };
    assert_eq!(shown(&components[0]), ["host: here", "socket: /tmp/omni-me/1"]);
}

#[test]
fn the_identity_of_a_socket_is_explained() {
    let identity = SocketIdentity {
        host: [0xab; 16],
        users: 4026531837,
        uid: 1000,
        device: 0xfd01,
        inode: 77,
    };
    let component = TaggedComponent::oxorb_socket("/run/bank", &identity);
    let fields = shown(&self::component(component.tag, component.data));
    let expected = [
        "socket: /run/bank".to_owned(),
        format!("host: {} (since its start)", "ab".repeat(16)),
        "server: uid 1000 of user namespace 4026531837".to_owned(),
        "within: device 0xfd01, inode 77".to_owned(),
    ];
    assert_eq!(fields, expected);
    for (place, sizes) in [
        ("/run/bank", None),
        ("@a:b", None),
        ("65536:/run/bank", Some("rings of 65536 octets")),
        ("65536+0:@a:b", Some("rings of 65536 octets, blocks of 0")),
    ] {
        let memory = TaggedComponent::oxorb_shm_socket(place, &identity);
        assert_eq!(memory.tag, 0x4f58_4f02);
        let fields = shown(&self::component(memory.tag, memory.data));
        let name = place.trim_start_matches("65536+0:");
        let name = name.trim_start_matches("65536:");
        let mut meeting = vec![format!("meeting at: {name}")];
        meeting.extend(sizes.map(|sizes| format!("memory: {sizes}, in each direction")));
        meeting.extend_from_slice(&expected[1..]);
        assert_eq!(fields, meeting);
    }
    let profile = |tag, place: &str| {
        let components = vec![TaggedComponent::tao_sockets([("/a", 1)].into_iter())];
        let place = place.to_owned();
        let object_key = b"key".to_vec();
        let profile = PlaceProfile { tag, version: Version::V1_2, place, object_key, components };
        explained(profile.to_profile())
    };
    let place = format!("/run/bank|{identity}");
    let ExplainedContent::Unix { path, identity: told, .. } =
        profile(profile_tag::OXORB_LITE_UNIX, &place)
    else {
        panic!()
    };
    assert_eq!((path.as_str(), told.len()), ("/run/bank", 3));
    let ExplainedContent::Placed { place, components, .. } =
        profile(profile_tag::OXORB_LITE_RT_TCP, "host:1")
    else {
        panic!()
    };
    assert_eq!(place, "host:1");
    assert_eq!(shown(&components[0]), ["address: /a, priority 1"]);
    for tag in [profile_tag::OXORB_SHM, profile_tag::OXORB_LITE_SHM, profile_tag::OXORB_LITE_RT_SHM]
    {
        let ExplainedContent::Placed { place, .. } = profile(tag, "65536:/run/bank") else {
            panic!("a profile of shared memory, {tag:#x}")
        };
        assert_eq!(place, "65536:/run/bank");
    }
    let cut = TaggedProfile { tag: profile_tag::OXORB_MEMORY, data: vec![0, 1] };
    assert!(matches!(explained(cut), ExplainedContent::Malformed { .. }));
}

#[test]
fn endpoints_without_a_priority_are_plain_addresses() {
    let at = |port| IiopEndpoint { host: "host".to_owned(), port };
    let with = |endpoints: &[(IiopEndpoint, i16)]| {
        let mut profile = IiopProfile::new(Version::V1_2, "host", 1, b"key");
        profile.components = vec![
            TaggedComponent::alternate_iiop_address(&at(2)),
            TaggedComponent::tao_endpoints(endpoints),
        ];
        profile
    };
    let plain = with(&[(at(1), -1), (at(2), -1), (at(3), -1), (at(0), -1)]);
    assert_eq!(plain.endpoints(), [at(1), at(2), at(3)]);
    assert_eq!(plain.lanes(), []);
    assert_eq!(plain.all_addresses(), [at(1), at(2), at(3)]);
    let lanes = with(&[(at(1), 0), (at(3), 20)]);
    assert_eq!(lanes.endpoints(), [at(1), at(2)]);
    assert_eq!(lanes.lanes(), [(at(1), 0), (at(3), 20)]);
    assert_eq!(lanes.all_addresses(), [at(1), at(2), at(3)]);
}

#[test]
fn groups_are_explained_by_domain_and_number() {
    let group = Group { domain: "plant".to_owned(), id: 7, version: 2 };
    let profile = UipmcProfile {
        address: "239.255.0.7".to_owned(),
        port: 5000,
        components: vec![group.to_component()],
    };
    let ExplainedContent::Addressed { address, components, .. } = explained(profile.to_profile())
    else {
        panic!("an address");
    };
    assert_eq!(address.to_string(), "239.255.0.7:5000");
    assert_eq!(components[0].name, Some("TAG_GROUP"));
    assert_eq!(shown(&components[0]), ["domain: plant", "group: 7", "version: 2"]);
}
