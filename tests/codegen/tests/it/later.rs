//! Servants that answer later (AMH), as the compiler makes them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use oxorb::{Amh, CompletionStatus, Interface as _, Orb, SystemException, SystemExceptionKind};
use oxorb_codegen_tests::asynchronous::kitchen::heater::{
    MakerAnswer, PowerAnswer, SetPowerAnswer,
};
use oxorb_codegen_tests::asynchronous::kitchen::oven::TellAnswer;
use oxorb_codegen_tests::asynchronous::kitchen::oven::{
    BakeAnswer, BakeError, Full, ServeAnswer, SwapAnswer,
};
use oxorb_codegen_tests::asynchronous::kitchen::{
    AmhHeater, AmhOven, Cold, Dish, DishRef, Heater, HeaterRef, Oven, OvenRef, Recipe,
};

type Job = Box<dyn FnOnce() + Send>;

/// Has all its answers given by another thread.
struct Cook {
    jobs: Sender<Job>,
    power: Arc<Mutex<f64>>,
    swept: Arc<Mutex<Vec<String>>>,
    dish: Option<DishRef>,
}

impl Cook {
    fn later(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.send(Box::new(job)).unwrap();
    }
}

impl AmhHeater for Cook {
    fn power(&self, answer: PowerAnswer) {
        let power = *self.power.lock().unwrap();
        self.later(move || answer.reply(power));
    }

    fn set_power(&self, value: f64, answer: SetPowerAnswer) {
        *self.power.lock().unwrap() = value;
        self.later(move || answer.reply());
    }

    fn maker(&self, answer: MakerAnswer) {
        self.later(move || answer.reply("oxorb".to_owned()));
    }

    fn sweep(&self, reason: &str) {
        self.swept.lock().unwrap().push(reason.to_owned());
    }
}

impl AmhOven for Cook {
    fn bake(&self, what: &str, minutes: i32, answer: BakeAnswer) {
        assert!(answer.expects_reply());
        let what = what.to_owned();
        self.later(move || match minutes {
            0 => answer.raise(Cold { degrees: 20 }),
            1 => answer.raise(Full { what: vec![what] }),
            2 => answer.raise(SystemException::no_permission(4, CompletionStatus::No)),
            3 => answer.raise(BakeError::Cold(Cold { degrees: 3 })),
            4 => drop(answer),
            _ => answer.reply(i64::from(minutes) * 2),
        });
    }

    fn tell(&self, answer: &str, later: &[u8], result: Option<&DishRef>, answer_: TellAnswer) {
        assert_eq!((answer, later, result), ("yes", &[1, 2][..], None));
        self.later(move || answer_.reply());
    }

    fn swap(&self, in_: &Recipe, both: &Recipe, octets: &[u8], answer: SwapAnswer) {
        let (given, both, octets) = (in_.clone(), both.clone(), octets.to_vec());
        self.later(move || {
            let longer = [octets.as_slice(), &[9]].concat();
            answer.reply(both, given.clone(), given.name, given.photo, longer);
        });
    }

    fn serve(&self, wanted: bool, answer: ServeAnswer) {
        let dish = self.dish.clone().filter(|_| wanted);
        self.later(move || answer.reply(dish));
    }
}

struct Plate;
impl Dish for Plate {}

/// Answers at once: both kinds may live in one ORB.
struct Hasty;

impl Heater for Hasty {
    fn power(&self) -> oxorb::Result<f64> {
        Ok(1.0)
    }
    fn set_power(&self, _: f64) -> oxorb::Result<()> {
        Ok(())
    }
    fn maker(&self) -> oxorb::Result<String> {
        Ok("hasty".to_owned())
    }
    fn sweep(&self, _: &str) {}
}

fn cook(jobs: Receiver<Job>) {
    for job in jobs {
        job();
    }
}

