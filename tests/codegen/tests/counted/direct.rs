//! Calls within the process without a message. For every type they have the same results, changes, exceptions and
//! failures as with a message. They need no allocations or locks except those of the values themselves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use oxorb::servant::Context;
use oxorb::settings::Collocation;
use oxorb::{Any, CompletionStatus, Interface as _, Orb, SystemException, SystemExceptionKind};
use oxorb_codegen_tests::direct::peer::{GiveCodeError, WholeError};
use oxorb_codegen_tests::direct::{
    Choice, Colour, Deep, Flags, Named, Packed, Peer, PeerRef, Point, Refused, Tree,
};
use oxorb_core::lock;
use oxorb_testkit::alloc::allocations;

type Result<T, E = SystemException> = std::result::Result<T, E>;

/// Servant that returns the old `inout`, stores `in` there, and returns both.
#[derive(Default)]
struct Echo {
    /// Address of the last argument by reference.
    at: AtomicUsize,
    /// Whether it raises an exception after changing its arguments.
    raises: AtomicBool,
    /// Exception to raise.
    refused: Mutex<Option<Refused>>,
    /// Whether its results violate their types.
    spoils: AtomicBool,
    heard: Mutex<Vec<String>>,
}

fn address<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<()>() as usize
}

impl Echo {
    fn saw<T: ?Sized>(&self, value: &T) {
        self.at.store(address(value), Ordering::SeqCst);
    }

    fn refusal(&self) -> Result<(), Refused> {
        match &*self.refused.lock().unwrap() {
            Some(refused) if self.raises.load(Ordering::SeqCst) => Err(refused.clone()),
            _ => Ok(()),
        }
    }

    fn turned<T: Clone>(a: &T, b: &mut T) -> (T, T) {
        let old = std::mem::replace(b, a.clone());
        (a.clone(), old)
    }
}

impl Peer for Echo {
    fn plain(&self, a: i32, b: &mut Point) -> Result<(i32, [Point; 3])> {
        let old = *b;
        b.x += a;
        Ok((a, [old, *b, old]))
    }

    fn whole(&self, a: &Deep, b: &mut Deep) -> Result<(Deep, Deep), WholeError> {
        self.saw(a);
        let turned = Echo::turned(a, b);
        self.refusal()?;
        Ok(turned)
    }

    fn give_code(&self, a: &str, b: &mut String) -> Result<(String, String), GiveCodeError> {
        self.saw(a);
        let old = std::mem::replace(b, a.to_owned());
        self.refusal()?;
        let result = match self.spoils.load(Ordering::SeqCst) {
            true => "too long".to_owned(),
            false => a.to_owned(),
        };
        Ok((result, old))
    }

    fn give_few(&self, a: &[Named], b: &mut Vec<Named>) -> Result<(Vec<Named>, Vec<Named>)> {
        self.saw(a);
        let old = std::mem::replace(b, a.to_vec());
        if self.spoils.load(Ordering::SeqCst) {
            b.extend(a.iter().cloned().chain(old.clone()).chain(old.clone()));
        }
        Ok((a.to_vec(), old))
    }

    fn letter(&self, a: char, b: &mut char) -> Result<(char, char)> {
        let old = std::mem::replace(b, a);
        match self.spoils.load(Ordering::SeqCst) {
            true => Ok(('€', old)),
            false => Ok((a, old)),
        }
    }

    fn give_packed(&self, a: &Packed, b: &mut Packed) -> Result<(Packed, Packed)> {
        Ok(Echo::turned(a, b))
    }

    fn self_(
        &self,
        a: Option<&PeerRef>,
        b: &mut Option<PeerRef>,
    ) -> Result<(Option<PeerRef>, Vec<Option<PeerRef>>)> {
        let old = std::mem::replace(b, a.cloned());
        let result = match (a, self.spoils.load(Ordering::SeqCst)) {
            (Some(a), true) => Some(a.with_timeout(std::time::Duration::from_secs(3))),
            (a, _) => a.cloned(),
        };
        Ok((result, vec![old, None]))
    }

