//! Homes.

use oxorb::components::{CcmHomeRef, HomeFinderRef, Homes, KeylessCcmHomeRef};
use oxorb::{Interface, SystemExceptionKind};
use oxorb_component_tests::avionics::{GpsHomeRef, GpsRef, gps_home_explicit};

use crate::cockpit::executors::Receivers;
use crate::cockpit::scene::Scene;

fn home(scene: &Scene) -> GpsHomeRef {
    let home = scene.container.install_home("GpsHome", Receivers::default());
    scene.seen(&home.unwrap())
}

#[test]
fn a_home_makes_and_removes_components() {
    let scene = Scene::new();
    let home = home(&scene);
    let made: GpsRef = home.create().unwrap().unwrap();
    let placed = home.at(48.5).unwrap().unwrap();
    let plain: KeylessCcmHomeRef = home.clone().into();
    let untyped = plain.create_component().unwrap().unwrap();
    assert!(untyped.narrow::<GpsRef>().unwrap().is_some());
    assert_eq!(home.made(), Ok(2));
    assert_eq!(home.test(), Ok(true), "what it supports");
    let location = placed.provide_location().unwrap().unwrap();
    assert_eq!(location.latitude(), Ok(48.5));
    let names = scene.container.components();
    let names: Vec<_> = names.iter().map(|one| one.name().to_owned()).collect();
    assert_eq!(names, ["GpsHome#1", "GpsHome#2", "GpsHome#3"]);

    let back: CcmHomeRef = placed.get_ccm_home().unwrap().unwrap();
    assert!(back.reference().is_equivalent(home.reference()));
    back.remove_component(Some(&placed.clone().into())).unwrap();
    assert_eq!(placed.non_existent(), Ok(true));
    assert!(back.remove_component(Some(&placed.into())).is_err());
    assert!(back.remove_component(None).is_err());
    made.remove().unwrap();
    let of_home = scene.container.home("GpsHome").unwrap().components();
    assert_eq!(of_home.len(), 1);
}

#[test]
fn a_factory_raises_what_it_declares() {
    let scene = Scene::with(|container| container.max_components(1));
    let home = home(&scene);
    let error = home.at(91.0).unwrap_err();
    assert!(matches!(error, gps_home_explicit::AtError::OutOfRange(_)), "{error}");
    let error = home.at(f64::NAN).unwrap_err();
    assert!(matches!(error, gps_home_explicit::AtError::CreateFailure(_)), "{error}");
    home.create().unwrap();
    assert!(home.create().is_err(), "the container is full");
}

#[test]
fn components_without_home_or_key() {
    let scene = Scene::new();
    let cockpit = scene.cockpit();
    assert_eq!(cockpit.gps.get_ccm_home().unwrap(), None);
    let error = cockpit.gps.get_primary_key().unwrap_err().to_string();
    assert!(error.contains("NoKeyAvailable"), "{error}");
    let error = cockpit.gps.get_component_def().unwrap_err();
    assert_eq!(error.kind, SystemExceptionKind::NoImplement);
    // A home removes only components that it created.
    let home = home(&scene);
    assert!(home.remove_component(Some(&cockpit.gps.into())).is_err());
}

#[test]
fn a_finder_knows_homes_by_name_and_type() {
    let scene = Scene::new();
    let home = home(&scene);
    let finder = Homes::of([scene.container.clone()]);
    let finder: HomeFinderRef = scene.server.root_poa().activate(finder).unwrap();
    let finder = scene.seen(&finder);
    let found = [
        finder.find_home_by_name("GpsHome").unwrap(),
        finder.find_home_by_home_type("IDL:Avionics/GpsHome:1.0").unwrap(),
        finder.find_home_by_component_type("IDL:Avionics/Gps:1.0").unwrap(),
    ];
    for one in found {
        assert!(one.unwrap().reference().is_equivalent(home.reference()));
    }
    assert!(finder.find_home_by_name("nothing").is_err());
}
