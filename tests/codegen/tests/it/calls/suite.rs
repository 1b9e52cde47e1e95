//! Generated stubs and skeletons against the ORB: every kind of operation,
//! over TCP from a second ORB, from the ORB that serves the object, and through a gateway without stubs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use oxorb::servant::Context;
use oxorb::settings::Collocation;
use oxorb::{Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};

use super::calls::desk::{FailingOutError, MayFailError, QuotaError, SetQuotaError, Shut};
use super::calls::{
    Blob, Busy, Choice, Code, Desk, DeskRef, Left, LeftRef, Lefts, Level, Listener, ListenerRef,
    Note, Notes, Point, Refused, Right, RightRef, Root, RootRef, Triple, desk, other,
};
use crate::gateway::Gateway;

/// Servant that answers with its arguments, or with distinguishable values.
struct Servant {
    heard: Mutex<mpsc::Sender<String>>,
    owner: Mutex<String>,
    height: Mutex<Level>,
    image: Vec<u8>,
}

impl Servant {
    fn new() -> (Self, mpsc::Receiver<String>) {
        let (sender, heard) = mpsc::channel();
        let servant = Servant {
            heard: Mutex::new(sender),
            owner: Mutex::default(),
            height: Mutex::new(Level::Low),
            image: vec![1, 2, 3],
        };
        (servant, heard)
    }

    fn hear(&self, what: String) {
        self.heard.lock().unwrap().send(what).unwrap();
    }
}

fn note(text: &str) -> Note {
    Note { text: text.into(), marks: vec![1, -2] }
}

impl Root for Servant {
    fn depth(&self) -> Result<i32, SystemException> {
        Ok(3)
    }

    fn name(&self) -> Result<String, SystemException> {
        Ok("desk".into())
    }
}

impl Left for Servant {
    fn to_left(&self) -> Result<i32, SystemException> {
        Ok(-1)
    }
}

impl Right for Servant {
    fn to_right(&self, peer: Option<&LeftRef>) -> Result<i32, SystemException> {
        peer.map_or(Ok(0), LeftRef::to_left)
    }
}

impl Listener for Servant {
    fn heard(&self, what: &str) {
        self.hear(what.to_owned());
    }
}

impl Desk for Servant {
    fn owner(&self) -> Result<String, SystemException> {
        Ok(self.owner.lock().unwrap().clone())
    }

    fn set_owner(&self, value: &str) -> Result<(), SystemException> {
        *self.owner.lock().unwrap() = value.to_owned();
        Ok(())
    }

    fn height(&self) -> Result<Level, SystemException> {
        Ok(*self.height.lock().unwrap())
    }

    fn set_height(&self, value: Level) -> Result<(), SystemException> {
        *self.height.lock().unwrap() = value;
        Ok(())
    }