    fn give_colours(
        &self,
        a: &[Colour],
        b: &mut Vec<Colour>,
    ) -> Result<(Vec<Colour>, Vec<Colour>)> {
        self.saw(a);
        let old = std::mem::replace(b, a.to_vec());
        Ok((a.to_vec(), old))
    }

    fn anything(&self, a: &Any) -> Result<Any> {
        self.saw(a);
        Ok(a.clone())
    }

    fn give_tree(&self, a: &Tree) -> Result<Tree> {
        self.saw(a);
        Ok(a.clone())
    }

    fn within(&self, a: &str, context: &Context) -> Result<()> {
        let context: Vec<_> = context.iter().collect();
        self.heard.lock().unwrap().push(format!("{a} {context:?}"));
        Ok(())
    }

    fn tell(&self, a: &str, b: &Named) {
        assert!(!self.raises.load(Ordering::SeqCst), "as the test wants it");
        self.saw(a);
        self.heard.lock().unwrap().push(format!("{a} {:?} {}", b.tags, b.name));
    }
}

/// Servant reached directly, by messages within the process, and over a connection.
struct Bench {
    orbs: Vec<Orb>,
    echo: Arc<Echo>,
    peers: Vec<PeerRef>,
}

const WAYS: [Collocation; 3] = [Collocation::Direct, Collocation::Marshalled, Collocation::None];

impl Bench {
    fn new() -> Bench {
        let echo = Arc::new(Echo::default());
        let orbs = WAYS.map(|way| {
            Orb::builder()
                .listen("iiop://127.0.0.1:0")
                .configure(move |options| options.collocation = way)
                .build()
                .unwrap()
        });
        let peers = orbs.iter().map(|orb| {
            let echo = Arc::clone(&echo);
            orb.root_poa().activate(echo).unwrap()
        });
        Bench { peers: peers.collect(), orbs: orbs.into(), echo }
    }

    /// Checks that a call has the same result by all three routes.
    fn same<T: std::fmt::Debug>(&self, call: impl Fn(&PeerRef) -> T) -> String {
        let all: Vec<_> = self.peers.iter().map(|peer| shown(&call(peer))).collect();
        for (way, one) in WAYS.iter().zip(&all) {
            assert_eq!(*one, all[0], "{way:?} and directly");
        }
        all.into_iter().next().unwrap()
    }

    fn direct(&self) -> &PeerRef {
        &self.peers[0]
    }

    /// Reports whether the servant got the caller's own value.
    fn saw<T: ?Sized>(&self, value: &T) -> bool {
        self.echo.at.load(Ordering::SeqCst) == address(value)
    }

    fn end(self) {
        for orb in self.orbs {
            orb.shutdown(true).unwrap();
        }
    }
}

/// Returns a value as text, without the addresses of objects, which differ between ORBs.
fn shown(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let mut parts = text.split("at: \"");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("at: somewhere");
        shown.push_str(part.split_once('"').map_or("", |(_, rest)| rest));
    }
    shown
}

fn named(name: &str) -> Named {
    Named {
        name: name.into(),
        tags: vec!["ä".into(), String::new()],
        at: Point { x: 1, y: -0.5 },
        paint: Colour::Green,
        set: Flags::SECOND,
    }
}

fn deep(peer: &PeerRef, choice: Choice) -> Deep {
    Deep {
        inner: named("inner"),
        some: vec![named("one"), named("two")],
        key: "äöü€".into(),
        mark: "𝄞ab".into(),
        letter: 'x',
        wide: '€',
        choose: choice,
        corners: [Point { x: 3, y: 4.0 }; 3],
        said: BTreeMap::from([(1, "one".into()), (-2, "two".into())]),
        bits: Packed { low: 7, high: 511 },
        worth: "19.90".parse::<oxorb::values::Decimal>().unwrap().try_into().unwrap(),
        others: vec![Some(peer.clone()), None],
        remark: Some("remark".into()),
    }
}

