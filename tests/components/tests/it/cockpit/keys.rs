//! Homes with primary keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxorb::components::{CcmExceptionReason, CcmHomeRef, InvalidKey};
use oxorb::values::{Value, ValueLink, Valuetype};
use oxorb::{Interface, SystemExceptionKind};
use oxorb_component_tests::avionics::{
    self, Channel, OutOfRange, StationRef, StationsRef, WideChannel, station, stations_explicit,
    stations_implicit,
};

use crate::cockpit::executors::Gps;
use crate::cockpit::scene::Scene;

struct Station(f64);

impl avionics::StationExecutor for Station {
    fn antenna(self: &Arc<Self>, _: &station::Context) -> Arc<dyn avionics::Position> {
        Arc::new(Gps::at(self.0))
    }
}

#[derive(Default)]
struct Stations(Arc<AtomicU32>);

impl avionics::StationsExecutor for Stations {
    type Component = Station;

    fn create(&self, key: &Value<Channel>) -> Result<Station, stations_implicit::CreateError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match key.number {
            0 => Err(InvalidKey { reason: 7 }.into()),
            number => Ok(Station(f64::from(number))),
        }
    }

    fn spare(
        &self,
        site: &str,
    ) -> Result<(Value<Channel>, Station), stations_explicit::SpareError> {
        Ok((channel(site, 99), Station(99.0)))
    }

    fn nearest(&self, latitude: f64) -> Result<Value<Channel>, stations_explicit::NearestError> {
        let (least, most) = (0.0, 90.0);
        match (least..=most).contains(&latitude) {
            true => Ok(channel("north", latitude as u16)),
            false => Err(OutOfRange { least, most }.into()),
        }
    }
}

fn channel(site: &str, number: u16) -> Value<Channel> {
    let site = site.to_owned();
    Value::new(Channel { site, number })
}

fn key(site: &str, number: u16) -> ValueLink<Channel> {
    channel(site, number).into()
}

/// Returns a home for its client, and the number of components that its executor has created.
fn home(scene: &Scene) -> (StationsRef, Arc<AtomicU32>) {
    let executor = Stations::default();
    let made = executor.0.clone();
    let home = scene.container.install_home("Stations", executor);
    (scene.seen(&home.unwrap()), made)
}

#[test]
fn a_key_leads_to_one_component() {
    let scene = Scene::new();
    let (home, made) = home(&scene);
    let station: StationRef = home.create(&key("north", 1)).unwrap().unwrap();
    let other = home.create(&key("north", 2)).unwrap().unwrap();
    let found = home.find_by_primary_key(&key("north", 2)).unwrap().unwrap();
    assert!(found.reference().is_equivalent(other.reference()));
    let antenna = found.provide_antenna().unwrap().unwrap();
    assert_eq!(antenna.latitude(), Ok(2.0));

    let twice = home.create(&key("north", 1)).unwrap_err();
    assert!(matches!(twice, stations_implicit::CreateError::DuplicateKeyValue(_)), "{twice}");
    assert_eq!(made.load(Ordering::Relaxed), 2, "made for free keys alone");

    let of_home = home.get_primary_key(Some(&station)).unwrap();
    let of_home = of_home.get().unwrap();
    // `get_primary_key` of all components is declared with the base of all keys.
    scene.client.values().register(Channel::factories());
    let own = station.get_primary_key().unwrap().get().unwrap();
    let own: Value<Channel> = own.downcast().unwrap();
    for key in [of_home, own] {
        assert_eq!((&*key.site, key.number), ("north", 1));
    }

    home.remove(&key("north", 1)).unwrap();
    assert_eq!(station.non_existent(), Ok(true));
    let gone = home.find_by_primary_key(&key("north", 1)).unwrap_err();
    assert!(matches!(gone, stations_implicit::FindByPrimaryKeyError::UnknownKeyValue(_)), "{gone}");
    assert!(home.remove(&key("north", 1)).is_err());
    home.create(&key("north", 1)).unwrap();
}