    fn image(&self) -> Result<Cow<'_, [u8]>, SystemException> {
        Ok(Cow::Borrowed(&self.image))
    }

    fn set_image(&self, value: &[u8]) -> Result<(), SystemException> {
        self.hear(format!("{value:?}"));
        Ok(())
    }

    fn remark(&self) -> Result<Note, SystemException> {
        Ok(note("remark"))
    }

    fn quota(&self) -> Result<i32, QuotaError> {
        Err(Busy {}.into())
    }

    fn set_quota(&self, value: i32) -> Result<(), SetQuotaError> {
        match value {
            0 => Err(SetQuotaError::Busy(other::Busy { seconds: 1 })),
            _ => Err(Refused { why: value.to_string() })?,
        }
    }

    fn nothing(&self) -> Result<(), SystemException> {
        Ok(())
    }

    fn tell(&self, what: &str, values: &[i32]) {
        self.hear(format!("{what} {values:?}"));
    }

    fn add(&self, a: i32, b: i16) -> Result<i32, SystemException> {
        Ok(a + i32::from(b))
    }

    fn join(&self, a: &str, b: &str, c: &str) -> Result<String, SystemException> {
        Ok(format!("{a}{b}{c}"))
    }

    fn echo<'a>(&'a self, data: &'a [u8]) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(Cow::Borrowed(data))
    }

    fn echo_tiny<'a>(&'a self, data: &'a [u8]) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(data.into())
    }

    fn echo_longs<'a>(&'a self, data: &'a [i32]) -> Result<Cow<'a, [i32]>, SystemException> {
        Ok(data.iter().rev().copied().collect())
    }

    fn echo_notes(&self, data: &[Note]) -> Result<Notes, SystemException> {
        Ok(data.to_vec())
    }

    fn echo_codes(&self, data: &[Code]) -> Result<desk::Codes, SystemException> {
        Ok(data.to_vec())
    }

    fn echo_triple(&self, data: &Triple) -> Result<Triple, SystemException> {
        Ok(*data)
    }

    fn echo_choice(&self, data: &Choice) -> Result<Choice, SystemException> {
        Ok(data.clone())
    }

    fn echo_point(&self, data: &Point) -> Result<Point, SystemException> {
        Ok(*data)
    }

    fn echo_level(&self, data: Level) -> Result<Level, SystemException> {
        Ok(data)
    }

    fn flags(
        &self,
        a: bool,
        b: char,
        c: char,
        d: u8,
        e: f32,
        f: f64,
    ) -> Result<bool, SystemException> {
        Ok((a, b, c, d, e, f) == (true, 'b', '€', 255, 0.5, -0.25))
    }

    fn out_one(&self) -> Result<i32, SystemException> {
        Ok(41)
    }

    fn out_many<'a>(
        &'a self,
        s: &'a str,
    ) -> Result<(i32, String, Note, Cow<'a, [u8]>, Option<LeftRef>), SystemException> {
        Ok((1, s.to_uppercase(), note(s), s.as_bytes().into(), None))
    }

    fn inout_one(&self, a: &mut i32) -> Result<(), SystemException> {
        *a += 1;
        Ok(())
    }

    fn inout_many(
        &self,
        a: &mut String,
        b: i32,
        c: &mut Note,
        e: &mut Blob,
        f: &mut Option<LeftRef>,
        g: &mut Triple,
        h: &mut Choice,
        i: &mut Level,
    ) -> Result<(String, Level), SystemException> {
        let before = format!("{a} {b} {} {e:?} {} {g:?} {h:?} {i:?}", c.text, f.is_some());
        a.push('!');
        c.marks.clear();
        e.push(9);
        *f = None;
        g.reverse();
        *h = Choice::No(b);
        *i = Level::Low;
        Ok((before, Level::High))
    }

    fn reference(
        &self,
        one: Option<&LeftRef>,
        other_one: Option<&ObjectRef>,
    ) -> Result<Option<LeftRef>, SystemException> {
        match (one, other_one) {
            (Some(one), _) => Ok(Some(one.clone())),
            (None, Some(object)) => object.narrow(),
            (None, None) => Ok(None),
        }
    }

    fn untyped(&self, who: Option<&ListenerRef>) -> Result<Option<ObjectRef>, SystemException> {
        let Some(listener) = who else { return Ok(None) };
        listener.heard("called back")?;
        Ok(Some(listener.unchecked_narrow()))
    }

    fn echo_lefts(&self, data: &[Option<LeftRef>]) -> Result<Lefts, SystemException> {
        Ok(data.to_vec())
    }

    fn may_fail(&self, how: i32) -> Result<(), MayFailError> {
        match how {
            0 => Ok(()),
            1 => Err(Refused { why: "no".into() }.into()),
            2 => Err(Busy {}.into()),
            3 => Err(other::Busy { seconds: 60 }.into()),
            4 => Err(Shut { how: Level::High }.into()),
            // A system exception passes through `?`.
            _ => Err(refused_by_system())?,
        }
    }

    fn with_context(&self, what: &str, context: &Context) -> Result<(), SystemException> {
        let all: Vec<_> = context.iter().collect();
        self.hear(format!("{what} {all:?}"));
        Ok(())
    }

    fn failing_out(&self) -> Result<Note, FailingOutError> {
        Err(Refused { why: "never".into() })?
    }
}

/// Returns an exception that only a server raises.
fn refused_by_system() -> SystemException {
    SystemException::new(SystemExceptionKind::NoPermission, 7, oxorb::CompletionStatus::Yes)
}

/// Desk reached over TCP, from within and through a gateway; with its servant's records.
struct Setting {
    remote: DeskRef,
    /// Reference of the serving ORB: its stubs call the servant if the types allow.
    local: DeskRef,
    /// Reference to the same servant, by messages within the process.
    marshalled: DeskRef,
    through: DeskRef,
    heard: mpsc::Receiver<String>,
    client: Orb,
    server: Orb,
    plain: Orb,
}

impl Setting {
    fn new() -> Self {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let plain = Orb::builder()
            .listen("iiop://127.0.0.1:0")
            .configure(|options| options.collocation = Collocation::Marshalled)
            .build()
            .unwrap();
        let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let (servant, heard) = Servant::new();
        let servant = Arc::new(servant);
        let local: DeskRef = server.root_poa().activate(Arc::clone(&servant)).unwrap();
        let marshalled: DeskRef = plain.root_poa().activate(servant).unwrap();
        let remote: DeskRef = client.resolve(&local.to_ior()).unwrap();
        let gateway =
            Gateway::new("calls.idl", "calls::Desk", oxorb::Interface::reference(&remote));
        let gateway = oxorb_dynamic::servant(gateway);
        let gateway = server.root_poa().activate_servant(gateway).unwrap();
        let through = client.resolve(&gateway.to_string()).unwrap();
        Setting { remote, local, marshalled, through, heard, client, server, plain }
    }