fn choices(peer: &PeerRef) -> Vec<Choice> {
    vec![
        Choice::Text("text".into()),
        Choice::At(Point { x: 9, y: 9.0 }),
        Choice::several(vec![named("in a union")]),
        Choice::who(Some(peer.clone())),
        Choice::who(None),
    ]
}

#[test]
fn values_of_every_type_come_back_as_by_a_message() {
    let bench = Bench::new();
    bench.same(|peer| {
        let mut b = Point { x: 1, y: 2.0 };
        (peer.plain(5, &mut b), b)
    });
    for choice in 0..5 {
        bench.same(|peer| {
            let a = deep(peer, choices(peer).swap_remove(choice));
            let mut b = deep(peer, Choice::Text(String::new()));
            b.remark = None;
            b.others.clear();
            let done = peer.whole(&a, &mut b);
            assert!(done.is_ok(), "{done:?}");
            (done, b)
        });
    }
    bench.same(|peer| {
        let mut b = "old".to_owned();
        (peer.give_code("new", &mut b), b)
    });
    bench.same(|peer| {
        let (a, mut b) = ([named("a")], vec![named("b"), named("c")]);
        (peer.give_few(&a, &mut b), b)
    });
    bench.same(|peer| {
        let mut b = 'b';
        (peer.letter('a', &mut b), b)
    });
    bench.same(|peer| {
        let (a, mut b) = (Packed { low: 1, high: 2 }, Packed { low: 3, high: 4 });
        (peer.give_packed(&a, &mut b), b)
    });
    bench.same(|peer| {
        let mut b = None;
        (peer.self_(Some(peer), &mut b), b.is_some())
    });
    bench.same(|peer| {
        let mut b = vec![Colour::Red];
        (peer.give_colours(&[Colour::Green, Colour::Red], &mut b), b)
    });
    bench.same(|peer| peer.anything(&Any::new("text".to_owned())).unwrap().get::<String>());
    bench.same(|peer| {
        let leaf = Tree { name: "leaf".into(), below: Vec::new() };
        peer.give_tree(&Tree { name: "root".into(), below: vec![leaf.clone(), leaf] })
    });
    bench.end();
}

#[test]
fn what_cannot_be_sent_fails_as_by_a_message_and_leaves_everything_as_it_was() {
    let bench = Bench::new();
    let text = bench.same(|peer| {
        let mut b = "old".to_owned();
        (peer.give_code("12345", &mut b), b)
    });
    assert!(text.contains("Marshal") || text.contains("MARSHAL"), "{text}");
    bench.same(|peer| peer.give_code("a\0", &mut String::new()));
    bench.same(|peer| peer.give_code("a", &mut "b\0".to_owned()));
    bench.same(|peer| peer.letter('€', &mut 'a'));
    bench.same(|peer| peer.letter('a', &mut '€'));
    bench.same(|peer| peer.give_few(&[named("a"), named("b"), named("c")], &mut Vec::new()));
    bench.same(|peer| peer.give_few(&[named("a\0")], &mut Vec::new()));
    let wide = Packed { low: 8, high: 0 };
    bench.same(|peer| peer.give_packed(&wide, &mut Packed::default()));
    type Spoil = fn(&mut Deep);
    let spoilt: [Spoil; 8] = [
        |deep| deep.inner.tags.push("\0".into()),
        |deep| deep.some.push(named("third")),
        |deep| deep.key = "12345".into(),
        |deep| deep.mark = "1234".into(),
        |deep| deep.letter = 'ä',
        |deep| deep.choose = Choice::Text("\0".into()),
        |deep| drop(deep.said.insert(3, "\0".into())),
        |deep| deep.remark = Some("\0".into()),
    ];
    for spoil in spoilt {
        let failed = bench.same(|peer| {
            let mut a = deep(peer, Choice::Text("a".into()));
            spoil(&mut a);
            let mut b = deep(peer, Choice::Text("b".into()));
            let done = peer.whole(&a, &mut b);
            assert!(done.is_err());
            (done, b)
        });
        assert!(failed.starts_with("(Err("), "{failed}");
    }
    // Invalid results after the servant ran: COMPLETED_YES.
    bench.echo.spoils.store(true, Ordering::SeqCst);
    let late = bench.same(|peer| {
        let mut b = "old".to_owned();
        let done = peer.give_code("new", &mut b);
        let Err(GiveCodeError::System(exception)) = &done else {
            panic!("{done:?}");
        };
        assert_eq!(exception.completed, CompletionStatus::Yes);
        (done, b)
    });
    assert!(late.contains("\"old\""), "{late}");
    // Only the direct call identifies the character.
    bench.same(|peer| {
        let failed = peer.letter('a', &mut 'b').unwrap_err();
        (failed.kind, failed.minor, failed.completed)
    });
    bench.same(|peer| {
        let mut b = vec![named("b")];
        (peer.give_few(&[named("a")], &mut b), b)
    });
    bench.end();
}

