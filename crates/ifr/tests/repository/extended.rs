//! Exceptions of attributes and factories: `Ext...Def`.

use oxorb_ifr::client;
use oxorb_ifr::corba::*;

use super::{Served, radar};

fn names(exceptions: &[ExceptionDescription]) -> Vec<&str> {
    exceptions.iter().map(|each| &*each.name).collect()
}

#[test]
fn interfaces_of_each_kind_tell_the_exceptions_of_their_attributes() {
    let served = Served::new(&[radar()]);
    let station: ExtInterfaceDefRef = served.found("radar::Station");
    let described = station.describe_ext_interface().unwrap();
    assert_eq!(described.base_interfaces, ["IDL:example.com/radar/Base:1.0"]);
    assert_eq!(described.operations.len(), 3);
    let data = &described.attributes[0];
    assert_eq!((&*data.name, data.mode), ("data", AttributeMode::AttrNormal));
    assert_eq!(names(&data.get_exceptions), ["Lost"]);
    assert_eq!(names(&data.put_exceptions), ["Lost", "Jammed"]);
    let now = &described.attributes[1];
    assert_eq!(&*now.name, "now", "inherited");
    assert!(now.get_exceptions.is_empty() && now.put_exceptions.is_empty());

    let how: ExtAbstractInterfaceDefRef = served.found("radar::Shown");
    assert_eq!(how.def_kind().unwrap(), DefinitionKind::DkAbstractInterface);
    let how = how.describe_ext_interface().unwrap();
    assert_eq!(names(&how.attributes[0].get_exceptions), ["Lost"]);
    let here: ExtLocalInterfaceDefRef = served.found("radar::Near");
    let here = here.describe_ext_interface().unwrap();
    assert_eq!(names(&here.attributes[0].put_exceptions), ["Jammed"]);
}

#[test]
fn attributes_and_factories_tell_theirs() {
    let served = Served::new(&[radar()]);
    let data: ExtAttributeDefRef = served.found("radar::Station::data");
    assert_eq!(names(&data.get_exceptions().unwrap()), ["Lost"]);
    assert_eq!(names(&data.set_exceptions().unwrap()), ["Lost", "Jammed"]);
    let described = data.describe_attribute().unwrap();
    assert_eq!(described.id, "IDL:example.com/radar/Station/data:1.0");
    assert_eq!(names(&described.put_exceptions), ["Lost", "Jammed"]);

    let point: ExtValueDefRef = served.found("radar::Point");
    let make = &point.ext_initializers().unwrap()[0];
    assert_eq!((&*make.name, names(&make.exceptions)), ("make", vec!["Jammed"]));
    let described = point.describe_ext_value().unwrap();
    assert_eq!(described.members.len(), 2);
    assert_eq!(names(&described.initializers[0].exceptions), ["Jammed"]);
}

#[test]
fn signatures_have_them() {
    let served = Served::new(&[radar()]);
    let station = client::find(&served.repository, "radar::Station").unwrap().unwrap();
    let station = client::interface(&station).unwrap();
    assert_eq!(station.scoped_name, "radar::Station");
    assert_eq!(
        station.ids,
        ["IDL:example.com/radar/Station:1.0", "IDL:example.com/radar/Base:1.0"]
    );
    let raised = |operation: &str| station.signature(operation).unwrap().raises.len();
    assert_eq!((raised("_get_data"), raised("_set_data"), raised("plan")), (1, 2, 1));
    assert!(station.signature("_set_now").is_none());
    assert!(station.signature("log").unwrap().oneway);
}

#[test]
fn no_call_of_a_query_is_made_beyond_its_limit() {
    let served = Served::new(&[radar()]);
    let late = oxorb::SystemException::timeout(0, oxorb::CompletionStatus::No);
    let query = |calls: u32| {
        let left = std::cell::Cell::new(calls);
        let limited = |object: &oxorb::Ref| match left.get() {
            0 => Err(late),
            more => {
                left.set(more - 1);
                Ok(object.clone())
            }
        };
        let queries = client::Queries::new(&limited);
        let station = queries.find(&served.repository, "radar::Station")?.expect("a definition");
        queries.interface(&station)
    };
    let needed = (0..100).find(|calls| query(*calls).is_ok()).expect("the query ends");
    // Calls to the objects that the repository returns count as well: the interface, and its base.
    assert!(needed > 5, "{needed}");
    assert!((0..needed).all(|calls| query(calls).err() == Some(late)));
}
