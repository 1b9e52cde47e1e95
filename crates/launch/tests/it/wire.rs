//! Conversion of plans to the structs of `Deployment.idl` and back.

#[path = "../../../deploy/tests/it/any_plan/mod.rs"]
mod any_plan;

use std::path::Path;

use oxorb_cdr::{
    Any, ByteOrder, CharSet, Decode, Decoder, Dialect, Dynamic, Encode, Encoder, TypeCode,
};
use oxorb_deploy::package::{Link, PackageConfiguration};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Archive, AssemblyLimits, Document, Format, Limits};
use oxorb_launch::idl::deployment as idl;
use oxorb_launch::wire::{from_any, from_wire, package_from_wire, package_to_wire, to_wire};
use proptest::prelude::*;

fn read(name: &str) -> Plan {
    let path = format!("{}/../deploy/tests/plans/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let format = Format::of_file(name).unwrap();
    let document = Document::read(&text, format, &Limits::default()).unwrap();
    document.into_plan().unwrap()
}

/// Dialect that two OxORB ORBs negotiate.
const DIALECT: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

/// Encodes a struct as in a message, and decodes it again.
fn sent<T: Encode + for<'de> Decode<'de>>(value: &T) -> T {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, DIALECT);
    value.encode(&mut encoder).unwrap();
    let octets = encoder.finish().to_vec();
    T::decode(&mut Decoder::new(&octets, ByteOrder::Big, DIALECT)).unwrap()
}

#[test]
fn documents_survive() {
    for name in ["avionics.toml", "collision.toml", "ciao.cdp", "kinds.cdp"] {
        let plan = read(name);
        let back = from_wire(&sent(&to_wire(&plan).unwrap())).unwrap();
        assert_eq!(back.instance.len(), plan.instance.len(), "{name}");
        for (back, plan) in back.instance.iter().zip(&plan.instance) {
            assert_eq!(back.name, plan.name);
            assert_eq!(back.node, plan.node);
            assert_eq!(back.config_property, plan.config_property);
        }
        for (back, plan) in back.connection.iter().zip(&plan.connection) {
            for (back, plan) in back.internal_endpoint.iter().zip(&plan.internal_endpoint) {
                assert_eq!((&back.port_name, back.kind), (&plan.port_name, plan.kind));
                assert_eq!(back.provides(), plan.provides());
            }
        }
        let again = from_wire(&sent(&to_wire(&back).unwrap())).unwrap();
        assert_eq!(again, back, "{name}");
    }
}

/// Returns the package of the cockpit, without links.
fn cockpit() -> PackageConfiguration {
    fn add(archive: &mut Archive, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            match path.is_dir() {
                true => add(archive, &path, &format!("{name}/")),
                false => drop(archive.files.insert(name, std::fs::read(&path).unwrap())),
            }
        }
    }
    let mut archive = Archive::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/tests/packages/cockpit");
    add(&mut archive, Path::new(folder), "");
    archive.configuration(None, &AssemblyLimits::default()).unwrap()
}

#[test]
fn packages_survive() {
    let package = cockpit();
    let wire = package_to_wire(&package).unwrap();
    let back = package_from_wire(&sent(&wire)).unwrap();
    assert_eq!(package_to_wire(&back).unwrap(), wire);
    let assembly = |package: &PackageConfiguration| {
        let [Link::Here(base)] = package.base_package.as_slice() else {
            panic!("{package:?}");
        };
        let Link::Here(implementation) = &base.implementation[0].referenced_implementation else {
            panic!("{base:?}");
        };
        implementation.assembly_impl[0].clone()
    };
    let (assembly, back) = (assembly(&package), assembly(&back));
    let names = back.instance.iter().map(|part| part.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["usual", "slow", "timer"]);
    for (part, back) in assembly.instance.iter().zip(&back.instance) {
        assert_eq!(part.config_property, back.config_property);
    }
    // The ids of parts are their positions.
    let ends = &back.connection[0].internal_endpoint;
    let ids: Vec<&str> = ends.iter().map(|end| end.instance.id.as_str()).collect();
    assert_eq!(ids, ["part-2", "part-0"]);
}

