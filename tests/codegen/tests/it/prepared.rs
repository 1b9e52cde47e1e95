//! Requests marshalled once and sent many times have the same effect as ordinary calls, for all kinds of peers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use oxorb::{CompletionStatus, Interface, Orb, SystemException, SystemExceptionKind};
use oxorb_codegen_tests::mapping::{self, Hop, Phase, desk};

/// Servant that records its requests.
#[derive(Default)]
struct Clerk(Mutex<Vec<String>>);

impl mapping::Desk for Clerk {
    fn plan(&self, name: &str, legs: &[Hop], first: &Hop, now: Phase) -> oxorb::Result<i32> {
        let mut asked = self.0.lock().unwrap();
        asked.push(format!("{name} {} {} {now:?}", legs.len(), first.distance));
        Ok(first.distance + i32::from(first.lane))
    }

    fn tick(&self, _: i32) -> oxorb::Result<()> {
        Ok(())
    }

    fn log(&self, line: &str) {
        self.0.lock().unwrap().push(line.into());
    }

    fn status(&self) -> oxorb::Result<(Phase, i32, String)> {
        Ok((Phase::Cruise, 0, self.0.lock().unwrap().join(", ")))
    }

    fn rename(&self, _: &mut String, _: &mut Hop) -> oxorb::Result<String> {
        Err(SystemException::new(SystemExceptionKind::NoImplement, 0, CompletionStatus::No))
    }

    fn crop<'a>(&'a self, image: &'a [u8], _: u32) -> oxorb::Result<std::borrow::Cow<'a, [u8]>> {
        Ok(image.into())
    }

    fn weigh(&self, image: oxorb::values::Octets<'_>) -> oxorb::Result<u32> {
        Ok(image.len() as u32)
    }

    fn open(
        &self,
        old: Option<&mapping::AccountRef>,
        _: Option<&oxorb::ObjectRef>,
    ) -> oxorb::Result<Option<mapping::AccountRef>> {
        Ok(old.cloned())
    }

    fn whoami(&self, _: &oxorb::servant::Context) -> oxorb::Result<String> {
        Ok(String::new())
    }
}

const HOP: Hop = Hop { kind: 1, distance: 1500, lane: 3 };

/// Sends prepared requests with changed and unchanged arguments, in each byte order and with old versions of GIOP.
#[test]
fn prepared_requests_change_and_arrive() {
    for arguments in [
        &[][..],
        &["-ORBByteOrder", "big"],
        &["-ORBMaxGIOPVersion", "1.0"],
        &["-ORBMaxGIOPVersion", "1.1", "-ORBByteOrder", "big"],
    ] {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let served: mapping::DeskRef = server.root_poa().activate(Clerk::default()).unwrap();
        let client =
            Orb::builder().args(arguments.iter().map(ToString::to_string)).build().unwrap();
        let object: oxorb::ObjectRef = client.resolve(&served.to_ior()).unwrap();
        let (legs, name) = ([HOP; 2], String::from("höme"));
        let desk = object.reference();

        let mut plan = desk
            .prepare(&desk::op::PLAN, |e, slots| {
                e.string(&name)?;
                e.sequence(&legs, None)?;
                slots.put(e, HOP);
                slots.put(e, Phase::Climb);
                Ok(())
            })
            .unwrap();
        assert_eq!(plan.invoke::<i32, SystemException>(|d| d.long()).unwrap(), 1503);
        plan.set(1, Phase::Cruise);
        assert_eq!(plan.invoke::<i32, SystemException>(|d| d.long()).unwrap(), 1503);
        for distance in [7, 8] {
            plan.set(0, Hop { distance, ..HOP });
            assert_eq!(plan.invoke::<i32, SystemException>(|d| d.long()).unwrap(), distance + 3);
        }
        let marshalled = AtomicU32::new(0);
        let log = desk.prepare(&desk::op::LOG, |e, _| {
            marshalled.fetch_add(1, Ordering::Relaxed);
            e.string("hello")
        });
        let log = log.unwrap();
        let before = marshalled.load(Ordering::Relaxed);
        log.send().unwrap();
        log.send().unwrap();
        if !arguments.contains(&"-ORBMaxGIOPVersion") {
            assert_eq!(marshalled.load(Ordering::Relaxed), before, "copied");
        }
        let expected = [
            "höme 2 1500 Climb",
            "höme 2 1500 Cruise",
            "höme 2 7 Cruise",
            "höme 2 8 Cruise",
            "hello",
            "hello",
        ];
        let (_, _, asked) = object.unchecked_narrow::<mapping::DeskRef>().status().unwrap();
        assert_eq!(asked, expected.join(", "), "{arguments:?}");
    }
}

#[test]
#[should_panic(expected = "slot 0 of `log` has another type")]
fn a_slot_keeps_its_type() {
    let orb = Orb::builder().build().unwrap();
    let object: oxorb::ObjectRef = orb.resolve("corbaloc::127.0.0.1:1/Nobody").unwrap();
    let mut prepared = object
        .reference()
        .prepare(&desk::op::LOG, |e, slots| {
            slots.put(e, 1_i32);
            Ok(())
        })
        .unwrap();
    prepared.set(0, 1_u32);
}

#[test]
fn what_cannot_be_marshalled_is_refused_at_once() {
    let orb = Orb::builder().build().unwrap();
    let object: oxorb::ObjectRef = orb.resolve("corbaloc::127.0.0.1:1/Nobody").unwrap();
    let prepared = object.reference().prepare(&desk::op::LOG, |e, _| e.string("a\0b"));
    let exception = prepared.unwrap_err();
    assert_eq!(exception.completed, CompletionStatus::No);
}