#[test]
fn every_kind_of_call_is_answered_by_another_thread() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().build().unwrap();
    let (jobs, todo) = channel();
    let cook = thread::spawn(move || cook(todo));
    let dish: DishRef = server.root_poa().activate(Plate).unwrap();
    let swept = Arc::<Mutex<Vec<String>>>::default();
    let servant =
        Arc::new(Cook { jobs, power: Arc::default(), swept: Arc::clone(&swept), dish: Some(dish) });
    let local: OvenRef = server.root_poa().activate(Amh(Arc::clone(&servant))).unwrap();
    let elsewhere: OvenRef = client.resolve(&local.to_ior()).unwrap();
    for oven in [local, elsewhere] {
        assert_eq!(oven.bake("bread", 30), Ok(60));
        assert_eq!(oven.bake("bread", 0), Err(BakeError::Cold(Cold { degrees: 20 })));
        let full = Full { what: vec!["bread".to_owned()] };
        assert_eq!(oven.bake("bread", 1), Err(BakeError::Full(full)));
        let denied = SystemException::no_permission(4, CompletionStatus::No);
        assert_eq!(oven.bake("bread", 2), Err(BakeError::System(denied)));
        assert_eq!(oven.bake("bread", 3), Err(BakeError::Cold(Cold { degrees: 3 })));
        match oven.bake("bread", 4) {
            Err(BakeError::System(raised)) => {
                assert_eq!(raised.kind, SystemExceptionKind::NoResponse);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(oven.tell("yes", &[1, 2], None), Ok(()));
        let [a, b] = ["a", "b"].map(|name| Recipe { name: name.to_owned(), photo: vec![7; 3] });
        let (mut both, mut octets) = (b.clone(), vec![1]);
        let swapped = oven.swap(&a, &mut both, &mut octets);
        assert_eq!(swapped, Ok((b, "a".to_owned(), vec![7; 3])));
        assert_eq!((both, octets), (a, vec![1, 9]));
        assert!(oven.serve(true).unwrap().is_some());
        assert_eq!(oven.serve(false), Ok(None));
        // Inherited ones.
        let heater = HeaterRef::from(oven.clone());
        heater.set_power(3.5).unwrap();
        assert_eq!(oven.power(), Ok(3.5));
        assert_eq!(heater.maker(), Ok("oxorb".to_owned()));
        oven.sweep("crumbs").unwrap();
        assert_eq!(oven.bake("afterwards", 5), Ok(10));
        assert_eq!(std::mem::take(&mut *swept.lock().unwrap()), ["crumbs"]);
    }
    let hasty: HeaterRef = server.root_poa().activate(Hasty).unwrap();
    assert_eq!(hasty.maker(), Ok("hasty".to_owned()));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
    drop(servant);
    cook.join().unwrap();
}

/// An interface that is served one way or the other looks the same from outside.
#[test]
fn it_is_the_same_interface() {
    let orb = Orb::builder().build().unwrap();
    let (jobs, _todo) = channel();
    let oven: OvenRef = orb
        .root_poa()
        .activate(Amh(Cook { jobs, power: Arc::default(), swept: Arc::default(), dish: None }))
        .unwrap();
    let ids = ["Oven", "Heater"].map(|name| format!("IDL:kitchen/{name}:1.0"));
    assert!(ids.iter().all(|id| oxorb::Interface::reference(&oven).is_a(id).unwrap()));
    fn plain<T: Oven>() {}
    let _ = plain::<NeverMade>;
    orb.shutdown(true).unwrap();
}

/// The plain trait is there all the same.
enum NeverMade {}
impl Heater for NeverMade {
    fn power(&self) -> oxorb::Result<f64> {
        match *self {}
    }
    fn set_power(&self, _: f64) -> oxorb::Result<()> {
        match *self {}
    }
    fn maker(&self) -> oxorb::Result<String> {
        match *self {}
    }
    fn sweep(&self, _: &str) {
        match *self {}
    }
}
impl Oven for NeverMade {
    fn bake(&self, _: &str, _: i32) -> Result<i64, BakeError> {
        match *self {}
    }
    fn tell(&self, _: &str, _: &[u8], _: Option<&DishRef>) -> oxorb::Result<()> {
        match *self {}
    }
    fn swap<'a>(
        &'a self,
        _: &'a Recipe,
        _: &mut Recipe,
        _: &mut Vec<u8>,
    ) -> oxorb::Result<(Recipe, String, std::borrow::Cow<'a, [u8]>)> {
        match *self {}
    }
    fn serve(&self, _: bool) -> oxorb::Result<Option<DishRef>> {
        match *self {}
    }
}