#[test]
fn links_and_parts_that_a_package_lacks_are_named() {
    let mut package = cockpit();
    let mut wire = package_to_wire(&package).unwrap();
    package.base_package = vec![Link::default()];
    let wrong = package_to_wire(&package).unwrap_err().to_string();
    assert!(wrong.starts_with("basePackage: it is a link to the document"), "{wrong}");
    let implementation = &mut wire.base_package[0].implementation[0].referenced_implementation;
    implementation.assembly_impl[0].connection[0].internal_endpoint[0].instance_ref = 3;
    let wrong = package_from_wire(&wire).unwrap_err().to_string();
    assert_eq!(wrong, "fast pulse: index 3 is out of range: the assembly has 3 parts");
}

#[test]
fn what_is_wrong_is_named() {
    let mut plan = to_wire(&read("avionics.toml")).unwrap();
    plan.instance[0].implementation_ref = 7;
    let wrong = from_wire(&plan).unwrap_err();
    assert_eq!(wrong.to_string(), "rate: index 7 is out of range: there are 3");
    plan.instance[0].implementation_ref = 0;
    plan.instance[0].config_property[0].value = Any::new(Any::new(1_u32));
    let wrong = from_wire(&plan).unwrap_err();
    let text = "hertz: properties of plans have no values of the type any";
    assert_eq!(wrong.to_string(), text);
}

#[test]
fn a_type_that_contains_itself_is_refused() {
    let id = "IDL:Node:1.0";
    let inner = TypeCode::sequence(TypeCode::recursive(id));
    let node = TypeCode::structure(id, "Node", [("next", inner)]);
    let empty = Dynamic::default_for(&node).unwrap();
    let any = Any::with_type(node, empty).unwrap();
    let wrong = from_any(&any).unwrap_err();
    assert_eq!(wrong, "a type is more than 48 deep, the limit");
}

/// Returns a struct that contains, as `member` makes it, the previous struct twice, and so on for some levels. Its type
/// code has one copy of each struct.
fn doubled(levels: usize, member: impl Fn(TypeCode) -> TypeCode) -> TypeCode {
    let mut ty = TypeCode::structure("IDL:S0:1.0", "S0", [("o", TypeCode::OCTET)]);
    for at in 1..=levels {
        let (id, name) = (format!("IDL:S{at}:1.0"), format!("S{at}"));
        let part = member(ty);
        ty = TypeCode::structure(&id, &name, [("a", part.clone()), ("b", part)]);
    }
    ty
}

/// Returns a struct with two empty sequences of structs, which have such members, too.
fn sequences(levels: usize) -> Any {
    let ty = doubled(levels, TypeCode::sequence);
    let empty = Dynamic::default_for(&ty).unwrap();
    sent(&Any::with_type(ty, empty).unwrap())
}

#[test]
fn types_that_stand_for_very_large_ones_are_refused() {
    // Without the limit, the conversion would make 2^40 parts.
    let property = idl::ComponentPropertyDescription {
        name: "large".to_owned(),
        r#type: doubled(40, |ty| ty),
    };
    let mut plan = to_wire(&read("avionics.toml")).unwrap();
    plan.realizes.property = vec![property.clone()];
    let wrong = from_wire(&sent(&plan)).unwrap_err().to_string();
    assert_eq!(wrong, "large: the types of properties have more than 2000000 parts, the limit");

    let mut package = package_to_wire(&cockpit()).unwrap();
    package.base_package[0].realizes.property = vec![property];
    let wrong = package_from_wire(&sent(&package)).unwrap_err().to_string();
    assert_eq!(wrong, "large: the types of properties have more than 100000 parts, the limit");

    // The value has eight octets.
    let wrong = from_any(&sequences(20)).unwrap_err();
    assert_eq!(wrong, "the types of properties have more than 2000000 parts, the limit");

    // All properties share the limit.
    let value = sequences(10);
    from_any(&value).unwrap();
    let property = idl::Property { name: "many".to_owned(), value };
    plan.realizes.property.clear();
    plan.info_property = vec![property; 500];
    let wrong = from_wire(&plan).unwrap_err().to_string();
    assert_eq!(wrong, "many: the types of properties have more than 2000000 parts, the limit");
}

