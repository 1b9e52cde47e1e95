//! Plans whose connections of extended ports were replaced by those of their basic ports.

use oxorb_deploy::basic::PortKind;
use oxorb_deploy::check::{ComponentType, Components, Port};
use oxorb_deploy::expand_extended_ports;
use oxorb_deploy::plan::Plan;

use crate::managers::scene::*;

/// Returns a component type of `station.idl`. The extended port comes first.
fn component(ports: &[(&str, PortKind, &str)]) -> ComponentType {
    let port = |kind: PortKind, type_name: &str| Port {
        kind,
        type_name: type_name.to_owned(),
        is_also: [type_name.to_owned()].into(),
        basic: match kind.is_extended() {
            true => vec!["outward".to_owned(), "inward".to_owned()],
            false => Vec::new(),
        },
    };
    let ports = ports.iter().map(|(name, kind, of)| ((*name).to_owned(), port(*kind, of)));
    ComponentType { ports: ports.collect(), ..ComponentType::default() }
}

/// Returns the component types that the extended port connects, as `station.idl` declares them.
fn components() -> Components {
    let (exchange, count) = ("Station::Exchange", "Station::Count");
    let terminal = component(&[
        ("link", PortKind::ExtendedPort, exchange),
        ("link_outward", PortKind::Facet, count),
        ("link_inward", PortKind::SimplexReceptacle, count),
    ]);
    let coupling = component(&[
        ("near", PortKind::MirrorPort, exchange),
        ("near_outward", PortKind::SimplexReceptacle, count),
        ("near_inward", PortKind::Facet, count),
    ]);
    [("Station::Terminal".to_owned(), terminal), ("Station::Coupling".to_owned(), coupling)].into()
}

/// Returns a plan of a terminal and a coupling on two nodes, whose extended ports are connected as a whole.
fn exchange() -> Plan {
    let part = |component: &str, instance: &str, node: &str| {
        format!(
            "[[implementation]]\nname = {component:?}\nartifact = \"station\"\n\
             [implementation.execParameter]\n\
             \"component factory\" = \"create_Station_{component}_Impl\"\n\
             [[instance]]\nname = {instance:?}\nnode = {node:?}\nimplementation = {component:?}\n"
        )
    };
    read(&format!(
        "label = \"exchange\"\n[[artifact]]\nname = \"station\"\nlocation = {:?}\n{}{}\
         [[connection]]\nname = \"bus\"\nExtendedPort = \"terminal.link\"\nMirrorPort = \"coupling.near\"\n",
        env!("CARGO_BIN_EXE_station"),
        part("Terminal", "terminal", "north"),
        part("Coupling", "coupling", "south"),
    ))
}

#[test]
fn connections_of_extended_ports_are_launched_as_those_of_their_basic_ports() {
    let scene = Scene::new(&["north", "south"]);
    // Managers know no IDL, so they refuse the connection of the extended ports.
    let mut plan = exchange();
    let refused = scene.plans.launch(&plan).unwrap_err().to_string();
    assert!(refused.contains("which cannot be connected"), "{refused}");
    assert!(scene.plans.all().unwrap().is_empty());

    expand_extended_ports(&mut plan, &components()).unwrap();
    let launched = scene.plans.launch(&plan).unwrap();
    let status = launched.manager.status().unwrap();
    assert!(all_run(&status), "{status:#?}");
    let mut connected: Vec<(&str, &str, &str)> = status
        .iter()
        .flat_map(|process| &process.connections)
        .map(|one| (&*one.name, &*one.instance, &*one.port_name))
        .collect();
    connected.sort_unstable();
    assert_eq!(
        connected,
        [("bus.inward", "terminal", "link_inward"), ("bus.outward", "coupling", "near_outward")]
    );
    // Each end calls the counter of the other end.
    assert_eq!(read_at(&status, "coupling").unwrap(), 1);
    assert_eq!(read_at(&status, "coupling").unwrap(), 2);
    assert_eq!(read_at(&status, "terminal").unwrap(), 101);

    // The same plan, expanded again, changes nothing in the running one.
    let mut again = exchange();
    expand_extended_ports(&mut again, &components()).unwrap();
    let (_, changes) = scene.plans.compare(&again).unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    let pids = pids(&status);
    scene.plans.stop(&launched).unwrap();
    wait_for_end(&pids);
}