#[test]
fn removal_by_any_way_frees_the_key() {
    let scene = Scene::new();
    let (home, _) = home(&scene);
    let create = || home.create(&key("north", 1)).unwrap().unwrap();
    create().remove().unwrap();
    let plain: CcmHomeRef = home.clone().into();
    plain.remove_component(Some(&create().into())).unwrap();
    create();
    scene.container.components()[0].remove().unwrap();
    create();
}

#[test]
fn factories_choose_keys_and_finders_find_them() {
    let scene = Scene::new();
    let (home, _) = home(&scene);
    let spare: StationRef = home.spare("south").unwrap().unwrap();
    let found = home.find_by_primary_key(&key("south", 99)).unwrap().unwrap();
    assert!(found.reference().is_equivalent(spare.reference()));
    let taken = home.spare("south").unwrap_err();
    let stations_explicit::SpareError::CreateFailure(taken) = taken else {
        panic!("{taken}");
    };
    assert_eq!(taken.reason, CcmExceptionReason::DuplicateKey as u32);

    let north = home.create(&key("north", 48)).unwrap().unwrap();
    let nearest = home.nearest(48.5).unwrap().unwrap();
    assert!(nearest.reference().is_equivalent(north.reference()));
    let none = home.nearest(47.5).unwrap_err();
    let stations_explicit::NearestError::FinderFailure(none) = none else {
        panic!("{none}");
    };
    assert_eq!(none.reason, CcmExceptionReason::ObjectNotFound as u32);
    let refused = home.nearest(-1.0).unwrap_err();
    assert!(matches!(refused, stations_explicit::NearestError::OutOfRange(_)), "{refused}");
}

#[test]
fn keys_that_are_none() {
    let scene = Scene::new();
    let (home, made) = home(&scene);
    let wide = WideChannel { base: Channel { site: "north".into(), number: 1 }, width: 5 };
    let wide = Value::new(wide).into();
    let long = key(&"n".repeat(2000), 1);
    for wrong in [ValueLink::null(), wide, long] {
        let refused = home.create(&wrong).unwrap_err();
        assert!(matches!(refused, stations_implicit::CreateError::InvalidKey(_)), "{refused}");
        let refused = home.find_by_primary_key(&wrong).unwrap_err();
        assert!(
            matches!(refused, stations_implicit::FindByPrimaryKeyError::InvalidKey(_)),
            "{refused}"
        );
        assert!(home.remove(&wrong).is_err());
    }
    assert_eq!(made.load(Ordering::Relaxed), 0);
    // A creation that the executor refused may be repeated.
    for _ in 0..2 {
        let refused = home.create(&key("north", 0)).unwrap_err();
        let stations_implicit::CreateError::InvalidKey(refused) = refused else {
            panic!("{refused}");
        };
        assert_eq!(refused.reason, 7);
    }
    // Text of any language.
    home.create(&key("нордкап", 71)).unwrap();
    assert!(home.find_by_primary_key(&key("нордкап", 71)).is_ok());
}

#[test]
fn a_full_container_keeps_no_key() {
    let scene = Scene::with(|container| container.max_components(1));
    let (home, _) = home(&scene);
    let first = home.create(&key("north", 1)).unwrap().unwrap();
    let full = home.create(&key("north", 2)).unwrap_err();
    assert!(matches!(full, stations_implicit::CreateError::CreateFailure(_)), "{full}");
    first.remove().unwrap();
    home.create(&key("north", 2)).unwrap();
}

#[test]
fn keys_of_components_that_the_home_did_not_make() {
    let scene = Scene::new();
    let (home, _) = home(&scene);
    let alone: StationRef = scene.container.install("alone", Station(1.0)).unwrap();
    for component in [Some(&alone), None] {
        let refused = home.get_primary_key(component).unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::BadParam);
        assert_eq!(refused.minor, oxorb::minor::bad_param::NOT_OF_HOME);
    }
    assert!(alone.get_primary_key().is_err());
}