    fn each(&self) -> [&DeskRef; 4] {
        [&self.remote, &self.local, &self.marshalled, &self.through]
    }

    fn heard(&self) -> String {
        self.heard.recv_timeout(Duration::from_secs(10)).expect("the servant hears it")
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        self.client.shutdown(true).unwrap();
        self.server.shutdown(true).unwrap();
        self.plain.shutdown(true).unwrap();
    }
}

#[test]
fn attributes() {
    let setting = Setting::new();
    for desk in setting.each() {
        desk.set_owner("Ada é").unwrap();
        assert_eq!(desk.owner().unwrap(), "Ada é");
        desk.set_height(Level::High).unwrap();
        assert_eq!(desk.height().unwrap(), Level::High);
        assert_eq!(*desk.image().unwrap(), [1, 2, 3]);
        desk.set_image(&[4, 5]).unwrap();
        assert_eq!(setting.heard(), "[4, 5]");
        assert_eq!(desk.remark().unwrap(), note("remark"));
        assert_eq!(desk.quota(), Err(QuotaError::Busy(Busy {})));
        let busy = SetQuotaError::Busy(other::Busy { seconds: 1 });
        assert_eq!(desk.set_quota(0), Err(busy));
        let refused = Refused { why: "9".into() };
        assert_eq!(desk.set_quota(9), Err(SetQuotaError::Refused(refused)));
    }
}

#[test]
fn parameters_and_results_of_every_kind() {
    let setting = Setting::new();
    for desk in setting.each() {
        desk.nothing().unwrap();
        assert_eq!(desk.add(40, 2).unwrap(), 42);
        assert_eq!(desk.join("a", "ä", "1234").unwrap(), "aä1234");
        assert_eq!(*desk.echo(&[7; 3000]).unwrap(), [7; 3000]);
        assert_eq!(desk.echo_tiny(&[1, 2, 3, 4]).unwrap(), [1, 2, 3, 4]);
        assert_eq!(desk.echo_longs(&[1, 2, 3]).unwrap(), [3, 2, 1]);
        assert_eq!(desk.echo_notes(&[note("a"), note("b")]).unwrap(), [note("a"), note("b")]);
        assert_eq!(desk.echo_codes(&["a".into()]).unwrap(), ["a"]);
        assert_eq!(desk.echo_triple(&[1, 2, 3]).unwrap(), [1, 2, 3]);
        assert_eq!(desk.echo_choice(&Choice::Yes("y".into())).unwrap(), Choice::Yes("y".into()));
        assert_eq!(desk.echo_point(&Point { x: 1, y: 2 }).unwrap(), Point { x: 1, y: 2 });
        assert_eq!(desk.echo_level(Level::High).unwrap(), Level::High);
        assert!(desk.flags(true, 'b', '€', 255, 0.5, -0.25).unwrap());
    }
}

#[test]
fn bounds_are_checked_before_anything_is_sent() {
    let setting = Setting::new();
    for desk in setting.each() {
        let refused = desk.echo_tiny(&[0; 5]).unwrap_err();
        assert_eq!(refused.completed, oxorb::CompletionStatus::No, "{refused}");
        assert!(desk.join("", "", "12345").is_err());
        assert!(desk.echo_codes(&["12345".into()]).is_err());
    }
}

#[test]
fn out_and_inout() {
    let setting = Setting::new();
    for desk in setting.each() {
        assert_eq!(desk.out_one().unwrap(), 41);
        let (number, text, remark, blob, left) = desk.out_many("abc").unwrap();
        assert_eq!((number, text.as_str(), remark, left), (1, "ABC", note("abc"), None));
        assert_eq!(blob, *b"abc");

        let mut a = 1;
        desk.inout_one(&mut a).unwrap();
        assert_eq!(a, 2);

        let (mut a, mut c, mut e) = ("x".to_owned(), note("n"), vec![1]);
        let (mut f, mut g) = (Some(LeftRef::from(desk.clone())), [1, 2, 3]);
        let (mut h, mut i) = (Choice::Yes("y".into()), Level::High);
        let result = desk.inout_many(&mut a, 5, &mut c, &mut e, &mut f, &mut g, &mut h, &mut i);
        let before = r#"x 5 n [1] true [1, 2, 3] Yes("y") High"#;
        assert_eq!(result.unwrap(), (before.to_owned(), Level::High));
        assert_eq!((a.as_str(), c.marks.len(), e, f, g), ("x!", 0, vec![1, 9], None, [3, 2, 1]));
        assert_eq!((h, i), (Choice::No(5), Level::Low));
    }
}

