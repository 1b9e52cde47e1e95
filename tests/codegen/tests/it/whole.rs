//! Types that cannot be marshalled, maps whose keys have no order, and components as seen by clients.

use std::sync::{Arc, Mutex};

use oxorb::{Any, Interface, Orb, SystemException};
use oxorb_codegen_tests::alone::components::{self, CcmObjectRef};
use oxorb_codegen_tests::alone::whole::{
    self, Choice, Deaf, Either, Listener, Maps, Point, Watch, listener::ChooseError,
    listener::SameError,
};

use crate::common::round_trip;

fn point(x: i32) -> Point {
    Point { x, y: 0.5 }
}

fn maps() -> Maps {
    Maps {
        // The given order is kept, including that of equal keys.
        by_point: vec![
            (point(2), "two".into()),
            (point(1), "one".into()),
            (point(2), "again".into()),
        ],
        by_float: vec![(f32::INFINITY, point(3))],
        by_union: vec![(Either::Text("key".into()), vec![(point(4), "four".into())])],
        in_order: [("wide".into(), vec![(2.5, "five".into()), (-2.5, "less".into())])].into(),
    }
}

#[test]
fn maps_without_order_are_pairs_on_the_wire() {
    round_trip(maps());
}

struct Atlas(Mutex<Maps>);

impl whole::Atlas for Atlas {
    fn turn(
        &self,
        one: &whole::Names,
        two: &mut whole::Marks,
    ) -> oxorb::Result<(whole::Names, whole::Nested)> {
        two.reverse();
        Ok((one.iter().rev().cloned().collect(), vec![]))
    }

    fn all(&self) -> oxorb::Result<Maps> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn set_all(&self, value: &Maps) -> oxorb::Result<()> {
        *self.0.lock().unwrap() = value.clone();
        Ok(())
    }
}

#[test]
fn maps_without_order_go_through_calls_and_any() {
    let orb = Orb::builder().build().unwrap();
    let atlas: whole::AtlasRef = orb.root_poa().activate(Atlas(Mutex::new(maps()))).unwrap();
    assert_eq!(atlas.all().unwrap(), maps());
    let names = maps().by_point;
    let mut marks = vec![(1.0, point(1)), (2.0, point(2))];
    let (turned, _) = atlas.turn(&names, &mut marks).unwrap();
    assert!(turned.iter().rev().eq(&names));
    assert_eq!(marks[0], (2.0, point(2)));
    // The bound of `Marks` is 2.
    marks.push((3.0, point(3)));
    assert!(atlas.turn(&names, &mut marks).is_err());
    let any = Any::new(maps());
    assert_eq!(any.get::<Maps>().unwrap(), Some(maps()));
}

struct Ear;

impl Listener for Ear {
    fn all(&self) -> oxorb::Result<whole::Watches> {
        Ok(vec![])
    }

    fn set_all(&self, value: &[Watch]) -> oxorb::Result<()> {
        assert_eq!(value.len(), 1);
        Ok(())
    }

    fn choose(
        &self,
        one: &Watch,
        two: &mut Choice,
    ) -> Result<(Choice, whole::Watches), ChooseError> {
        let old = std::mem::replace(two, Choice::Number(7));
        Ok((old, vec![one.clone()]))
    }

    fn same(
        &self,
        other: Option<&Arc<dyn Listener>>,
    ) -> Result<Option<Arc<dyn Listener>>, SameError> {
        match other {
            Some(other) => Ok(Some(Arc::clone(other))),
            None => Err(Deaf { who: None, since: 9 }.into()),
        }
    }
}

#[test]
fn local_interfaces_and_natives_are_members() {
    let ear: Arc<dyn Listener> = Arc::new(Ear);
    let watch =
        Watch { name: "night".into(), who: Some(Arc::clone(&ear)), native_one: Arc::new(5_u8) };
    ear.set_all(std::slice::from_ref(&watch)).unwrap();
    let mut choice = Choice::Who(Some(Arc::clone(&ear)));
    let (old, watches) = ear.choose(&watch, &mut choice).unwrap();
    assert!(matches!(old, Choice::Who(Some(_))) && old.discriminant());
    assert!(matches!(choice, Choice::Number(7)));
    assert_eq!(watches[0].native_one.downcast_ref(), Some(&5_u8));
    assert_eq!(format!("{watch:?}"), "Watch { .. }");
    let same = ear.same(Some(&ear)).unwrap().unwrap();
    assert!(Arc::ptr_eq(&same, &ear));
    match ear.same(None).map(|_| ()) {
        Err(SameError::Deaf(deaf)) => assert_eq!(deaf.since, 9),
        other => panic!("{other:?}"),
    }
}

struct Half;

/// The parameters' types are independent of a native type among them.
impl whole::Half for Half {
    fn seen(&self, one: i32) -> oxorb::Result<i32> {
        Ok(one + 1)
    }
}

#[test]
fn what_cannot_be_called_is_left_out() {
    let orb = Orb::builder().build().unwrap();
    let half: whole::HalfRef = orb.root_poa().activate(Half).unwrap();
    assert_eq!(half.seen(1).unwrap(), 2);
}

#[test]
fn a_component_is_its_equivalent_interface() {
    // The test is that these client methods compile.
    fn connect(
        ticker: &whole::TickerRef,
        home: &whole::TickerHomeRef,
        consumer: &whole::TickConsumerRef,
    ) -> Result<(), SystemException> {
        let price = ticker.provide_pricing()?;
        let _ = ticker.connect_source(price.as_ref());
        let _ = ticker.subscribe_ticks(Some(consumer));
        let _: Result<Vec<whole::ticker::FedOthersConnection>, _> =
            ticker.get_connections_fed_others();
        let _ = ticker.provide_fed_quotes()?;
        ticker.set_level(ticker.level()?)?;
        let _ = home.fresh("name");
        let _ = home.create();
        let object = CcmObjectRef::from(ticker.clone());
        let _: Result<_, components::ccm_object::GetPrimaryKeyError> = object.get_primary_key();
        Ok(())
    }
    let _ = connect;
    assert_eq!(<whole::TickerRef as Interface>::REPOSITORY_ID, "IDL:whole/Ticker:1.0");
    assert_eq!(<whole::TickConsumerRef as Interface>::REPOSITORY_ID, "IDL:whole/TickConsumer:1.0");
    // An event type stays an event type.
    let kind = <whole::Tick as oxorb::values::Typed>::type_code().to_string();
    assert!(kind.contains("event"), "{kind}");
}
