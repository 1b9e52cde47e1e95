//! The examples of docs/mapping.md. Every section of that page quotes the test
//! of the same name, and `the_page_quotes_these_tests` checks that it does.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::client::Raises;
use oxorb::client::ReplyTo;
use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::SyncScope;
use oxorb::rt::Threadpool;
use oxorb::servant::{Amh, Context, DelegatesTo};
use oxorb::values::{Abstract, Decimal, LongDouble, TypeCode, Typed, Value, ValueLink};
use oxorb::{
    Any, CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind,
};
use oxorb_codegen_tests::messaging::{ExceptionHolder, ReplyHandler};
use oxorb_codegen_tests::{Weather, mapping};

use mapping::account::{self, WithdrawError};
use mapping::mill::{GrindAnswer, GrindError};
use mapping::well::DrawError;
use mapping::{AccountRef, DeskRef, Frozen, Hop, Overdrawn, Phase, Reading, Rights, Sensor};
use mapping::{AmiWellHandler, AmiWellHandlerRef, Dry, MillRef, WellRef};
use mapping::{Disc, Employee, Figure, Person, PrintableRef, Remark, Ticket};
use mapping::{EntryView, MeterRef};
use mapping::{FigureOperations, Printable, PurseOperations, TicketFactory};

#[test]
fn names() {
    let track = mapping::TrackId { track_number: 7, r#type: "ship".into() };
    assert!(track.track_number < mapping::MAX_TRACK_COUNT);
}

#[test]
fn modules() {
    assert_eq!(mapping::radar::SWEEPS, 4);
}

#[test]
fn basic_types() {
    let all = mapping::Basics {
        an_octet: 255,
        a_boolean: true,
        a_char: 'é',
        a_wchar: '€',
        a_short: -1,
        a_ushort: 1,
        a_long: -1,
        a_ulong: 1,
        a_longlong: -1,
        a_ulonglong: 1,
        a_float: 0.5,
        a_double: 0.25,
        a_longdouble: LongDouble::from(0.125),
    };
    assert_eq!(all.a_longdouble.to_f64(), 0.125);
}

#[test]
fn strings() {
    let labels =
        mapping::Labels { name: "radar".into(), caption: "Höhe €".into(), code: "LOWI".into() };
    let _: (String, String, String) = (labels.name, labels.caption, labels.code);
}

#[test]
fn sequences() {
    let frame = mapping::Frame { pixels: vec![0; 64], factors: vec![0.5; 8] };
    let _: (Vec<u8>, Vec<f64>) = (frame.pixels, frame.factors);
}

#[test]
fn arrays() {
    let identity: mapping::Rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert_eq!(identity[2][2], 1.0);
}

#[test]
fn typedefs() {
    let distance: mapping::Metres = 1500;
    let _: i32 = distance;
}

#[test]
fn structs() {
    let hop = Hop { kind: 1, distance: 1500, lane: 3 };
    let copy = hop;
    assert_eq!(hop, copy);
    let route: mapping::Route = vec![hop, Hop { lane: 4, ..hop }];
    assert_eq!(route.len(), 2);
}

#[test]
fn enums() {
    let phases = [Phase::Climb, Phase::Cruise, Phase::FinalDescent];
    assert!(phases.is_sorted());
    assert_eq!(Phase::FinalDescent as u32, 2);
}

#[test]
fn unions() {
    // One label: just the value.
    let warm = Sensor::Temperature(21.5);
    assert_eq!(warm.discriminant(), 1);
    // Several labels, or `default`: which one is kept beside the value.
    let text = Sensor::text("ok".into());
    assert_eq!(text.discriminant(), 2);
    let other_label = mapping::sensor::TextLabel::new(3).expect("a label of `text`");
    assert_eq!(Sensor::Text(other_label, "ok".into()).discriminant(), 3);
    assert_eq!(Sensor::raw(0xFF).discriminant(), 0);
    assert_eq!(mapping::sensor::RawLabel::new(1), None, "that is `temperature`");
    match warm {
        Sensor::Temperature(degrees) => assert_eq!(degrees, 21.5),
        Sensor::Text(_, text) => panic!("{text}"),
        Sensor::Raw(label, value) => panic!("{} {value}", label.get()),
    }
}

#[test]
fn unions_without_default() {
    let nothing = Reading::other();
    assert!(!nothing.discriminant());
    assert_ne!(nothing, Reading::Value(1.0));
}

#[test]
fn recursive_types() {
    let leaf = mapping::Tree { name: "leaf".into(), children: vec![] };
    let root = mapping::Tree { name: "root".into(), children: vec![leaf.clone(), leaf] };
    assert_eq!(root.children.len(), 2);
}

#[test]
fn any() {
    let (_orb, archive) = archive();
    // Any generated type goes in and comes out.
    let key = Any::new(Hop { kind: 1, distance: 1500, lane: 3 });
    let found: Any = archive.fetch(&key).unwrap();
    assert_eq!(found.get::<String>().unwrap(), None, "not a string but:");
    let event: mapping::Event = found.get().unwrap().expect("an event");
    assert_eq!(event.body, key);
    // References as everywhere: in an `Option`, for they may be nil.
    let any = Any::new(Some(archive.clone()));
    assert_eq!(any.get().unwrap(), Some(Some(archive)));
    // What Rust does not tell apart: `wchar`, `wstring`, and typedefs.
    let wide = Any::new(oxorb::values::Wstring("Höhe €".into()));
    let metres = Any::new_as(mapping::metres::type_code(), 1500_i32).unwrap();
    assert_eq!(metres.type_code().name(), Some("Metres"));
    assert_eq!(wide.type_code().to_string(), "wstring");
}

#[test]
fn type_codes() {
    let (_orb, archive) = archive();
    let hop: TypeCode = Hop::type_code();
    assert_eq!(hop.id(), Some("IDL:mapping/Hop:1.0"));
    assert_eq!(hop.as_ref().members().count(), 3);
    let metres = Any::new_as(mapping::metres::type_code(), 1500_i32).unwrap();
    let (kind, plain) = archive.kind(&metres).unwrap();
    assert_eq!(kind.id(), Some("IDL:mapping/Metres:1.0"));
    assert_eq!(plain, TypeCode::LONG);
}

#[test]
fn fixed_point_numbers() {
    let item = mapping::Item {
        name: "coffee".into(),
        cost: mapping::Price::new("2.50".parse().unwrap()).unwrap(),
    };
    let tax: Decimal = item.cost.get() * mapping::TAX_RATE;
    assert_eq!(tax.rounded(2).unwrap().to_string(), "0.48");
}

#[test]
fn small_integers() {
    let nudge = mapping::Nudge { dx: -1, dy: 1, force: 255 };
    let _: (i8, i8, u8) = (nudge.dx, nudge.dy, nudge.force);
}

#[test]
fn maps() {
    let mut scores = mapping::Scores::new();
    scores.insert("Ada".into(), 7);
    let _: BTreeMap<String, i32> = scores;
}

#[test]
fn bitmasks() {
    let rights = Rights::READ | Rights::ADMIN;
    assert!(rights.contains(Rights::READ) && !rights.contains(Rights::WRITE));
    assert_eq!(rights.bits(), 0b1000_0001_u8);
    assert!(rights.without(rights).is_empty());
}

#[test]
fn bitsets() {
    let header = mapping::Header { version: 1, urgent: true, level: -20 };
    let _: (u8, bool, i16) = (header.version, header.urgent, header.level);
}

#[test]
fn struct_inheritance() {
    let stop = mapping::Stop { kind: 1, distance: 1500, lane: 3, platform: "7b".into() };
    let hop = Hop::from(stop);
    assert_eq!(hop.distance, 1500);
}

#[test]
fn optional_members() {
    let guest = mapping::Guest { name: "Ada".into(), title: None };
    let _: Option<String> = guest.title;
}

#[test]
fn default_values() {
    let profile = mapping::Profile { verbose: true, ..Default::default() };
    assert_eq!((profile.seconds, profile.language.as_str()), (30, "de"));
    assert_eq!(Hop::default().distance, 0);
}

#[test]
fn enums_of_other_sizes() {
    assert_eq!(mapping::Level::High as u32, 5);
}

#[test]
fn template_modules() {
    let page = mapping::hop_lists::Page { entries: vec![], last: true };
    let _: Vec<Hop> = page.entries;
}

#[test]
fn constants() {
    let (g, greeting, first): (f64, &str, Phase) =
        (mapping::GRAVITY, mapping::GREETING, mapping::FIRST);
    assert_eq!((g, greeting, first), (9.80665, "hello", Phase::Climb));
}

#[test]
fn exceptions() {
    let error: Box<dyn std::error::Error> = Box::new(Overdrawn { missing: 5 });
    assert_eq!(error.to_string(), "mapping::Overdrawn: missing 5");
    assert_eq!(format!("{error:?}"), "mapping::Overdrawn: missing 5");
    assert_eq!(Frozen::REPOSITORY_ID, "IDL:mapping/Frozen:1.0");
}

struct Teller {
    balance: Mutex<i64>,
}

impl mapping::Account for Teller {
    fn balance(&self) -> oxorb::Result<i64> {
        Ok(*self.balance.lock().unwrap())
    }

    fn owner(&self) -> oxorb::Result<String> {
        Ok("Ada".into())
    }

    fn set_owner(&self, value: &str) -> oxorb::Result<()> {
        assert_eq!(value, "Grace");
        Ok(())
    }

    fn withdraw(&self, amount: u32) -> Result<i64, WithdrawError> {
        let mut balance = self.balance.lock().unwrap();
        let left = *balance - i64::from(amount);
        if left < 0 {
            return Err(Overdrawn { missing: left.unsigned_abs() }.into());
        }
        *balance = left;
        Ok(left)
    }

    fn transfer(&self, amount: u32) -> Result<i64, WithdrawError> {
        self.withdraw(amount)
    }

    fn sort(&self) -> oxorb::Result<account::Kind> {
        Ok(account::Kind::Deposit)
    }
}

impl mapping::Savings for Teller {
    fn close(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn teller() -> Teller {
    Teller { balance: Mutex::new(100) }
}

fn orb() -> Orb {
    Orb::builder().listen("iiop://127.0.0.1:0").build().expect("an ORB")
}

#[test]
fn interfaces() {
    let orb = orb();
    let account: mapping::AccountRef = orb.root_poa().activate(teller()).unwrap();
    assert_eq!(account.withdraw(10).unwrap(), 90);
    // A servant that stays in hand.
    let teller = Arc::new(teller());
    let account: mapping::AccountRef = orb.root_poa().activate(Arc::clone(&teller)).unwrap();
    *teller.balance.lock().unwrap() = 7;
    assert_eq!(account.balance().unwrap(), 7);
}

#[test]
fn attributes() {
    let orb = orb();
    let account: AccountRef = orb.root_poa().activate(teller()).unwrap();
    let _: i64 = account.balance().unwrap();
    account.set_owner("Grace").unwrap();
}

#[test]
fn raised_exceptions() {
    let orb = orb();
    let account: AccountRef = orb.root_poa().activate(teller()).unwrap();
    match account.withdraw(105) {
        Ok(left) => panic!("{left}"),
        Err(WithdrawError::Overdrawn(overdrawn)) => assert_eq!(overdrawn.missing, 5),
        Err(WithdrawError::Frozen(Frozen {})) => panic!("frozen"),
        Err(WithdrawError::System(exception)) => panic!("{exception}"),
    }

    fn missing(error: &impl Raises<Overdrawn>) -> Option<u64> {
        error.exception().map(|overdrawn| overdrawn.missing)
    }
    assert_eq!(missing(&account.withdraw(105).unwrap_err()), Some(5));
    assert_eq!(missing(&account.transfer(107).unwrap_err()), Some(7));
    let _: account::TransferError = WithdrawError::from(Frozen {});
}

#[test]
fn nested_definitions() {
    let orb = orb();
    let account: AccountRef = orb.root_poa().activate(teller()).unwrap();
    assert_eq!(account.sort().unwrap(), mapping::account::Kind::Deposit);
}

#[test]
fn inheritance() {
    let orb = orb();
    let savings: mapping::SavingsRef = orb.root_poa().activate(teller()).unwrap();
    savings.withdraw(1).unwrap();
    savings.close().unwrap();
    let account = AccountRef::from(savings);
    assert_eq!(account.balance().unwrap(), 99);
    assert!(account.narrow::<mapping::SavingsRef>().unwrap().is_some());
}

struct Shared {
    account: Teller,
    guests: Mutex<Vec<String>>,
}

impl DelegatesTo<dyn mapping::Account> for Shared {
    fn delegate(&self) -> &dyn mapping::Account {
        &self.account
    }
}

impl mapping::Joint for Shared {
    fn invite(&self, who: &str) -> oxorb::Result<()> {
        self.guests.lock().unwrap().push(who.to_owned());
        Ok(())
    }
}

#[test]
fn delegation() {
    let orb = orb();
    let servant = Arc::new(Shared { account: teller(), guests: Mutex::default() });
    let joint: mapping::JointRef = orb.root_poa().activate(Arc::clone(&servant)).unwrap();
    joint.invite("Grace").unwrap();
    assert_eq!(joint.withdraw(30).unwrap(), 70);
    assert_eq!(*servant.guests.lock().unwrap(), ["Grace"]);
}

struct SystemClock;

impl mapping::Clock for SystemClock {
    fn now(&self) -> oxorb::Result<i64> {
        Ok(42)
    }
}

struct Bell;

impl mapping::Alarm for Bell {
    fn watch(
        &self,
        reference: Option<&Arc<dyn mapping::Clock>>,
    ) -> oxorb::Result<Option<Arc<dyn mapping::Clock>>> {
        Ok(reference.cloned())
    }
}

#[test]
fn local_interfaces() {
    let clock: Arc<dyn mapping::Clock> = Arc::new(SystemClock);
    let alarm: Arc<dyn mapping::Alarm> = Arc::new(Bell);
    let same = alarm.watch(Some(&clock)).unwrap().unwrap();
    assert_eq!(same.now().unwrap(), 42);
}

struct Terminal;

impl mapping::Window for Terminal {
    fn open(&self) -> oxorb::Result<mapping::Handle> {
        Ok(Arc::new("/dev/tty"))
    }
}

#[test]
fn native_types() {
    let window: Arc<dyn mapping::Window> = Arc::new(Terminal);
    let handle = window.open().unwrap();
    assert_eq!(handle.downcast_ref::<&str>(), Some(&"/dev/tty"));
}

struct Porter;

impl mapping::Office for Porter {
    fn greet(&self, visitor: &ValueLink<Person>) -> oxorb::Result<ValueLink<Person>> {
        Ok(visitor.clone())
    }

    fn copy(&self, original: &Abstract<PrintableRef>) -> oxorb::Result<Abstract<PrintableRef>> {
        Ok(original.clone())
    }
}

fn office() -> (Orb, mapping::OfficeRef) {
    let orb = orb();
    let office = orb.root_poa().activate(Porter).unwrap();
    (orb, office)
}

#[test]
fn valuetypes() {
    let (_orb, office) = office();
    let ada = Value::new(Person { name: "Ada".into(), partner: ValueLink::null() });
    let back = office.greet(&ada.into()).unwrap();
    let ada = back.get().expect("not null");
    assert_eq!(ada.name, "Ada");
    assert!(ada.partner.get().is_none());
}

#[test]
fn cycles() {
    let (_orb, office) = office();
    let ada = Value::cyclic(|ada| Person {
        name: "Ada".into(),
        partner: Value::new(Person { name: "William".into(), partner: ada }).into(),
    });
    let ada = office.greet(&ada.into()).unwrap().get().unwrap();
    let william = ada.partner.get().unwrap();
    assert_eq!(william.partner.get().unwrap(), ada);
}

#[test]
fn derived_values() {
    let (_orb, office) = office();
    let grace = Value::new(Employee {
        base: Person { name: "Grace".into(), partner: ValueLink::null() },
        number: 7,
    });
    let person = office.greet(&grace.into()).unwrap().get().unwrap();
    assert_eq!(person.name, "Grace");
    let employee = person.downcast::<Employee>().expect("an employee");
    assert_eq!(employee.number, 7);
    let _: Value<Person> = employee.upcast();
}

#[test]
fn operations_of_values() {
    let mut purse = Value::new(mapping::Purse { cents: 250, name: "Ada".into() });
    let before = purse.clone();
    purse.spend(150).unwrap();
    purse.set_owner("Grace").unwrap();
    assert_eq!(purse.count().unwrap(), 100);
    assert_eq!(before.count().unwrap(), 250, "another value");
    match purse.spend(101) {
        Err(mapping::purse::SpendError::Overdrawn(overdrawn)) => assert_eq!(overdrawn.missing, 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn abstract_valuetypes() {
    let disc = Disc { radius: 2.0 };
    let ring = Value::new(mapping::Ring { base: disc.clone(), hole: 1.0 });
    let coin = Value::new(mapping::Coin { base: disc, cents: 50 });
    let figures: [Value<Figure>; 2] = [ring.upcast(), coin.upcast()];
    let areas = figures.each_ref().map(|figure| figure.area().unwrap());
    // Of the ring itself, and of the disc that the coin is.
    assert_eq!(areas, [9.0, 12.0]);
}

#[test]
fn factories_of_values() {
    let hop = Hop { kind: 1, distance: 1500, lane: 3 };
    let ticket = Ticket::to("LOWI", &hop).unwrap();
    assert_eq!(ticket.station, "LOWI");
    assert!(Ticket::to("", &hop).is_err());
}

#[test]
fn boxed_values() {
    let remark: ValueLink<Remark> = Value::new(Remark("late again".into())).into();
    let same = remark.clone();
    assert_eq!(same.get().unwrap().0, "late again");
    assert_eq!(same, remark);
}

#[test]
fn custom_valuetypes() {
    // In the crate that includes the generated code:
    // impl oxorb::values::CustomMarshal for mapping::Picture {
    //     fn marshal(&self, e: &mut Encoder<'_>) -> Result<()> { .. }
    //     fn unmarshal(d: &mut Decoder<'_>) -> Result<Self> { .. }
    // }
    let picture = Value::new(mapping::Picture { width: 640 });
    assert_eq!(picture.width, 640);
    assert!(picture.info().custom);
}

struct LinePrinter;

impl mapping::Printable for LinePrinter {
    fn print(&self) -> oxorb::Result<String> {
        Ok("line".into())
    }
}

impl mapping::Printer for LinePrinter {}

#[test]
fn abstract_interfaces() {
    let (orb, office) = office();
    let printer: mapping::PrinterRef = orb.root_poa().activate(LinePrinter).unwrap();
    let object: Abstract<PrintableRef> = PrintableRef::from(printer).into();
    let form: Abstract<PrintableRef> = Value::new(mapping::Form { text: "A1".into() }).into();
    for original in [object, form, Abstract::Nil] {
        match office.copy(&original).unwrap() {
            Abstract::Object(object) => assert_eq!(object.print().unwrap(), "line"),
            Abstract::Value(value) => assert_eq!(value.print().unwrap(), "A1"),
            Abstract::Nil => assert_eq!(original, Abstract::Nil),
        }
    }
}

#[test]
fn supported_interfaces() {
    let (orb, office) = office();
    let form = Value::new(mapping::Form { text: "A1".into() });
    // A local call.
    assert_eq!(form.print().unwrap(), "A1");
    // A copy is sent.
    office.copy(&Abstract::from(form.clone())).unwrap();
    // The value is the servant of an object, whose reference is sent.
    let object: PrintableRef = orb.root_poa().activate(form).unwrap();
    assert_eq!(object.print().unwrap(), "A1");
    office.copy(&object.into()).unwrap();
}

struct Shelf;

impl mapping::Archive for Shelf {
    fn fetch(&self, key: &Any) -> oxorb::Result<Any> {
        let event = mapping::Event { topic: "found".into(), body: key.clone() };
        Ok(Any::new(event))
    }

    fn kind(&self, value: &Any) -> oxorb::Result<(TypeCode, TypeCode)> {
        let kind = value.type_code();
        Ok((kind.clone(), kind.resolved()))
    }
}

fn archive() -> (Orb, mapping::ArchiveRef) {
    let orb = orb();
    let archive = orb.root_poa().activate(Shelf).unwrap();
    (orb, archive)
}

struct Clerk {
    log: Mutex<mpsc::Sender<String>>,
}

impl mapping::Desk for Clerk {
    fn plan(&self, name: &str, legs: &[Hop], first: &Hop, now: Phase) -> oxorb::Result<i32> {
        assert_eq!((name, now, legs.first()), ("home", Phase::Climb, Some(first)));
        Ok(legs.iter().map(|hop| hop.distance).sum())
    }

    fn status(&self) -> oxorb::Result<(Phase, i32, String)> {
        Ok((Phase::Cruise, 10_000, "fine".into()))
    }

    fn rename(&self, name: &mut String, first: &mut Hop) -> oxorb::Result<String> {
        first.lane += 1;
        Ok(std::mem::replace(name, "new".into()))
    }

    fn crop<'a>(&'a self, image: &'a [u8], length: u32) -> oxorb::Result<Cow<'a, [u8]>> {
        // Answers from the memory the request lies in: no copy.
        Ok(Cow::Borrowed(&image[..length as usize]))
    }

    fn weigh(&self, image: oxorb::values::Octets<'_>) -> oxorb::Result<u32> {
        let mut weight = 0;
        image.for_each_chunk::<4096>(|octets| weight += octets.len() as u32);
        Ok(weight)
    }

    fn open(
        &self,
        old: Option<&AccountRef>,
        witness: Option<&ObjectRef>,
    ) -> oxorb::Result<Option<AccountRef>> {
        assert!(witness.is_some());
        Ok(old.cloned())
    }

    fn log(&self, line: &str) {
        self.log.lock().unwrap().send(line.into()).unwrap();
    }

    fn tick(&self, number: i32) -> oxorb::Result<()> {
        match number {
            0.. => Ok(()),
            _ => Err(SystemException::bad_param(1, CompletionStatus::No)),
        }
    }

    fn whoami(&self, context: &Context) -> oxorb::Result<String> {
        Ok(context.value("user").unwrap_or("nobody").into())
    }
}

/// A desk of another process, as far as its client can tell.
fn desk() -> (Orb, DeskRef, mpsc::Receiver<String>) {
    let (log, lines) = mpsc::channel();
    let orb = orb();
    let desk = orb.root_poa().activate(Clerk { log: Mutex::new(log) }).unwrap();
    (orb, desk, lines)
}

#[test]
fn parameters() {
    let (_orb, desk, _) = desk();
    let hop = Hop { kind: 1, distance: 1500, lane: 3 };
    assert_eq!(desk.plan("home", &[hop, hop], &hop, Phase::Climb).unwrap(), 3000);
}

#[test]
fn out_parameters() {
    let (_orb, desk, _) = desk();
    let (phase, altitude, text) = desk.status().unwrap();
    assert_eq!((phase, altitude, text.as_str()), (Phase::Cruise, 10_000, "fine"));
}

#[test]
fn inout_parameters() {
    let (_orb, desk, _) = desk();
    let (mut name, mut first) = ("old".to_owned(), Hop { kind: 1, distance: 1500, lane: 3 });
    let before = desk.rename(&mut name, &mut first).unwrap();
    assert_eq!((before.as_str(), name.as_str(), first.lane), ("old", "new", 4));
}

#[test]
fn large_results() {
    let (_orb, desk, _) = desk();
    let cropped: oxorb::values::OctetSeq = desk.crop(&[1, 2, 3, 4], 2).unwrap();
    assert_eq!(*cropped, [1, 2]);
}

#[test]
fn octets_in_place() {
    let (_orb, desk, _) = desk();
    assert_eq!(desk.weigh((&[1, 2, 3, 4]).into()).unwrap(), 4);
}

#[test]
fn object_references() {
    let (orb, desk, _) = desk();
    let account: AccountRef = orb.root_poa().activate(teller()).unwrap();
    let object: ObjectRef = account.unchecked_narrow();
    let same = desk.open(Some(&account), Some(&object)).unwrap();
    assert_eq!(same, Some(account));
    assert_eq!(desk.open(None, Some(&object)).unwrap(), None);
    assert!(object.narrow::<DeskRef>().unwrap().is_none());
}

#[test]
fn oneway_operations() {
    let (_orb, desk, lines) = desk();
    desk.log("hello").unwrap();
    assert_eq!(lines.recv_timeout(Duration::from_secs(10)).unwrap(), "hello");
    let waiting = desk.with(SyncScope::WithTarget);
    waiting.tick(1).unwrap();
    let refused = waiting.tick(-1).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::BadParam);
    desk.tick(-1).unwrap();
}

#[test]
fn contexts() {
    let (_orb, desk, _) = desk();
    let mut context = Context::new();
    context.set("user", "ada");
    assert_eq!(desk.whoami(&context).unwrap(), "ada");
}

#[test]
fn asynchronous_calls() {
    let (_orb, desk, _) = desk();
    // The requests are on their way when these return.
    let status = desk.status_async();
    let hop = Hop { kind: 1, distance: 1500, lane: 3 };
    let renamed = desk.rename_async("old", &hop);
    // Await them in any executor, or wait.
    let (phase, _altitude, _text) = status.wait().unwrap();
    assert_eq!(phase, Phase::Cruise);
    // Return value, then `out` and `inout` parameters as declared.
    let (before, name, hop) = renamed.wait().unwrap();
    assert_eq!((before.as_str(), name.as_str(), hop.lane), ("old", "new", 4));
}

struct Lamp(Mutex<mpsc::Sender<(String, i32)>>);

impl mapping::Dimmer for Lamp {
    fn dim(&self, name: &str, level: i32) {
        self.0.lock().unwrap().send((name.into(), level)).unwrap();
    }
}

#[test]
fn reply_handlers() {
    struct Cellar;
    impl mapping::Well for Cellar {
        fn draw(&self, buckets: i32) -> Result<i32, DrawError> {
            match buckets {
                0..10 => Ok(10 - buckets),
                _ => Err(Dry { depth: 30 }.into()),
            }
        }
    }
    let (answers, answered) = mpsc::sync_channel(1);
    struct Drawn(mpsc::SyncSender<Result<i32, i32>>);
    impl ReplyHandler for Drawn {}
    impl AmiWellHandler for Drawn {
        fn draw(&self, ami_return_val: i32) -> oxorb::Result<()> {
            let _ = self.0.send(Ok(ami_return_val));
            Ok(())
        }

        fn draw_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> oxorb::Result<()> {
            let holder = excep_holder.get().expect("not null");
            if let DrawError::Dry(Dry { depth }) = DrawError::from(&*holder) {
                let _ = self.0.send(Err(depth));
            }
            Ok(())
        }
    }
    let (orb, handler) = (Orb::builder().build().unwrap(), Drawn(answers));
    let well: WellRef = orb.root_poa().activate(Cellar).unwrap();
    // An object that answers are sent to, from whatever process made the call.
    let handler: AmiWellHandlerRef = orb.root_poa().activate(handler).unwrap();
    well.sendc_draw(ReplyTo::Object(handler.clone()), 4);
    assert_eq!(answered.recv(), Ok(Ok(6)));
    well.sendc_draw(ReplyTo::Object(handler), 11);
    assert_eq!(answered.recv(), Ok(Err(30)));
    well.sendc_draw(ReplyTo::Nobody, 1);
    orb.shutdown(true).unwrap();
}

#[test]
fn answering_later() {
    struct Miller(mpsc::Sender<(String, GrindAnswer)>);
    impl mapping::AmhMill for Miller {
        fn grind(&self, grain: &str, answer: GrindAnswer) {
            // The thread that called goes on to serve the next request.
            let _ = self.0.send((grain.to_owned(), answer));
        }
    }
    let (orders, ordered) = mpsc::channel::<(String, GrindAnswer)>();
    let orb = Orb::builder().build().unwrap();
    let mill: MillRef = orb.root_poa().activate(Amh(Miller(orders))).unwrap();
    let miller = std::thread::spawn(move || {
        for (grain, answer) in ordered.iter().take(2) {
            match grain.as_str() {
                "rye" => answer.reply(7),
                _ => answer.raise(Dry { depth: 2 }),
            }
        }
    });
    assert_eq!(mill.grind("rye"), Ok(7));
    assert_eq!(mill.grind("sand"), Err(GrindError::Dry(Dry { depth: 2 })));
    miller.join().unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn servants_of_one_thread() {
    struct Wheel {
        turns: Rc<Cell<u32>>,
    }
    impl mapping::MeterConfined for Wheel {
        fn turn(&self, many: u32) -> oxorb::Result<u32> {
            // No lock: no other thread ever comes here.
            self.turns.set(self.turns.get() + many);
            Ok(self.turns.get())
        }
    }
    let orb = orb();
    // A lane of one thread, and a POA whose objects it serves.
    let pool = orb.create_threadpool(Threadpool::new(1)).unwrap();
    let policies = Policies {
        realtime: RtPolicies { threadpool: Some(pool), ..RtPolicies::default() },
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("wheels", policies).unwrap();
    poa.manager().activate().unwrap();
    // The lane's thread makes the servant.
    let meter: MeterRef = poa.activate_confined(|| Wheel { turns: Rc::default() }).unwrap();
    assert_eq!(meter.turn(2), Ok(2));
    assert_eq!(meter.turn(3), Ok(5));
    orb.shutdown(true).unwrap();
}

#[test]
fn borrowed_parameters() {
    #[derive(Default)]
    struct Book {
        kept: Mutex<Vec<mapping::Entry>>,
    }
    impl mapping::Ledger for Book {
        fn post(&self, all: &[EntryView<'_>]) -> oxorb::Result<i64> {
            // Text, tags and entries lie in the message and in the thread's arena.
            if let Some(entry) = all.iter().find(|entry| entry.tags.contains(&"keep")) {
                self.kept.lock().unwrap().push((*entry).into());
            }
            Ok(all.iter().map(|entry| entry.amount).sum())
        }
    }
    let orb = orb();
    let book = Arc::new(Book::default());
    let ledger: mapping::LedgerRef = orb.root_poa().activate(Arc::clone(&book)).unwrap();
    let entry =
        |amount, tag: &str| mapping::Entry { amount, text: "rent".into(), tags: vec![tag.into()] };
    let all = [entry(5, "keep"), entry(-2, "")];
    assert_eq!(ledger.post(&all), Ok(3));
    assert_eq!(*book.kept.lock().unwrap(), all[..1]);
    orb.shutdown(true).unwrap();
}

#[test]
fn prepared_requests() {
    let (sender, dimmed) = mpsc::channel();
    let orb = orb();
    let lamp = Lamp(Mutex::new(sender));
    let dimmer: mapping::DimmerRef = orb.root_poa().activate(lamp).unwrap();
    // Marshalled now, but for what will change.
    let mut dim = dimmer
        .reference()
        .prepare(&mapping::dimmer::op::DIM, |e, slots| {
            e.string("hall")?;
            slots.put(e, 0_i32);
            Ok(())
        })
        .unwrap();
    for level in [50, 100] {
        dim.set(0, level);
        dim.send().unwrap();
        assert_eq!(dimmed.recv().unwrap(), ("hall".into(), level));
    }
}

#[test]
fn system_exceptions() {
    let (_orb, desk, _) = desk();
    let wrong: AccountRef = desk.unchecked_narrow();
    let exception: SystemException = wrong.balance().unwrap_err();
    assert_eq!(exception.kind, oxorb::SystemExceptionKind::BadOperation);
}

#[test]
fn definitions_outside_modules() {
    assert_ne!(Weather::Sunny, Weather::Rainy);
}

/// Each section of the page has its test here, each test its section, and the
/// code in it is the code here.
#[test]
fn the_page_quotes_these_tests() {
    let here = include_str!("mapping.rs");
    let beside = include_str!("../../src/does/mapping.rs");
    let idl = include_str!("../../idl/mapping.idl");
    let page = include_str!("../../../../docs/mapping.md");
    let tests = here.split("#[test]\nfn ").skip(1);
    let mut tests: Vec<_> = tests.map(|test| test.split('(').next().unwrap().to_owned()).collect();
    tests.retain(|test| test != "the_page_quotes_these_tests");
    let sections = page.lines().filter_map(|line| line.strip_prefix("### "));
    let sections: Vec<_> = sections.map(|title| title.to_lowercase().replace(' ', "_")).collect();
    assert_eq!(sections, tests, "sections of docs/mapping.md, and tests");
    for (language, source) in [("idl", idl.to_owned()), ("rust", here.to_owned() + beside)] {
        let source = unindented(&source);
        let fence = format!("```{language}\n");
        for block in page.split(&fence).skip(1) {
            let block = unindented(block.split("```").next().unwrap());
            assert!(source.contains(&block), "not quoted from a test:\n{block}");
        }
    }
}

fn unindented(text: &str) -> String {
    text.lines().map(|line| line.trim().to_owned() + "\n").collect()
}