#[test]
fn values_that_stand_for_very_large_ones_are_refused() {
    let text = "the types and values of properties have more than 67108864 octets of names and texts, the limit";
    let long = "x".repeat(1 << 20);
    // The name of a member is copied with its type.
    let inner = TypeCode::structure("IDL:Inner:1.0", "Inner", [(long.as_str(), TypeCode::OCTET)]);
    let names: Vec<String> = (0..100).map(|at| format!("m{at}")).collect();
    let members = names.iter().map(|name| (name.as_str(), inner.clone()));
    let outer = TypeCode::structure("IDL:Outer:1.0", "Outer", members);
    let zeros = Dynamic::default_for(&outer).unwrap();
    assert_eq!(from_any(&Any::with_type(outer, zeros).unwrap()).unwrap_err(), text);
    // The name of an enumerator is copied with each value, and so are the names of members.
    let side = TypeCode::enumeration("IDL:Side:1.0", "Side", [long.as_str()]);
    for element in [side, inner] {
        let value = Dynamic::default_for(&element).unwrap();
        let values = Dynamic::Sequence(vec![value; 100]);
        let any = Any::with_type(TypeCode::sequence(element), values).unwrap();
        assert_eq!(from_any(&any).unwrap_err(), text);
    }
    // Each octet becomes a number.
    let octets = |count| {
        let octets = Dynamic::Octets(vec![0; count]);
        Any::with_type(TypeCode::sequence(TypeCode::OCTET), octets).unwrap()
    };
    // A plan in a call may have more octets in sequences than a document has elements.
    assert!(from_any(&octets(1_000_000)).is_ok());
    let wrong = from_any(&octets(2_000_000)).unwrap_err();
    assert_eq!(wrong, "the values of properties have more than 2000000 parts, the limit");
    // A value whose type has two names is one part.
    let named = TypeCode::alias("IDL:Angle:1.0", "Angle", TypeCode::DOUBLE);
    let angles = Dynamic::Sequence(vec![Dynamic::Double(0.5); 300_000]);
    let angles = Any::with_type(TypeCode::sequence(named), angles).unwrap();
    assert!(from_any(&angles).is_ok());
}

#[test]
fn packages_that_are_too_large_are_refused_before_the_conversion() {
    let usual = package_to_wire(&cockpit()).unwrap();
    let refused = |change: &dyn Fn(&mut idl::ComponentPackageDescription)| {
        let mut package = usual.clone();
        change(&mut package.base_package[0]);
        package_from_wire(&package).unwrap_err().to_string()
    };
    let wrong = refused(&|base| {
        let implementation = &mut base.implementation[0].referenced_implementation;
        let constraint = idl::Locality {
            // The indices are out of range, which is detected only after the check of the size.
            constrained_instance_ref: vec![100_000; 200_000],
            ..idl::Locality::default()
        };
        implementation.assembly_impl[0].locality_constraint = vec![constraint];
    });
    assert!(wrong.starts_with("package: it has 200"), "{wrong}");
    assert!(wrong.contains(" elements, but the limit is 100000"), "{wrong}");
    let wrong = refused(&|base| base.label = "x".repeat((16 << 20) + 1));
    assert!(wrong.contains(" octets of texts and values, but the limit is 16777216"), "{wrong}");
    let octets = TypeCode::sequence(TypeCode::OCTET);
    let value = Any::with_type(octets, Dynamic::Octets(vec![0; 200_000])).unwrap();
    let property = idl::Property { name: "octets".to_owned(), value: sent(&value) };
    let wrong = refused(&|base| base.info_property = vec![property.clone()]);
    assert_eq!(wrong, "octets: the values of properties have more than 100000 parts, the limit");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_plan_survives(plan in any_plan::plan()) {
        let wire = to_wire(&plan).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back = from_wire(&sent(&wire)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = to_wire(&back).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&from_wire(&sent(&again)).unwrap(), &back);
        for (back, plan) in back.instance.iter().zip(&plan.instance) {
            prop_assert_eq!(&back.config_property, &plan.config_property);
            prop_assert_eq!(&back.name, &plan.name);
        }
        prop_assert_eq!(&back.info_property, &plan.info_property);
    }
}
