//! Connections of extended ports: read, written, checked, and replaced by those of their basic ports.

use oxorb_deploy::basic::{PortKind, Requirement};
use oxorb_deploy::check::{ComponentType, Components, Input, Port, check};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{
    Archive, Assembly, AssemblyLimits, Document, Format, Limits, expand_extended_ports,
};

use PortKind::{ExtendedPort, Facet, MirrorPort, SimplexReceptacle};

/// Returns a component type with ports. The port type `Secret` has a port of a local interface, the other port types
/// have the ports `outward` and `inward`.
fn component(ports: &[(&str, PortKind, &str)]) -> ComponentType {
    let port = |kind: PortKind, type_name: &str| Port {
        kind,
        type_name: type_name.to_owned(),
        is_also: [type_name.to_owned()].into(),
        basic: match (kind.is_extended(), type_name) {
            (false, _) => Vec::new(),
            (true, "Secret") => vec!["secret".to_owned()],
            (true, _) => vec!["outward".to_owned(), "inward".to_owned()],
        },
    };
    let ports = ports.iter().map(|(name, kind, of)| ((*name).to_owned(), port(*kind, of)));
    ComponentType { ports: ports.collect(), ..ComponentType::default() }
}

/// Returns a component with an extended port, and a connector with a mirror port of the same type.
fn components() -> Components {
    let left = component(&[
        ("link", ExtendedPort, "Duplex"),
        ("link_outward", Facet, "Position"),
        ("link_inward", SimplexReceptacle, "Position"),
        ("link_other", Facet, "Position"),
        ("hidden", ExtendedPort, "Secret"),
    ]);
    let wire = component(&[
        ("near", MirrorPort, "Duplex"),
        ("near_outward", SimplexReceptacle, "Position"),
        ("near_inward", Facet, "Position"),
        ("hidden", MirrorPort, "Secret"),
        ("simplex", MirrorPort, "Simplex"),
    ]);
    [("Left".to_owned(), left), ("Wire".to_owned(), wire)].into()
}