#[test]
fn exceptions_carry_what_a_message_carries_and_inouts_stay() {
    let bench = Bench::new();
    bench.echo.raises.store(true, Ordering::SeqCst);
    let raise = |why: &str, choice: Choice| {
        let why = why.to_owned();
        *bench.echo.refused.lock().unwrap() = Some(Refused { why, choose: choice });
    };
    for (why, choice) in [
        ("ä", Choice::Text("because".into())),
        ("values", Choice::At(Point { x: 1, y: 1.0 })),
        ("unsendable \0", Choice::Text(String::new())),
        ("unsendable", Choice::several(vec![named("1"), named("2"), named("3")])),
    ] {
        raise(why, choice);
        let raised = bench.same(|peer| {
            let mut b = "old".to_owned();
            let done = peer.give_code("new", &mut b);
            assert!(done.is_err());
            (done, b)
        });
        assert!(raised.contains("\"old\""), "{raised}");
        assert_eq!(raised.contains("MARSHAL"), why.contains("unsendable"), "{raised}");
    }
    bench.end();
}

#[test]
fn values_are_not_copied_on_their_way_to_the_servant_unless_a_copy_is_what_they_mean() {
    let bench = Bench::new();
    let peer = bench.direct();
    let a = deep(peer, Choice::Text("a".into()));
    peer.whole(&a, &mut deep(peer, Choice::Text("b".into()))).unwrap();
    assert!(bench.saw(&a));
    let few = [named("a")];
    peer.give_few(&few, &mut Vec::new()).unwrap();
    assert!(bench.saw(&few[..]));
    let colours = [Colour::Red];
    peer.give_colours(&colours, &mut Vec::new()).unwrap();
    assert!(bench.saw(&colours[..]));
    let text = String::from("told");
    peer.tell(&text, &few[0]).unwrap();
    assert!(bench.saw(&*text));
    // An any is copied, and so are types of unknown depth.
    let any = Any::new(1_i32);
    peer.anything(&any).unwrap();
    assert!(!bench.saw(&any));
    let tree = Tree { name: "tree".into(), below: Vec::new() };
    peer.give_tree(&tree).unwrap();
    assert!(!bench.saw(&tree));
    // If one value cannot be passed directly, the whole call is marshalled.
    let elsewhere = deep(&bench.peers[1], Choice::Text("of another ORB".into()));
    peer.whole(&elsewhere, &mut deep(peer, Choice::Text("b".into()))).unwrap();
    assert!(!bench.saw(&elsewhere));
    bench.end();
}

#[test]
fn references_come_without_policies_and_belong_to_the_orb_that_received_them() {
    let bench = Bench::new();
    let hurried = std::time::Duration::from_secs(7);
    for (peer, orb) in bench.peers.iter().zip(&bench.orbs) {
        let usual = peer.reference().timeout();
        let (back, _) = peer.self_(Some(&peer.with_timeout(hurried)), &mut None).unwrap();
        assert_eq!(back.unwrap().reference().timeout(), usual);
        bench.echo.spoils.store(true, Ordering::SeqCst);
        let (back, _) = peer.self_(Some(peer), &mut None).unwrap();
        assert_eq!(back.unwrap().reference().timeout(), usual);
        bench.echo.spoils.store(false, Ordering::SeqCst);
        // References of all ORBs become those of this one.
        for other in &bench.peers {
            let mut kept = None;
            let (back, _) = peer.self_(Some(other), &mut kept).unwrap();
            for one in [back.unwrap(), kept.unwrap()] {
                let own: PeerRef = orb.string_to_object(&one.to_ior()).unwrap().unchecked_narrow();
                assert_eq!(one, own);
                assert!(one.give_colours(&[], &mut Vec::new()).is_ok());
            }
        }
    }
    bench.end();
}

