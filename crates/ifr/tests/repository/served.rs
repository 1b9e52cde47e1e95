//! The objects, over the wire.

use std::fmt::Write as _;
use std::time::Duration;

use oxorb::values::{Dynamic, TcKind, TypeCode};
use oxorb::{Interface as _, ObjectRef, Orb, SystemExceptionKind};
use oxorb_ifr::corba::*;
use oxorb_ifr::{Repository, client};

use super::{Folder, Served, radar};

const STATION: &str = "IDL:example.com/radar/Station:1.0";

fn served() -> Served {
    Served::new(&[radar()])
}

fn names(found: Vec<Option<ContainedRef>>) -> Vec<String> {
    let found = found.into_iter().flatten();
    found.map(|each| each.name().unwrap()).collect()
}

#[test]
fn an_interface_is_described_with_what_it_inherits() {
    let served = served();
    let station = client::describe(&served.repository, STATION).unwrap().unwrap();
    assert_eq!((&*station.name, &*station.version), ("Station", "1.0"));
    assert_eq!(station.defined_in, "IDL:example.com/radar:1.0");
    assert_eq!(station.base_interfaces, ["IDL:example.com/radar/Base:1.0"]);
    assert_eq!(station.r#type, TypeCode::interface(STATION, "Station"));
    let attributes = station.attributes.iter();
    let attributes: Vec<_> = attributes.map(|each| (&*each.name, each.mode)).collect();
    let expected = [("data", AttributeMode::AttrNormal), ("now", AttributeMode::AttrReadonly)];
    assert_eq!(attributes, expected);
    let plan = &station.operations[0];
    assert_eq!(plan.id, "IDL:example.com/radar/Station/plan:1.0");
    assert_eq!(plan.result.to_string(), "struct Tree { string name; Trees children; }");
    let params = plan.parameters.iter();
    let params: Vec<_> = params.map(|each| (&*each.name, each.mode, each.r#type.kind())).collect();
    let expected = [
        ("name", ParameterMode::ParamIn, TcKind::String),
        ("first", ParameterMode::ParamInout, TcKind::Struct),
        ("s", ParameterMode::ParamOut, TcKind::Union),
    ];
    assert_eq!(params, expected);
    assert_eq!(plan.exceptions[0].r#type.to_string(), "exception Lost { string why; Hop at; }");
    assert_eq!(station.operations[1].mode, OperationMode::OpOneway);
    assert_eq!(station.operations[2].contexts, ["user"]);
}

#[test]
fn what_is_no_interface_is_not_described_as_one() {
    let served = served();
    let hop = client::describe(&served.repository, "IDL:example.com/radar/Hop:1.0");
    assert_eq!(hop, Ok(None));
    assert_eq!(client::describe(&served.repository, "IDL:nowhere:1.0"), Ok(None));
}

#[test]
fn names_are_found_as_idl_finds_them() {
    let served = served();
    let station: ContainerRef = served.found("radar::Station");
    for name in ["Inner", "Hop", "radar::Hop", "::radar::Hop", "now"] {
        assert!(station.lookup(name).unwrap().is_some(), "{name}");
    }
    for name in ["::Hop", "radar::Inner", "Hop::kind", ""] {
        assert_eq!(station.lookup(name).unwrap(), None, "{name}");
    }
}

#[test]
fn containers_list_what_is_asked_for() {
    let served = served();
    let station: ContainerRef = served.found("::radar::Station");
    let all = DefinitionKind::DkAll;
    assert_eq!(names(station.contents(all, true).unwrap()), ["Inner", "data", "plan", "log", "tc"]);
    assert_eq!(
        names(station.contents(all, false).unwrap()),
        ["Inner", "data", "plan", "log", "tc", "now"]
    );
    let radar: ContainerRef = served.found("radar");
    let typedefs = radar.contents(DefinitionKind::DkTypedef, true).unwrap();
    assert_eq!(names(typedefs), ["Phase", "Blob", "Grid", "Hop", "Trees", "Tree", "Sensor"]);
    let root = &served.repository;
    let everywhere = root.lookup_name("now", -1, all, true).unwrap();
    assert_eq!(names(everywhere), ["now"]);
    assert_eq!(names(root.lookup_name("now", 2, all, true).unwrap()), [""; 0]);
    let described = radar.describe_contents(DefinitionKind::DkInterface, true, 1).unwrap();
    assert_eq!(described.len(), 1);
    let base = described[0].value.get::<InterfaceDescription>().unwrap().unwrap();
    assert_eq!(base.id, "IDL:example.com/radar/Base:1.0");
}

#[test]
fn every_kind_of_type_tells_what_it_is_made_of() {
    let served = served();
    let hop: StructDefRef = served.found("radar::Hop");
    let members = hop.members().unwrap();
    let lane = members[2].type_def.as_ref().unwrap();
    let lane: StringDefRef = lane.narrow().unwrap().unwrap();
    assert_eq!((lane.bound(), lane.r#type()), (Ok(8), Ok(TypeCode::bounded_string(8))));

    let blob: AliasDefRef = served.found("radar::Blob");
    let original = blob.original_type_def().unwrap().unwrap();
    let original: SequenceDefRef = original.narrow().unwrap().unwrap();
    assert_eq!((original.bound(), original.element_type()), (Ok(16), Ok(TypeCode::OCTET)));

    let grid: AliasDefRef = served.found("radar::Grid");
    let rows = grid.original_type_def().unwrap().unwrap();
    let rows: ArrayDefRef = rows.narrow().unwrap().unwrap();
    assert_eq!(rows.length(), Ok(2));
    assert_eq!(rows.element_type(), Ok(TypeCode::array(TypeCode::LONG, 3)));

    let sensor: UnionDefRef = served.found("radar::Sensor");
    let labels = sensor.members().unwrap().into_iter().map(|member| {
        let label = member.label.get::<i32>().unwrap();
        (member.name, label)
    });
    let labels: Vec<_> = labels.collect();
    let expected = [("temperature", Some(1)), ("text", Some(2)), ("text", Some(3)), ("raw", None)];
    assert_eq!(labels, expected.map(|(name, label)| (name.to_owned(), label)));

    let phase: EnumDefRef = served.found("radar::Phase");
    assert_eq!(phase.members().unwrap(), ["climb", "cruise"]);

    let gravity: ConstantDefRef = served.found("radar::GRAVITY");
    assert_eq!(gravity.value().unwrap().get::<f64>(), Ok(Some(9.80665)));
    let first: ConstantDefRef = served.found("radar::FIRST");
    let first = first.value().unwrap().dynamic().unwrap();
    assert!(matches!(first, oxorb::values::Dynamic::Enum { ordinal: 1, .. }), "{first:?}");
}

#[test]
fn valuetypes_tell_state_and_factories() {
    let served = served();
    let point: ValueDefRef = served.found("radar::Point");
    let point = point.describe_value().unwrap();
    let members = point.members.iter().map(|member| (&*member.name, member.access));
    let members: Vec<_> = members.collect();
    assert_eq!(members, [("x", PUBLIC_MEMBER), ("h", PRIVATE_MEMBER)]);
    assert_eq!(point.initializers[0].name, "make");
    assert_eq!(point.initializers[0].members[0].r#type, TypeCode::LONG);
    assert_eq!(point.r#type.kind(), TcKind::Value);
}

#[test]
fn basic_types_are_there_and_type_codes_get_their_names_back() {
    let served = served();
    for kind in [PrimitiveKind::PkVoid, PrimitiveKind::PkUshort, PrimitiveKind::PkValueBase] {
        let found = served.repository.get_primitive(kind).unwrap().unwrap();
        assert_eq!(found.kind(), Ok(kind));
    }
    let hop: StructDefRef = served.found("radar::Hop");
    let full = hop.r#type().unwrap();
    let canonical = served.repository.get_canonical_typecode(&full.compact());
    assert_eq!(canonical, Ok(full.clone()));
    let some = TypeCode::bounded_sequence(full.compact(), 3);
    let canonical = served.repository.get_canonical_typecode(&some);
    assert_eq!(canonical, Ok(TypeCode::bounded_sequence(full, 3)));
}

#[test]
fn nothing_changes_it_over_the_wire() {
    let served = served();
    let reference = served.repository.reference();
    let call = |name: &'static str| {
        let op: &'static oxorb::__gen::Op = Box::leak(Box::new(oxorb::__gen::Op::twoway(name)));
        let done: Result<(), oxorb::SystemException> = reference.invoke(op, |_| Ok(()), |_| Ok(()));
        done.unwrap_err().kind
    };
    assert_eq!(call("create_module"), SystemExceptionKind::NoImplement);
    assert_eq!(call("_set_name"), SystemExceptionKind::NoImplement);
    assert_eq!(call("destroy"), SystemExceptionKind::BadInvOrder);
    assert_eq!(call("nonsense"), SystemExceptionKind::BadOperation);
}

/// Returns an object of an ORB that has the repository as initial reference, of any interface.
fn object(orb: &Orb, repository_id: &'static str) -> ObjectRef {
    struct Silent(&'static str);
    impl oxorb::Servant for Silent {
        fn repository_id(&self) -> &str {
            self.0
        }
        fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
            upcall.unknown_operation()
        }
    }
    let servant = std::sync::Arc::new(Silent(repository_id));
    let reference = orb.root_poa().activate_servant(servant).unwrap();
    ObjectRef::from_ref(reference)
}

#[test]
fn objects_know_their_interface() {
    let served = served();
    let other = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .init_ref("InterfaceRepository", &served.url)
        .build()
        .unwrap();
    let station = object(&other, STATION).to_ior();
    let station: ObjectRef = served.client.string_to_object(&station).unwrap();
    let interface = station.reference().interface().unwrap().unwrap();
    let interface: InterfaceDefRef = interface.narrow().unwrap().unwrap();
    assert_eq!(interface.id(), Ok(STATION.to_owned()));

    let stranger = object(&other, "IDL:stranger:1.0").to_ior();
    let stranger = served.client.string_to_object(&stranger).unwrap();
    let unknown = stranger.reference().interface().unwrap_err();
    let minor = oxorb::minor::intf_repos::NO_ENTRY;
    assert_eq!((unknown.kind, unknown.minor), (SystemExceptionKind::IntfRepos, minor));
    other.shutdown(true).unwrap();

    let alone = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let station = object(&alone, STATION).to_ior();
    let station = served.client.string_to_object(&station).unwrap();
    let unknown = station.reference().interface().unwrap_err();
    let minor = oxorb::minor::intf_repos::NOT_AVAILABLE;
    assert_eq!((unknown.kind, unknown.minor), (SystemExceptionKind::IntfRepos, minor));
    alone.shutdown(true).unwrap();
}

#[test]
fn an_early_client_is_not_told_that_the_repository_is_gone() {
    let _watchdog = oxorb_testkit::watchdog(Duration::from_secs(120));
    let folder = Folder::new("early");
    let mut text = String::new();
    for number in 0..300 {
        let _ = write!(text, "interface I{number} {{ void f(); }};");
    }
    let port = oxorb_testkit::net::free_port();
    let url = format!("corbaloc::127.0.0.1:{port}/InterfaceRepository");
    for _ in 0..5 {
        let repository = Repository::new(&[folder.unit("a.idl", &text)]).unwrap();
        std::thread::scope(|scope| {
            let early = scope.spawn(|| {
                let client = Orb::builder().build().unwrap();
                let root = client.string_to_object(&url).unwrap();
                let first = loop {
                    match root.non_existent() {
                        // The server does not listen yet.
                        Err(_) => std::thread::yield_now(),
                        Ok(gone) => break gone,
                    }
                };
                let _ = client.shutdown(true);
                first
            });
            let endpoint = format!("iiop://127.0.0.1:{port}");
            let server = Orb::builder().listen(&endpoint).listen_late().build().unwrap();
            let _served = oxorb_ifr::serve(&server, repository).unwrap();
            assert!(!early.join().unwrap(), "told that there is no repository");
            server.shutdown(true).unwrap();
        });
    }
}

/// The type code of an enum with explicit values is that of an integer.
#[test]
fn constants_and_labels_of_enums_with_values_are_numbers() {
    let idl = "enum E { @value(10) a, @value(20) b }; const E c = b;
               union U switch (E) { case a: long x; case b: string y; };";
    let folder = Folder::new("values");
    let served = Served::new(&[folder.unit("values.idl", idl)]);
    let constant: ConstantDefRef = served.found("c");
    assert_eq!(constant.value().unwrap().dynamic().unwrap(), Dynamic::Ulong(20));
    let union: UnionDefRef = served.found("U");
    let labels = union.members().unwrap().into_iter();
    let labels: Vec<_> = labels.map(|member| member.label.dynamic().unwrap()).collect();
    assert_eq!(labels, [Dynamic::Ulong(10), Dynamic::Ulong(20)]);
}