const INSTANCES: &str = "\
[[implementation]]
name = \"Left\"
execParameter = { \"component type\" = \"Left\" }
[[implementation]]
name = \"Wire\"
execParameter = { \"component type\" = \"Wire\" }
[[instance]]
name = \"left\"
node = \"n\"
implementation = \"Left\"
[[instance]]
name = \"wire\"
node = \"n\"
implementation = \"Wire\"
";

/// Returns a plan with a connection.
fn plan(connection: &str) -> Plan {
    let text = format!("{INSTANCES}[[connection]]\nname = \"bus\"\n{connection}");
    let document = Document::read(&text, Format::Toml, &Limits::default());
    document.and_then(Document::into_plan).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const BUS: &str = "ExtendedPort = \"left.link\"\nMirrorPort = \"wire.near\"\n";

#[test]
fn extended_ports_are_read_and_written() {
    let interface = "<Deployment:ComponentInterfaceDescription>\
        <port><name>link</name><specificType>IDL:Duplex:1.0</specificType><kind>ExtendedPort</kind>\
        <templateParam>Shape</templateParam></port>\
        <port><name>near</name><kind>MirrorPort</kind></port></Deployment:ComponentInterfaceDescription>";
    let read = |text: &str, format| Document::read(text, format, &Limits::default()).unwrap();
    let interface = read(interface, Format::Xml);
    for document in [interface, Document::from(plan(BUS))] {
        for format in [Format::Xml, Format::Toml] {
            let text = document.write(format).unwrap();
            assert!(text.contains("ExtendedPort") && text.contains("MirrorPort"), "{text}");
            assert_eq!(read(&text, format), document, "{text}");
        }
    }
}

#[test]
fn a_connection_of_extended_ports_becomes_those_of_their_basic_ports() {
    let mut found = plan(BUS);
    expand_extended_ports(&mut found, &components()).unwrap();
    let described: Vec<String> = found
        .connection
        .iter()
        .map(|connection| {
            let ends = connection.internal_endpoint.iter();
            let ends = ends
                .map(|end| format!("{}.{} {}", end.instance.id, end.port_name, end.kind.text()));
            format!("{}: {}", connection.name, ends.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert_eq!(
        described,
        [
            "bus.outward: left.link_outward Facet, wire.near_outward SimplexReceptacle",
            "bus.inward: left.link_inward SimplexReceptacle, wire.near_inward Facet",
        ]
    );
    let known = components();
    let input = Input { plan: &found, resources: None, domain: None, components: Some(&known) };
    let report = check(&input);
    assert!(report.is_good(), "{:?}", report.findings);
    // Short forms are possible for all ends.
    let text = Document::from(found).write(Format::Toml).unwrap();
    assert!(text.contains("Facet = \"left.link_outward\""), "{text}");
    // Connections of other ports are unchanged.
    let basic = "Facet = \"left.link_outward\"\nSimplexReceptacle = \"wire.near_outward\"\n";
    let mut same = plan(basic);
    expand_extended_ports(&mut same, &components()).unwrap();
    assert_eq!(same, plan(basic));
}

#[test]
fn extended_ports_are_checked_against_idl() {
    let known = components();
    let told = |connection: &str| {
        let plan = plan(connection);
        let input = Input { plan: &plan, resources: None, domain: None, components: Some(&known) };
        check(&input).findings.first().map(ToString::to_string).unwrap_or_default()
    };
    assert_eq!(told(BUS), "");
    for (connection, wanted) in [
        (
            "ExtendedPort = \"left.link\"\nMirrorPort = \"wire.simplex\"\n",
            "wire.simplex is of type Simplex, but left.link of type Duplex",
        ),
        (
            "ExtendedPort = \"wire.near\"\nMirrorPort = \"left.link\"\n",
            "wire.near is a MirrorPort in IDL, but a ExtendedPort here",
        ),
        (
            "Facet = \"left.link_outward\"\nMirrorPort = \"wire.near\"\n",
            "joins wire.near, a MirrorPort, with left.link_outward, a Facet",
        ),
    ] {
        assert!(told(connection).contains(wanted), "{wanted}: {}", told(connection));
    }
}

#[test]
fn connections_that_cannot_be_expanded_are_refused_with_their_places() {
    let cases = [
        (
            "ExtendedPort = \"left.links\"\nMirrorPort = \"wire.near\"\n",
            "\"left\" has no port \"links\"; it has hidden, link, ",
        ),
        (
            "ExtendedPort = \"left.link_outward\"\nMirrorPort = \"wire.near\"\n",
            "left.link_outward is a Facet in IDL, but a ExtendedPort here",
        ),
        (
            "ExtendedPort = \"left.link\"\nMirrorPort = \"wire.simplex\"\n",
            "wire.simplex is of type Simplex, but left.link of type Duplex; connect ports of the same type",
        ),
        (
            "ExtendedPort = \"left.hidden\"\nMirrorPort = \"wire.hidden\"\n",
            "left.hidden contains hidden_secret, whose interface is local",
        ),
        (
            "ExtendedPort = [\"left.link\", \"left.hidden\"]\n",
            "connection \"bus\" has no end of the kind MirrorPort",
        ),
        (
            "ExtendedPort = \"left.link\"\nMirrorPort = \"wire.near\"\nFacet = \"left.link_other\"\n",
            "connection \"bus\" joins an extended port with left.link_other, a Facet",
        ),
        (
            "ExtendedPort = \"left.link\"\n[[connection.externalReference]]\nlocation = \"corbaloc::h/x\"\n",
            "joins an extended port with an externalReference, which is a single object",
        ),
    ];
    for (connection, wanted) in cases {
        let mut found = plan(connection);
        let told = expand_extended_ports(&mut found, &components()).unwrap_err().to_string();
        assert!(told.contains(wanted), "{wanted}: {told}");
        assert!(told.split(':').next().unwrap().parse::<u32>().is_ok(), "{told}");
        assert_eq!(found, plan(connection), "the plan is unchanged");
    }
    let mut found = plan(BUS);
    found.implementation[1].exec_parameter.clear();
    let told = expand_extended_ports(&mut found, &components()).unwrap_err().to_string();
    let wanted = "the component type of instance \"wire\" is unknown, so its port \"near\"";
    assert!(told.contains(wanted), "{told}");
    // References are checked first: the type of an instance that does not exist cannot be known.
    let mut found = plan(BUS);
    found.instance[0].id.0 = "lift".to_owned();
    let told = expand_extended_ports(&mut found, &components()).unwrap_err().to_string();
    assert!(told.contains("no instance has the id \"left\""), "{told}");
    assert!(!told.contains("component type"), "{told}");
}

/// Returns the components `Left` and `Wire` with a port type of 1000 ports.
fn large_components() -> Components {
    let names: Vec<String> = (0..1_000).map(|at| format!("p{at}")).collect();
    let of = |extended: &str, kind: PortKind, basic: PortKind| {
        let ends: Vec<String> = names.iter().map(|name| format!("{extended}_{name}")).collect();
        let mut ports: Vec<(&str, PortKind, &str)> =
            ends.iter().map(|name| (name.as_str(), basic, "Position")).collect();
        ports.push((extended, kind, "Duplex"));
        let mut found = component(&ports);
        found.ports.get_mut(extended).unwrap().basic.clone_from(&names);
        found
    };
    let left = of("link", ExtendedPort, Facet);
    let wire = of("near", MirrorPort, SimplexReceptacle);
    [("Left".to_owned(), left), ("Wire".to_owned(), wire)].into()
}

#[test]
fn all_that_is_copied_for_each_basic_port_is_limited() {
    let known = large_components();
    let mut found = plan(BUS);
    expand_extended_ports(&mut found, &known).unwrap();
    assert_eq!(found.connection.len(), 1_000);
    let refused = |requirements: Vec<Requirement>| {
        let mut found = plan(BUS);
        found.connection[0].deploy_requirement = requirements;
        expand_extended_ports(&mut found, &known).unwrap_err().to_string()
    };
    let told = refused(vec![Requirement::default(); 1_000]);
    assert!(told.contains("more than 500000 elements, the limit"), "{told}");
    let long = Requirement { resource_type: "x".repeat(100_000), ..Requirement::default() };
    let told = refused(vec![long]);
    assert!(told.contains("more than 67108864 octets of names and values, the limit"), "{told}");
    let mut found = plan(BUS);
    found.connection[0].name = "x".repeat(100_000);
    let told = expand_extended_ports(&mut found, &known).unwrap_err().to_string();
    assert!(told.contains("octets of names and values, the limit"), "{told}");
}

/// Returns a package whose assembly connects the port `link` of a part `left` with a port of a part `wire`.
fn package(port: &str) -> Archive {
    let assembly = format!(
        "document = \"ComponentPackageDescription\"\nlabel = \"bus\"\n[[implementation]]\nname = \"bus\"\n\
         [[implementation.referencedImplementation.assemblyImpl]]\n\
         instance = [{{ name = \"left\", basePackage = [{{ href = \"Left.toml\" }}] }}, \
         {{ name = \"wire\", basePackage = [{{ href = \"Wire.toml\" }}] }}]\n\
         connection = [{{ name = \"bus\", internalEndpoint = [{{ portName = \"link\", instance = \"left\" }}, \
         {{ portName = {port:?}, instance = \"wire\" }}] }}]\n"
    );
    let mut archive = Archive::default();
    archive.files.insert("bus.toml".to_owned(), assembly.into_bytes());
    archive.files.insert("bin/bus".to_owned(), b"#!/bin/sh\n".to_vec());
    for name in ["Left", "Wire"] {
        let text = format!(
            "document = \"ComponentPackageDescription\"\nlabel = {name:?}\n[[implementation]]\nname = {name:?}\n\
             [[implementation.referencedImplementation.monolithicImpl]]\n\
             primaryArtifact = [{{ name = \"bus\", referencedArtifact = {{ location = \"bin/bus\" }} }}]\n\
             componentExecParameter = {{ \"component type\" = {name:?} }}\n"
        );
        archive.files.insert(format!("{name}.toml"), text.into_bytes());
    }
    archive
}

#[test]
fn extended_ports_of_a_package_are_expanded_within_its_limits() {
    let on = |components: Components| Assembly {
        node: Some("n".to_owned()),
        components,
        ..Assembly::default()
    };
    let made = package("near").plan(&on(components())).unwrap();
    assert_eq!(made.connection[0].name, "bus.outward");
    // Errors name the connection and its position in the descriptor.
    let told = package("simplex").plan(&on(components())).unwrap_err().to_string();
    let wanted = "bus.toml: connection \"bus\": wire.simplex is of type Simplex, but left.link of type Duplex";
    assert!(told.starts_with("7:") && told.contains(wanted), "{told}");
    let limits = AssemblyLimits { elements: 1_000, ..AssemblyLimits::default() };
    assert!(package("near").plan(&Assembly { limits, ..on(components()) }).is_ok());
    let large = Assembly { limits, ..on(large_components()) };
    let told = package("near").plan(&large).unwrap_err().to_string();
    assert!(told.contains("the plan of the package has more than 1000 elements"), "{told}");
}

#[test]
fn the_ports_of_a_whole_plan_may_be_extended() {
    let mut found =
        plan("ExtendedPort = \"left.link\"\nexternalEndpoint = [{ portName = \"outside\" }]\n");
    expand_extended_ports(&mut found, &components()).unwrap();
    let outside = found.connection.iter().map(|one| one.external_endpoint[0].port_name.as_str());
    assert_eq!(outside.collect::<Vec<_>>(), ["outside_outward", "outside_inward"]);
}