#[test]
fn oneways_do_not_tell_of_the_servant_and_contexts_are_filtered() {
    let bench = Bench::new();
    let heard = || std::mem::take(&mut *bench.echo.heard.lock().unwrap());
    let mut context = Context::new();
    context.set("user", "ada");
    context.set("secret", "x");
    for peer in &bench.peers[..2] {
        peer.tell("a", &named("b")).unwrap();
        assert_eq!(heard(), [r#"a ["ä", ""] b"#]);
        peer.within("a", &context).unwrap();
        assert_eq!(heard(), [r#"a [("user", "ada")]"#]);
        let unsent = peer.tell("a\0", &named("b")).unwrap_err();
        assert_eq!(unsent.kind, SystemExceptionKind::Marshal);
        bench.echo.raises.store(true, Ordering::SeqCst);
        // The servant panics, and no caller is notified.
        assert_eq!(peer.tell("a", &named("b")), Ok(()));
        bench.echo.raises.store(false, Ordering::SeqCst);
    }
    let late = bench.same(|peer| {
        let waiting = peer.with(oxorb::policy::SyncScope::WithTarget);
        bench.echo.raises.store(true, Ordering::SeqCst);
        let told = waiting.tell("a", &named("b"));
        bench.echo.raises.store(false, Ordering::SeqCst);
        told
    });
    assert!(late.contains("UNKNOWN"), "{late}");
    for (peer, orb) in bench.peers.iter().zip(&bench.orbs) {
        let id = orb.root_poa().reference_to_id(peer).unwrap();
        orb.root_poa().deactivate_id(id).unwrap();
        assert_eq!(peer.tell("gone", &named("b")), Ok(()));
        orb.shutdown(true).unwrap();
    }
    bench.same(|peer| peer.tell("ended", &named("b")).map_err(|ended| ended.kind));
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "release builds count no locks")]
fn a_direct_call_allocates_for_its_values_only_and_takes_no_lock() {
    let bench = Bench::new();
    let peer = bench.direct();
    let mut point = Point { x: 0, y: 0.0 };
    let mut letter = 'b';
    let (mut packed, mut reference) = (Packed::default(), Some(peer.clone()));
    let (other, colours) = (peer.clone(), [Colour::Red; 3]);
    let call = |times: i32, point: &mut Point, letter: &mut char, packed: &mut Packed| {
        for n in 0..times {
            peer.plain(n, point).unwrap();
            peer.letter('c', letter).unwrap();
            peer.give_packed(&Packed { low: 1, high: 1 }, packed).unwrap();
        }
    };
    call(1, &mut point, &mut letter, &mut packed);
    let before = lock::taken().expect("tests are debug builds");
    let ((), made) = allocations(|| call(100, &mut point, &mut letter, &mut packed));
    assert_eq!(made.count, 0);
    assert_eq!(lock::taken().unwrap() - before, 0);
    // A result that is a sequence, an inout and an out: three allocations, for any arguments.
    let (_, made) = allocations(|| peer.self_(Some(&other), &mut reference).unwrap());
    assert_eq!(made.count, 1, "the sequence of references");
    let mut kept = vec![Colour::Red];
    let (_, made) = allocations(|| peer.give_colours(&colours, &mut kept).unwrap());
    assert_eq!(made.count, 3, "the copies of the caller and of the servant, and the result");
    assert_eq!(lock::taken().unwrap() - before, 0);
    bench.end();
}