#[test]
fn oneway() {
    let setting = Setting::new();
    for desk in setting.each() {
        desk.tell("one way", &[1, 2]).unwrap();
        assert_eq!(setting.heard(), "one way [1, 2]");
    }
}

#[test]
fn user_and_system_exceptions() {
    let setting = Setting::new();
    for desk in setting.each() {
        desk.may_fail(0).unwrap();
        let failures = [
            MayFailError::Refused(Refused { why: "no".into() }),
            MayFailError::Busy(Busy {}),
            MayFailError::Busy_(other::Busy { seconds: 60 }),
            MayFailError::Shut(Shut { how: Level::High }),
            MayFailError::System(refused_by_system()),
        ];
        for (how, failure) in (1..).zip(failures) {
            assert_eq!(desk.may_fail(how), Err(failure));
        }
        let error = desk.failing_out().unwrap_err();
        assert_eq!(error.to_string(), r#"calls::Refused: why "never""#);
    }
}

#[test]
fn references() {
    let setting = Setting::new();
    for desk in setting.each() {
        let left = LeftRef::from(desk.clone());
        let same = desk.reference(Some(&left), None).unwrap().unwrap();
        assert_eq!(same.to_left().unwrap(), -1);
        let object: ObjectRef = desk.unchecked_narrow();
        assert_eq!(desk.reference(None, Some(&object)).unwrap().unwrap().name().unwrap(), "desk");
        assert_eq!(desk.reference(None, None).unwrap(), None);
        let all = desk.echo_lefts(&[Some(left), None]).unwrap();
        assert!(matches!(all.as_slice(), [Some(_), None]));
    }
}

#[test]
fn callbacks() {
    let setting = Setting::new();
    let (servant, heard) = Servant::new();
    // An `Arc` can be served, too, and the servant stays accessible.
    let servant = Arc::new(servant);
    let listener: ListenerRef = setting.client.root_poa().activate(Arc::clone(&servant)).unwrap();
    let object = setting.remote.untyped(Some(&listener)).unwrap().unwrap();
    assert_eq!(heard.recv_timeout(Duration::from_secs(10)).unwrap(), "called back");
    assert!(object.is_a(ListenerRef::REPOSITORY_ID).unwrap());
    assert_eq!(setting.remote.untyped(None).unwrap(), None);
}

#[test]
fn diamonds() {
    let setting = Setting::new();
    for desk in setting.each() {
        assert_eq!((desk.depth().unwrap(), desk.name().unwrap().as_str()), (3, "desk"));
        let (left, right) = (LeftRef::from(desk.clone()), RightRef::from(desk.clone()));
        assert_eq!(right.to_right(Some(&left)).unwrap(), -1);
        assert_eq!(RootRef::from(left).depth().unwrap(), 3);
        for id in ["calls/Desk", "calls/Left", "calls/Right", "calls/Root"] {
            assert!(desk.is_a(&format!("IDL:oxorb.org/{id}:1.0")).unwrap(), "{id}");
        }
        assert!(!desk.is_a(ListenerRef::REPOSITORY_ID).unwrap());
        assert!(desk.narrow::<ListenerRef>().unwrap().is_none());
    }
}

#[test]
fn contexts() {
    let setting = Setting::new();
    let mut context = Context::new();
    context.set("user", "ada");
    context.set("tty.speed", "9600");
    context.set("secret", "stays here");
    for desk in setting.each() {
        desk.with_context("with", &context).unwrap();
        assert_eq!(setting.heard(), r#"with [("user", "ada"), ("tty.speed", "9600")]"#);
    }
}

#[test]
fn asynchronous_calls() {
    let setting = Setting::new();
    for desk in setting.each() {
        let pending: Vec<_> = (0..20).map(|b| desk.add_async(1, b)).collect();
        for (b, reply) in (0..).zip(pending) {
            assert_eq!(reply.wait().unwrap(), 1 + b);
        }
        assert_eq!(*desk.echo_async(&[5; 100]).wait().unwrap(), [5; 100]);
        let (mut g, h) = ([1, 2, 3], Choice::No(1));
        let reply = desk.inout_many_async("x", 5, &note("n"), &[1], None, &g, &h, Level::High);
        // Return value, then out and inout parameters as declared.
        let (_, a, c, d, e, f, turned, h, i) = reply.wait().unwrap();
        g.reverse();
        assert_eq!((a.as_str(), c.marks.len(), d, e, f), ("x!", 0, Level::High, vec![1, 9], None));
        assert_eq!((turned, h, i), (g, Choice::No(5), Level::Low));
        let error = desk.may_fail_async(1).wait().unwrap_err();
        assert_eq!(error, MayFailError::Refused(Refused { why: "no".into() }));
    }
}
